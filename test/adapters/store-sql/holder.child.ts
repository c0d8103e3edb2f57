// A process that serves a file until it is killed: `node holder.child.ts FILE`. Says "ready" when it does.
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"

const store = sqliteDriver({ file: process.argv[2] ?? "", now: () => Date.now() })
await store.join({ id: "child", host: "somewhere", pid: process.pid, runtime: "node" }, 5000)
await store.enqueue([newRun(1)])
await store.claim({ node: "child", queues: ["default"], jobs: ["report"], limit: 1, acknowledged: true })
console.log("ready")
setInterval(() => store.renew("child", 5000), 1000)

// A worker of a chaos run, in a process of its own on whatever runtime: `worker.child.ts URL NAME SLOTS PREFETCH FOLDER`. It
// ends with SIGTERM, with 0; and with 1 when its server will not have it any more.
import { worker } from "../../../apps/worker/mod.ts"
import { graceMillis, workerJob, workerPoison } from "./project.ts"

const [url = "", name = "", slots = "1", prefetch = "0", folder = ""] = process.argv.slice(2)
// For whoever looks into the folder of a run that went wrong.
const told = new Set(["connected", "lost", "unreachable", "draining", "trouble", "over"])
const running = await worker({
  url,
  name,
  jobs: [workerJob(folder, name), workerPoison],
  concurrency: Number(slots),
  prefetch: Number(prefetch),
  grace: `${graceMillis}ms`,
}).start({
  onEvent: (event) => {
    if (told.has(event.kind))
      console.log(`${new Date().toISOString().slice(11, 23)} ${JSON.stringify(event)}`)
  },
})
console.log("started")
process.once("SIGTERM", () => void running.stop())
const { error } = await running.done
if (error !== null) console.log(`ended: ${String(error)}`)
process.exit(error === null ? 0 : 1)

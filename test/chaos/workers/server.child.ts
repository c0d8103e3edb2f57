// The server of a chaos run, in a process of its own: `server.child.ts STORAGE FOLDER [OPTIONS]`. It says where it listens,
// writes down what happens to its workers, and ends with SIGTERM. OPTIONS: a `StageOptions` as JSON.
import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { serve } from "../../../apps/server/mod.ts"
import type { StageOptions } from "./Stage.ts"
import { graceMillis, serverJob, serverPoison } from "./project.ts"

const [storage = "", folder = "", given = "{}"] = process.argv.slice(2)
const { terms = {}, leaseMillis = 5000 } = JSON.parse(given) as StageOptions
const asked = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()))
const log = join(folder, "server.ndjson")

const server = await serve(
  {
    jobs: [serverJob, serverPoison],
    storage: storage as `sqlite:${string}`,
    grace: `${graceMillis}ms`,
    lease: leaseMillis,
  },
  {
    port: 0,
    // The client sends, and the test looks, as fast as they can: that they are held back is not what is tried here.
    rate: null,
    workers: { terms },
    onEvent: (event) => {
      if (event.kind === "started" || event.kind === "ended" || event.kind === "log") return
      const what = event.kind === "stale" ? { kind: "stale", id: event.run.id } : event
      appendFileSync(log, `${JSON.stringify({ at: Date.now(), pid: process.pid, ...what })}\n`)
      if (event.kind === "trouble") console.log(`Cannot ${event.doing}: ${event.error}`)
    },
  },
)
console.log(`listens on ${server.url}`)
await asked
await server.stop()
console.log("Stopped")
process.exit(0)

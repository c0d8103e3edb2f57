// The server, in a process of its own: `server.child.ts echo|memory|sqlite FOLDER`. The echo is the transport with nothing
// behind it; the others are an engine with its desk for workers over that store, on the same transport.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { serve } from "../../adapters/transport-websocket/mod.ts"
import type { OnConnection } from "../../core/ports/Transport.ts"
import { spokenVersions, subprotocol } from "../../core/protocol/Version.ts"
import { sleep } from "../common/meter.ts"
import { answerAll } from "./Child.ts"
import { clock } from "./clock.ts"
import { startSubject } from "./subject.ts"

const [kind = "", folder = ""] = process.argv.slice(2)
const store = mkdtempSync(join(folder, "uhrwerk-bench-"))
process.on("exit", () => rmSync(store, { recursive: true, force: true }))

const listen = async (onConnection: OnConnection): Promise<string> => {
  const { url } = await serve({
    onConnection,
    protocols: spokenVersions().map(subprotocol),
    // A load that is as fast as it can be is no flood here.
    limits: { framesPerSecondMax: Number.POSITIVE_INFINITY, connectionsMax: 10_000 },
  })
  return url
}

const echo: OnConnection = (connection) => ({
  onFrame: (frame) => {
    connection.send(frame)
  },
  onClose: () => undefined,
})

if (kind === "echo") {
  const url = await listen(echo)
  await answerAll({ url: () => ({ url }) })
}

const { engine, noop } = await startSubject(
  kind === "memory" ? "memory:" : `sqlite:${join(store, "bench.db")}`,
)
const desk = engine.workers
if (desk === null) throw new Error("The engine serves no workers")
const url = await listen(desk.onConnection)

let wanted = 0
let ended = 0
let from = Number.NaN
let reached: { readonly resolve: (wallMillis: number) => void } | undefined
engine.on((event) => {
  if (event.kind === "started" && Number.isNaN(from)) from = performance.now()
  if (event.kind !== "ended") return
  if (event.state !== "succeeded") throw new Error(`run ${event.run.id} is ${event.state}`)
  if (++ended === wanted) reached?.resolve(performance.now() - from)
})

/** Waits until so many more have ended; answers the time since the first start from now on. */
const drained = (runs: number): Promise<number> => {
  wanted = ended + runs
  from = Number.NaN
  const done = Promise.withResolvers<number>()
  reached = done
  return done.promise
}
let filled = 0

await answerAll({
  url: () => ({ url }),
  fill: async ({ runs }) => {
    await engine.sendAll(
      noop,
      Array.from({ length: runs }, (_, n) => ({ n })),
    )
    filled = runs
  },
  drained: async () => ({ wallMillis: await drained(filled) }),
  /** One after the other: the next is sent when the one before has ended. */
  sendEach: async ({ count, millis }) => {
    for (let sent = 0; sent < count; sent++) {
      const end = drained(1)
      await engine.send(noop, { sentAt: clock() })
      await end
      await sleep(millis)
    }
  },
  sendAtRate: async ({ count, perSecond }) => {
    const end = drained(count)
    const begun = performance.now()
    const sends: Array<Promise<unknown>> = []
    while (sends.length < count) {
      const due = Math.min(count, Math.ceil(((performance.now() - begun) * perSecond) / 1000))
      while (sends.length < due) sends.push(engine.send(noop, { sentAt: clock() }))
      await sleep(1)
    }
    await Promise.all(sends)
    await end
  },
  workers: () => ({ connected: desk.list().filter(({ status }) => status === "alive").length }),
})

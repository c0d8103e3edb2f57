// A node whose clock is wrong: `uhrwerk serve` on a clock that is handed in, off by so many milliseconds. Only the engine
// goes by it: timers, elapsed time and the evidence stay right. Arguments: the config file, and how far it is off.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { loadConfig } from "../../../apps/cli/loadConfig.ts"
import { checkConfig } from "../../../apps/sdk/config.ts"
import { startProject } from "../../../apps/sdk/engine.ts"

const [file, skew = "0"] = process.argv.slice(2)
const skewMillis = Number(skew)

const right = Effect.runSync(Clock.clockWith(Effect.succeed))
const now = (): number => right.currentTimeMillisUnsafe() + skewMillis
const nanos = (): bigint => right.currentTimeNanosUnsafe() + BigInt(skewMillis) * 1_000_000n
const wrong: Clock.Clock = {
  currentTimeMillisUnsafe: now,
  currentTimeMillis: Effect.sync(now),
  currentTimeNanosUnsafe: nanos,
  currentTimeNanos: Effect.sync(nanos),
  monotonicTimeNanosUnsafe: () => right.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: right.monotonicTimeNanos,
  sleep: (duration) => right.sleep(duration),
}

const asked = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()))
const project = await checkConfig(await loadConfig(file))
console.log(`a node ${skewMillis} ms off, storage ${project.storage.name}`)
const engine = await startProject(project, {
  context: Context.make(Clock.Clock, wrong),
  onEvent: (event) => {
    // In the words of `uhrwerk serve`, so that one reader understands both.
    if (event.kind === "stale") console.log(`the outcome came too late and was not applied  ${event.run.id}`)
    if (event.kind === "leaseLost") console.log("This node lost its lease")
    if (event.kind === "trouble") console.log(`Cannot ${event.doing}: ${event.error}`)
  },
})
await asked
await engine.stop()
console.log("Stopped")

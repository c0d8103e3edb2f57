// A process of its own that runs one flow to its end and prints what that took: `one.child.ts SHAPE SIZE SLOTS FOLDER`.
// Of its own, as the memory of a process that did other things before says nothing.
import { engine, type EngineEvent } from "../../apps/sdk/mod.ts"
import { startMeter } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { watchTurns } from "../common/turns.ts"
import type { Measured } from "./measure.ts"
import { edgesOf, type ShapeName, shaped } from "./shapes.ts"

const [shape, sizeText, slots, folder] = process.argv.slice(2) as [ShapeName, string, string, string]
const limitMillis = 600_000

// Code that runs for the first time is compiled first, which is not what grows with a flow.
const warmUpSize = 300
const size = Number(sizeText)

const troubles: Array<string> = []
const hear = (event: EngineEvent): void => {
  if (event.kind === "trouble") troubles.push(`${event.doing}: ${event.error}`)
  else if (event.kind === "leaseLost" || event.kind === "stale") troubles.push(event.kind)
  else if (event.kind === "ended" && event.state !== "succeeded")
    troubles.push(`a run of "${event.run.job}" ended ${event.state}: ${event.error?.message}`)
}
const mib = (): number => process.memoryUsage().rss / 2 ** 20

const measure = async (steps: number): Promise<Measured> => {
  let calls = 0
  const measured = shaped(shape, steps, () => void calls++)
  const fromStart = performance.now()
  const running = await engine({
    jobs: [measured],
    storage: `sqlite:${folder}/${shape}-${steps}.db`,
    worker: { concurrency: Number(slots) },
  }).start({ onEvent: hear })
  const startMillis = performance.now() - fromStart
  const rssBefore = mib()
  let rssPeak = rssBefore
  const sampler = setInterval(() => (rssPeak = Math.max(rssPeak, mib())), 20)
  const turns = watchTurns()
  const meter = startMeter()
  const sent = await running.send(measured, undefined)
  await sent.result({ timeout: limitMillis })
  const { wallMillis, cpuMillis } = meter()
  const eventLoop = turns()
  clearInterval(sampler)
  const counts = await running.counts()
  const succeeded = counts
    .filter(({ state }) => state === "succeeded")
    .reduce((sum, { count }) => sum + count, 0)
  const others = counts.filter(({ state, count }) => state !== "succeeded" && count > 0).length
  // The flow run, and each step once.
  if (calls !== steps || succeeded !== steps + 1 || others > 0)
    troubles.push(
      `${calls} calls and ${succeeded} runs that succeeded, for ${steps} steps; ${others} other counts`,
    )
  await running.stop()
  return {
    steps,
    edges: edgesOf(shape, steps),
    wallMillis: rounded(wallMillis),
    cpuMillis: rounded(cpuMillis),
    startMillis: rounded(startMillis),
    eventLoop,
    rssBeforeMib: rounded(rssBefore),
    rssPeakMib: rounded(Math.max(rssPeak, mib())),
    troubles,
  }
}

await measure(Math.min(warmUpSize, size - 1))
console.log(JSON.stringify(await measure(size)))

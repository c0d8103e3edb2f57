// The real engine over a level: a drain of stored runs, how soon a sent run starts on an idle engine, and how late a
// delayed one does. Times are taken in the handler.
import { job as defineJob, type Job, type RunningEngine } from "../../apps/sdk/mod.ts"
import { type Spent, sleep, startMeter, within } from "../common/meter.ts"
import { rounded, type Spans, spansOf } from "../common/statistics.ts"
import { wallClock } from "../common/wallClock.ts"
import type { Harness } from "../engine/harness.ts"
import type { Options } from "./options.ts"
import { job, newRun, queue } from "./Side.ts"
import { ids, openStore } from "./subject.ts"

/** From the first start to the last run that is settled in the store. */
export interface Drained extends Spent {
  readonly runs: number
}

/** Lateness, and what must not be. */
export interface Lateness extends Spans {
  readonly early: number
  readonly missing: number
}

const limitMillis = 120_000

/** An engine over a schema. */
const start = (
  harness: Harness,
  schema: string,
  options: Options,
  handle: (n: number) => void,
  onEnded: () => void = () => {},
): Promise<{ readonly running: RunningEngine; readonly noop: Job<{ n: number }> }> => {
  const url = new URL(options.postgres)
  url.searchParams.set("schema", schema)
  const noop = defineJob(job, { queue, run: async ({ n }: { n: number }) => handle(n) })
  return harness
    .start(
      { jobs: [noop], storage: url.toString() as `postgres://${string}`, slots: options.slots },
      (event) => {
        if (event.kind === "ended") onEnded()
      },
    )
    .then((running) => ({ running, noop }))
}

/** Stores runs by the driver, and starts an engine on them. */
export const measureDrain = async (harness: Harness, schema: string, options: Options): Promise<Drained> => {
  const { runs, batch } = options
  const store = await openStore(options.postgres, schema, "fill")
  for (let from = 0; from < runs; from += batch) {
    const count = Math.min(batch, runs - from)
    await store.enqueue(Array.from({ length: count }, (_, n) => newRun(ids(), from + n)))
  }
  await store.close()
  let meter = startMeter()
  let started = 0
  let ended = 0
  const last = Promise.withResolvers<Spent>()
  const { running } = await start(
    harness,
    schema,
    options,
    () => {
      if (started++ === 0) meter = startMeter()
    },
    () => {
      if (++ended === runs) last.resolve(meter())
    },
  )
  const spent = await within(limitMillis, `Drain of ${runs} runs`, last.promise)
  await running.stop()
  if (started !== runs) throw new Error(`${started} handlers were called for ${runs} runs`)
  return { runs, ...spent }
}

/** From the call of `send` to the first line of the handler, one at a time on an engine with nothing else to do. */
export const measureLatency = async (harness: Harness, schema: string, options: Options): Promise<Spans> => {
  let began = Promise.withResolvers<number>()
  const { running, noop } = await start(harness, schema, options, () => began.resolve(performance.now()))
  const spans: Array<number> = []
  const warm = 20
  for (let n = 0; n < options.samples + warm; n++) {
    await sleep(5)
    began = Promise.withResolvers()
    const sentAt = performance.now()
    await running.send(noop, { n })
    spans.push((await within(limitMillis, "The start of a run", began.promise)) - sentAt)
  }
  await running.stop()
  return spansOf(spans.slice(warm))
}

/** All delayed runs are stored before the first of them is due. */
export const measureLateness = async (
  harness: Harness,
  schema: string,
  options: Options,
): Promise<Lateness> => {
  const { delayed, spread } = options
  const wall = wallClock()
  const starts = new Map<number, number>()
  const { running, noop } = await start(harness, schema, options, (n) => void starts.set(n, wall()))
  const from = Date.now() + 1000 + delayed
  const dueAt = (n: number): number => from + Math.floor((n * spread) / delayed)
  await Promise.all(Array.from({ length: delayed }, (_, n) => running.send(noop, { n }, { at: dueAt(n) })))
  if (Date.now() >= from) throw new Error(`Storing ${delayed} delayed runs took until the first was due`)
  const end = dueAt(delayed - 1) + 10_000
  while (starts.size < delayed && Date.now() < end) await sleep(10)
  await running.stop()
  const late = [...starts].map(([n, at]) => at - dueAt(n))
  return {
    ...spansOf(late),
    // Clocks show whole milliseconds: the server's may have been a fraction further than this one.
    early: late.filter((millis) => rounded(millis) < -1).length,
    missing: delayed - late.length,
  }
}

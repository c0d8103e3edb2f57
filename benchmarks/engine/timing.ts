// How soon a sent run starts on an idle engine, and how late a delayed one does. Both are taken in the handler:
// what counts is when user code begins, not when something was written.
import { type Job, job as defineJob } from "../../apps/sdk/mod.ts"
import { sleep, within } from "../common/meter.ts"
import { type Spans, spansOf } from "../common/statistics.ts"
import { wallClock } from "../common/wallClock.ts"
import { job } from "./floor.ts"
import type { Harness } from "./harness.ts"
import type { Options } from "./options.ts"

/** From the call of `send` to the first line of the handler. */
export const measureLatency = async (harness: Harness, { samples, slots }: Options): Promise<Spans> => {
  harness.progress("enqueue to start")
  const sentAt: Array<number> = []
  const spans: Array<number> = []
  const noop: Job<{ n: number }> = defineJob(job, {
    run: async ({ n }: { n: number }) => {
      spans.push(performance.now() - (sentAt[n] ?? Number.NaN))
    },
  })
  const engine = await harness.start({ jobs: [noop], storage: `sqlite:${harness.file()}`, slots })
  const warm = 20
  const from = performance.now()
  const sends: Array<Promise<unknown>> = []
  for (let n = 0; n < samples + warm; n++) {
    // By the clock and not by the last answer: a slow send must not make the next one wait unseen.
    await sleep(Math.max(0, from + n * 5 - performance.now()))
    sentAt[n] = performance.now()
    sends.push(engine.send(noop, { n }))
  }
  await Promise.all(sends)
  await within(
    30_000,
    "The last start",
    until(() => spans.length === samples + warm),
  )
  await engine.stop()
  return spansOf(spans.slice(warm))
}

/** How late delayed runs start, and whether any starts early. */
export interface Lateness extends Spans {
  /** Delayed runs that were stored when the window began. */
  readonly pending: number
  /** Runs that were due in the window. */
  readonly due: number
  /** Runs whose claim, by the store's clock, or whose handler, by the host's, was before the due time. */
  readonly early: number
  /** Runs that were due in the window and had not started 10 s after it. */
  readonly missing: number
}

/** Stores `pending` runs evenly over `spread`, and measures those that are due in the first `window` of it. */
export const measureLateness = async (
  harness: Harness,
  options: Options,
  storage: "sqlite" | "memory" = "sqlite",
): Promise<Lateness> => {
  const { pending, spread, slots } = options
  const window = Math.min(options.window, spread)
  harness.progress(`lateness of delayed runs on ${storage}, ${window} ms`)
  const wall = wallClock()
  const dueAts: Array<number> = []
  const late: Array<number> = []
  let due = 0
  const early = new Set<string>()
  const noop: Job<{ n: number }> = defineJob(job, {
    run: async ({ n }: { n: number }, { run }) => {
      const dueAt = dueAts[n] ?? Number.NaN
      if (Date.now() < dueAt) early.add(run.id)
      if (n < due) late.push(wall() - dueAt)
    },
  })
  const engine = await harness.start(
    { jobs: [noop], storage: storage === "memory" ? "memory:" : `sqlite:${harness.file()}`, slots },
    (event) => {
      if (event.kind === "started" && (event.run.startedAt ?? 0) < event.run.dueAt) early.add(event.run.id)
    },
  )
  // Time to store them all before the first is due; they are timed only when that was so.
  const from = Date.now() + Math.max(1000, Math.ceil(pending / 1.5))
  for (let n = 0; n < pending; n++) dueAts.push(from + Math.floor((n * spread) / pending))
  // They are ascending, so these are the first of them.
  due = dueAts.filter((at) => at < from + window).length
  const sends = dueAts.map((at, n) => engine.send(noop, { n }, { at }))
  await Promise.all(sends)
  if (Date.now() >= from) throw new Error(`Storing ${pending} delayed runs took until the first was due`)
  await sleep(from + window - Date.now())
  const end = Date.now() + 10_000
  await until(() => late.length >= due || Date.now() > end)
  const spans = spansOf(late)
  await engine.stop()
  return { pending, due, ...spans, early: early.size, missing: due - spans.count }
}

const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await sleep(5)
}

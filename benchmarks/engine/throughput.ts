// Enqueue, single sends and drain: floor and engine in turn, the order reversed each round, and after each step
// the files of both compared. What is not measured: opening for the enqueue, closing, and all comparing.
import { monitorEventLoopDelay } from "node:perf_hooks"
import { type Job, job as defineJob } from "../../apps/sdk/mod.ts"
import type { Storage } from "../../apps/sdk/storage.ts"
import { sleep, type Spent, startMeter, within } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { contents, differences } from "./agreement.ts"
import { floorRows, job, openFloor, queue } from "./floor.ts"
import type { Harness } from "./harness.ts"
import type { Options } from "./options.ts"
import { notingStorage, type Step } from "./steps.ts"

type Noop = Job<{ n: number }, void>

/** What was spent in each round, by side. */
export interface Rounds {
  readonly runs: number
  readonly floor: Array<Spent>
  readonly engine: Array<Spent>
}

/** The three throughputs and what belongs to them. */
export interface Throughput {
  readonly enqueue: Rounds
  readonly single: Rounds
  readonly drain: Rounds
  /** From the call of `start()` to the first started run, which is part of the engine's drain. */
  readonly startMillis: Array<number>
  readonly eventLoop: { readonly p50Millis: number; readonly p99Millis: number; readonly maxMillis: number }
  /** The engine's transactions in the warm-up, which the floor repeats. */
  readonly steps: ReadonlyArray<Step>
  readonly differences: Array<string>
}

// Far above what any of it takes: a benchmark that hangs says so.
const limitMillis = 120_000
const probeMax = 4000

/** Warms up, measures all rounds, and one more drain for the delay of the event loop. */
export const measureThroughput = async (harness: Harness, options: Options): Promise<Throughput> => {
  const { runs, rounds, senders, only } = options
  const found: Array<string> = []
  const startMillis: Array<number> = []
  const rates = {
    enqueue: { runs, floor: [], engine: [] } as Rounds,
    single: { runs: Math.min(runs, options.single), floor: [], engine: [] } as Rounds,
    drain: { runs, floor: [], engine: [] } as Rounds,
  }
  const steps = await warmUp(harness, options)

  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (["floor", "engine"] as const) : (["engine", "floor"] as const)
    const afterwards: Record<string, ReadonlyArray<string>> = {}
    for (const side of order) {
      harness.progress(`round ${round + 1} of ${rounds}: ${side}`)
      const floor = side === "floor"
      if (only.has("enqueue") || only.has("drain")) {
        const file = harness.file()
        const spent = floor
          ? floorEnqueue(file, runs, sizesOf(steps))
          : await engineEnqueue(harness, file, runs, senders)
        rates.enqueue[side].push(spent)
        afterwards[`${side} enqueue`] = contents(file)
        if (only.has("drain")) {
          if (floor) rates.drain.floor.push(floorDrain(file, runs, steps))
          else {
            const drained = await engineDrain(harness, `sqlite:${file}`, runs, options.slots)
            rates.drain.engine.push(drained.spent)
            startMillis.push(rounded(drained.startMillis))
          }
          afterwards[`${side} drain`] = contents(file)
        }
      }
      if (only.has("single")) {
        const file = harness.file()
        const { runs: sends } = rates.single
        const spent = floor ? floorEnqueue(file, sends, [1]) : await engineEnqueue(harness, file, sends, 1)
        rates.single[side].push(spent)
        afterwards[`${side} single`] = contents(file)
      }
    }
    for (const step of ["enqueue", "drain", "single"] as const) {
      const [floor, engine] = [afterwards[`floor ${step}`], afterwards[`engine ${step}`]]
      if (floor !== undefined && engine !== undefined)
        found.push(...differences(`${step}, round ${round + 1}`, floor, engine))
    }
  }
  const eventLoop = only.has("drain")
    ? await loopDelay(harness, options)
    : { p50Millis: Number.NaN, p99Millis: Number.NaN, maxMillis: Number.NaN }
  return { ...rates, startMillis, eventLoop, steps, differences: found }
}

/** One pass of everything that is thrown away, and tells the engine's transactions. */
const warmUp = async (harness: Harness, { runs, senders, slots }: Options): Promise<ReadonlyArray<Step>> => {
  harness.progress("warm-up")
  const count = Math.min(runs, probeMax)
  const file = harness.file()
  const filled = notingStorage(file)
  await engineEnqueue(harness, file, count, senders, filled.storage)
  const drained = notingStorage(file)
  await engineDrain(harness, drained.storage, count, slots)
  const steps = [
    // Without the run that holds the slot, which was sent before and alone.
    ...filled.steps.filter(({ operation }) => operation === "enqueue").slice(1),
    ...drained.steps,
  ]
  const other = harness.file()
  floorEnqueue(other, count, sizesOf(steps))
  floorDrain(other, count, steps)
  return steps
}

const sizesOf = (steps: ReadonlyArray<Step>): ReadonlyArray<number> =>
  steps.filter(({ operation }) => operation === "enqueue").map(({ rows }) => rows)

const floorEnqueue = (file: string, runs: number, sizes: ReadonlyArray<number>): Spent => {
  const rows = floorRows(runs)
  const floor = openFloor(file)
  const meter = startMeter()
  floor.enqueue(rows, sizes)
  const spent = meter()
  floor.close()
  return spent
}

const floorDrain = (file: string, runs: number, steps: ReadonlyArray<Step>): Spent => {
  // A transaction that found nothing to claim wrote nothing, so it is not among the same writes.
  const writes = steps.filter(({ operation, rows }) => operation !== "enqueue" && rows > 0)
  const meter = startMeter()
  const floor = openFloor(file)
  const drained = floor.drain(writes)
  const spent = meter()
  floor.close()
  if (drained !== runs) throw new Error(`The floor drained ${drained} of ${runs} runs`)
  return spent
}

/** The engine's one slot is taken by a run that waits, so what is sent is stored ready and stays so. */
const engineEnqueue = async (
  harness: Harness,
  file: string,
  runs: number,
  senders: number,
  storage: Storage = `sqlite:${file}`,
): Promise<Spent> => {
  const noop: Noop = defineJob(job, { queue, run: async () => {} })
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const hold = defineJob("hold", {
    queue,
    run: () => {
      held.resolve()
      return release.promise
    },
  })
  const engine = await harness.start({ jobs: [noop, hold], storage, slots: 1 })
  await engine.send(hold, undefined)
  await within(limitMillis, "The start of the run that holds the slot", held.promise)
  let next = 0
  const sender = async (): Promise<void> => {
    while (next < runs) await engine.send(noop, { n: next++ })
  }
  const meter = startMeter()
  await within(limitMillis, `${runs} sends`, Promise.all(Array.from({ length: senders }, sender)))
  const spent = meter()
  const stopped = engine.stop()
  // Only after the engine has stopped claiming, or the slot would be free for one of the runs.
  await sleep(50)
  release.resolve()
  await stopped
  return spent
}

/** From the call of `start()`, so with opening the file, to the event of the last run, which is in the store. */
const engineDrain = async (
  harness: Harness,
  storage: Storage,
  runs: number,
  slots: number,
  onFirst: () => void = () => {},
  onLast: () => void = () => {},
): Promise<{ readonly spent: Spent; readonly startMillis: number }> => {
  const noop: Noop = defineJob(job, { queue, run: async () => {} })
  let ended = 0
  let startMillis = Number.NaN
  const last = Promise.withResolvers<Spent>()
  const meter = startMeter()
  const engine = await harness.start({ jobs: [noop], storage, slots }, (event) => {
    if (event.kind === "started" && Number.isNaN(startMillis)) {
      startMillis = meter().wallMillis
      onFirst()
    }
    if (event.kind !== "ended" || ++ended !== runs) return
    last.resolve(meter())
    onLast()
  })
  const spent = await within(limitMillis, `Drain of ${runs} runs`, last.promise)
  const counts = await engine.counts()
  await engine.stop()
  const stored = counts.filter(({ job: name, count }) => name === job && count !== 0)
  if (stored.length !== 1 || stored[0]?.state !== "succeeded" || stored[0].count !== runs)
    throw new Error(`After the drain of ${runs} runs the store has ${JSON.stringify(stored)}`)
  return { spent, startMillis }
}

/** A drain of its own, so that the sampling costs the measured rounds nothing. */
const loopDelay = async (harness: Harness, { runs, slots }: Options): Promise<Throughput["eventLoop"]> => {
  harness.progress("event loop during a drain")
  const file = harness.file()
  const floor = openFloor(file)
  floor.enqueue(floorRows(runs), [500])
  floor.close()
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  await engineDrain(
    harness,
    `sqlite:${file}`,
    runs,
    slots,
    () => histogram.enable(),
    () => histogram.disable(),
  )
  return {
    p50Millis: rounded(histogram.percentile(50) / 1e6),
    p99Millis: rounded(histogram.percentile(99) / 1e6),
    maxMillis: rounded(histogram.max / 1e6),
  }
}

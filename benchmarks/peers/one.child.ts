// One side, one round, in a process of its own: `one.child.ts REQUEST`, which is JSON. Prints what was measured as JSON.
import { sleep, startMeter, within } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { wallClock } from "../common/wallClock.ts"
import type { Drained, Late, Measured, Work } from "./measured.ts"
import type { FigureName } from "./options.ts"
import type { Place, Side } from "./Side.ts"
import { loadSide, type SideName } from "./sides.ts"

/** What the process is asked. */
export interface Request {
  readonly side: SideName
  readonly figures: ReadonlyArray<FigureName>
  readonly place: Place
  readonly sizes: Readonly<Record<"runs" | "single" | "inflight" | "samples" | "delayed" | "spread", number>>
}

const request = JSON.parse(process.argv[2] ?? "") as Request
const { figures, sizes } = request
const wants = (...names: ReadonlyArray<FigureName>): boolean => names.some((name) => figures.includes(name))

const limitMillis = 120_000
const senders = 64
const troubles: Array<string> = []
const { open } = await loadSide(request.side)

/** A queue of its own for each kind of figure, so that none meets what another left. */
const withSide = async <A>(kind: string, body: (side: Side) => Promise<A>): Promise<A> => {
  const side = await open({ ...request.place, name: `${request.place.name}_${kind}` })
  try {
    return await body(side)
  } finally {
    await side.close()
  }
}

const metered = async (jobs: number, work: () => Promise<unknown>): Promise<Work> => {
  const meter = startMeter()
  await within(limitMillis, `${jobs} jobs`, work())
  return { jobs, ...meter() }
}

/** So many senders, each of which awaits its send before the next. */
const sendBy = async (side: Side, count: number, width: number): Promise<void> => {
  let next = 0
  const sender = async (): Promise<void> => {
    while (next < count) await side.send(next++)
  }
  await Promise.all(Array.from({ length: width }, sender))
}

const until = async (condition: () => boolean, millis: number): Promise<boolean> => {
  const end = performance.now() + millis
  while (!condition() && performance.now() < end) await sleep(2)
  return condition()
}

const measureDrain = async (side: Side, jobs: number): Promise<Drained> => {
  const seen = new Uint8Array(jobs)
  let started = 0
  let toFirstMillis = Number.NaN
  let meter = startMeter()
  const fromStart = startMeter()
  await side.work((n) => {
    if (started++ === 0) {
      toFirstMillis = fromStart().wallMillis
      meter = startMeter()
    }
    seen[n] = (seen[n] ?? 0) + 1
  })
  if (!(await until(() => started >= jobs, limitMillis)))
    throw new Error(`Only ${started} of ${jobs} started`)
  let done = await side.done(jobs)
  while (done < jobs && meter().wallMillis < limitMillis) {
    await sleep(2)
    done = await side.done(jobs)
  }
  const spent = meter()
  if (done !== jobs) troubles.push(`${done} of ${jobs} jobs have ended in the store`)
  const not = seen.filter((times) => times !== 1).length
  if (not > 0) troubles.push(`${not} of ${jobs} jobs were not started exactly once`)
  return { jobs, ...spent, toFirstMillis: rounded(toFirstMillis) }
}

const measureLatency = async (side: Side, samples: number): Promise<ReadonlyArray<number>> => {
  let began = Promise.withResolvers<number>()
  await side.work(() => began.resolve(performance.now()))
  const spans: Array<number> = []
  const warm = 10
  for (let n = 0; n < samples + warm; n++) {
    // At no fixed place within anybody's polls.
    await sleep(20 + Math.random() * 20)
    began = Promise.withResolvers()
    const sentAt = performance.now()
    await side.send(n)
    spans.push((await within(limitMillis, "The start of a job", began.promise)) - sentAt)
  }
  return spans.slice(warm).map(rounded)
}

/** All are stored before the first is due, and the worker waits for them already. */
const measureLateness = async (side: Side, count: number, spread: number): Promise<Late> => {
  const wall = wallClock()
  const starts: Array<number> = []
  await side.work((n) => {
    starts[n] ??= wall()
  })
  const from = Date.now() + 2000 + Math.ceil(count / 2)
  const dueAt = (n: number): number => from + Math.floor((n * spread) / count)
  await side.sendAll(count, dueAt)
  if (Date.now() >= from) troubles.push(`Storing ${count} delayed jobs took until the first was due`)
  const heard = (): number => starts.reduce((sum) => sum + 1, 0)
  await sleep(Math.max(0, dueAt(count - 1) - Date.now()))
  await until(() => heard() >= count, 10_000)
  const late = starts.map((at, n) => at - dueAt(n)).filter((millis) => !Number.isNaN(millis))
  return {
    millis: late.map(rounded),
    early: late.filter((millis) => millis < -1).length,
    missing: count - late.length,
  }
}

const measure = async (): Promise<Measured> => {
  const measured: { -readonly [Key in keyof Measured]: Measured[Key] } = { troubles }
  if (wants("single", "inflight"))
    await withSide("sends", async (side) => {
      // Connections are opened and statements prepared before anything counts.
      await sendBy(side, 100, senders)
      if (wants("single")) measured.single = await metered(sizes.single, () => sendBy(side, sizes.single, 1))
      if (wants("inflight"))
        measured.inflight = await metered(sizes.inflight, () => sendBy(side, sizes.inflight, senders))
    })
  if (wants("bulk", "drain"))
    await withSide("bulk", async (side) => {
      measured.bulk = await metered(sizes.runs, () => side.sendAll(sizes.runs))
      if (wants("drain")) measured.drain = await measureDrain(side, sizes.runs)
    })
  if (wants("latency"))
    measured.latency = await withSide("latency", (side) => measureLatency(side, sizes.samples))
  if (wants("lateness"))
    measured.lateness = await withSide("lateness", (side) =>
      measureLateness(side, sizes.delayed, sizes.spread),
    )
  return measured
}

console.log(JSON.stringify(await measure()))
// Some client may keep a timer.
process.exit(0)

// Steps of schedules that must be looked at by themselves, and instants of the past that get a run after all. The
// decision about an instant, its run and the cursor move in one transaction. Of a minute that many schedules share,
// each database moves those that are alike together.
import { type Fill, type Filled, type Fire, replacedReason } from "../../core/ports/StoreDriver.ts"
import { storeRun } from "./enqueue.ts"
import { type Sql, wait } from "./Sql.ts"
import type { Decision } from "./Tables.ts"
import type { Work } from "./Work.ts"

/** Whether the runs of a step can be stored without a look at anything. */
export const isPlain = ({ cancelRunId, runs }: Fire): boolean =>
  cancelRunId === null && runs.every(({ needs, key }) => needs.length === 0 && key === null)

/** The decisions of steps, as they are stored. */
export const decisionsOf = (fires: ReadonlyArray<Fire>, decidedAt: number): ReadonlyArray<Decision> =>
  fires.flatMap(({ scheduleId, zoneData, occurrences }) =>
    occurrences.map((each) => ({ ...each, scheduleId, zoneData, decidedAt })),
  )

/** One step, checked before anything is written. */
export function* fireOne(work: Work, fire: Fire): Sql<"fired" | "conflict"> {
  const { schedules } = work.tables
  const { scheduleId } = fire
  const [row] = yield* wait(schedules.find([scheduleId]))
  if (row === undefined || row.version !== fire.version) return "conflict"
  const instants = new Set(fire.occurrences.map((each) => each.at))
  if (instants.size < fire.occurrences.length) return "conflict"
  for (const at of instants)
    if ((yield* wait(schedules.decided(scheduleId, at))) !== undefined) return "conflict"
  yield* wait(schedules.move([fire]))
  const decisions = decisionsOf([fire], work.now())
  if (decisions.length > 0) yield* wait(schedules.decide(decisions))
  if (fire.cancelRunId !== null) {
    yield* wait(work.tables.runs.lock([fire.cancelRunId]))
    yield* work.flows.cancel(fire.cancelRunId, replacedReason)
  }
  for (const run of fire.runs) yield* storeRun(work, run)
  return "fired"
}

/** One instant of the past. */
export function* fillOne(work: Work, { scheduleId, at, runs }: Fill): Sql<Filled> {
  const { schedules } = work.tables
  const [schedule] = yield* wait(schedules.find([scheduleId]))
  if (schedule === undefined) return { at, runId: null, result: "unknown" }
  const decided = yield* wait(schedules.decided(scheduleId, at))
  const there = decided?.runId ?? null
  if (there !== null) return { at, runId: there, result: "exists" }
  for (const run of runs) yield* storeRun(work, run)
  const runId = runs[runs.length - 1]?.id ?? null
  // A row of one instant may stand for several of the pattern, which calendars held until then.
  if (decided !== undefined && (decided.count === 1 || decided.lastAt === at)) {
    yield* wait(schedules.fill(decided.seq, runId, work.now()))
    return { at, runId, result: "created" }
  }
  yield* wait(schedules.countOut(scheduleId, at))
  const own = { at, lastAt: at, count: 1, runId, reason: null, nominalAt: null }
  const { zoneData } = schedule
  yield* wait(schedules.decide([{ ...own, scheduleId, zoneData, decidedAt: work.now() }]))
  return { at, runId, result: "created" }
}

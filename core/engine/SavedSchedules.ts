// What an engine does with schedules before it plans any: saves those of its config, removes those that the config
// had before and has no longer, and names next instants anew where its zone data disagree with what named them.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { InvalidSchedule, StoreError } from "../domain/Errors.ts"
import type { NewSchedule, ScheduleRow } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import { ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { Fire } from "../ports/StoreDriver.ts"
import type { TriggerParser } from "../trigger/Dialects.ts"
import { firstAt, type ParsedTrigger } from "../trigger/Occurrences.ts"
import { slotsOf } from "../trigger/Slots.ts"
import { disagree, makeZoneStamp, renamed, type ZoneSource, type ZoneStamp } from "../trigger/ZoneData.ts"

// Rows in one write.
const chunkMax = 1000

/** Saves the config's schedules, and brings all that are stored up to date with the zone data. */
export const saveSchedules = (
  schedules: ReadonlyArray<NewSchedule>,
  {
    parse,
    zones,
    events,
  }: { readonly parse: ParseNamed; readonly zones: ZoneSource; readonly events: Events },
): Effect.Effect<void, StoreError | InvalidSchedule, ScheduleStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const info = yield* StoreInfo
    const now = yield* info.now
    const stamp = makeZoneStamp(zones)
    const rows = []
    for (const schedule of schedules) {
      const trigger = yield* Effect.fromResult(parse(schedule))
      const nextAt = firstAt(trigger, now, now)
      const zoneData = trigger.kind === "cron" ? stamp(trigger.cron.clock, nextAt ?? now) : null
      rows.push({ ...schedule, cursor: now - 1, nextAt, zoneData })
    }
    for (const some of chunks(rows)) yield* store.putSchedules(some)
    const wanted = new Set(schedules.map(({ id }) => id))
    const stored = yield* store.schedules()
    const gone = stored.filter(({ id, fromConfig }) => fromConfig && !wanted.has(id))
    for (const some of chunks(gone)) yield* store.deleteSchedules(some.map(({ id }) => id))
    const steps: Array<Fire> = []
    for (const row of stored) {
      const step = gone.includes(row) ? undefined : renameNext(row, parse, stamp, events)
      if (step !== undefined) steps.push(step)
    }
    // A conflict means that somebody else was first, which is as good.
    for (const some of chunks(steps)) yield* store.fire(some)
  })

/** Reads what a schedule's trigger says; a refusal names the schedule. */
export type ParseNamed = (schedule: NewSchedule) => Result.Result<ParsedTrigger, InvalidSchedule>

/** The same parser for whole schedules. */
export const parseNamed =
  (parse: TriggerParser): ParseNamed =>
  ({ id, trigger }) =>
    Result.mapError(parse(trigger), (error) => error.within(`schedule "${id}"`))

/** The step that gives a schedule the next instant of our zone data; none where they agree with what is stored. */
const renameNext = (
  row: ScheduleRow,
  parse: ParseNamed,
  stamp: ZoneStamp,
  events: Events,
): Fire | undefined => {
  const { nextAt, zoneData: stored, cursor } = row
  if (stored === null || nextAt === null) return undefined
  const trigger = parse(row)
  // One that cannot be read is the planner's to tell of.
  if (Result.isFailure(trigger) || trigger.success.kind !== "cron") return undefined
  const { cron } = trigger.success
  const own = stamp(cron.clock, nextAt)
  if (own === null || !disagree(stored, own)) return undefined
  const after = renamed(slotsOf(trigger.success, row.createdAt), cron, { cursor, nextAt, stored })
  if (after !== nextAt)
    events.publish({ kind: "zoneData", scheduleId: row.id, stored, own, before: nextAt, after })
  return {
    scheduleId: row.id,
    version: row.version,
    cursor,
    nextAt: after,
    waitsUntil: row.waitsUntil,
    cancelRunId: null,
    occurrences: [],
    runs: [],
    lastRunId: null,
    zoneData: stamp(cron.clock, after ?? nextAt),
  }
}

const chunks = <A>(rows: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(rows.length / chunkMax) }, (_, index) =>
    rows.slice(index * chunkMax, (index + 1) * chunkMax),
  )

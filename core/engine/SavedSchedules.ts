// What an engine does with schedules before it plans any: saves those of its config, removes those that the config
// had before and has no longer, and names next instants anew where its zone data disagree with what named them, or
// where a calendar that they keep to has changed.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { InvalidSchedule, StoreError } from "../domain/Errors.ts"
import type { NewSchedule, PutSchedule, ScheduleRow } from "../domain/Schedule.ts"
import type { Events } from "../observe/Event.ts"
import { RunStore, ScheduleStore, StoreInfo } from "../ports/Store.ts"
import type { Fire } from "../ports/StoreDriver.ts"
import { firstAt, nextOf } from "../trigger/Occurrences.ts"
import { standingStill } from "../trigger/PlannedStep.ts"
import { slotsOf } from "../trigger/Slots.ts"
import type { ParseTrigger } from "../trigger/Triggers.ts"
import type { SavedCalendars } from "./SavedCalendars.ts"
import { disagree, makeZoneStamp, renamed, type ZoneSource, type ZoneStamp } from "../trigger/ZoneData.ts"

// Rows in one write.
const chunkMax = 1000

/** Saves the config's schedules, and brings all that are stored up to date with zone data and calendars. */
export const saveSchedules = (
  schedules: ReadonlyArray<NewSchedule>,
  { zones, calendars, parse, parseOwn, events }: Parsing,
): Effect.Effect<void, StoreError | InvalidSchedule, ScheduleStore | RunStore | StoreInfo> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const info = yield* StoreInfo
    const stamp = makeZoneStamp(zones)
    const known = yield* store.schedules()
    const place = { known, parse: parseOwn, now: yield* info.now }
    const rows = yield* Effect.fromResult(makeRowsOf(zones)(schedules, place))
    for (const some of chunks(rows)) yield* store.putSchedules(some)
    const wanted = new Set(schedules.map(({ id }) => id))
    const stored = yield* store.schedules()
    const gone = stored.filter(({ id, fromConfig }) => fromConfig && !wanted.has(id))
    for (const some of chunks(gone)) yield* store.deleteSchedules(some.map(({ id }) => id))
    const left = stored.filter(({ id, fromConfig }) => !fromConfig || wanted.has(id))
    const steps: Array<Fire> = []
    const moved = new Map<string, number>()
    for (const row of left) {
      const named = [row.trigger.only, row.trigger.except].filter((name) => name !== undefined)
      const isPlacedAnew = named.some((name) => calendars.changed.has(name))
      const step = isPlacedAnew ? yield* placeNext(row, parse) : renameNext(row, parse, stamp, events)
      if (step === undefined) continue
      steps.push(step)
      for (const name of isPlacedAnew ? new Set(named) : []) moved.set(name, (moved.get(name) ?? 0) + 1)
    }
    // A conflict means that somebody else was first, which is as good.
    for (const some of chunks(steps)) yield* store.fire(some)
    for (const each of calendars.news)
      events.publish({ kind: "calendar", ...each, schedules: moved.get(each.name) ?? 0 })
    yield* calendars.prune(left)
  })

/** Schedules as a store takes them: where those begin that are new, or say another time than before. */
export type RowsOf = (
  schedules: ReadonlyArray<NewSchedule>,
  place: {
    /** Those that are stored. */
    readonly known: ReadonlyArray<Pick<ScheduleRow, "id" | "createdAt">>
    readonly parse: ParseTrigger
    /** By the store's clock. */
    readonly now: number
  },
) => Result.Result<ReadonlyArray<PutSchedule>, InvalidSchedule>

/** With the zone data of this host. */
export const makeRowsOf = (zones: ZoneSource): RowsOf => {
  const stamp = makeZoneStamp(zones)
  return (schedules, { known, parse, now }) =>
    Result.gen(function* () {
      const ages = new Map(known.map(({ id, createdAt }) => [id, createdAt]))
      const rows: Array<PutSchedule> = []
      for (const schedule of schedules) {
        const trigger = yield* parse(schedule)
        // The age of one that is there stays, and a fixed rate counts from it: edited, it must not start at once.
        const createdAt = ages.get(schedule.id) ?? now
        const nextAt = firstAt(trigger, createdAt, now)
        const zoneData = trigger.kind === "cron" ? stamp(trigger.cron.clock, nextAt ?? now) : null
        rows.push({ ...schedule, cursor: now - 1, nextAt, zoneData, createdAt })
      }
      return rows
    })
}

/** How stored triggers are read, and where what has changed is told. */
export interface Parsing {
  readonly zones: ZoneSource
  readonly calendars: SavedCalendars
  readonly parse: ParseTrigger
  /** Those of the config, which may not name what is no longer in it. */
  readonly parseOwn: ParseTrigger
  readonly events: Events
}

/** The step that gives a schedule the next instant that its calendars leave it now; none where it is the same. */
const placeNext = Effect.fnUntraced(function* (row: ScheduleRow, parse: ParseTrigger) {
  const trigger = parse(row)
  if (Result.isFailure(trigger) || (row.nextAt === null && row.waitsUntil !== null)) return undefined
  const store = yield* RunStore
  const needsEnd = trigger.success.kind === "after" && row.lastRunId !== null
  const [last] = needsEnd ? yield* store.get([row.lastRunId ?? ""]) : []
  const nextAt = nextOf(row, trigger.success, last?.endedAt ?? null)
  return nextAt === row.nextAt ? undefined : { ...standingStill(row), nextAt }
})

/** The step that gives a schedule the next instant of our zone data; none where they agree with what is stored. */
const renameNext = (
  row: ScheduleRow,
  parse: ParseTrigger,
  stamp: ZoneStamp,
  events: Events,
): Fire | undefined => {
  const { nextAt, zoneData: stored, cursor } = row
  if (stored === null || nextAt === null) return undefined
  const trigger = parse(row)
  // One that cannot be read is the planner's to tell of.
  if (Result.isFailure(trigger) || trigger.success.kind !== "cron") return undefined
  const { cron, place } = trigger.success
  const own = stamp(cron.clock, nextAt)
  if (own === null || !disagree(stored, own)) return undefined
  const slots = slotsOf(trigger.success, row)
  const after = place === undefined ? renamed(slots, cron, { cursor, nextAt, stored }) : slots.next(cursor)
  if (after !== nextAt)
    events.publish({ kind: "zoneData", scheduleId: row.id, stored, own, before: nextAt, after })
  return { ...standingStill(row), nextAt: after, zoneData: stamp(cron.clock, after ?? nextAt) }
}

const chunks = <A>(rows: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(rows.length / chunkMax) }, (_, index) =>
    rows.slice(index * chunkMax, (index + 1) * chunkMax),
  )

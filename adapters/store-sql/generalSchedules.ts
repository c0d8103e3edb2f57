// The general way of the operations on schedules and calendars that each database of this folder has statements of its
// own for.
import type { DueSchedule, ScheduleRow } from "../../core/domain/Schedule.ts"
import type { ScheduleStoreDriver } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkFires, checkLimit, pageMax } from "../../core/ports/StoreLimits.ts"
import { fireOne } from "./fire.ts"
import type { RunGeneral } from "./GeneralStore.ts"
import { nothing, type Sql, wait } from "./Sql.ts"
import { dueSchedule, scheduleRow, type StoreTables } from "./StoreTables.ts"

/** The operations that `makeOperations` leaves to the database. */
type General = Pick<
  ScheduleStoreDriver,
  | "schedules"
  | "dueSchedules"
  | "nextScheduleAt"
  | "fire"
  | "occurrences"
  | "putCalendars"
  | "calendars"
  | "deleteCalendars"
>

const repeatable = { repeatable: true }

const ascending = <A>(rows: ReadonlyArray<A>, keyOf: (row: A) => string): ReadonlyArray<A> =>
  [...rows].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : keyOf(a) > keyOf(b) ? 1 : 0))

/** Makes them. */
export const generalSchedules = (run: RunGeneral): General => ({
  schedules: () => run((_, tables) => schedules(tables), repeatable),
  dueSchedules: (limit) => {
    checkLimit(limit, batchMax)
    return run((_, tables) => dueSchedules(tables, limit), repeatable)
  },
  nextScheduleAt: () => run((_, tables) => wait(tables.schedules.nextAt()), repeatable),
  fire: (fires) => {
    checkFires(fires)
    return run(function* (work) {
      const answers: Array<"fired" | "conflict"> = []
      for (const fire of fires) answers.push(yield* fireOne(work, fire))
      return answers
    })
  },
  occurrences: ({ scheduleId = null, before = Number.MAX_SAFE_INTEGER, limit }) => {
    checkLimit(limit, pageMax)
    const filter = { scheduleId, before, limit }
    return run((_, tables) => wait(tables.schedules.occurrences(filter)), repeatable)
  },
  putCalendars: (rows) => {
    checkBatch("calendars", rows)
    return run((_, { calendars }) => (rows.length === 0 ? nothing : wait(calendars.put(rows))))
  },
  calendars: () =>
    run(function* (_, { calendars }) {
      return ascending(yield* wait(calendars.all()), ({ name }) => name)
    }, repeatable),
  deleteCalendars: (names) => {
    checkBatch("names", names)
    return run((_, { calendars }) => (names.length === 0 ? nothing : wait(calendars.remove(names))))
  },
})

function* schedules(tables: StoreTables): Sql<ReadonlyArray<ScheduleRow>> {
  return ascending(yield* wait(tables.schedules.all()), ({ id }) => id).map(scheduleRow)
}

function* dueSchedules(tables: StoreTables, limit: number): Sql<ReadonlyArray<DueSchedule>> {
  const ready = yield* wait(tables.schedules.waiting(limit))
  const come =
    ready.length < limit ? yield* wait(tables.schedules.due(tables.now(), limit - ready.length)) : []
  return [...ready, ...come].map(dueSchedule)
}

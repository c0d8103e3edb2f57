// The ledger of all schedules, and the calendars that they keep to.
import { asc, eq, sql } from "drizzle-orm"
import type { Occurrence } from "../../../core/domain/Schedule.ts"
import type { CalendarRow } from "../../../core/ports/StoreDriver.ts"
import { checkBatch, checkLimit, pageMax } from "../../../core/ports/StoreLimits.ts"
import { decodeOccurrence } from "../rows.ts"
import { calendars } from "./schema.ts"
import type { Session } from "./Session.ts"
import { at, build, prepare } from "./Statement.ts"

/** The part of a store that shows the ledger and keeps calendars. */
export const makeLedger = ({ database, transaction }: Session) => {
  const ledger = (condition: ReturnType<typeof sql>) =>
    prepare(
      database,
      sql`select o.*, t.text as trigger from occurrences as o left join triggers as t on t.id = o.trigger_id
        where ${condition} o.at < ${at("before")} order by o.at desc limit ${at("limit")}`,
    )
  const ofOne = ledger(sql`o.schedule_id = ${at("scheduleId")} and`)
  const ofAll = ledger(sql``)
  const values = { definition: at<string>("definition"), fromConfig: at<number>("fromConfig") }
  const put = prepare(
    database,
    build
      .insert(calendars)
      .values({ name: at<string>("name"), ...values })
      .onConflictDoUpdate({ target: calendars.name, set: values }),
  )
  const all = prepare(database, build.select().from(calendars).orderBy(asc(calendars.name)))
  const remove = prepare(database, build.delete(calendars).where(eq(calendars.name, at("name"))))

  return {
    occurrences: (filter: {
      readonly scheduleId?: string
      readonly before?: number
      readonly limit: number
    }): ReadonlyArray<Occurrence> => {
      checkLimit(filter.limit, pageMax)
      const page = { before: filter.before ?? Number.MAX_SAFE_INTEGER, limit: filter.limit }
      const rows =
        filter.scheduleId === undefined
          ? ofAll.all(page)
          : ofOne.all({ ...page, scheduleId: filter.scheduleId })
      return rows.map(decodeOccurrence)
    },
    putCalendars: (rows: ReadonlyArray<CalendarRow>): void => {
      checkBatch("calendars", rows)
      transaction(() => rows.forEach((row) => put.run({ ...row, fromConfig: row.fromConfig ? 1 : 0 })))
    },
    calendars: (): ReadonlyArray<CalendarRow> =>
      all.all().map((row) => ({
        name: row["name"] as string,
        definition: row["definition"] as string,
        fromConfig: row["from_config"] === 1,
      })),
    deleteCalendars: (names: ReadonlyArray<string>): void => {
      checkBatch("names", names)
      transaction(() => names.forEach((name) => remove.run({ name })))
    },
  }
}

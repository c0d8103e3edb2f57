// Records in the file.
import { and, eq, gte, lt, sql } from "drizzle-orm"
import type { RecordRow } from "../../../core/ports/StoreDriver.ts"
import { decodeRecord, decodeRecordKept } from "../records.ts"
import type { RecordTable } from "../StoreTables.ts"
import type { Database } from "./Database.ts"
import { records } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

/** The table of an open file. */
export const makeRecordTable = (database: Database): RecordTable => {
  const isIt = and(eq(records.kind, at("kind")), eq(records.id, at("id")))
  const find = prepare(
    database,
    build
      .select({
        kind: records.kind,
        id: records.id,
        version: records.version,
        expires_at: records.expiresAt,
      })
      .from(records)
      .where(isIt),
  )
  const insert = prepare(
    database,
    build.insert(records).values({
      kind: at("kind"),
      id: at("id"),
      version: at("version"),
      updatedAt: at("updatedAt"),
      expiresAt: at("expiresAt"),
      body: at("body"),
    } as unknown as typeof records.$inferInsert),
  )
  const update = prepare(
    database,
    build
      .update(records)
      .set({
        version: at<number>("version"),
        updatedAt: at<number>("updatedAt"),
        expiresAt: at<number>("expiresAt"),
        body: at<string>("body"),
      })
      .where(isIt),
  )
  const remove = prepare(database, build.delete(records).where(isIt))
  const page = (order: "asc" | "desc") =>
    prepare(
      database,
      build
        .select()
        .from(records)
        .where(
          and(
            eq(records.kind, at("kind")),
            gte(records.id, at("from")),
            lt(records.id, at("below")),
            sql`(expires_at is null or expires_at > ${at("now")})`,
          ),
        )
        .orderBy(sql`id ${sql.raw(order)}`)
        .limit(at<number>("limit") as never),
    )
  const pages = { ascending: page("asc"), descending: page("desc") }
  const removeExpired = prepare(
    database,
    sql`delete from records where seq in (select seq from records indexed by records_expiring
      where expires_at is not null and expires_at <= ${at("now")} order by expires_at limit ${at("limit")})`,
  )
  const each = (statement: typeof insert) => (rows: ReadonlyArray<RecordRow>) =>
    rows.forEach((row) => statement.run({ ...row }))
  return {
    lock: (keys) => keys.flatMap((key) => find.all({ ...key })).map(decodeRecordKept),
    add: each(insert),
    replace: each(update),
    remove: (kind, ids) => ids.forEach((id) => remove.run({ kind, id })),
    page: ({ kind, from, below, isAscending, limit }, now) =>
      pages[isAscending ? "ascending" : "descending"]
        .all({ kind, from, below, now, limit })
        .map(decodeRecord),
    removeExpired: (now, limit) => removeExpired.run({ now, limit }),
  }
}

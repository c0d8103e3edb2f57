// Records in PostgreSQL, as one transaction sees them.
import type { RecordRow } from "../../../core/ports/StoreDriver.ts"
import { decodeRecord, decodeRecordKept } from "../records.ts"
import type { RecordTable } from "../StoreTables.ts"
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, batch, literal, prepare, sql } from "./Statement.ts"

/** The statements of records. */
export type RecordStatements = ReturnType<typeof compileRecords>

/** Compiles them. */
export const compileRecords = ({ records }: Tables) => {
  const keys = batch({ kind: "text", id: "text" })
  const rows = batch({
    kind: "text",
    id: "text",
    body: "text",
    version: "bigint",
    updatedAt: "bigint",
    expiresAt: "bigint",
  })
  const page = (order: "asc" | "desc") =>
    prepare(sql`select * from ${records} where kind = ${at("kind", "text")} and id >= ${at("from", "text")}
      and id < ${at("below", "text")} and (expires_at is null or expires_at > ${at("now", "bigint")})
      order by id ${sql.raw(order)} limit ${at("limit", "integer")}`)
  return {
    keys,
    rows,
    // Whoever waited for a row reads it as it is then.
    lock: prepare(sql`select r.kind, r.id, r.version, r.expires_at from ${keys.given}
      join ${records} as r on r.kind = given.kind and r.id = given.id order by place for update of r`),
    // No "on conflict": a row that somebody else has stored meanwhile ends the transaction, which then finds it.
    add: prepare(sql`insert into ${records} (kind, id, body, version, updated_at, expires_at)
      select kind, id, body, version, "updatedAt", "expiresAt" from ${rows.given} order by place`),
    replace: prepare(sql`update ${records} as r set body = given.body, version = given.version,
      updated_at = given."updatedAt", expires_at = given."expiresAt" from ${rows.given}
      where r.kind = given.kind and r.id = given.id`),
    remove: prepare(
      sql`delete from ${records} where kind = ${at("kind", "text")} and id = any(${at("ids", "text[]")})`,
    ),
    pages: { ascending: page("asc"), descending: page("desc") },
    removeExpired: prepare(sql`delete from ${records} where ctid = any(array(select ctid from ${records}
      where expires_at is not null and expires_at <= ${at("now", "bigint")}
      order by expires_at limit ${at("limit", "integer")} for update skip locked)) returning id`),
  }
}

/** The table, over a connection or a transaction. */
export const recordTable = (statements: RecordStatements, queryable: Queryable): RecordTable => {
  const valuesOf = (rows: ReadonlyArray<RecordRow>) => statements.rows.values(rows.map((row) => ({ ...row })))
  return {
    lock: async (keys) =>
      (await statements.lock(queryable, statements.keys.values(keys.map((key) => ({ ...key }))))).map(
        decodeRecordKept,
      ),
    add: async (rows) => void (await statements.add(queryable, valuesOf(rows))),
    replace: async (rows) => void (await statements.replace(queryable, valuesOf(rows))),
    remove: async (kind, ids) => void (await statements.remove(queryable, { kind, ids: literal(ids) })),
    page: async ({ kind, from, below, isAscending, limit }, now) =>
      (
        await statements.pages[isAscending ? "ascending" : "descending"](queryable, {
          kind,
          from,
          below,
          now,
          limit,
        })
      ).map(decodeRecord),
    removeExpired: async (now, limit) => (await statements.removeExpired(queryable, { now, limit })).length,
  }
}

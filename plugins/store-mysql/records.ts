// Records in MySQL, as one transaction sees them.
import { decodeRecord, decodeRecordKept, type RecordRow, type RecordTable } from "uhrwerk/sql"
import type { Queryable, Value } from "./Connection.ts"
import { insertRows, pieces, withRows } from "./Statement.ts"

const columns = ["kind", "id", "version", "updated_at", "expires_at", "body"]

// Characters of the bodies of one statement, each of which may become six bytes.
const textMax = 300_000

/** The table, over a connection or a transaction. */
export const recordTable = (queryable: Queryable): RecordTable => ({
  // Row by row along the key, in the order that is given; in read committed nothing but these rows is locked.
  lock: async (keys) => {
    const rows = []
    for (const some of pieces(keys))
      rows.push(
        ...(await queryable.read(
          `select kind, id, version, expires_at from records force index (primary)
            where (kind, id) in (?) order by kind, id for update`,
          [some.map(({ kind, id }) => [kind, id])],
        )),
      )
    return rows.map(decodeRecordKept)
  },
  // A row that somebody else has stored meanwhile ends the transaction, which then finds it.
  add: (rows) =>
    insertRows(queryable, `insert into records (${columns.join(", ")}) values ?`, rows.map(valuesOf)),
  replace: async (rows) => {
    for (const some of byLength(rows))
      await withRows(
        queryable,
        columns,
        some.map(valuesOf),
        (given) => `update records as r join ${given} on r.kind = given.kind and r.id = given.id
          set r.version = given.version, r.updated_at = given.updated_at, r.expires_at = given.expires_at,
            r.body = given.body`,
      )
  },
  remove: async (kind, ids) =>
    void (await queryable.change("delete from records where kind = ? and id in (?)", [kind, ids])),
  page: async ({ kind, from, below, isAscending, limit }, now) =>
    (
      await queryable.read(
        `select * from records force index (primary) where kind = ? and id >= ? and id < ?
          and (expires_at is null or expires_at > ?) order by id ${isAscending ? "asc" : "desc"} limit ?`,
        [kind, from, below, now, limit],
      )
    ).map(decodeRecord),
  // Found first and locked by their key: two who prune pass over each other's, and wait for nobody who puts one.
  removeExpired: async (now, limit) => {
    const rows = await queryable.read(
      `select kind, id from records force index (records_expiring)
        where expires_at <= ? order by expires_at limit ? for update skip locked`,
      [now, limit],
    )
    for (const some of pieces(rows.map((row) => [row["kind"] as string, row["id"] as string])))
      await queryable.change("delete from records where (kind, id) in (?)", [some])
    return rows.length
  },
})

const valuesOf = ({ kind, id, version, updatedAt, expiresAt, body }: RecordRow): ReadonlyArray<Value> => [
  kind,
  id,
  version,
  updatedAt,
  expiresAt,
  body,
]

/** In pieces that fit into a statement. */
const byLength = (rows: ReadonlyArray<RecordRow>): ReadonlyArray<ReadonlyArray<RecordRow>> => {
  const all: Array<Array<RecordRow>> = []
  let length = textMax
  for (const row of rows) {
    if (length + row.body.length > textMax) {
      all.push([])
      length = 0
    }
    all.at(-1)?.push(row)
    length += row.body.length
  }
  return all
}

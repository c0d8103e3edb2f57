// Records over a table of them: what a put finds decides what it does, and that is the same for all databases.
import {
  type PutRecord,
  recordRange,
  type RecordRow,
  type RecordStoreDriver,
} from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, checkRecord } from "../../core/ports/StoreLimits.ts"
import type { TransactionOf } from "./GeneralStore.ts"
import type { Row } from "./rows.ts"
import { done, type Sql, wait } from "./Sql.ts"
import type { RecordKept, RecordKey, RecordTable } from "./StoreTables.ts"

/** What the operations on records need of a transaction. */
export interface RecordTables {
  readonly records: RecordTable
  /** The store's now. */
  readonly now: () => number
}

/**
 * Makes the operations. `run` drives logic in a transaction; `read`, where it is cheaper, outside one: it only asks for
 * one page.
 */
export const makeRecords = (
  run: TransactionOf<RecordTables>,
  read: TransactionOf<RecordTables> = run,
): RecordStoreDriver => ({
  putRecords: (records) => {
    checkBatch("records", records)
    for (const record of records) checkRecord(record)
    return records.length === 0 ? [] : run((tables) => putAll(tables, records))
  },
  records: (filter) => {
    const { kind, order, limit } = filter
    checkLimit(limit, batchMax)
    const range = { kind, ...recordRange(filter), isAscending: order === "ascending", limit }
    return read(({ records, now }) => wait(records.page(range, now())), repeatable)
  },
  deleteRecords: (kind, ids) => {
    checkBatch("ids", ids)
    return run((tables) => deleteAll(tables, kind, [...new Set(ids)]))
  },
  // Repeatable: what is back after a power failure has still expired.
  pruneRecords: (limit) => {
    checkLimit(limit, batchMax)
    return run(({ records, now }) => wait(records.removeExpired(now(), limit)), repeatable)
  },
})

const repeatable = { repeatable: true }

function* putAll(
  { records, now }: RecordTables,
  given: ReadonlyArray<PutRecord>,
): Sql<ReadonlyArray<number>> {
  // In the order of their keys: two who put the same ones do not wait for each other in a circle.
  const keys = [...new Map(given.map(({ kind, id }) => [nameOf({ kind, id }), { kind, id }])).values()].sort(
    (a, b) => (nameOf(a) < nameOf(b) ? -1 : 1),
  )
  const kept = new Map((yield* wait(records.lock(keys))).map((row) => [nameOf(row), row]))
  const updatedAt = now()
  const changed = new Map<string, RecordRow>()
  const versions = given.map(({ expected, ...record }) => {
    const name = nameOf(record)
    const version = versionAt(changed.get(name) ?? kept.get(name), updatedAt)
    if (expected !== null && expected !== version) return 0
    changed.set(name, { ...record, version: version + 1, updatedAt })
    return version + 1
  })
  const rows = keys.flatMap((key) => changed.get(nameOf(key)) ?? [])
  const isKept = (row: RecordRow): boolean => kept.has(nameOf(row))
  const replaced = rows.filter(isKept)
  const added = rows.filter((row) => !isKept(row))
  if (replaced.length > 0) yield* wait(records.replace(replaced))
  if (added.length > 0) yield* wait(records.add(added))
  return versions
}

function* deleteAll({ records, now }: RecordTables, kind: string, ids: ReadonlyArray<string>): Sql<number> {
  if (ids.length === 0) return yield* done(0)
  const kept = yield* wait(records.lock([...ids].sort().map((id) => ({ kind, id }))))
  if (kept.length === 0) return 0
  yield* wait(
    records.remove(
      kind,
      kept.map(({ id }) => id),
    ),
  )
  return kept.filter((row) => versionAt(row, now()) > 0).length
}

// A kind has no space in it.
const nameOf = ({ kind, id }: RecordKey): string => `${kind} ${id}`

const versionAt = (row: Omit<RecordKept, keyof RecordKey> | undefined, now: number): number =>
  row === undefined || (row.expiresAt !== null && row.expiresAt <= now) ? 0 : row.version

/** A record of its row. */
export const decodeRecord = (row: Row): RecordRow => ({
  kind: row["kind"] as string,
  id: row["id"] as string,
  body: row["body"] as string,
  expiresAt: row["expires_at"] as number | null,
  version: row["version"] as number,
  updatedAt: row["updated_at"] as number,
})

/** What a put reads of a record that is stored. */
export const decodeRecordKept = (row: Row): RecordKept => ({
  kind: row["kind"] as string,
  id: row["id"] as string,
  expiresAt: row["expires_at"] as number | null,
  version: row["version"] as number,
})

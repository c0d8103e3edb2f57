// Records: small things of whoever stands on the engine, by kind and id.
import type { RecordRow, RecordTable } from "uhrwerk/sql"
import { pair, type Rows } from "./rows.ts"

const hasExpired = ({ expiresAt }: RecordRow, now: number): boolean => expiresAt !== null && expiresAt <= now

/** Makes the table of an open database. */
export const makeRecordTable = ({ records }: Rows): RecordTable => ({
  // A database with several clients locks the rows here, in this order (`select ... for update`). Its `add` is a plain
  // `insert`: where another client was faster, it fails, and the transaction is driven again.
  lock: (keys) => records.some(keys.map(({ kind, id }) => pair(kind, id))),
  add: (added) => added.forEach((row) => records.put(row)),
  replace: (changed) => changed.forEach((row) => records.put(row)),
  remove: (kind, ids) => ids.forEach((id) => records.remove(pair(kind, id))),
  // Index: kind and id, unique; compared byte by byte (`collate "C"`).
  page: ({ kind, from, below, isAscending, limit }, now) => {
    const page = records
      .where((row) => row.kind === kind && row.id >= from && row.id < below && !hasExpired(row, now))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    return (isAscending ? page : page.reverse()).slice(0, limit)
  },
  // Index: `expiresAt` of those that have one.
  removeExpired: (now, limit) => {
    const expired = records.where((row) => hasExpired(row, now)).slice(0, limit)
    expired.forEach(({ kind, id }) => records.remove(pair(kind, id)))
    return expired.length
  },
})

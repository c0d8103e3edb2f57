// The records of the memory store: of each kind a map, and its ids in order.
import {
  type PutRecord,
  type RecordFilter,
  recordRange,
  type RecordRow,
} from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, checkRecord } from "../../core/ports/StoreLimits.ts"
import { IdList } from "./IdList.ts"

interface Kind {
  readonly rows: Map<string, RecordRow>
  readonly ids: IdList
}

/** The operations that keep records. */
export const makeRecords = (clock: () => number) => {
  const kinds = new Map<string, Kind>()
  const isThere = (row: RecordRow | undefined, now: number): row is RecordRow =>
    row !== undefined && (row.expiresAt === null || row.expiresAt > now)

  const kindOf = (name: string): Kind => {
    let kind = kinds.get(name)
    if (kind === undefined) kinds.set(name, (kind = { rows: new Map(), ids: new IdList() }))
    return kind
  }
  const put = ({ expected, ...record }: PutRecord, now: number): number => {
    const { rows, ids } = kindOf(record.kind)
    const row = rows.get(record.id)
    const version = isThere(row, now) ? row.version : 0
    if (expected !== null && expected !== version) return 0
    if (row === undefined) ids.add(record.id)
    rows.set(record.id, { ...record, version: version + 1, updatedAt: now })
    return version + 1
  }
  const remove = ({ rows, ids }: Kind, gone: ReadonlyArray<string>): void => {
    for (const id of gone) rows.delete(id)
    ids.removeAll(gone)
  }
  return {
    putRecords: (records: ReadonlyArray<PutRecord>): ReadonlyArray<number> => {
      checkBatch("records", records)
      for (const record of records) checkRecord(record)
      const now = clock()
      return records.map((record) => put(record, now))
    },

    records: (filter: RecordFilter): ReadonlyArray<RecordRow> => {
      checkLimit(filter.limit, batchMax)
      const kind = kinds.get(filter.kind)
      if (kind === undefined) return []
      const now = clock()
      const { from, below } = recordRange(filter)
      const isAscending = filter.order === "ascending"
      const page: Array<RecordRow> = []
      for (const id of isAscending ? kind.ids.oldestFirst(from) : kind.ids.newestFirst(below)) {
        if (page.length >= filter.limit || (isAscending ? id >= below : id < from)) break
        const row = kind.rows.get(id)
        if (isThere(row, now)) page.push(row)
      }
      return page
    },

    deleteRecords: (name: string, ids: ReadonlyArray<string>): number => {
      checkBatch("ids", ids)
      const kind = kinds.get(name)
      if (kind === undefined) return 0
      const now = clock()
      const known = [...new Set(ids)].filter((id) => kind.rows.has(id))
      const count = known.filter((id) => isThere(kind.rows.get(id), now)).length
      remove(kind, known)
      return count
    },

    pruneRecords: (limit: number): number => {
      checkLimit(limit, batchMax)
      const now = clock()
      let count = 0
      for (const kind of kinds.values()) {
        const expired: Array<string> = []
        for (const [id, row] of kind.rows) {
          if (count + expired.length >= limit) break
          if (!isThere(row, now)) expired.push(id)
        }
        remove(kind, expired)
        count += expired.length
      }
      return count
    },
  }
}

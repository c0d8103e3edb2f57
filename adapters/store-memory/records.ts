// The records of the memory store.
import type { PutRecord, RecordFilter, RecordRow } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, checkRecord } from "../../core/ports/StoreLimits.ts"

/** The operations that keep records. */
export const makeRecords = (clock: () => number) => {
  const kinds = new Map<string, Map<string, RecordRow>>()
  // Sorted when somebody reads, and kept until an id comes or goes.
  const sorted = new Map<string, ReadonlyArray<string>>()
  const isThere = (row: RecordRow | undefined, now: number): row is RecordRow =>
    row !== undefined && (row.expiresAt === null || row.expiresAt > now)
  const remove = (kind: string, id: string): boolean => {
    sorted.delete(kind)
    return kinds.get(kind)?.delete(id) ?? false
  }
  const put = ({ kind, id, body, expiresAt, expected }: PutRecord, now: number): number => {
    let rows = kinds.get(kind)
    if (rows === undefined) kinds.set(kind, (rows = new Map<string, RecordRow>()))
    const row = rows.get(id)
    const version = isThere(row, now) ? row.version : 0
    if (expected !== null && expected !== version) return 0
    if (row === undefined) sorted.delete(kind)
    rows.set(id, { kind, id, body, expiresAt, version: version + 1, updatedAt: now })
    return version + 1
  }
  const idsOf = (kind: string): ReadonlyArray<string> => {
    const known = sorted.get(kind)
    if (known !== undefined) return known
    const ids = [...(kinds.get(kind)?.keys() ?? [])].sort()
    sorted.set(kind, ids)
    return ids
  }
  return {
    putRecords: (records: ReadonlyArray<PutRecord>): ReadonlyArray<number> => {
      checkBatch("records", records)
      for (const record of records) checkRecord(record)
      const now = clock()
      return records.map((record) => put(record, now))
    },

    records: ({ kind, prefix = "", after, before, order, limit }: RecordFilter): ReadonlyArray<RecordRow> => {
      checkLimit(limit, batchMax)
      const now = clock()
      const rows = kinds.get(kind)
      const ids = idsOf(kind)
      const page: Array<RecordRow> = []
      // From the first that may count, in the order that is asked for.
      const step = order === "ascending" ? 1 : -1
      const isPast = (id: string): boolean =>
        order === "ascending"
          ? (before !== undefined && id >= before) || (id > prefix && !id.startsWith(prefix))
          : (after !== undefined && id <= after) || id < prefix
      const isBefore = (id: string): boolean =>
        order === "ascending"
          ? id < prefix || (after !== undefined && id <= after)
          : (before !== undefined && id >= before) || (id > prefix && !id.startsWith(prefix))
      for (let place = firstOf(ids, step, isBefore); place >= 0 && place < ids.length; place += step) {
        const id = ids[place] ?? ""
        if (page.length >= limit || isPast(id)) break
        const row = rows?.get(id)
        if (isThere(row, now)) page.push(row)
      }
      return page
    },

    deleteRecords: (kind: string, ids: ReadonlyArray<string>): number => {
      checkBatch("ids", ids)
      const now = clock()
      return ids.filter((id) => {
        const there = isThere(kinds.get(kind)?.get(id), now)
        remove(kind, id)
        return there
      }).length
    },

    pruneRecords: (limit: number): number => {
      checkLimit(limit, batchMax)
      const now = clock()
      let count = 0
      for (const [kind, rows] of kinds)
        for (const row of rows.values()) {
          if (count >= limit) return count
          if (row.expiresAt === null || row.expiresAt > now) continue
          remove(kind, row.id)
          count++
        }
      return count
    },
  }
}

/** The place of the first id, from one end, that does not lie before the page. */
const firstOf = (ids: ReadonlyArray<string>, step: number, isBefore: (id: string) => boolean): number => {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const id = ids[step > 0 ? middle : ids.length - 1 - middle] ?? ""
    if (isBefore(id)) low = middle + 1
    else high = middle
  }
  return step > 0 ? low : ids.length - 1 - low
}

// Who did what: a record for each request of an audited route, written before its answer is sent. Rows that wait at the
// same time are written together. When they cannot be written the request has been carried out all the same, so its answer
// says so, and whoever runs the server hears of it.
import { makeIds } from "../../../core/domain/Ids.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { Caller } from "../api/Handler.ts"
import { inTime } from "../inTime.ts"

/** A row of the audit, as `listAudit` answers it. */
export interface AuditView {
  /** A UUIDv7, so they sort by time. */
  readonly id: string
  /** By the store's clock, as the server knows it. */
  readonly at: number
  readonly actor: Pick<Caller, "kind" | "id" | "name">
  readonly address: string
  readonly route: string
  readonly params: Readonly<Record<string, string>>
  readonly status: number
  readonly code: string | null
  readonly replayed: boolean
  readonly detail: Readonly<Record<string, unknown>>
  readonly requestId: string
}

/** Writes the audit. */
export interface Audit {
  /** Resolves when the row is stored, or cannot be; never rejects. */
  readonly keep: (row: Omit<AuditView, "id" | "at">) => Promise<void>
}

/** What it takes to write it. */
export interface AuditParts {
  readonly store: { readonly putRecords: (...args: Parameters<StoreDriver["putRecords"]>) => unknown }
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly onFault: (doing: string, error: unknown) => void
}

/** The kind of the audit's records. */
export const auditKind = "audit"
/** How long a row is kept: 90 days. */
export const auditMillis = 90 * 86_400_000
/** The most characters of what a route adds to its row, as JSON; more is left out, and said to be. */
export const detailMax = 16_384
const textMax = 255
// Of a batch, so that it has an end and the store is not held for long.
const batchMax = 100
const writeMillisMax = 5_000

/** Starts to write. */
export const makeAudit = ({ store, now, onFault }: AuditParts): Audit => {
  const nextId = makeIds(now, () => Math.floor(Math.random() * 2 ** 32))
  let waiting: Array<{ readonly row: AuditView; readonly done: () => void }> = []
  let writing = false
  const write = async (): Promise<void> => {
    if (writing) return
    writing = true
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax)
      waiting = waiting.slice(batchMax)
      const records = batch.map(({ row: { id, ...body } }) => ({
        kind: auditKind,
        id,
        body: JSON.stringify(body),
        expiresAt: body.at + auditMillis,
        expected: null,
      }))
      try {
        await inTime(Promise.resolve(store.putRecords(records)), writeMillisMax, () => new Error("no answer"))
      } catch (error) {
        const requests = batch.slice(0, 10).map(({ row }) => `${row.route} (request ${row.requestId})`)
        onFault(`keep in the audit ${batch.length} requests, such as ${requests.join(", ")}`, error)
      }
      for (const { done } of batch) done()
    }
    writing = false
  }
  return {
    keep: (row) =>
      new Promise((done) => {
        waiting.push({ row: { id: nextId(), at: now(), ...bounded(row) }, done })
        void write()
      }),
  }
}

const bounded = ({ params, detail, ...row }: Omit<AuditView, "id" | "at">) => ({
  ...row,
  params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, value.slice(0, textMax)])),
  detail: JSON.stringify(detail).length > detailMax ? { leftOut: "it is too long" } : detail,
})

/** Which rows to read. */
export interface AuditFilter {
  /** The id or name of a key, or `local`. */
  readonly actor?: string
  readonly route?: string
  /** Epoch milliseconds: from this instant on. */
  readonly from?: number
  /** Before this instant. */
  readonly to?: number
  /** Only rows before this one. */
  readonly before?: string
  /** At most so many. */
  readonly limit: number
}

const scanSize = 500
const scansMax = 10

/** Rows, the latest first. `next`: where to go on, also if so many were passed over that there may be more. */
export const readAudit = async (
  store: Pick<StoreDriver, "records">,
  { actor, route, from, to, before, limit }: AuditFilter,
): Promise<{ readonly rows: ReadonlyArray<AuditView>; readonly next: string | null }> => {
  const isMeant = (row: AuditView): boolean =>
    (route === undefined || row.route === route) &&
    (actor === undefined || row.actor.id === actor || row.actor.name === actor)
  const rows: Array<AuditView> = []
  const upper = [before, to === undefined ? undefined : idAt(to)].filter((id) => id !== undefined).sort()
  let last = upper[0]
  for (let scan = 0; scan < scansMax; scan++) {
    const page = await store.records({
      kind: auditKind,
      order: "descending",
      limit: scanSize,
      ...(last === undefined ? {} : { before: last }),
      // Ids above one that is below all of that instant.
      ...(from === undefined ? {} : { after: idAt(from) }),
    })
    for (const { id, body } of page) {
      const row = { id, ...(JSON.parse(body) as Omit<AuditView, "id">) }
      last = id
      if (!isMeant(row)) continue
      rows.push(row)
      if (rows.length === limit) return { rows, next: id }
    }
    if (page.length < scanSize) return { rows, next: null }
  }
  return { rows, next: last ?? null }
}

/** Below all ids of this instant, and above those of the one before. */
const idAt = (millis: number): string => {
  const digits = Math.max(0, Math.min(Math.ceil(millis), 2 ** 48 - 1))
    .toString(16)
    .padStart(12, "0")
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

// The schedules of the memory store and their ledger: one row per schedule and instant, kept in order.
import type { Occurrence, ScheduleRow } from "../../core/domain/Schedule.ts"
import { Heap, type Placed } from "./Heap.ts"

/** The decided instants of one schedule. */
interface Ledger {
  readonly instants: Set<number>
  /** By instant, ascending. */
  rows: Array<Occurrence>
  /** When the first decision was made; none of them was made before. */
  oldest: number
}

/** A schedule with its place in the order of the next instants. */
interface Entry extends Placed {
  row: ScheduleRow
}

/** All schedules and occurrences. */
export class ScheduleTable {
  readonly #entries = new Map<string, Entry>()
  /** Those that are not paused and have a next instant, the earliest first. */
  readonly #next = new Heap<Entry>(firstDue)
  /** Those that are not paused and wait for the end of their last run. */
  readonly #waiting = new Set<Entry>()
  readonly #ledgers = new Map<string, Ledger>()

  get(id: string): ScheduleRow | undefined {
    return this.#entries.get(id)?.row
  }

  all(): ReadonlyArray<ScheduleRow> {
    return Array.from(this.#entries.values(), ({ row }) => row)
  }

  /** Puts a row in, or in the place of the one of its id. */
  put(row: ScheduleRow): void {
    const known = this.#entries.get(row.id)
    const entry = known ?? { row, place: -1, expiryPlace: -1 }
    if (known === undefined) this.#entries.set(row.id, entry)
    else this.#unqueue(entry)
    entry.row = row
    if (row.pausedAt !== null) return
    if (row.nextAt !== null) this.#next.push(entry)
    else if (row.waitsUntil !== null) this.#waiting.add(entry)
  }

  delete(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#unqueue(entry)
    this.#entries.delete(id)
  }

  #unqueue(entry: Entry): void {
    if (entry.place >= 0) this.#next.remove(entry)
    this.#waiting.delete(entry)
  }

  /** The earliest next instant of those that are not paused. */
  nextAt(): number | null {
    return this.#next.top?.row.nextAt ?? null
  }

  /** Those that wait, and those whose instant has come, the earliest first and at most `limit`. */
  due(now: number, limit: number): ReadonlyArray<ScheduleRow> {
    // Taken out in order and put back: only a fire ends their being due.
    const due: Array<Entry> = []
    for (let top = this.#next.top; top !== undefined && due.length < limit; top = this.#next.top) {
      if ((top.row.nextAt as number) > now) break
      this.#next.remove(top)
      due.push(top)
    }
    for (const entry of due) this.#next.push(entry)
    return [...this.#waiting, ...due].map(({ row }) => row)
  }

  /** Whether this instant of the schedule is decided. */
  isDecided(scheduleId: string, at: number): boolean {
    return this.#ledgers.get(scheduleId)?.instants.has(at) ?? false
  }

  /** The row of this instant. */
  decided(scheduleId: string, at: number): Occurrence | undefined {
    return this.isDecided(scheduleId, at)
      ? this.#ledgers.get(scheduleId)?.rows.find((row) => row.at === at)
      : undefined
  }

  /** Counts an instant out of the row that it shares with others: it gets one of its own. */
  countOut(scheduleId: string, at: number): void {
    const ledger = this.#ledgers.get(scheduleId)
    const place = ledger?.rows.findIndex((row) => row.count > 1 && row.at <= at && at <= row.lastAt) ?? -1
    const row = ledger?.rows[place]
    if (ledger === undefined || row === undefined) return
    // A row that begins with it begins a millisecond later.
    const from = row.at === at ? at + 1 : row.at
    ledger.instants.delete(row.at)
    ledger.instants.add(from)
    ledger.rows[place] = { ...row, at: from, count: row.count - 1 }
  }

  /** Puts a row in the place of one of the same instant. */
  replace(row: Occurrence): void {
    const rows = this.#ledgers.get(row.scheduleId)?.rows
    const place = rows?.findIndex(({ at }) => at === row.at) ?? -1
    if (rows !== undefined && place >= 0) rows[place] = row
  }

  /** Enters the decision about an instant that is not decided. */
  decide(occurrence: Occurrence): void {
    const { scheduleId, at } = occurrence
    let ledger = this.#ledgers.get(scheduleId)
    if (ledger === undefined)
      this.#ledgers.set(
        scheduleId,
        (ledger = { instants: new Set(), rows: [], oldest: Number.POSITIVE_INFINITY }),
      )
    ledger.instants.add(at)
    ledger.oldest = Math.min(ledger.oldest, occurrence.decidedAt)
    // Nearly always the latest, so the search from the end is short.
    let place = ledger.rows.length
    while (place > 0 && (ledger.rows[place - 1] as Occurrence).at > at) place--
    ledger.rows.splice(place, 0, occurrence)
  }

  /** The ledger of one schedule, or of all, newest first. */
  page(scheduleId: string | undefined, before: number, limit: number): ReadonlyArray<Occurrence> {
    if (scheduleId !== undefined) return latest(this.#ledgers.get(scheduleId), before, limit)
    const all = [...this.#ledgers.values()].flatMap((ledger) => latest(ledger, before, limit))
    return all.sort((a, b) => b.at - a.at).slice(0, limit)
  }

  /** Removes rows before the instant that were decided before it, and whose run `isThere` says is gone. */
  forgetOccurrences(before: number, isThere: (runId: string) => boolean): void {
    for (const [scheduleId, ledger] of this.#ledgers) {
      if (ledger.oldest >= before) continue
      const kept = ledger.rows.filter(
        ({ at, decidedAt, runId }) =>
          at >= before || decidedAt >= before || (runId !== null && isThere(runId)),
      )
      if (kept.length === 0) this.#ledgers.delete(scheduleId)
      else {
        const oldest = kept.reduce((least, row) => Math.min(least, row.decidedAt), Number.POSITIVE_INFINITY)
        this.#ledgers.set(scheduleId, { instants: new Set(kept.map((row) => row.at)), rows: kept, oldest })
      }
    }
  }

  /** The last runs of all schedules. */
  lastRunIds(): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const { row } of this.#entries.values()) if (row.lastRunId !== null) ids.add(row.lastRunId)
    return ids
  }
}

const firstDue = (a: Entry, b: Entry): boolean => {
  const [first, second] = [a.row.nextAt as number, b.row.nextAt as number]
  return first === second ? a.row.id < b.row.id : first < second
}

const latest = (ledger: Ledger | undefined, before: number, limit: number): ReadonlyArray<Occurrence> => {
  const page: Array<Occurrence> = []
  const rows = ledger?.rows ?? []
  for (let place = rows.length - 1; place >= 0 && page.length < limit; place--) {
    const row = rows[place] as Occurrence
    if (row.at < before) page.push(row)
  }
  return page
}

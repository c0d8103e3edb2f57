// The schedules of the memory store and their ledger: one row per schedule and instant, kept in order.
import type { Occurrence, ScheduleRow } from "../../core/domain/Schedule.ts"

/** The decided instants of one schedule. */
interface Ledger {
  readonly instants: Set<number>
  /** By instant, ascending. */
  rows: Array<Occurrence>
}

/** All schedules and occurrences. */
export class ScheduleTable {
  readonly rows = new Map<string, ScheduleRow>()
  readonly #ledgers = new Map<string, Ledger>()

  /** Whether this instant of the schedule is decided. */
  isDecided(scheduleId: string, at: number): boolean {
    return this.#ledgers.get(scheduleId)?.instants.has(at) ?? false
  }

  /** Enters the decision about an instant that is not decided. */
  decide(occurrence: Occurrence): void {
    const { scheduleId, at } = occurrence
    let ledger = this.#ledgers.get(scheduleId)
    if (ledger === undefined) this.#ledgers.set(scheduleId, (ledger = { instants: new Set(), rows: [] }))
    ledger.instants.add(at)
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

  /** Removes what was decided before the instant. */
  forgetOccurrences(before: number): void {
    for (const [scheduleId, ledger] of this.#ledgers) {
      const kept = ledger.rows.filter((row) => row.decidedAt >= before)
      if (kept.length === 0) this.#ledgers.delete(scheduleId)
      else if (kept.length < ledger.rows.length) {
        this.#ledgers.set(scheduleId, { instants: new Set(kept.map((row) => row.at)), rows: kept })
      }
    }
  }

  /** The last runs of all schedules. */
  lastRunIds(): ReadonlySet<string> {
    const ids = new Set<string>()
    for (const { lastRunId } of this.rows.values()) if (lastRunId !== null) ids.add(lastRunId)
    return ids
  }
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

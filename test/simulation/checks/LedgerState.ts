// What the model of the ledger knows: schedules as they should be stored, the rows that were written, and the instants
// that have none yet.
import type { Calendar } from "../../../core/domain/Calendar.ts"
import { isFinal, type RunState } from "../../../core/domain/Run.ts"
import type { NewSchedule, ScheduleRow } from "../../../core/domain/Schedule.ts"
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import type { Call } from "../Ground.ts"
import type { ByHand } from "../Schedules.ts"
import type { Openings, Slot, Slots } from "./patterns.ts"

/** What the model is told. */
export interface ModelOptions {
  readonly calendars: ReadonlyArray<Calendar>
  /** How often people asked for something. */
  readonly asked: (what: ByHand, id: string) => number
  readonly violated: (invariant: string, what: string) => void
  /** Rows that were written, by what they say: a reason, or `run`. */
  readonly counted?: (what: string, count: number) => void
}

export type Row = Fire["occurrences"][number]
type Mutable<A> = { -readonly [K in keyof A]: A[K] }

/** A run of a schedule, as far as schedules care. */
export interface KnownRun {
  readonly state: RunState
  readonly endedAt: number | null
  /** Its letter waits for somebody. */
  isOpen: boolean
}

/** What planners knew when they read a version of a schedule. */
export interface Read {
  readonly version: number
  /** The earliest. */
  now: number
  alive: boolean
  /** Steps back of the store's clock before it. */
  readonly stepsBack: number
}

/** A schedule as the model has it. */
export interface Known extends Omit<Mutable<ScheduleRow>, keyof NewSchedule | "zoneData" | "pausedNote"> {
  readonly id: string
  given: NewSchedule
  /** Its instants; `null`: a fixed delay. */
  slots: Slots | null
  readonly openings: Openings
  /** All slots up to here, from the first one of this trigger on, have rows. */
  decidedTo: number
  read: Read | null
  /** Where a fixed rate went on after a step back of the clock. */
  readonly again: Array<number>
  /** Runs that must not be alive side by side. */
  readonly serial: Set<string>
}

/** The ledger of one schedule; it outlives the schedule. */
export interface Ledger {
  readonly rows: Map<number, Row>
  /** Of these, those that stand for several instants, with the pattern whose instants these are. */
  readonly ranges: Map<Row, Slots | null>
  skipped: number
  runsByHand: number
}

/** What the model knows, and what can be asked of it. */
export class LedgerState {
  readonly schedules = new Map<string, Known>()
  readonly ledgers = new Map<string, Ledger>()
  readonly runs = new Map<string, KnownRun>()
  readonly options: ModelOptions
  now = Number.NEGATIVE_INFINITY
  /** What the store's clock showed before each of its steps back. */
  readonly peaks: Array<number> = []

  constructor(options: ModelOptions) {
    this.options = options
  }

  violated(known: { readonly id: string }, what: string, invariant = "I2"): void {
    this.options.violated(invariant, `${known.id} ${what}`)
  }

  isAlive({ lastRunId, given }: Known): boolean {
    const run = lastRunId === null ? undefined : this.runs.get(lastRunId)
    if (run === undefined) return false
    return !isFinal(run.state) || (given.trigger.holdOnFailure === true && run.state === "dead" && run.isOpen)
  }

  /** Runs of schedules, and their letters. */
  follow({ operation, changes, args }: Call, answer: unknown): void {
    for (const { after } of changes) {
      if (after.scheduleId === null) continue
      this.runs.set(after.id, { state: after.state, endedAt: after.endedAt, isOpen: after.state === "dead" })
    }
    const close = (id: string): void => {
      const run = this.runs.get(id)
      if (run !== undefined) run.isOpen = false
    }
    if (operation === "replay" && answer !== undefined)
      for (const { runId, newRunId } of answer as ReadonlyArray<{ runId: string; newRunId: string | null }>)
        if (newRunId !== null) close(runId)
    if (operation === "drop") for (const id of args[0] as ReadonlyArray<string>) close(id)
    if (operation === "rerunFlow" && (answer as { result: string } | undefined)?.result === "created")
      close(args[0] as string)
  }

  ledger(id: string): Ledger {
    const known = this.ledgers.get(id)
    if (known !== undefined) return known
    const made = {
      rows: new Map<number, Row>(),
      ranges: new Map<Row, Slots | null>(),
      skipped: 0,
      runsByHand: 0,
    }
    this.ledgers.set(id, made)
    return made
  }

  /** The row that stands for an instant. */
  rowOf(id: string, at: number): Row | undefined {
    const ledger = this.ledgers.get(id)
    const own = ledger?.rows.get(at)
    if (own !== undefined || ledger === undefined) return own
    for (const [row, slots] of ledger.ranges)
      if (row.at <= at && at <= row.lastAt && slots?.at(at) !== undefined) return row
    return undefined
  }

  /** The first slot without a row. */
  open(known: Known): Slot | undefined {
    for (;;) {
      const slot = known.slots?.after(known.decidedTo)
      if (slot === undefined || this.rowOf(known.id, slot.at) === undefined) return slot
      known.decidedTo = slot.at
    }
  }

  isAgain({ given: { trigger }, again }: Known, at: number): boolean {
    return (
      trigger.kind === "every" && again.some((from) => at >= from && (at - from) % trigger.periodMillis === 0)
    )
  }

  /** The latest time that a planner can have seen which decides now. */
  seen({ read }: Known): number {
    return Math.max(this.now, ...this.peaks.slice(read?.stepsBack ?? this.peaks.length))
  }

  /** Instants that could run, newer than this one and not after `until`; of these, those without a row. */
  newer(known: Known, at: number, until: number, isFree = true): number {
    if (until <= at) return 0
    const slots = (known.slots?.between(at + 1, until) ?? []).filter(({ closed }) => closed === null)
    return isFree ? slots.filter((slot) => this.rowOf(known.id, slot.at) === undefined).length : slots.length
  }

  /** When a fixed delay is over: so long after the end of the last run, or when it was said to come. */
  delayOver(known: Known): number {
    const {
      given: { trigger },
      cursor,
      lastRunId,
      openings,
      nextAt,
    } = known
    if (nextAt !== null || trigger.kind !== "after") return nextAt ?? Infinity
    const last = lastRunId === null ? undefined : this.runs.get(lastRunId)
    const ended = last === undefined || this.isAlive(known) ? null : last.endedAt
    const counted = Math.max((ended ?? cursor) + trigger.delayMillis, trigger.startsAt ?? -Infinity)
    return (trigger.closed === "hold" ? openings.from(counted) : counted) ?? Infinity
  }
}

export const time = (at: number): string => {
  const text = Number.isFinite(at) ? new Date(at).toISOString() : String(at)
  return text.slice(5).replace("T", " ")
}

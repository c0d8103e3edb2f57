// The instants that a trigger's text names, wherever one stands and within its limits, before calendars and jitter
// place them: the words in which `Placement.ts`, `Slots.ts` and the planner's decision speak of instants. Pure.
import type { Limits, OccurrenceReason, Trigger } from "../domain/Schedule.ts"
import type { Slots as PortSlots } from "../ports/CronDialect.ts"
import { between, type Cron, nextAfter, previousBefore } from "./Cron.ts"
import type { Zone } from "./Zone.ts"

/** The instants of an expression, and what it takes to go on from other zone data than one's own. */
export interface CronPattern extends PortSlots {
  readonly clock: Zone
  /** Whether a wall time may come twice. */
  readonly wild: boolean
}

/** A trigger with the instants of its expression, where it has one. */
export type Patterned =
  | Exclude<Trigger, { kind: "cron" }>
  | (Extract<Trigger, { kind: "cron" }> & { readonly cron: CronPattern })

/** Instants in their order, wherever one stands. */
export interface Slots {
  /** The first one after `instant`; nothing behind `until` is looked for. */
  readonly after: (instant: number, until?: number) => number | null
  /** The last one not after `instant`; nothing before `from` is looked for. */
  readonly upTo: (instant: number, from?: number) => number | null
  /** For how many of the pattern those from `first` to `last` stand, both of these among them. */
  readonly count: (first: number, last: number) => number
  /** The newest instant of the pattern that this one stands for, and of how many. */
  readonly nominalOf: (at: number) => { readonly nominalAt: number; readonly count: number }
}

/** The instants that start runs, and those that calendars leave out. */
export interface Timeline extends Slots {
  /** No two of all these are the same moment. */
  readonly leftOut: ReadonlyArray<{ readonly reason: OccurrenceReason; readonly slots: Slots }>
  /** The first instant after this one at which a run starts or one is left out. */
  readonly next: (instant: number) => number | null
  /** Where the cursor stands when all up to `instant` is decided: before those of the pattern that still wait. */
  readonly settled: (instant: number) => number
}

/** Counting stops here: the row then says "at least". */
export const countMax = 100_000

/** The instants that the pattern names. */
export const patternOf = (trigger: Exclude<Patterned, { kind: "after" }>, createdAt: number): Slots => {
  switch (trigger.kind) {
    case "at":
      return atSlots(trigger.at)
    case "every":
      return everySlots(trigger.startAt ?? createdAt, trigger.periodMillis)
    case "cron":
      return { ...trigger.cron, nominalOf: itself }
  }
}

/** Those within limits. */
export const within = ({ startsAt, endsAt }: Limits, slots: Slots): Slots => {
  if (startsAt === undefined && endsAt === undefined) return slots
  const from = startsAt ?? Number.NEGATIVE_INFINITY
  const end = endsAt ?? Number.POSITIVE_INFINITY
  return {
    ...slots,
    after: (instant) => {
      const next = slots.after(Math.max(instant, from - 1))
      return next === null || next > end ? null : next
    },
    upTo: (instant) => {
      const last = slots.upTo(Math.min(instant, end))
      return last === null || last < from ? null : last
    },
  }
}

/** An instant of the pattern stands for itself. */
export const itself = (at: number): { readonly nominalAt: number; readonly count: number } => ({
  nominalAt: at,
  count: 1,
})

const atSlots = (at: number): Slots => ({
  after: (instant) => (instant < at ? at : null),
  upTo: (instant) => (instant < at ? null : at),
  count: () => 1,
  nominalOf: itself,
})

// Slot k is anchor + k * period for every k, so no lateness ever adds up.
const everySlots = (anchor: number, periodMillis: number): Slots => ({
  after: (instant) =>
    instant < anchor ? anchor : anchor + (Math.floor((instant - anchor) / periodMillis) + 1) * periodMillis,
  upTo: (instant) =>
    instant < anchor ? null : anchor + Math.floor((instant - anchor) / periodMillis) * periodMillis,
  count: (first, last) => Math.round((last - first) / periodMillis) + 1,
  nominalOf: itself,
})

/** The instants of an expression in the house's own dialect. */
export const cronSlots = (cron: Cron): CronPattern => ({
  clock: cron.clock,
  wild: cron.wild,
  after: (instant) => nextAfter(cron, instant),
  upTo: (instant) => previousBefore(cron, instant + 1),
  count: (first, last) => {
    let count = 0
    let from = first - 1
    while (count < countMax) {
      const some = between(cron, from, last, 10_000)
      count += some.length
      if (some.length < 10_000) break
      from = some[some.length - 1] as number
    }
    return Math.min(count, countMax)
  },
})

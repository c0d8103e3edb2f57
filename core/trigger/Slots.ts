// The instants of a trigger that has a pattern of them, wherever one stands and within its limits.
import type { Limits, Trigger } from "../domain/Schedule.ts"
import type { Slots } from "../ports/CronDialect.ts"
import { between, type Cron, nextAfter, previousBefore } from "./Cron.ts"
import type { Zone } from "./Zone.ts"

export type { Slots } from "../ports/CronDialect.ts"

/** The instants of an expression, and what it takes to go on from other zone data than one's own. */
export interface CronPattern extends Slots {
  readonly clock: Zone
  /** Whether a wall time may come twice. */
  readonly wild: boolean
}

/** A trigger with the instants of its expression, where it has one. */
export type ParsedTrigger =
  | Exclude<Trigger, { kind: "cron" }>
  | (Extract<Trigger, { kind: "cron" }> & { readonly cron: CronPattern })

// Counting stops here: the row then says "at least".
const countMax = 100_000

/** The instants of a trigger; a fixed delay has none but the one that follows a run. */
export const slotsOf = (trigger: Exclude<ParsedTrigger, { kind: "after" }>, createdAt: number): Slots => {
  switch (trigger.kind) {
    case "at":
      return within(trigger, atSlots(trigger.at))
    case "every":
      return within(trigger, everySlots(trigger.startAt ?? createdAt, trigger.periodMillis))
    case "cron":
      return within(trigger, trigger.cron)
  }
}

const within = ({ startsAt, endsAt }: Limits, slots: Slots): Slots => {
  if (startsAt === undefined && endsAt === undefined) return slots
  const from = startsAt ?? Number.NEGATIVE_INFINITY
  const end = endsAt ?? Number.POSITIVE_INFINITY
  return {
    after: (instant) => {
      const next = slots.after(Math.max(instant, from - 1))
      return next === null || next > end ? null : next
    },
    upTo: (instant) => {
      const last = slots.upTo(Math.min(instant, end))
      return last === null || last < from ? null : last
    },
    count: slots.count,
  }
}

const atSlots = (at: number): Slots => ({
  after: (instant) => (instant < at ? at : null),
  upTo: (instant) => (instant < at ? null : at),
  count: () => 1,
})

// Slot k is anchor + k * period for every k, so no lateness ever adds up.
const everySlots = (anchor: number, periodMillis: number): Slots => ({
  after: (instant) =>
    instant < anchor ? anchor : anchor + (Math.floor((instant - anchor) / periodMillis) + 1) * periodMillis,
  upTo: (instant) =>
    instant < anchor ? null : anchor + Math.floor((instant - anchor) / periodMillis) * periodMillis,
  count: (first, last) => Math.round((last - first) / periodMillis) + 1,
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

// Which instants of a schedule have come since its cursor, and what becomes of each: the planner's decision as
// a pure function. Missed instants are caught up with the newest one only, not older than a day; each of the
// others gets its reason, so that nothing is silent.
import type { DueSchedule, Occurrence, OccurrenceReason, Trigger } from "../domain/Schedule.ts"
import { between, type Cron, nextAfter, previousBefore } from "./Cron.ts"

/** A missed instant older than this is not caught up: one day, in milliseconds. */
export const catchUpMillis = 86_400_000

/** Missed instants that get a row each; older ones of the same absence share a row that counts them. */
export const rowsMax = 500
// Counting stops here: the row then says "at least".
const countMax = 100_000

/** A decided instant, before it has a run. */
export type Decision = Pick<Occurrence, "at" | "lastAt" | "count"> & {
  /** `null`: it gets a run. */
  readonly reason: OccurrenceReason | null
}

/** What to do with a due schedule. */
export interface Plan {
  readonly decisions: ReadonlyArray<Decision>
  readonly cursor: number
  /** The next instant; `null` when there is none, or the run that was just decided must end first. */
  readonly nextAt: number | null
}

/** A trigger with its parsed expression, where it has one. */
export type ParsedTrigger =
  | Exclude<Trigger, { kind: "cron" }>
  | (Extract<Trigger, { kind: "cron" }> & { readonly cron: Cron })

/** The first instant of a new schedule, or of one whose trigger was edited. `now` and `createdAt` as elsewhere. */
export const firstAt = (trigger: ParsedTrigger, createdAt: number, now: number): number | null => {
  switch (trigger.kind) {
    case "at":
      return trigger.at
    case "after":
      return now
    case "cron":
      return nextAfter(trigger.cron, now)
    case "every": {
      const anchor = trigger.startAt ?? createdAt
      return anchor >= now ? anchor : slotAfter(anchor, trigger.periodMillis, now - 1)
    }
  }
}

/** Decides all instants after the schedule's cursor up to `now`, and where it stands then. */
export const plan = (schedule: DueSchedule, trigger: ParsedTrigger, now: number): Plan => {
  if (trigger.kind === "after") return planAfter(schedule, trigger.delayMillis, now)
  if (trigger.kind === "at") {
    // One instant has nothing newer to stand in for it, so it is caught up however late.
    const due = schedule.nextAt !== null && trigger.at <= now
    return due
      ? {
          decisions: [decide(schedule, trigger.at, false)],
          cursor: Math.max(schedule.cursor, now),
          nextAt: null,
        }
      : { decisions: [], cursor: schedule.cursor, nextAt: schedule.nextAt }
  }
  const slots = trigger.kind === "every" ? everySlots(trigger, schedule.createdAt) : cronSlots(trigger.cron)
  const cursor = Math.max(schedule.cursor, now)
  const first = slots.after(Math.max(schedule.cursor, (schedule.nextAt ?? now) - 1))
  // Not the first after now: what a clock that stepped back comes past again is decided already.
  if (first === null || first > now) return { decisions: [], cursor, nextAt: first }
  const newest = slots.upTo(now) ?? first
  const decisions = missed(slots, first, newest)
  decisions.push(decide(schedule, newest, now - newest > catchUpMillis))
  return { decisions, cursor, nextAt: slots.after(now) }
}

// Counted from the end of the previous run, whatever became of it; without one, from the instant that is set.
const planAfter = (schedule: DueSchedule, delayMillis: number, now: number): Plan => {
  const at = schedule.nextAt ?? (schedule.lastRunEndedAt ?? schedule.cursor) + delayMillis
  if (at > now) return { decisions: [], cursor: schedule.cursor, nextAt: at }
  // An edit may have moved it onto an instant that was decided before.
  const free = Math.max(at, schedule.cursor + 1)
  return { decisions: [decide(schedule, free, false)], cursor: Math.max(free, now), nextAt: null }
}

const decide = (schedule: DueSchedule, at: number, tooOld: boolean): Decision => {
  const overlaps = schedule.overlap === "skip" && schedule.lastRunAlive
  return { at, lastAt: at, count: 1, reason: tooOld ? "missed" : overlaps ? "overlap" : null }
}

/** The instants of a trigger, wherever one stands. */
interface Slots {
  /** The first one after `instant`. */
  readonly after: (instant: number) => number | null
  /** The last one not after `instant`. */
  readonly upTo: (instant: number) => number | null
  /** How many there are from `first` to before `end`, both instants of the trigger. */
  readonly count: (first: number, end: number) => number
}

const missed = (slots: Slots, first: number, newest: number): Array<Decision> => {
  const rows: Array<Decision> = []
  let end = newest
  while (end > first && rows.length < rowsMax) {
    const at = slots.upTo(end - 1)
    if (at === null || at < first) break
    rows.push({ at, lastAt: at, count: 1, reason: "missed" })
    end = at
  }
  const lastAt = end > first ? slots.upTo(end - 1) : null
  if (lastAt !== null && lastAt >= first) {
    rows.push({ at: first, lastAt, count: slots.count(first, end), reason: "missed" })
  }
  return rows.reverse()
}

const everySlots = (trigger: Extract<Trigger, { kind: "every" }>, createdAt: number): Slots => {
  const anchor = trigger.startAt ?? createdAt
  const { periodMillis } = trigger
  return {
    after: (instant) => slotAfter(anchor, periodMillis, instant),
    upTo: (instant) =>
      instant < anchor ? null : anchor + Math.floor((instant - anchor) / periodMillis) * periodMillis,
    count: (first, end) => Math.round((end - first) / periodMillis),
  }
}

// Slot k is anchor + k * period for every k, so no lateness ever adds up.
const slotAfter = (anchor: number, periodMillis: number, instant: number): number =>
  instant < anchor ? anchor : anchor + (Math.floor((instant - anchor) / periodMillis) + 1) * periodMillis

const cronSlots = (cron: Cron): Slots => ({
  after: (instant) => nextAfter(cron, instant),
  upTo: (instant) => previousBefore(cron, instant + 1),
  count: (first, end) => {
    let count = 0
    let from = first - 1
    while (count < countMax) {
      const some = between(cron, from, end - 1, 10_000)
      count += some.length
      if (some.length < 10_000) break
      from = some[some.length - 1] as number
    }
    return Math.min(count, countMax)
  },
})

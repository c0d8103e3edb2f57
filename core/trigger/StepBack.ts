// When the wall clock steps back, the instants of the time that comes again are decided already, and "every five
// seconds" would stand still until the clock is past them. What means elapsed time goes on at once instead: a fixed
// rate on instants between its decided ones, a fixed delay from now. Times on a clock (cron, at) wait for the clock.
import type { DueSchedule, ScheduleRow, Trigger } from "../domain/Schedule.ts"
import type { Timeline } from "./Slots.ts"

/** A smaller step back is a correction of the clock, which the schedules wait out. */
export const stepBackMillis = 1000

/** Where a schedule goes on after a step back to `now`; `null`: where it stands. */
export const wentBack = (
  { trigger, cursor, nextAt, waitsUntil, createdAt }: ScheduleRow,
  now: number,
): number | null => {
  // Only what has decided instants ahead of the clock; one that begins in the future has none.
  if (nextAt === null || waitsUntil !== null || cursor <= now || isPlaced(trigger)) return null
  if (trigger.kind === "after") return nextAt - now > trigger.delayMillis ? now + trigger.delayMillis : null
  if (trigger.kind !== "every" || nextAt - now <= trigger.periodMillis) return null
  return isOnGrid(trigger, createdAt, now) ? now + 1 : now
}

/**
 * Whether a fixed rate is in time that comes again: it then goes on from its next instant, which is none of its own,
 * as those are decided.
 */
export const isAgain = (
  { trigger, cursor, nextAt, waitsUntil, createdAt }: DueSchedule,
  now: number,
): boolean =>
  trigger.kind === "every" &&
  nextAt !== null &&
  nextAt <= cursor &&
  cursor > now &&
  waitsUntil === null &&
  !isOnGrid(trigger, createdAt, nextAt)

const isOnGrid = (
  { startAt, periodMillis }: Extract<Trigger, { kind: "every" }>,
  createdAt: number,
  at: number,
): boolean => (at - (startAt ?? createdAt)) % periodMillis === 0

/** The instants of a fixed rate in time that comes again; behind the cursor, its own. */
export const againFrom = (own: Timeline, { cursor, nextAt, trigger }: DueSchedule): Timeline => {
  const from = nextAt ?? cursor
  const period = trigger.kind === "every" ? trigger.periodMillis : 1
  const floor = (instant: number): number => from + Math.floor((instant - from) / period) * period
  const after = (instant: number): number | null => {
    const at = instant < from ? from : floor(instant) + period
    return at <= cursor ? at : own.after(Math.max(instant, cursor))
  }
  return {
    ...own,
    after,
    next: after,
    upTo: (instant) => (instant < from ? null : floor(Math.min(instant, cursor))),
    count: (first, last) => Math.round((last - first) / period) + 1,
    leftOut: [],
    settled: (instant) => instant,
  }
}

// Calendars and limits speak of times on a clock.
const isPlaced = ({ only, except, jitterMillis, startsAt, endsAt }: Trigger): boolean =>
  [only, except, jitterMillis, startsAt, endsAt].some((each) => each !== undefined)

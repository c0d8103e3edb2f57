// Which instants of a schedule have come since its cursor, and what becomes of each: the planner's decision as
// a pure function. Catch-up says which of the missed ones run, overlap which of them wait; each of the others gets
// its reason, so that nothing is silent. What waits has no row yet: the cursor stands before it, and the step after
// the end of the last run decides it. So a waiting instant is never lost with a process, and never started twice.
import type { DueSchedule, Occurrence, OccurrenceReason } from "../domain/Schedule.ts"
import { type ParsedTrigger, type Slots, slotsOf } from "./Slots.ts"
import { handedOver } from "./ZoneData.ts"

export type { ParsedTrigger } from "./Slots.ts"

/** A missed instant older than this is not caught up, unless the schedule says otherwise: one day. */
export const catchUpMillis = 86_400_000

/** Instants that `all` catches up, unless the schedule says otherwise. */
export const catchUpMax = 100

/** An instant that is decided later than this is late: `skip` does not run it, and the others run it below fresh work. */
export const lateMillis = 5000

/** Instants that may wait for their turn with `queueAll`; of more, the newest wait. */
export const queueMax = 1000

/** Instants without a run that get a row each; older ones of the same step share a row that counts them. */
export const rowsMax = 400

/** A decided instant, before it has a run. */
export type Decision = Pick<Occurrence, "at" | "lastAt" | "count"> & {
  /** `null`: it gets a run. */
  readonly reason: OccurrenceReason | null
}

/** What to do with a due schedule. */
export interface Plan {
  readonly decisions: ReadonlyArray<Decision>
  readonly cursor: number
  /** The next instant; `null` when there is none, or the next step waits for the end of the last run. */
  readonly nextAt: number | null
  /** Not `null`: it waits, and so do the undecided instants up to here. */
  readonly waitsUntil: number | null
  /** The run that is decided takes the place of the last one, which is to be cancelled. */
  readonly cancelsLast: boolean
}

/** Whether an instant that is decided now makes way for fresh work. */
export const isLate = (at: number, now: number): boolean => now - at > lateMillis

/** The first instant of a new schedule, or of one whose trigger was edited. `now` and `createdAt` as elsewhere. */
export const firstAt = (trigger: ParsedTrigger, createdAt: number, now: number): number | null => {
  switch (trigger.kind) {
    case "after":
      return ifBefore(Math.max(now, trigger.startsAt ?? now), trigger.endsAt)
    case "at":
      return slotsOf(trigger, createdAt).after(Number.NEGATIVE_INFINITY)
    case "cron":
      return slotsOf(trigger, createdAt).after(now)
    case "every":
      return slotsOf(trigger, createdAt).after(now - 1)
  }
}

/**
 * Decides the instants after the schedule's cursor up to `now`, and where it stands then. `foreign`: other zone data
 * than those of the trigger named its next instant.
 */
export const plan = (schedule: DueSchedule, trigger: ParsedTrigger, now: number, foreign = false): Plan => {
  const left = (trigger.countMax ?? Number.POSITIVE_INFINITY) - schedule.runCount
  const made = left <= 0 ? step(schedule, {}) : planAll(schedule, trigger, now, foreign)
  let runs = 0
  const last = made.decisions.findIndex(({ reason }) => reason === null && ++runs === left)
  // Behind the last run that it may have, the schedule is over.
  return last < 0
    ? made
    : { ...made, decisions: made.decisions.slice(0, last + 1), nextAt: null, waitsUntil: null }
}

const planAll = (schedule: DueSchedule, trigger: ParsedTrigger, now: number, foreign: boolean): Plan => {
  if (trigger.kind === "after") return planAfter(schedule, trigger, now)
  const { cursor, nextAt, waitsUntil, resumedAt } = schedule
  if (trigger.kind === "at" && (trigger.at > now || (nextAt === null && waitsUntil === null)))
    return step(schedule, { nextAt, waitsUntil })
  const own = slotsOf(trigger, schedule.createdAt)
  const slots =
    foreign && trigger.kind === "cron" && nextAt !== null
      ? handedOver(own, trigger.cron, nextAt, schedule.zoneData ?? "")
      : own
  const from =
    trigger.kind === "at"
      ? trigger.at - 1
      : waitsUntil === null
        ? Math.max(cursor, (nextAt ?? now) - 1)
        : cursor
  const first = slots.after(from)
  // Not the first after now: what a clock that stepped back comes past again is decided already.
  if (first === null || first > now) return step(schedule, { cursor: now, nextAt: first })
  // A single instant has nothing newer to stand in for it, and runs after a pause too.
  if (resumedAt !== null && first <= resumedAt && trigger.kind !== "at") {
    const last = slots.upTo(Math.min(resumedAt, now)) ?? first
    const decisions = without(slots, first, last, "paused")
    return step(schedule, { decisions, cursor: last, nextAt: slots.after(last) })
  }
  const window = trigger.kind === "at" ? Number.POSITIVE_INFINITY : catchUpMillis
  return planSlots(schedule, slots, { first, now, window })
}

const planSlots = (
  schedule: DueSchedule,
  slots: Slots,
  { first, now, window }: { readonly first: number; readonly now: number; readonly window: number },
): Plan => {
  const { overlap, catchUp = {}, waitsUntil } = schedule
  const mode = catchUp.mode === "all" && overlap === "cancelRunning" ? "latest" : (catchUp.mode ?? "latest")
  const queued = waitsUntil !== null && overlap === "queueAll"
  // What came up to here waits; what came since then, came while it waited.
  const until = waitsUntil === null || queued ? now : Math.min(waitsUntil, now)
  const newest = slots.upTo(until)
  if (newest === null || newest < first)
    return planSlots({ ...schedule, waitsUntil: null }, slots, { first, now, window })
  const oldest = queued
    ? Number.NEGATIVE_INFINITY
    : until - (mode === "skip" ? lateMillis : (catchUp.windowMillis ?? window))
  const max = queued ? queueMax : mode === "all" ? (catchUp.max ?? catchUpMax) : 1
  const chosen = newestOf(slots, { first, newest, oldest, max })
  const [head] = chosen
  if (head === undefined) {
    const decisions = without(slots, first, newest, "missed")
    return step(schedule, { decisions, cursor: until, nextAt: slots.after(until) })
  }
  const passed = without(slots, first, slots.upTo(head - 1), queued ? "overlap" : "missed")
  const isSerial = overlap !== "allow" && overlap !== "cancelRunning"
  if (isSerial && schedule.lastRunAlive) {
    const isWaiting = overlap !== "skip" || (mode === "all" && isLate(head, now))
    if (isWaiting) return step(schedule, { decisions: passed, cursor: head - 1, waitsUntil: now })
    const decisions = [...without(slots, first, slots.upTo(newest - 1), "missed"), one(newest, "overlap")]
    return step(schedule, { decisions, cursor: now, nextAt: slots.after(now) })
  }
  // One after the other: the next one waits for the end of this one.
  if (isSerial && chosen.length > 1)
    return step(schedule, {
      decisions: [...passed, one(head, null)],
      cursor: head,
      waitsUntil: waitsUntil ?? now,
    })
  const since = slots.after(until)
  const tail = since === null || since > now ? [] : without(slots, since, slots.upTo(now), "overlap")
  return step(schedule, {
    decisions: [...passed, ...chosen.map((at) => one(at, null)), ...tail],
    cursor: now,
    nextAt: slots.after(now),
    cancelsLast: overlap === "cancelRunning" && schedule.lastRunAlive,
  })
}

// Counted from the end of the previous run, whatever became of it; without one, from the instant that is set.
const planAfter = (
  schedule: DueSchedule,
  { delayMillis, startsAt, endsAt }: Extract<ParsedTrigger, { kind: "after" }>,
  now: number,
): Plan => {
  const { cursor, lastRunEndedAt, lastRunAlive, overlap } = schedule
  const counted = (lastRunEndedAt ?? cursor) + delayMillis
  const at = ifBefore(schedule.nextAt ?? Math.max(counted, startsAt ?? counted), endsAt)
  if (at === null || at > now) return step(schedule, { nextAt: at })
  if (lastRunAlive && (overlap === "queueOne" || overlap === "queueAll"))
    return step(schedule, { waitsUntil: now })
  // An edit may have moved it onto an instant that was decided before.
  const free = Math.max(at, cursor + 1)
  return step(schedule, {
    decisions: [one(free, lastRunAlive && overlap === "skip" ? "overlap" : null)],
    cursor: Math.max(free, now),
    waitsUntil: now,
    cancelsLast: overlap === "cancelRunning" && lastRunAlive,
  })
}

const step = (schedule: DueSchedule, made: Partial<Plan>): Plan => ({
  decisions: [],
  nextAt: null,
  waitsUntil: null,
  cancelsLast: false,
  ...made,
  cursor: Math.max(schedule.cursor, made.cursor ?? schedule.cursor),
})

const ifBefore = (at: number, endsAt: number | undefined): number | null =>
  endsAt !== undefined && at > endsAt ? null : at

const one = (at: number, reason: OccurrenceReason | null): Decision => ({ at, lastAt: at, count: 1, reason })

/** The newest instants, at most `max` and none before `first` or `oldest`, in their order. */
const newestOf = (
  slots: Slots,
  range: { readonly first: number; readonly newest: number; readonly oldest: number; readonly max: number },
): ReadonlyArray<number> => {
  const found: Array<number> = []
  let at: number | null = range.newest
  while (at !== null && at >= range.first && at >= range.oldest && found.length < range.max) {
    found.push(at)
    at = slots.upTo(at - 1)
  }
  return found.reverse()
}

/** Rows for the instants from `first` to `last` that get no run: bounded, however many there are. */
const without = (
  slots: Slots,
  first: number,
  last: number | null,
  reason: OccurrenceReason,
): ReadonlyArray<Decision> => {
  const rows: Array<Decision> = []
  let at = last
  while (at !== null && at >= first && rows.length < rowsMax) {
    rows.push(one(at, reason))
    at = slots.upTo(at - 1)
  }
  if (at !== null && at >= first) {
    rows.push({ at: first, lastAt: at, count: slots.count(first, at), reason })
  }
  return rows.reverse()
}

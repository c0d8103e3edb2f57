// Which instants of a schedule have come since its cursor, and what becomes of each: the planner's decision as
// a pure function. Catch-up says which of the missed ones run, overlap which of them wait; each of the others gets
// its reason, so that nothing is silent. What waits has no row yet: the cursor stands before it, and the step after
// the end of the last run decides it. So a waiting instant is never lost with a process, and never started twice.
// What calendars leave out gets its row when it passes, in the step that moves the cursor across it.
import type { DueSchedule, ScheduleRow } from "../domain/Schedule.ts"
import { alone, type Decision, newestOf, one, rowsMax, without } from "./Decisions.ts"
import { opensFrom } from "./InstantSet.ts"
import { reasonOf } from "./Placement.ts"
import { type ParsedTrigger, slotsOf, type Timeline } from "./Slots.ts"
import { againFrom, isAgain } from "./StepBack.ts"
import { handedOver } from "./ZoneData.ts"

export { type Decision, rowsMax } from "./Decisions.ts"
export type { ParsedTrigger } from "./Slots.ts"

/** A missed instant older than this is not caught up, unless the schedule says otherwise: one day. */
export const catchUpMillis = 86_400_000

/** Instants that `all` catches up, unless the schedule says otherwise. */
export const catchUpMax = 100

/** An instant that is decided later than this is late: `skip` does not run it, and the others run it below fresh work. */
export const lateMillis = 5000

/** Instants that may wait for their turn with `queueAll`; of more, the newest wait. */
export const queueMax = 1000

/** Rows of one step: more are not stored in one call. */
const stepRowsMax = 1000

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
  /** The schedule is over by its number of runs. */
  readonly isCountedOut: boolean
}

/** Whether an instant that is decided now makes way for fresh work. */
export const isLate = (at: number, now: number): boolean => now - at > lateMillis

/** The first instant of a new schedule, or of one whose trigger was edited. `now` and `createdAt` as elsewhere. */
export const firstAt = (trigger: ParsedTrigger, createdAt: number, now: number): number | null => {
  switch (trigger.kind) {
    case "after":
      return ifBefore(opening(trigger, Math.max(now, trigger.startsAt ?? now)), trigger.endsAt)
    case "at":
      return slotsOf(trigger, { createdAt, cursor: now }).next(trigger.at - 1)
    case "cron":
      return slotsOf(trigger, { createdAt, cursor: now }).next(now)
    case "every":
      return slotsOf(trigger, { createdAt, cursor: now - 1 }).next(now - 1)
  }
}

/**
 * The next instant of a schedule whose calendars have changed, behind all that is decided. `endedAt`: when its last
 * run ended. A fixed delay that nothing has started yet is over at once.
 */
export const nextOf = (row: ScheduleRow, trigger: ParsedTrigger, endedAt: number | null): number | null => {
  const { cursor, nextAt } = row
  if (trigger.kind === "after") {
    if (trigger.place?.closed !== "hold") return nextAt
    const counted = endedAt === null ? cursor + 1 : endedAt + trigger.delayMillis
    return ifBefore(opening(trigger, Math.max(counted, trigger.startsAt ?? counted)), trigger.endsAt)
  }
  // What is named for the moment of the creation does not count, as in `firstAt`.
  const since = trigger.kind === "cron" && row.version === 1 ? cursor + 1 : cursor
  const slots = slotsOf(trigger, { createdAt: row.createdAt, cursor: since })
  if (trigger.kind === "at")
    return nextAt === null && cursor >= trigger.at ? null : slots.next(trigger.at - 1)
  return slots.next(since)
}

/** The next instant that would start a run, decided as skipped, with what calendars leave out before it. */
export const planSkip = (row: ScheduleRow, trigger: ParsedTrigger): Plan | null => {
  const { cursor, nextAt } = row
  if (nextAt === null) return null
  if (trigger.kind === "after") {
    const decisions = [alone(nextAt, "skipped")]
    const following = ifBefore(opening(trigger, nextAt + trigger.delayMillis), trigger.endsAt)
    return step(row, { decisions, cursor: nextAt, nextAt: following })
  }
  const slots = slotsOf(trigger, row)
  const from = trigger.kind === "at" ? trigger.at - 1 : Math.max(cursor, nextAt - 1)
  const at = slots.after(from)
  if (at === null) return null
  const decisions = [one(slots, at, "skipped")]
  return withLeftOut(row, { slots, from, made: step(row, { decisions, cursor: at, nextAt: slots.next(at) }) })
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
    : {
        ...made,
        decisions: made.decisions.slice(0, last + 1),
        nextAt: null,
        waitsUntil: null,
        isCountedOut: true,
      }
}

/** Where a schedule goes on behind its last run, where that is none after all: the instant was decided before. */
export const behind = (
  schedule: DueSchedule,
  trigger: ParsedTrigger,
  at: number,
): Pick<Plan, "cursor" | "nextAt" | "waitsUntil"> | null => {
  if (trigger.kind === "at") return null
  const cursor = cursorBefore(schedule, trigger, at + 1)
  return trigger.kind === "after"
    ? { cursor, nextAt: null, waitsUntil: cursor }
    : { cursor, nextAt: slotsOf(trigger, schedule).next(at), waitsUntil: null }
}

/** Where the cursor stands when what comes from `at` on is left to the next step. */
export const cursorBefore = (schedule: DueSchedule, trigger: ParsedTrigger, at: number): number =>
  Math.max(schedule.cursor, trigger.kind === "after" ? at - 1 : slotsOf(trigger, schedule).settled(at - 1))

const planAll = (schedule: DueSchedule, trigger: ParsedTrigger, now: number, foreign: boolean): Plan => {
  if (trigger.kind === "after") return planAfter(schedule, trigger, now)
  const { cursor, nextAt, waitsUntil } = schedule
  if (trigger.kind === "at" && (trigger.at > now || (nextAt === null && waitsUntil === null)))
    return step(schedule, { nextAt, waitsUntil })
  const again = isAgain(schedule, now)
  const own = timelineOf(schedule, trigger, foreign)
  const slots = again ? againFrom(own, schedule) : own
  const from =
    trigger.kind === "at"
      ? trigger.at - 1
      : waitsUntil === null
        ? Math.max(again ? Number.NEGATIVE_INFINITY : cursor, (nextAt ?? now) - 1)
        : cursor
  const made = planFrom(schedule, trigger, { slots, from, now })
  return withLeftOut(schedule, { slots, from, made })
}

/** Its instants; one that other zone data named counts as it stands, but where calendars decide anew. */
const timelineOf = (
  schedule: DueSchedule,
  trigger: Exclude<ParsedTrigger, { kind: "after" }>,
  foreign: boolean,
): Timeline => {
  const own = slotsOf(trigger, schedule)
  const { nextAt, zoneData } = schedule
  if (!foreign || trigger.kind !== "cron" || nextAt === null || trigger.place !== undefined) return own
  const slots = handedOver(own, trigger.cron, nextAt, zoneData ?? "")
  return { ...own, ...slots, next: slots.after }
}

const planFrom = (
  schedule: DueSchedule,
  trigger: ParsedTrigger,
  { slots, from, now }: { readonly slots: Timeline; readonly from: number; readonly now: number },
): Plan => {
  const { resumedAt } = schedule
  const first = slots.after(from, now)
  // Not the first after now: what a clock that stepped back comes past again is decided already.
  if (first === null || first > now)
    return step(schedule, { cursor: now, nextAt: slots.next(Math.max(from, now)) })
  // A single instant has nothing newer to stand in for it, and runs after a pause too.
  if (resumedAt !== null && first <= resumedAt && trigger.kind !== "at") {
    const last = slots.upTo(Math.min(resumedAt, now)) ?? first
    const decisions = without(slots, first, last, "paused")
    return step(schedule, { decisions, cursor: last, nextAt: slots.next(last) })
  }
  const window = trigger.kind === "at" ? Number.POSITIVE_INFINITY : catchUpMillis
  return planSlots(schedule, slots, { first, now, window })
}

/** The plan with rows for what calendars left out up to its cursor, and the cursor where the pattern has it. */
const withLeftOut = (
  schedule: ScheduleRow,
  { slots, from, made }: { readonly slots: Timeline; readonly from: number; readonly made: Plan },
): Plan => {
  const decisions = [...made.decisions]
  for (const [index, { reason, slots: closed }] of slots.leftOut.entries()) {
    const last = closed.upTo(made.cursor, from)
    if (last === null || last <= from) continue
    const left = (stepRowsMax - decisions.length) / (slots.leftOut.length - index)
    const max = Math.min(rowsMax, Math.floor(left) - 1)
    decisions.push(...without(closed, closed.after(from) ?? last, last, reason, max))
  }
  return {
    ...made,
    decisions: slots.leftOut.length === 0 ? made.decisions : decisions.sort((a, b) => a.at - b.at),
    cursor: Math.max(schedule.cursor, slots.settled(made.cursor)),
  }
}

const planSlots = (
  schedule: DueSchedule,
  slots: Timeline,
  { first, now, window }: { readonly first: number; readonly now: number; readonly window: number },
): Plan => {
  const { overlap, catchUp = {}, waitsUntil } = schedule
  const mode = catchUp.mode === "all" && overlap === "cancelRunning" ? "latest" : (catchUp.mode ?? "latest")
  const queued = waitsUntil !== null && overlap === "queueAll"
  // What came up to here waits; what came since then, came while it waited.
  const until = waitsUntil === null || queued ? now : Math.min(waitsUntil, now)
  const newest = slots.upTo(until, first)
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
    return step(schedule, { decisions, cursor: until, nextAt: slots.next(until) })
  }
  const passed = without(slots, first, slots.upTo(head - 1, first), queued ? "overlap" : "missed")
  const isSerial = overlap !== "allow" && overlap !== "cancelRunning"
  if (isSerial && schedule.lastRunAlive) {
    const isWaiting = overlap !== "skip" || (mode === "all" && isLate(head, now))
    if (isWaiting) return step(schedule, { decisions: passed, cursor: head - 1, waitsUntil: now })
    const decisions = [
      ...without(slots, first, slots.upTo(newest - 1, first), "missed"),
      one(slots, newest, "overlap"),
    ]
    return step(schedule, { decisions, cursor: now, nextAt: slots.next(now) })
  }
  // One after the other: the next one waits for the end of this one.
  if (isSerial && chosen.length > 1)
    return step(schedule, {
      decisions: [...passed, one(slots, head, null)],
      cursor: head,
      waitsUntil: waitsUntil ?? now,
    })
  const since = slots.after(until, now)
  const tail = since === null || since > now ? [] : without(slots, since, slots.upTo(now), "overlap")
  return step(schedule, {
    decisions: [...passed, ...chosen.map((at) => one(slots, at, null)), ...tail],
    cursor: now,
    nextAt: slots.next(now),
    cancelsLast: overlap === "cancelRunning" && schedule.lastRunAlive,
  })
}

// Counted from the end of the previous run, whatever became of it; without one, from the instant that is set.
const planAfter = (
  schedule: DueSchedule,
  trigger: Extract<ParsedTrigger, { kind: "after" }>,
  now: number,
): Plan => {
  const { cursor, lastRunEndedAt, lastRunAlive, overlap } = schedule
  const { delayMillis, startsAt, endsAt, place } = trigger
  const counted = Math.max((lastRunEndedAt ?? cursor) + delayMillis, startsAt ?? -Infinity)
  const at = ifBefore(schedule.nextAt ?? opening(trigger, counted), endsAt)
  if (at === null || at > now) return step(schedule, { nextAt: at })
  // An edit may have moved it onto an instant that was decided before; after a step back of the clock, all of these
  // lie ahead, and a conflict tells.
  const free = cursor > now ? at : Math.max(at, cursor + 1)
  // The delay counts on from what was left out, or the next look would find it again.
  const reason = place === undefined || place.closed === "hold" ? null : reasonOf(place, at)
  if (reason !== null) {
    const nextAt = ifBefore(Math.max(at, now) + delayMillis, endsAt)
    return step(schedule, { decisions: [alone(free, reason)], cursor: now, nextAt })
  }
  if (lastRunAlive && (overlap === "queueOne" || overlap === "queueAll"))
    return step(schedule, { waitsUntil: now })
  return step(schedule, {
    decisions: [
      {
        ...alone(free, lastRunAlive && overlap === "skip" ? "overlap" : null),
        // Held from then on.
        nominalAt: counted < at && opening(trigger, counted) === at ? counted : null,
      },
    ],
    cursor: Math.max(free, now),
    waitsUntil: now,
    cancelsLast: overlap === "cancelRunning" && lastRunAlive,
  })
}

const step = (schedule: ScheduleRow, made: Partial<Plan>): Plan => ({
  decisions: [],
  nextAt: null,
  waitsUntil: null,
  cancelsLast: false,
  isCountedOut: false,
  ...made,
  cursor: Math.max(schedule.cursor, made.cursor ?? schedule.cursor),
})

/** When a fixed delay is over, in a window that is open; `null` when none opens within ten years. */
const opening = ({ place }: ParsedTrigger, at: number): number | null =>
  place?.closed === "hold" ? opensFrom(place.open, at) : at

const ifBefore = (at: number | null, endsAt: number | undefined): number | null =>
  at === null || (endsAt !== undefined && at > endsAt) ? null : at

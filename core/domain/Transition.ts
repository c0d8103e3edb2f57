// Every change of a run's state, as a pure function from a row to the next row. Nothing else makes a state.
// Stores apply these (or the same change as one conditional statement) and refuse whatever is not here:
// a refused change is `null`, and the row stays as it was.
import type { Settlement } from "./Outcome.ts"
import { type ErrorInfo, isFinal, type NewRun, type Run, type RunState } from "./Run.ts"

/** From each state, where a run may go. `claim` and the rest of this file keep to it by test. */
export const allowed: Readonly<Record<RunState, ReadonlyArray<RunState>>> = {
  blocked: ["scheduled", "ready", "skipped", "cancelled", "succeeded", "retrying", "dead"],
  scheduled: ["ready", "expired", "cancelled"],
  ready: ["running", "expired", "cancelled"],
  running: ["succeeded", "retrying", "dead", "ready", "scheduled", "cancelled", "blocked", "skipped"],
  retrying: ["ready", "expired", "cancelled"],
  succeeded: [],
  dead: [],
  cancelled: [],
  skipped: [],
  expired: [],
}

/** How often a run may be lost before its start was acknowledged, until it counts as dead. */
export const lossMax = 5

/** The first row of a run; `waitingFor` is how many of its needs have not succeeded yet. */
export const enqueued = ({ startWithinMillis, ...run }: NewRun, waitingFor: number, now: number): Run => {
  const dueAt = run.dueAt ?? now + run.delayMillis
  return {
    ...run,
    dueAt,
    expiresAt: startWithinMillis === null ? null : dueAt + startWithinMillis,
    delayMillis: 0,
    state: waitingFor > 0 ? "blocked" : dueAt <= now ? "ready" : "scheduled",
    createdAt: now,
    attempt: 0,
    losses: 0,
    token: 0,
    node: null,
    waitingFor,
    startedAt: null,
    startAcknowledged: false,
    endedAt: null,
    output: null,
    error: null,
    reason: null,
  }
}

/** The first row of a run that does a dead one's work again: due now, with fresh attempts and nothing to wait for. */
export const replay = (dead: Run, id: string, now: number): Run =>
  enqueued(
    {
      id,
      job: dead.job,
      queue: dead.queue,
      input: dead.input,
      dueAt: null,
      delayMillis: 0,
      priority: dead.priority,
      attemptMax: dead.attemptMax,
      key: null,
      startWithinMillis: null,
      scheduleId: null,
      nominalAt: dead.nominalAt,
      chainId: null,
      needs: [],
      replayOf: dead.id,
      parentId: null,
      step: null,
    },
    0,
    now,
  )

/** The first row of a run that re-runs steps of a flow run that ended: it has expanded, at its first attempt. */
export const rerun = (old: Run, id: string, now: number): Run => ({
  ...replay(old, id, now),
  state: "blocked",
  attempt: 1,
  startedAt: now,
})

/**
 * One of its needs has succeeded; with the last one it becomes ready, or scheduled when not due yet. It could not
 * start before, so it is due from now on and not late for the time that it waited.
 */
export const needMet = (run: Run, now: number): Run | null => {
  if (run.state !== "blocked" || waitsForSteps(run)) return null
  const waitingFor = run.waitingFor - 1
  if (waitingFor > 0) return { ...run, waitingFor }
  const dueAt = Math.max(run.dueAt, now)
  return { ...run, waitingFor: 0, dueAt, state: dueAt <= now ? "ready" : "scheduled" }
}

/** One of its needs ended otherwise than succeeded, so it can never start. */
export const needFailed = (run: Run, reason: string, now: number): Run | null =>
  run.state === "blocked" && !waitsForSteps(run) ? ended(run, "skipped", now, { reason }) : null

/** Its time has come by the store's clock; or its time to start has passed, then it expires. */
export const promoted = (run: Run, now: number): Run | null => {
  if (run.state !== "scheduled" && run.state !== "retrying") return null
  if (isOverdue(run, now)) return expired(run, now)
  return run.dueAt <= now ? { ...run, state: "ready" } : null
}

/** A node takes it: a new token, and one attempt more. */
export const claimed = (run: Run, node: string, acknowledged: boolean, now: number): Run | null => {
  if (run.state !== "ready" || run.dueAt > now || run.attempt >= run.attemptMax) return null
  return {
    ...run,
    state: "running",
    node,
    token: run.token + 1,
    attempt: run.attempt + 1,
    startedAt: now,
    startAcknowledged: acknowledged,
  }
}

/** The executor has begun: from here on a loss uses up the attempt. */
export const startAcknowledged = (run: Run, token: number): Run | null =>
  holds(run, token) ? { ...run, startAcknowledged: true } : null

/** The handler returned. */
export const succeeded = (run: Run, token: number, output: string | null, now: number): Run | null =>
  holds(run, token) ? { ...ended(run, "succeeded", now, { output }), error: null } : null

/**
 * The attempt failed. It retries after `retryInMillis`, or is dead when that is `null` or no attempt is left:
 * the limit is checked here as well, whatever the caller believes.
 */
export const failed = (
  run: Run,
  token: number,
  error: ErrorInfo,
  retryInMillis: number | null,
  now: number,
): Run | null => {
  if (!holds(run, token)) return null
  if (retryInMillis === null || run.attempt >= run.attemptMax) return ended(run, "dead", now, { error })
  return { ...run, state: "retrying", node: null, dueAt: now + retryInMillis, error }
}

/** The handler said that there is nothing to do: its condition does not hold. */
export const declined = (run: Run, token: number, reason: string, now: number): Run | null =>
  holds(run, token) ? { ...ended(run, "skipped", now, { reason }), error: null } : null

/** The handler's work is a set of steps: it waits for these, and carries no node. */
export const expanded = (run: Run, token: number, open: number): Run | null =>
  holds(run, token) ? { ...run, state: "blocked", node: null, waitingFor: open } : null

/** A step of it has ended, and others have not. */
export const stepEnded = (run: Run, open: number): Run | null =>
  waitsForSteps(run) ? { ...run, waitingFor: open } : null

/** All steps have ended, and none of them badly. */
export const stepsSucceeded = (run: Run, output: string | null, now: number): Run | null =>
  waitsForSteps(run) ? { ...ended(run, "succeeded", now, { output }), waitingFor: 0, error: null } : null

/** Its steps ended badly, or took too long: the attempt failed, as in `failed`. */
export const stepsFailed = (
  run: Run,
  error: ErrorInfo,
  retryInMillis: number | null,
  now: number,
): Run | null => {
  if (!waitsForSteps(run)) return null
  if (retryInMillis === null || run.attempt >= run.attemptMax)
    return { ...ended(run, "dead", now, { error }), waitingFor: 0 }
  return { ...run, state: "retrying", waitingFor: 0, dueAt: now + retryInMillis, error }
}

/** The handler said "not now": later, and the attempt is given back. */
export const snoozed = (run: Run, token: number, delayMillis: number, now: number): Run | null => {
  if (!holds(run, token)) return null
  return { ...run, state: "scheduled", node: null, attempt: run.attempt - 1, dueAt: now + delayMillis }
}

/** The node hands it back unfinished, on a drain: ready again, and the attempt is given back. */
export const released = (run: Run, token: number): Run | null =>
  holds(run, token) ? { ...run, state: "ready", node: null, attempt: run.attempt - 1 } : null

/** Whoever was to start it was lost before: the same, at most `lossMax` times. */
export const lostUnstarted = (run: Run, token: number, now: number): Run | null =>
  holds(run, token) ? givenBack(run, neverStarted, now) : null

/** What became of an attempt, as the store is to keep it. `error`: of one that failed, and has a row of its own. */
export interface Settling {
  readonly next: Run
  readonly error: ErrorInfo | null
}

/** An outcome under its token; that of a run that expands into steps is not one row's matter: see `expanded`. */
export const settled = (
  run: Run,
  settlement: Exclude<Settlement, { readonly kind: "expanded" }>,
  now: number,
): Settling | null => {
  const next = settledRun(run, settlement, now)
  if (next === null) return null
  if (settlement.kind === "failed") return { next, error: settlement.error }
  // An attempt that was given back leaves no row, or the next one would carry the same number.
  return { next, error: settlement.kind === "released" && next.state === "dead" ? next.error : null }
}

const settledRun = (
  run: Run,
  settlement: Exclude<Settlement, { readonly kind: "expanded" }>,
  now: number,
): Run | null => {
  const { token } = settlement
  switch (settlement.kind) {
    case "succeeded":
      return succeeded(run, token, settlement.output, now)
    case "failed":
      return failed(run, token, settlement.error, settlement.retryInMillis, now)
    case "snoozed":
      return snoozed(run, token, settlement.delayMillis, now)
    case "released":
      return settlement.loss === true ? lostUnstarted(run, token, now) : released(run, token)
    case "declined":
      return declined(run, token, settlement.reason, now)
  }
}

/** Another node takes over what a worker carries on with, under the same token. */
export const adopted = (run: Run, token: number, node: string): Run | null =>
  holds(run, token) ? { ...run, node } : null

/**
 * Its node is gone. After an acknowledged start the attempt is used: it retries at once, or is dead when that
 * was the last. Before it, the attempt is given back, at most `lossMax` times.
 */
export const lost = (run: Run, error: ErrorInfo, now: number): Run | null => {
  if (run.state !== "running") return null
  if (run.startAcknowledged) {
    if (run.attempt >= run.attemptMax) return ended(run, "dead", now, { error })
    return { ...run, state: "retrying", node: null, dueAt: now, error }
  }
  return givenBack(run, error, now)
}

/** Somebody cancels it. A running one ends here too: its token no longer holds, so a late result is stale. */
export const cancelled = (run: Run, reason: string, now: number): Run | null =>
  isFinal(run.state) ? null : ended(run, "cancelled", now, { reason })

/** It was not started in time. */
export const expired = (run: Run, now: number): Run | null =>
  allowed[run.state].includes("expired")
    ? ended(run, "expired", now, { reason: "Its time to start had passed" })
    : null

/** Whether its time to start has passed. */
export const isOverdue = (run: Run, now: number): boolean => run.expiresAt !== null && run.expiresAt <= now

// Blocked by its needs, a run has not used an attempt yet; by its steps, it has.
const waitsForSteps = (run: Run): boolean => run.state === "blocked" && run.attempt > 0

const neverStarted: ErrorInfo = {
  name: "NeverStarted",
  message: "Whoever was to start it was lost before, time after time",
  kind: "lost",
}

const givenBack = (run: Run, error: ErrorInfo, now: number): Run => {
  const losses = run.losses + 1
  if (losses > lossMax) return { ...ended(run, "dead", now, { error }), losses }
  return { ...run, state: "ready", node: null, attempt: run.attempt - 1, losses }
}

const holds = (run: Run, token: number): boolean => run.state === "running" && run.token === token

const ended = (
  run: Run,
  state: RunState,
  now: number,
  what: Partial<Pick<Run, "output" | "error" | "reason">>,
): Run => ({ ...run, ...what, state, node: null, endedAt: now })

// The course of an attempt in the hands of a worker: given, begun, timed, told to stop, ended or lost. The session says
// what happened; here is what it means for the run and the store.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { failed, type Outcome, type Settled } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import { spanMaxMillis } from "../domain/TimeSpan.ts"
import type { JobBook } from "../domain/Job.ts"
import type { Events } from "../observe/Event.ts"
import type { StopReason } from "../ports/Executor.ts"
import type { NodeStore, RunStore } from "../ports/Store.ts"
import type { Timers } from "../ports/Timers.ts"
import { payloadFailure } from "../protocol/Outcomes.ts"
import type { Moment, ServerEffect } from "../protocol/ServerState.ts"
import { type Attempt, Attempts } from "./Attempts.ts"
import { type LookAfter, makeLookAfter } from "./LookAfter.ts"
import type { Seat } from "./Seat.ts"

/** What it is given. */
export interface CourseOptions extends Pick<
  Parameters<typeof makeLookAfter>[0],
  "node" | "pollMillis" | "onTrouble"
> {
  readonly book: JobBook
  readonly moment: () => Moment
  readonly timers: Timers
  readonly events: Events
  /** Writes an outcome and tells of it; `done` hears what became of it. */
  readonly settle: (
    run: Run,
    outcome: Outcome,
    durationMillis: number,
    done: (settled: Settled) => void,
  ) => void
  /**
   * Why a worker that takes runs of these queues (`null`: of all) may not have these steps do the work; `null`: it may. Its
   * word is not trusted.
   */
  readonly whyNot: (
    outcome: Extract<Outcome, { kind: "expanded" }>,
    queues: ReadonlyArray<string> | null,
  ) => string | null
  /** A step of this run is carried. */
  readonly follow: (parentId: string) => void
  /** There may be room for another run. */
  readonly onSettled: () => void
}

/** Keeps attempts on their course. */
export interface Course {
  readonly attempts: Attempts
  readonly lookAfter: LookAfter
  /** The worker has it from now on, `adopted` when it began it under an earlier server. */
  readonly give: (seat: Seat, run: Run, adopted: boolean) => void
  readonly stop: (attempt: Attempt, reason: StopReason) => void
  /** An effect about an attempt. */
  readonly on: (effect: Extract<ServerEffect, { kind: AttemptEffect }>) => void
  /** What was left at this seat has nobody any more. */
  readonly orphaned: (seat: Seat | undefined, reason: string) => void
  /** Those that no worker has begun. */
  readonly unbegun: () => ReadonlyArray<Attempt>
  /** Those that workers are at. */
  readonly begun: () => ReadonlyArray<Attempt>
}

/** The effects that are about one attempt. */
export type AttemptEffect = "started" | "outcome" | "release" | "lost" | "report"

// How long a handler that was told of its time-out may take to report it.
const timeoutGraceMillis = 5000

/** Starts it; it stops with the scope. */
export const makeCourse = (
  options: CourseOptions,
): Effect.Effect<Course, never, Scope.Scope | RunStore | NodeStore> =>
  Effect.gen(function* () {
    const { events, timers, book, moment } = options
    const attempts = new Attempts()

    const settle = (attempt: Attempt, outcome: Outcome): void => {
      const { run } = attempt
      attempt.settling = true
      attempt.takeBack?.()
      const durationMillis = attempt.startedAt === null ? 0 : moment().now - attempt.startedAt
      options.settle(run, outcome, durationMillis, ({ result, state }) => {
        attempts.remove(attempt)
        // Another node that lost the worker may have decided first, under the same token.
        const isLost = outcome.kind === "succeeded" && state !== "succeeded"
        attempt.seat.step({
          kind: "settled",
          run: run.id,
          token: run.token,
          result: isLost ? "stale" : result,
        })
        options.onSettled()
      })
    }
    const giveUp = (attempt: Attempt, outcome: Outcome): void => {
      attempt.decided = true
      settle(attempt, outcome)
    }
    const stop = (attempt: Attempt, reason: StopReason): void => {
      if (attempt.told || attempt.settling) return
      attempt.told = true
      attempt.seat.step({ kind: "stop", run: attempt.run.id, token: attempt.run.token, reason })
    }
    const lookAfter = yield* makeLookAfter({
      attempts,
      node: options.node,
      pollMillis: options.pollMillis,
      onGone: (attempt) => stop(attempt, "cancelled"),
      onLost: giveUp,
      onTrouble: options.onTrouble,
    })

    const begin = (attempt: Attempt): void => {
      if (attempt.startedAt !== null) return
      const { now, at } = moment()
      const { run } = attempt
      attempt.startedAt = now
      lookAfter.started(attempt)
      if (!attempt.adopted) events.publish({ kind: "started", run, at, latenessMillis: at - run.dueAt })
      const limitMillis = book.jobs.get(run.job)?.timeoutMillis ?? null
      if (limitMillis === null) return
      // Of one that was begun under an earlier server, so much of its time is over.
      const leftMillis = attempt.adopted ? limitMillis - Math.max(0, at - (run.startedAt ?? at)) : limitMillis
      const key = { run: run.id, token: run.token }
      attempt.takeBack = timers.after(Math.max(0, leftMillis), () => {
        attempt.seat.step({ kind: "stop", ...key, reason: "timeout" })
        const outcome = timedOut(limitMillis, attempt.seat.name)
        const decide = (): void => attempt.seat.step({ kind: "decide", ...key, outcome })
        attempt.takeBack = timers.after(timeoutGraceMillis, decide)
      })
    }
    /** As the worker said it, where that is possible: dates beyond all calendars and steps that nobody does are not. */
    const trusted = (attempt: Attempt, outcome: Outcome): Outcome => {
      if (outcome.kind === "snoozed")
        return { ...outcome, delayMillis: Math.min(outcome.delayMillis, spanMaxMillis) }
      if (outcome.kind === "failed" && outcome.retryAfterMillis !== null)
        return { ...outcome, retryAfterMillis: Math.min(outcome.retryAfterMillis, spanMaxMillis) }
      if (outcome.kind !== "expanded") return outcome
      const { hello, grant } = attempt.seat
      const why = options.whyNot(outcome, hello.queues ?? grant.queues)
      return why === null ? outcome : payloadFailure(why)
    }
    const report = (run: Run, message: Extract<ServerEffect, { kind: "report" }>["message"]): void => {
      if (message.type === "progress") {
        const { percent, note = null } = message
        return events.publish({ kind: "progress", run, percent, note })
      }
      const { lines, dropped = 0 } = message
      if (dropped > 0)
        events.publish({ kind: "log", run, line: `(${dropped} lines were too many, and are left out)` })
      for (const { text } of lines) events.publish({ kind: "log", run, line: text })
    }

    return {
      attempts,
      lookAfter,
      give: (seat, run, adopted) => {
        attempts.of(run)?.takeBack?.()
        if (run.parentId !== null) options.follow(run.parentId)
        attempts.add({
          run,
          seat,
          startedAt: null,
          takeBack: undefined,
          told: false,
          settling: false,
          decided: false,
          adopted,
        })
      },
      stop,
      on: (effect) => {
        const attempt = attempts.get(effect.kind === "report" ? effect.message : effect)
        if (attempt === undefined) return
        switch (effect.kind) {
          case "started":
            return begin(attempt)
          case "outcome":
            return settle(attempt, trusted(attempt, effect.outcome))
          case "release":
            // A worker that vanished may have come to another node with it meanwhile, and begun it.
            return effect.loss
              ? lookAfter.lost(attempt, { kind: "released", loss: true })
              : giveUp(attempt, { kind: "released" })
          case "lost":
            return lookAfter.lost(attempt, lostWith(attempt.seat.name, effect.reason))
          case "report":
            return report(attempt.run, effect.message)
        }
      },
      orphaned: (seat, reason) => {
        for (const attempt of attempts.values())
          if (attempt.seat === seat && !attempt.settling)
            lookAfter.lost(attempt, lostWith(attempt.seat.name, reason))
      },
      unbegun: () =>
        [...attempts.values()].filter(({ startedAt, settling }) => startedAt === null && !settling),
      begun: () =>
        [...attempts.values()].filter(({ startedAt, settling }) => startedAt !== null && !settling),
    }
  })

/** The attempt is used, and the run is ready again at once: its worker is gone, not its work bad. */
export const lostWith = (worker: string, reason: string): Outcome =>
  failed({ name: "WorkerLost", message: `Worker "${worker}" was lost: ${reason}`, kind: "lost" }, true, 0)

const timedOut = (millis: number, worker: string): Outcome =>
  failed({
    name: "Timeout",
    message: `The attempt took longer than its limit of ${millis} ms, and worker "${worker}" did not stop it`,
    kind: "timeout",
  })

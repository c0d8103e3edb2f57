// The engine's desk for workers: seats them, gives them runs, keeps time for their attempts and brings their outcomes to
// the store. The session machines decide what is said; here is what it means for runs. A worker's outcome is
// acknowledged when the store has answered, and not before.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import type { JobBook } from "../domain/Job.ts"
import { failed, type Outcome, type Settled } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import type { StopReason } from "../ports/Executor.ts"
import { NodeStore, RunStore } from "../ports/Store.ts"
import type { Timers } from "../ports/Timers.ts"
import { payloadFailure } from "../protocol/Outcomes.ts"
import { openServer } from "../protocol/ServerOpen.ts"
import type { Moment, ServerEffect } from "../protocol/ServerState.ts"
import type { Terms } from "../protocol/Terms.ts"
import { makeAdopt } from "./Adoption.ts"
import { type AssignerOptions, makeAssigner } from "./Assigner.ts"
import { type Attempt, Attempts } from "./Attempts.ts"
import { makeLookAfter } from "./LookAfter.ts"
import { makeReception } from "./Reception.ts"
import { Seat } from "./Seat.ts"
import { encodeReport } from "./WorkerReport.ts"
import type { Desk, WorkersConfig } from "./WorkersConfig.ts"

/** What the desk is given by the engine. */
export interface DeskOptions
  extends Pick<
    AssignerOptions,
    | "book"
    | "placements"
    | "ownJobs"
    | "node"
    | "holdsLease"
    | "pollMillis"
    | "inputsOf"
    | "unknownHeld"
    | "onTrouble"
  > {
  readonly config: WorkersConfig
  readonly terms: Terms
  readonly book: JobBook
  readonly ids: IdSource
  /** In [0, 1). */
  readonly random: () => number
  readonly timers: Timers
  readonly events: Events
  /** Writes an outcome and tells of it; `done` hears what became of it. */
  readonly settle: (
    run: Run,
    outcome: Outcome,
    durationMillis: number,
    done: (settled: Settled) => void,
  ) => void
  /** Why these steps cannot be: a worker's word is not trusted. `null`: they can. */
  readonly whyNot: (run: Run, outcome: Extract<Outcome, { kind: "expanded" }>, queues: ReadonlyArray<string> | null) => string | null
  /** A step of this run is carried. */
  readonly follow: (parentId: string) => void
}

/** The desk, and how the engine holds it. */
export interface DeskControl extends Desk {
  readonly wake: () => void
  /** Tells the workers of these runs that they were cancelled. */
  readonly cancel: (runIds: ReadonlyArray<string>) => void
  /** Steps may have been called off: asks now which attempts are still ours. */
  readonly check: () => void
  readonly has: (run: Run) => boolean
  readonly carriesStepOf: (parentId: string) => boolean
  /** How many attempts workers have begun. */
  readonly size: () => number
  /** Takes nothing more: what no worker has begun goes back. Outcomes still come in. */
  readonly close: () => void
  /** Waits until nothing unbegun is in the hands of workers, two seconds at most. */
  readonly handedBack: Effect.Effect<void>
  /** Ends all sessions with 1012; answers how many attempts go on, for whoever comes next. */
  readonly end: () => number
  /** The node's lease is gone: workers are told to stop, and the store refuses what they report. */
  readonly leaseLost: () => void
}

// How long a handler that was told of its time-out may take to report it.
const timeoutGraceMillis = 5000

/** Starts the desk; it stops with the scope. */
export const makeDesk = (
  options: DeskOptions,
): Effect.Effect<DeskControl, never, Scope.Scope | RunStore | NodeStore> =>
  Effect.gen(function* () {
    const { events, timers, book } = options
    const clock = yield* Clock.Clock
    const adopt = yield* makeAdopt
    const context = yield* Effect.context<Scope.Scope>()
    const moment = (): Moment => ({
      now: Number(clock.monotonicTimeNanosUnsafe() / 1000n) / 1000,
      at: clock.currentTimeMillisUnsafe(),
      random: options.random(),
    })
    const seats = new Map<string, Seat>()
    const attempts = new Attempts()
    const toFlush = new Set<Seat>()
    const acks = Latch.makeUnsafe(false)
    let closed = false

    const settle = (attempt: Attempt, outcome: Outcome): void => {
      const { run } = attempt
      attempt.settling = true
      attempt.takeBack?.()
      const durationMillis = attempt.startedAt === null ? 0 : moment().now - attempt.startedAt
      options.settle(run, outcome, durationMillis, ({ result }) => {
        attempts.remove(attempt)
        attempt.seat.step({ kind: "settled", run: run.id, token: run.token, result })
        assigner.wake()
      })
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
      onLost: (attempt, reason) => settle(attempt, lost(attempt, reason)),
      onTrouble: options.onTrouble,
    })

    const began = (attempt: Attempt, limitMillis: number | null): void => {
      const { now, at } = moment()
      const { run } = attempt
      attempt.startedAt = now
      lookAfter.started(attempt)
      if (!attempt.adopted)
        events.publish({ kind: "started", run, at, latenessMillis: at - run.dueAt })
      if (limitMillis === null) return
      const key = { run: run.id, token: run.token }
      attempt.takeBack = timers.after(limitMillis, () => {
        attempt.seat.step({ kind: "stop", ...key, reason: "timeout" })
        attempt.takeBack = timers.after(timeoutGraceMillis, () =>
          attempt.seat.step({ kind: "decide", ...key, outcome: timedOut(limitMillis, attempt.seat.name) }),
        )
      })
    }
    /** Of one that was begun under an earlier server, so much of its time is over. */
    const limitOf = ({ run, adopted }: Attempt): number | null => {
      const limit = book.jobs.get(run.job)?.timeoutMillis ?? null
      if (limit === null || !adopted) return limit
      return Math.max(0, limit - Math.max(0, moment().at - (run.startedAt ?? moment().at)))
    }
    const trusted = (attempt: Attempt, outcome: Outcome): Outcome => {
      if (outcome.kind !== "expanded") return outcome
      const { hello, grant } = attempt.seat
      const why = options.whyNot(attempt.run, outcome, hello.queues ?? grant.queues)
      return why === null ? outcome : payloadFailure(why)
    }

    const onEffect = (seat: Seat, effect: Exclude<ServerEffect, { kind: "send" | "close" }>): void => {
      if (effect.kind === "status") {
        tell(seat, effect.status, null)
        return changed()
      }
      if (effect.kind === "over") return over(seat, effect.reason)
      const attempt = attempts.get(effect.kind === "report" ? effect.message : effect)
      if (attempt === undefined) return
      switch (effect.kind) {
        case "started":
          if (attempt.startedAt === null) began(attempt, limitOf(attempt))
          break
        case "outcome":
          settle(attempt, trusted(attempt, effect.outcome))
          break
        case "release":
          settle(attempt, effect.loss ? { kind: "released", loss: true } : { kind: "released" })
          break
        case "lost":
          lookAfter.lost(attempt, effect.reason)
          break
        case "report":
          report(attempt.run, effect.message)
      }
    }
    const report = (run: Run, message: Extract<ServerEffect, { kind: "report" }>["message"]): void => {
      if (message.type === "progress")
        return events.publish({ kind: "progress", run, percent: message.percent, note: message.note ?? null })
      if ((message.dropped ?? 0) > 0)
        events.publish({ kind: "log", run, line: `(${message.dropped} lines were too many, and are left out)` })
      for (const { text } of message.lines) events.publish({ kind: "log", run, line: text })
    }
    const tell = (seat: Seat, what: WorkerChange, reason: string | null): void =>
      events.publish({ kind: "worker", worker: seat.name, what, reason })
    const changed = (): void => {
      assigner.changed()
      lookAfter.changed()
    }
    const over = (seat: Seat, reason: string): void => {
      if (seats.get(seat.name) === seat) seats.delete(seat.name)
      tell(seat, "over", reason)
      changed()
    }

    const assigner = yield* makeAssigner({
      ...options,
      seats: () => seats.values(),
      assign: (seat, run, assign) => {
        attempts.add({
          run,
          seat,
          startedAt: null,
          takeBack: undefined,
          told: false,
          settling: false,
          adopted: false,
        })
        if (run.parentId !== null) options.follow(run.parentId)
        seat.step({ kind: "assign", assign })
      },
      settle: (run, outcome) => options.settle(run, outcome, 0, () => assigner.wake()),
    })

    const seatOptions = {
      moment,
      timers,
      node: options.node,
      onEffect,
      onAcks: (seat: Seat): void => {
        toFlush.add(seat)
        acks.openUnsafe()
      },
      onRoom: () => assigner.wake(),
      onRefused: (seat: Seat, reason: string): void => tell(seat, "refused", reason),
    }
    const onConnection = makeReception({
      config: options.config,
      moment,
      timers,
      seatOf: (worker) => seats.get(worker),
      isOpen: () => !closed,
      open: Effect.fnUntraced(function* ({ connection, hello, grant, previous, isGone }) {
        if (previous !== undefined) {
          const isSame = previous.hello.incarnation === hello.incarnation
          const reason = isSame ? "a new session of the same process" : "a newer process has the worker's name"
          previous.step({ kind: "end", close: "replaced", reason, ...(isSame ? { keep: true } : {}) })
        }
        const queues = hello.queues ?? grant.queues
        const mayHave = (run: Run): boolean => {
          const holder = attempts.of(run)?.seat
          const isFree = holder === undefined || holder === previous || holder.state.phase === "over"
          return isFree && hello.jobs.includes(run.job) && (queues === null || queues.includes(run.queue))
        }
        const adopted =
          hello.inHand.length === 0 || isGone()
            ? { verdicts: [], runs: [] }
            : yield* adopt(options.node(), hello.inHand, mayHave)
        const now = moment()
        const session = options.ids()
        const { state, effects } = openServer(
          { terms: options.terms, session, connection: 1, hello, verdicts: adopted.verdicts },
          now,
        )
        const seat = new Seat(state, hello, grant, connection, seatOptions)
        seats.set(seat.name, seat)
        for (const run of adopted.runs) {
          attempts.of(run)?.takeBack?.()
          attempts.add({
            run,
            seat,
            startedAt: null,
            takeBack: undefined,
            told: false,
            settling: false,
            adopted: true,
          })
        }
        tell(seat, "connected", `${hello.runtime}, version ${hello.version}`)
        seat.take(effects)
        changed()
        return seat
      }),
      onResumed: (seat) => {
        tell(seat, "resumed", null)
        changed()
      },
      onDenied: ({ worker, address }, reason) =>
        events.publish({ kind: "worker", worker: worker ?? address, what: "denied", reason }),
      fork: Effect.runForkWith(context),
    })

    const flush = Effect.gen(function* () {
      yield* acks.await
      // The others of this turn come in before.
      yield* Effect.yieldNow
      acks.closeUnsafe()
      for (const seat of toFlush) seat.flush()
      toFlush.clear()
    })
    yield* supervise("acknowledgements to workers", flush)
    yield* lookAfter.report(() => encodeReport([...seats.values()].map((seat) => seat.view())))

    const unbegun = (): ReadonlyArray<Attempt> =>
      [...attempts.values()].filter(({ startedAt, settling }) => startedAt === null && !settling)
    const withSeat = (worker: string, act: (seat: Seat) => void): boolean => {
      const seat = seats.get(worker)
      if (seat !== undefined) act(seat)
      return seat !== undefined
    }
    return {
      onConnection,
      list: () => [...seats.values()].map((seat) => seat.view()).sort((a, b) => (a.name < b.name ? -1 : 1)),
      inHandOf: (worker) =>
        [...(seats.get(worker)?.state.held.values() ?? [])].map(({ run, attempt, token, job, state }) => ({
          run,
          attempt,
          token,
          job: job ?? attempts.get({ run, token })?.run.job ?? "",
          state,
        })),
      drain: (worker, graceMillis, reason) =>
        withSeat(worker, (seat) => seat.step({ kind: "drain", graceMillis, reason })),
      disconnect: (worker, reason) =>
        withSeat(worker, (seat) => seat.step({ kind: "end", close: "leaseLost", reason })),
      keepOnly: (credentials) => {
        for (const seat of seats.values())
          if (seat.grant.id !== null && !credentials.has(seat.grant.id))
            seat.step({ kind: "end", close: "token", reason: "the token was revoked, or has expired" })
      },
      wake: assigner.wake,
      cancel: (runIds) => {
        const ids = new Set(runIds)
        for (const attempt of attempts.values()) if (ids.has(attempt.run.id)) stop(attempt, "cancelled")
      },
      check: lookAfter.check,
      has: (run) => attempts.of(run) !== undefined || assigner.isParked(run),
      carriesStepOf: (parentId) => {
        for (const { run, told } of attempts.values()) if (run.parentId === parentId && !told) return true
        return false
      },
      size: () => attempts.size,
      close: () => {
        if (closed) return
        closed = true
        assigner.close()
        for (const attempt of unbegun()) stop(attempt, "drain")
      },
      handedBack: Effect.gen(function* () {
        yield* assigner.idle
        for (let waited = 0; unbegun().length > 0 && waited < 2000; waited += 20) yield* Effect.sleep(20)
      }),
      end: () => {
        let begun = 0
        for (const { startedAt, settling } of attempts.values()) if (startedAt !== null && !settling) begun++
        for (const seat of seats.values())
          seat.step({ kind: "end", close: "restart", reason: "the server stops", keep: true })
        return begun
      },
      leaseLost: () => {
        assigner.forget()
        for (const attempt of attempts.values()) stop(attempt, "leaseLost")
      },
    }
  })

type WorkerChange = Extract<Parameters<Events["publish"]>[0], { kind: "worker" }>["what"]

// The run is ready again at once: its worker is gone, not its work bad.
const lost = ({ seat }: Attempt, reason: string): Outcome =>
  failed({ name: "WorkerLost", message: `Worker "${seat.name}" was lost: ${reason}`, kind: "lost" }, true, 0)

const timedOut = (millis: number, worker: string): Outcome =>
  failed({
    name: "Timeout",
    message: `The attempt took longer than its limit of ${millis} ms, and worker "${worker}" did not stop it`,
    kind: "timeout",
  })


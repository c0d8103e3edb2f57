// The engine's desk for workers: seats them, gives them runs, and brings their outcomes to the store. The session
// machines decide what is said, `Course` what it means for a run. A worker's outcome is acknowledged when the store has
// answered, and not before.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { IdSource } from "../domain/Ids.ts"
import type { Run } from "../domain/Run.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import type { NodeStore, RunStore } from "../ports/Store.ts"
import { openServer } from "../protocol/ServerOpen.ts"
import type { Moment, ServerEffect } from "../protocol/ServerState.ts"
import type { Terms } from "../protocol/Terms.ts"
import { makeAdoption } from "./Adoption.ts"
import { type AssignerOptions, makeAssigner } from "./Assigner.ts"
import { type CourseOptions, lostWith, makeCourse } from "./Course.ts"
import { makeReception, type ReceptionOptions } from "./Reception.ts"
import { Seat } from "./Seat.ts"
import { encodeReport } from "./WorkerReport.ts"
import type { Desk, WorkersConfig } from "./WorkersConfig.ts"

/** What the desk is given by the engine. */
export interface DeskOptions
  extends Omit<AssignerOptions, "seats" | "assign" | "settle">, Omit<CourseOptions, "moment" | "onSettled"> {
  readonly config: WorkersConfig
  readonly terms: Terms
  readonly ids: IdSource
  /** Whether a handler of the engine's own process has it. */
  readonly isCarried: (run: Run) => boolean
  /** In [0, 1). */
  readonly random: () => number
}

/** The desk, and how the engine holds it. */
export interface DeskControl extends Desk {
  /** Runs may be ready. */
  readonly wake: () => void
  /** Tells the workers of these runs that they were cancelled. */
  readonly cancel: (runIds: ReadonlyArray<string>) => void
  /** Steps may have been called off: asks now which attempts are still ours. */
  readonly check: () => void
  /** Queues were paused or resumed. */
  readonly queuesChanged: () => void
  /** The node drains: its workers finish and go, and no new ones are taken; `null`: they may come again. */
  readonly hold: (drain: { readonly graceMillis: number; readonly reason: string } | null) => void
  readonly has: (run: Run) => boolean
  readonly carriesStepOf: (parentId: string) => boolean
  /** Takes nothing more: what no worker has begun goes back. Outcomes still come in. */
  readonly close: () => void
  /** Waits until nothing unbegun is in the hands of workers, two seconds at most. */
  readonly handedBack: Effect.Effect<void>
  /** Ends all sessions with 1012; answers how many attempts go on, for whoever comes next. */
  readonly end: () => number
  /** The node's lease is gone: workers are told to stop, and the store refuses what they report. */
  readonly leaseLost: () => void
}

type WorkerChange = Extract<Parameters<Events["publish"]>[0], { kind: "worker" }>["what"]

/** Starts the desk; it stops with the scope. */
export const makeDesk = (
  options: DeskOptions,
): Effect.Effect<DeskControl, never, Scope.Scope | RunStore | NodeStore> =>
  Effect.gen(function* () {
    const { events, timers } = options
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<never>()
    const moment = (): Moment => ({
      now: Number(clock.monotonicTimeNanosUnsafe() / 1000n) / 1000,
      at: clock.currentTimeMillisUnsafe(),
      random: options.random(),
    })
    const seats = new Map<string, Seat>()
    let phase: "open" | "closed" | "ended" = "open"
    let isHeld = false

    const course = yield* makeCourse({ ...options, moment, onSettled: () => assigner.wake() })
    const { attempts, lookAfter } = course
    const adoption = yield* makeAdoption({
      node: options.node,
      now: () => moment().now,
      pollMillis: options.pollMillis,
      doubtMillis: options.terms.lostMillis,
      onLost: (run, worker, done) => {
        const outcome = lostWith(
          worker,
          "the store did not answer when it came with the run, and then it did not",
        )
        options.settle(run, outcome, 0, () => {
          done()
          assigner.wake()
        })
      },
      onTrouble: options.onTrouble,
    })
    const assigner = yield* makeAssigner({
      ...options,
      seats: () => seats.values(),
      assign: (seat, run, assign) => {
        course.give(seat, run, false)
        seat.step({ kind: "assign", assign })
      },
      settle: (run, outcome) => options.settle(run, outcome, 0, () => assigner.wake()),
    })

    const tell = (seat: Seat, what: WorkerChange, reason: string | null): void =>
      events.publish({ kind: "worker", worker: seat.name, what, reason })
    const changed = (): void => {
      assigner.changed()
      lookAfter.changed()
    }
    const onEffect = (seat: Seat, effect: Exclude<ServerEffect, { kind: "send" | "close" }>): void => {
      if (effect.kind === "status") {
        tell(seat, effect.status, effect.status === "cut" ? seat.goneAs : null)
        changed()
      } else if (effect.kind === "over") {
        if (seats.get(seat.name) === seat) seats.delete(seat.name)
        tell(seat, "over", effect.reason)
        changed()
      } else course.on(effect)
    }

    const toFlush = new Set<Seat>()
    const acks = Latch.makeUnsafe(false)
    const flush = Effect.gen(function* () {
      yield* acks.await
      // The others of this turn come in before.
      yield* Effect.yieldNow
      acks.closeUnsafe()
      for (const seat of toFlush) seat.flush()
      toFlush.clear()
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
      onJobs: changed,
      onRefused: (seat: Seat, reason: string): void => tell(seat, "refused", reason),
    }

    /** A new session, with what of the worker's attempts the store says is still its own. */
    const open: ReceptionOptions["open"] = Effect.fnUntraced(function* (asked) {
      const { connection, hello, grant, previous } = asked
      if (previous !== undefined) {
        const isSame = previous.hello.incarnation === hello.incarnation
        const reason = isSame ? "a new session of the same process" : "a newer process has the worker's name"
        previous.step({
          kind: "end",
          close: "replaced",
          reason,
          ...(isSame ? { keep: true, named: hello.inHand } : {}),
        })
      }
      const queues = hello.queues ?? grant.queues
      const mayHave = (run: Run): boolean => {
        const attempt = attempts.of(run)
        // Its end is on its way to the store: going on with it would be for nothing.
        if (attempt?.decided === true) return false
        const holder = attempt?.seat
        const isOver = holder === undefined || holder === previous || holder.state.phase === "over"
        const isFree = isOver && !options.isCarried(run) && !assigner.isParked(run)
        return isFree && hello.jobs.includes(run.job) && (queues === null || queues.includes(run.queue))
      }
      const { verdicts, runs } = yield* Effect.onError(adoption.adopt(hello, mayHave), () =>
        Effect.sync(() => course.orphaned(previous, "the store did not say whether it is still its own")),
      )
      // What it has in hand waits for the next server.
      if (phase === "ended") return null
      const begin = { terms: options.terms, session: options.ids(), connection: 1, hello, verdicts }
      const { state, effects } = openServer(begin, moment())
      const seat = new Seat(state, hello, grant, connection, seatOptions)
      seats.set(seat.name, seat)
      for (const run of runs) course.give(seat, run, true)
      adoption.done(runs)
      course.orphaned(previous, "it has a new session, and does not name it")
      asked.onSeat(seat)
      tell(
        seat,
        "connected",
        hello.version === "" ? hello.runtime : `${hello.runtime}, version ${hello.version}`,
      )
      seat.take(effects)
      changed()
      return seat
    })
    const onConnection = makeReception({
      config: options.config,
      moment,
      timers,
      seatOf: (worker) => seats.get(worker),
      isOpen: () => phase === "open" && !isHeld,
      open,
      onResumed: (seat) => {
        tell(seat, "resumed", null)
        changed()
      },
      onDenied: ({ worker, address }, reason) =>
        events.publish({ kind: "worker", worker: worker ?? address, what: "denied", reason }),
      fork: Effect.runForkWith(context),
    })
    yield* supervise("acknowledgements to workers", flush)
    yield* lookAfter.report(() => encodeReport([...seats.values()].map((seat) => seat.view())))

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
        withSeat(worker, (seat) => {
          seat.step({ kind: "drain", graceMillis, reason })
          changed()
        }),
      disconnect: (worker, reason) =>
        withSeat(worker, (seat) => seat.step({ kind: "end", close: "leaseLost", reason })),
      keepOnly: (credentials) => {
        for (const seat of seats.values())
          if (seat.grant.id === null || !credentials.has(seat.grant.id))
            seat.step({ kind: "end", close: "token", reason: "the token was revoked, or has expired" })
      },
      wake: assigner.wake,
      cancel: (runIds) => {
        const ids = new Set(runIds)
        assigner.drop(ids)
        for (const attempt of attempts.values())
          if (ids.has(attempt.run.id)) course.stop(attempt, "cancelled")
      },
      check: lookAfter.check,
      queuesChanged: assigner.changed,
      hold: (drain) => {
        isHeld = drain !== null
        if (drain === null) return
        const { graceMillis, reason } = drain
        for (const seat of seats.values()) seat.step({ kind: "drain", graceMillis, reason })
        changed()
      },
      has: (run) => attempts.of(run) !== undefined || assigner.isParked(run) || adoption.has(run),
      carriesStepOf: (parentId) => {
        for (const { run, told } of attempts.values()) if (run.parentId === parentId && !told) return true
        return false
      },
      close: () => {
        if (phase !== "open") return
        phase = "closed"
        assigner.close()
        for (const attempt of course.unbegun()) course.stop(attempt, "drain")
      },
      handedBack: Effect.gen(function* () {
        yield* assigner.idle
        for (let waited = 0; course.unbegun().length > 0 && waited < 2000; waited += 20)
          yield* Effect.sleep(20)
      }),
      end: () => {
        phase = "ended"
        const begun = course.begun().length + adoption.size()
        for (const seat of seats.values())
          seat.step({ kind: "end", close: "restart", reason: "the server stops", keep: true })
        return begun
      },
      leaseLost: () => {
        assigner.forget()
        for (const attempt of attempts.values()) course.stop(attempt, "leaseLost")
      },
    }
  })

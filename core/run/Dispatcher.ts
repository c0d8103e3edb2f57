// Dispatch: gives ready runs to the executor, as many as there are free slots, and their outcomes to settlement.
// A slot is free again when its handler has ended: while outcomes are on their way to the store, the next runs are
// claimed. As many outcomes as there are slots may be on their way, so a node carries at most twice its slots.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { JobBook } from "../domain/Job.ts"
import type { Outcome, Settled } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { Executor, type StopReason } from "../ports/Executor.ts"
import { type FlowStore, RunStore } from "../ports/Store.ts"
import type { Timers } from "../ports/Timers.ts"
import type { Aftermath } from "./Aftermath.ts"
import { type Carried, CarriedRuns } from "./CarriedRuns.ts"
import type { FlowWatch } from "./FlowWatch.ts"
import { makeHeldBy } from "./Held.ts"
import { type Inputs, makeInputs } from "./Inputs.ts"
import type { Settler } from "./Settlement.ts"

/** Gives runs to the executor. */
export interface Dispatcher {
  /** Something may be ready: look now. */
  readonly wake: () => void
  /** Claims nothing more. */
  readonly close: () => void
  /** Tells the handlers of these runs, where they run here, that their run was cancelled; and of their steps. */
  readonly cancel: (ids: ReadonlyArray<string>) => void
  /** Steps may have been called off: asks now which carried runs are still ours. */
  readonly checkCarried: () => void
  /** Whether this attempt is carried. */
  readonly carries: (run: Run) => boolean
  /** Whether a step of this run is carried, and still ours. */
  readonly carriesStepOf: (id: string) => boolean
  /** Tells all handlers to stop; with `drain` their runs are handed back unfinished. */
  readonly stopAll: (reason: StopReason) => void
  /** Runs whose handlers run now. */
  readonly size: () => number
  /** Waits until no run is carried. */
  readonly idle: Effect.Effect<void>
  /** Waits until the store has said which runs are ours, after a claim that failed; once closed they are handed back. */
  readonly sure: Effect.Effect<void>
}

/** What the dispatcher is given. */
export interface DispatcherOptions {
  readonly book: JobBook
  /** How many runs at once; 0: only those of flows, whose steps others carry out. */
  readonly slots: number
  /** How long to wait without a hint before looking again, in milliseconds. */
  readonly pollMillis: number
  readonly node: () => string
  /** Whether the node believes that its lease holds: without it nothing is claimed. */
  readonly holdsLease: () => boolean
  /** Those of these queues that are not paused; the same list for the same one while nothing changes. */
  readonly open: (queues: ReadonlyArray<string>) => ReadonlyArray<string>
  readonly settler: Settler
  readonly flows: FlowWatch
  readonly timers: Timers
  readonly events: Events
  readonly aftermath: Aftermath
  /** Whether a run that the node holds is one of those that workers carry for it. */
  readonly isWorkers: (run: Run) => boolean
  readonly onTrouble: (doing: string, error: StoreError) => void
}

// How long a handler that was told of a cancel may go on before its slot is given away without it.
const cancelGraceMillis = 5000
// Runs in one claim, and how long starting them may hold the event loop before others get a turn.
const claimMax = 200
const turnMillis = 4
// Flows that a node without slots expands at once.
const expandSlots = 4

/** Starts the dispatcher, which stops with the scope. */
export const makeDispatcher = (
  options: DispatcherOptions,
): Effect.Effect<Dispatcher, never, Scope.Scope | RunStore | FlowStore | Executor> =>
  Effect.gen(function* () {
    const { settler, timers, events, flows } = options
    const store = yield* RunStore
    const inputsOf = yield* makeInputs
    const heldBy = yield* makeHeldBy
    const executor = yield* Executor
    const clock = yield* Clock.Clock
    const monotonic = () => Number(clock.monotonicTimeNanosUnsafe() / 1000n) / 1000
    const carried = new CarriedRuns()
    const wanted = Latch.makeUnsafe(true)
    const empty = Latch.makeUnsafe(true)
    const unsure = Latch.makeUnsafe(false)
    const known = [...executor.jobs].filter((name) => options.book.jobs.has(name))
    const expanding = known.filter((name) => options.book.jobs.get(name)?.expands === true)
    // To say which steps do the work takes no slot's time: a node without slots does that for its workers.
    const jobs = options.slots === 0 ? expanding : known
    const slots = options.slots || expandSlots
    let queues = [...new Set(jobs.map((name) => options.book.jobs.get(name)?.queue ?? "default"))]
    let closed = false
    // While a claim is under way the node may hold runs that it does not know yet.
    let claiming = false
    // Whether the last claim was answered in full: then it is worth to claim for a slot before its outcome is stored.
    let mayBeMore = false
    // Closed when a claim failed: it may have been done, and then the store knows runs of ours that we do not.
    const sure = Latch.makeUnsafe(true)

    const start = (run: Run, inputs: Inputs): void => {
      const timeoutMillis = options.book.jobs.get(run.job)?.timeoutMillis ?? null
      const each: Carried = {
        run,
        startedAt: monotonic(),
        started: undefined,
        takeBack: undefined,
        told: false,
        over: false,
      }
      carried.add(each)
      if (run.parentId !== null) flows.add(run.parentId)
      empty.closeUnsafe()
      const at = clock.currentTimeMillisUnsafe()
      events.publish({ kind: "started", run, at, latenessMillis: at - run.dueAt })
      if (timeoutMillis !== null) {
        each.takeBack = timers.after(timeoutMillis, () => {
          finish(each, timedOut(timeoutMillis))
          each.started?.stop("timeout")
        })
      }
      each.started = executor.start({ run, ...inputs, timeoutMillis }, (outcome) => {
        // A handler that blocks the event loop ends before its timer can fire, and is late all the same.
        const late = timeoutMillis !== null && monotonic() - each.startedAt > timeoutMillis
        finish(each, late ? timedOut(timeoutMillis) : outcome)
      })
    }

    /** Ends the attempt once: whatever comes after is of no interest. */
    const finish = (each: Carried, outcome: Outcome): void => {
      if (each.over) return
      each.over = true
      carried.settling(each)
      each.takeBack?.()
      if (mayBeMore) wanted.openUnsafe()
      const durationMillis = monotonic() - each.startedAt
      settler.settle(each.run, outcome, (settled) => settledAs(each, outcome, settled, durationMillis))
    }

    const settledAs = (each: Carried, outcome: Outcome, settled: Settled, durationMillis: number): void => {
      forget(each)
      options.aftermath(each.run, outcome, settled, durationMillis)
    }

    const forget = (each: Carried): void => {
      carried.remove(each)
      wanted.openUnsafe()
      openWhenEmpty()
    }

    const openWhenEmpty = (): void => {
      if (carried.size === 0 && !claiming) empty.openUnsafe()
    }

    const startAll = Effect.fnUntraced(function* (runs: ReadonlyArray<Run>) {
      const inputs = yield* Effect.retry(inputsOf(runs), { times: 5 })
      let turn = monotonic()
      for (const run of runs) {
        // The node began to stop while these were on their way: they go back untouched.
        if (closed) settler.settle(run, { kind: "released" }, () => {})
        else start(run, inputs(run))
        if (monotonic() - turn < turnMillis) continue
        yield* Effect.yieldNow
        turn = monotonic()
      }
    })

    // A claim also ends what is over its deadline or too late to start: while all is paused nobody else would.
    let promotedAt = Number.NEGATIVE_INFINITY
    const promote = Effect.suspend(() => {
      if (monotonic() - promotedAt < options.pollMillis) return Effect.void
      promotedAt = monotonic()
      return store.promote(claimMax)
    })

    /** Claims and starts once; answers whether there may be more. */
    const claimOnce = Effect.gen(function* () {
      const free = Math.min(slots - carried.running, 2 * slots - carried.size, claimMax)
      if ((closed && sure.isOpen()) || free <= 0 || !options.holdsLease()) return false
      claiming = true
      empty.closeUnsafe()
      const node = options.node()
      if (!sure.isOpen()) {
        // An earlier attempt of one of them may be here still, while its outcome is on its way.
        const isNew = (run: Run): boolean =>
          carried.get(run.id)?.run.token !== run.token && !options.isWorkers(run)
        yield* startAll((yield* heldBy(node)).filter(isNew))
        sure.openUnsafe()
        return true
      }
      // Each queue is asked first in turn, so that a full one does not starve the others.
      queues = [...queues.slice(1), ...queues.slice(0, 1)]
      const open = options.open(queues)
      if (open.length === 0) {
        mayBeMore = false
        yield* promote
        return false
      }
      const runs = yield* store.claim({
        node,
        queues: open,
        jobs,
        limit: free,
        acknowledged: true,
        expanding,
      })
      mayBeMore = runs.length === free
      yield* startAll(runs)
      return mayBeMore
    })
    const dispatch = Effect.ensuring(
      Effect.tapError(claimOnce, () => Effect.sync(() => sure.closeUnsafe())),
      Effect.sync(() => {
        claiming = false
        openWhenEmpty()
      }),
    )
    const loop = Effect.gen(function* () {
      while (true) {
        wanted.closeUnsafe()
        const more = yield* Effect.catch(dispatch, (error) => {
          options.onTrouble("claim runs", error)
          return Effect.as(Effect.sleep(Math.min(options.pollMillis, 250)), false)
        })
        if (!more) yield* Effect.raceFirst(wanted.await, Effect.sleep(options.pollMillis))
        // The first of a settled batch wakes this loop: when the others have freed their slots too, one claim fills them.
        yield* Effect.yieldNow
      }
    })
    if (jobs.length > 0) yield* supervise("dispatcher", loop)

    const tellCancelled = (each: Carried): void => {
      if (each.over || each.told) return
      each.told = true
      each.started?.stop("cancelled")
      // One that never listens would keep its slot for ever. Its outcome is stale in any case.
      timers.after(cancelGraceMillis, () => finish(each, deaf))
    }
    const checkCarried = (): void => {
      if ([...carried.values()].some(({ run }) => run.parentId !== null)) unsure.openUnsafe()
    }
    /** Asks which carried runs are still ours: a tool may have cancelled one, and its hint does not come here. */
    const watch = Effect.gen(function* () {
      yield* Effect.raceFirst(unsure.await, Effect.sleep(options.pollMillis))
      unsure.closeUnsafe()
      const all = [...carried.values()].filter((each) => !each.over && !each.told)
      for (let from = 0; from < all.length; from += 1000) {
        const some = all.slice(from, from + 1000)
        const held = yield* store.started(some.map(({ run }) => ({ id: run.id, token: run.token })))
        some.forEach((each, index) => (held[index] === true ? undefined : tellCancelled(each)))
      }
    })
    yield* supervise(
      "watch over carried runs",
      Effect.catch(watch, (error) => Effect.sync(() => options.onTrouble("look after carried runs", error))),
    )

    return {
      wake: () => {
        wanted.openUnsafe()
      },
      close: () => {
        closed = true
        wanted.openUnsafe()
      },
      cancel: (ids) => {
        for (const id of ids) {
          const each = carried.get(id)
          if (each !== undefined) tellCancelled(each)
        }
        checkCarried()
      },
      checkCarried,
      carries: ({ id, token }) => carried.get(id)?.run.token === token,
      carriesStepOf: (id) => [...carried.values()].some(({ run, told }) => run.parentId === id && !told),
      stopAll: (reason) => {
        if (reason === "leaseLost") sure.openUnsafe()
        for (const each of carried.values()) {
          if (reason === "drain") finish(each, { kind: "released" })
          each.started?.stop(reason)
          if (reason !== "leaseLost") continue
          // The token is another's now, or will be: nothing that comes of this attempt counts.
          each.over = true
          each.takeBack?.()
          forget(each)
        }
      },
      size: () => carried.running,
      idle: empty.await,
      sure: sure.await,
    }
  })

const deaf: Outcome = {
  kind: "failed",
  error: { name: "Cancelled", message: "The handler went on after its run was cancelled", kind: "cancelled" },
  retryable: false,
  retryAfterMillis: null,
}

const timedOut = (millis: number): Outcome => ({
  kind: "failed",
  error: {
    name: "Timeout",
    message: `The attempt took longer than its limit of ${millis} ms`,
    kind: "timeout",
  },
  retryable: true,
  retryAfterMillis: null,
})

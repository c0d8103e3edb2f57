// Tells the ends of runs that expanded. Such a run ends inside the store, with the last of its steps, in a settle of
// another run, a cancel or at its deadline, so nobody hears of it there: the watch keeps which ones are open here, and
// looks at them when something happened that may have ended them. It decides nothing, and what it misses costs a poll.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import { isFinal, type Run } from "../domain/Run.ts"
import type { Events } from "../observe/Event.ts"
import { supervise } from "../observe/Supervisor.ts"
import { RunStore } from "../ports/Store.ts"
import type { Timers } from "../ports/Timers.ts"

/** Knows which runs have steps under way. */
export interface FlowWatch {
  /** A step of this run is carried here. */
  readonly add: (id: string) => void
  /** This run expanded here; its steps must have ended within `timeoutMillis`, `null` for no limit. */
  readonly expanded: (run: Run, timeoutMillis: number | null) => void
  /** One of these may have ended; absent: any may. */
  readonly look: (ids?: ReadonlyArray<string>) => void
  /** How many are open here. */
  readonly size: () => number
}

interface Open {
  /** The attempt whose steps are under way; `null`: not looked at yet. */
  attempt: number | null
  takeBack: (() => void) | undefined
}

/** Runs that are watched at once; whoever waits for one beyond that looks for himself. */
const openMax = 100_000
// Rows in one look.
const lookMax = 1000

/** Starts the watch, which stops with the scope. */
export const makeFlowWatch = (options: {
  readonly pollMillis: number
  readonly timers: Timers
  readonly events: Events
  /** Whether the outcome of a step of this run is on its way to us: its end is told first, and then we are asked again. */
  readonly isAwaited: (id: string) => boolean
  /** A run waits again, until this instant. */
  readonly onDue: (dueAt: number) => void
  /** A run has left its steps: those that were under way were called off. */
  readonly onClosed: () => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<FlowWatch, never, Scope.Scope | RunStore> =>
  Effect.gen(function* () {
    const { events, timers } = options
    const store = yield* RunStore
    const clock = yield* Clock.Clock
    const open = new Map<string, Open>()
    const suspects = new Set<string>()
    let overdue = false
    const wanted = Latch.makeUnsafe(false)

    const entryOf = (id: string): Open | undefined => {
      const known = open.get(id)
      if (known !== undefined || open.size >= openMax) return known
      const made: Open = { attempt: null, takeBack: undefined }
      open.set(id, made)
      return made
    }
    const forget = (id: string): void => {
      open.get(id)?.takeBack?.()
      open.delete(id)
    }
    const look = (ids: Iterable<string>): void => {
      for (const id of ids) if (open.has(id)) suspects.add(id)
      wanted.openUnsafe()
    }

    /** What became of one that is watched. */
    const tell = (id: string, entry: Open, run: Run | undefined): void => {
      if (run === undefined) return forget(id)
      const isBlocked = run.state === "blocked"
      const isNext = entry.attempt !== null && run.attempt > entry.attempt
      if (isBlocked && !isNext) {
        entry.attempt = run.attempt
        return
      }
      // All steps have ended, and their ends come first.
      if (run.state === "succeeded" && options.isAwaited(id)) return
      // It may be at its next attempt already.
      const state = isFinal(run.state) ? run.state : "retrying"
      const dueAt = run.state === "retrying" ? run.dueAt : null
      if (isBlocked) entry.attempt = run.attempt
      else forget(id)
      if (dueAt !== null) options.onDue(dueAt)
      const ended = run.endedAt ?? clock.currentTimeMillisUnsafe()
      const durationMillis = Math.max(0, ended - (run.startedAt ?? ended))
      events.publish({
        kind: "ended",
        run,
        state,
        durationMillis,
        error: run.error,
        output: run.output,
        dueAt,
      })
      // Its end may be the end of a step of another one.
      if (run.parentId !== null) look([run.parentId])
      options.onClosed()
    }

    const lookNow = Effect.gen(function* () {
      while (suspects.size > 0) {
        const ids = [...suspects].slice(0, lookMax)
        const found = new Map((yield* store.get(ids)).map((run) => [run.id, run]))
        for (const id of ids) {
          suspects.delete(id)
          const entry = open.get(id)
          if (entry !== undefined) tell(id, entry, found.get(id))
        }
      }
    })
    // A claim ends what is over its deadline, but nobody claims while all slots are taken.
    const endOverdue = Effect.gen(function* () {
      while ((yield* store.promote(lookMax)) === lookMax) yield* Effect.yieldNow
    })
    const turn = Effect.gen(function* () {
      const isAsked = yield* Effect.raceFirst(
        Effect.as(wanted.await, true),
        Effect.as(Effect.sleep(options.pollMillis), false),
      )
      wanted.closeUnsafe()
      if (open.size === 0) return
      if (!isAsked) {
        // A tool, another engine or the deadline of an earlier life may have ended one: each has its turn.
        const some = [...open].slice(0, lookMax)
        for (const [id, entry] of some) {
          open.delete(id)
          open.set(id, entry)
          suspects.add(id)
        }
      }
      if (overdue || !isAsked) {
        overdue = false
        yield* endOverdue
      }
      yield* lookNow
    })
    yield* supervise(
      "watch over flow runs",
      Effect.catch(turn, (error) => Effect.sync(() => options.onTrouble("look after flow runs", error))),
    )

    return {
      add: (id) => {
        entryOf(id)
      },
      expanded: (run, timeoutMillis) => {
        const entry = entryOf(run.id)
        if (entry === undefined) return
        entry.attempt = run.attempt
        entry.takeBack?.()
        entry.takeBack =
          timeoutMillis === null
            ? undefined
            : timers.after(timeoutMillis, () => {
                overdue = true
                look([run.id])
              })
      },
      look: (ids = [...open.keys()]) => look(ids),
      size: () => open.size,
    }
  })

// What a worker has in hand from before, against the store: after a restart of its server, or at another one, it goes on
// with every attempt whose token still holds. Its word alone counts for nothing: the row says whether it may be so.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreError } from "../domain/Errors.ts"
import type { Run } from "../domain/Run.ts"
import { supervise } from "../observe/Supervisor.ts"
import { RunStore } from "../ports/Store.ts"
import type { Hello } from "../protocol/Message.ts"
import { keyOf, type Verdict } from "../protocol/Shapes.ts"

/** What the store says, and the runs that are kept. */
export interface Adopted {
  readonly verdicts: ReadonlyArray<Verdict>
  readonly runs: ReadonlyArray<Run>
}

/** Takes over what workers have in hand. */
export interface Adoption {
  /**
   * Adopts for the node what `hello` names. `mayHave` says whether this worker may carry the run at all, and that nobody
   * else here does. Of what was not begun nothing is kept: it goes back by itself. What has ended is kept while its token
   * is the newest, so that its outcome is told once more and the store says what became of it.
   */
  readonly adopt: (hello: Hello, mayHave: (run: Run) => boolean) => Effect.Effect<Adopted, StoreError>
  /** These are in hand from now on. */
  readonly done: (runs: ReadonlyArray<Run>) => void
  /** Whether it is on its way into the hands of a worker, or may be: nobody else here may begin it. */
  readonly has: (run: Run) => boolean
  /** How many that are. */
  readonly size: () => number
}

interface Asked {
  readonly run: Run
  readonly worker: string
  /** The store did not answer: when it is asked what became of it, on the monotonic clock; `null`: it is being asked. */
  lookAt: number | null
}

// Rows in one call; a worker has at most twice as many in hand.
const chunkMax = 1000

/** Starts it; it stops with the scope. */
export const makeAdoption = (options: {
  readonly node: () => string
  /** Monotonic, in milliseconds. */
  readonly now: () => number
  readonly pollMillis: number
  /** How long a worker may take to come again after the store did not answer. */
  readonly doubtMillis: number
  /** It was adopted, and its worker did not come again; `done` is to be called when it is in nobody's hands any more. */
  readonly onLost: (run: Run, worker: string, done: () => void) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<Adoption, never, Scope.Scope | RunStore> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const asked = new Map<string, Asked>()
    const keyOfRun = ({ id, token }: Run): string => keyOf({ run: id, token })

    const rowsOf = Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      const rows = new Map<string, Run>()
      for (const some of chunks(ids)) for (const row of yield* store.get(some)) rows.set(row.id, row)
      return rows
    })
    const adopt: Adoption["adopt"] = Effect.fnUntraced(function* ({ worker, inHand }, mayHave) {
      if (inHand.length === 0) return { verdicts: [], runs: [] }
      const rows = yield* rowsOf(inHand.map(({ run }) => run))
      const isBeingAsked = (run: Run): boolean => asked.get(keyOfRun(run))?.lookAt === null
      const known = inHand.flatMap((each) => {
        const row = rows.get(each.run)
        const isIt = row !== undefined && row.token === each.token && row.attempt === each.attempt
        return isIt && !isBeingAsked(row) && mayHave(row) ? [{ each, row }] : []
      })
      const kept = new Map<string, Run>()
      for (const { each, row } of known)
        if (each.state === "ended" && row.state !== "running") kept.set(row.id, row)
      const begun = known.flatMap(({ each, row }) =>
        each.state !== "waiting" && row.state === "running" ? [row] : [],
      )
      const mine = begun.map((run): Asked => ({ run, worker, lookAt: null }))
      for (const each of mine) asked.set(keyOfRun(each.run), each)
      const ask = Effect.forEach(chunks(begun), (some) =>
        Effect.map(
          store.adopt(
            options.node(),
            some.map(({ id, token }) => ({ id, token })),
          ),
          (held) =>
            some.forEach((run, index) => {
              if (held[index] === true) kept.set(run.id, run)
              else asked.delete(keyOfRun(run))
            }),
        ),
      )
      yield* Effect.onError(ask, () =>
        Effect.sync(() => {
          const lookAt = options.now() + options.doubtMillis
          for (const each of mine) each.lookAt = lookAt
        }),
      )
      return {
        verdicts: inHand.map(({ run, attempt, token }) => {
          const row = kept.get(run)
          const keep = row?.token === token && row.attempt === attempt
          return { run, attempt, token, verdict: keep ? ("keep" as const) : ("stale" as const) }
        }),
        runs: [...kept.values()],
      }
    })
    /** Of those that may be ours, and whose workers did not come again. */
    const lookAtDoubts = Effect.gen(function* () {
      yield* Effect.sleep(options.pollMillis)
      const due = [...asked]
        .filter(([, { lookAt }]) => lookAt !== null && lookAt <= options.now())
        .slice(0, chunkMax)
      if (due.length === 0) return
      const rows = yield* rowsOf(due.map(([, { run }]) => run.id))
      for (const [key, each] of due) {
        const forget = (): void => void (asked.get(key) === each && asked.delete(key))
        const row = rows.get(each.run.id)
        const isOurs = row?.token === each.run.token && row.node === options.node()
        if (row?.state !== "running" || !isOurs) forget()
        else if (asked.get(key) === each) {
          each.lookAt = Number.POSITIVE_INFINITY
          options.onLost(row, each.worker, forget)
        }
      }
    })
    yield* supervise(
      "adoptions in doubt",
      Effect.catch(lookAtDoubts, (error) =>
        Effect.sync(() => options.onTrouble("look after adopted runs", error)),
      ),
    )
    return {
      adopt,
      done: (runs) => {
        for (const run of runs) asked.delete(keyOfRun(run))
      },
      has: (run) => asked.has(keyOfRun(run)),
      size: () => asked.size,
    }
  })

const chunks = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / chunkMax) }, (_, index) =>
    items.slice(index * chunkMax, (index + 1) * chunkMax),
  )

// What reading promises: newest first, in pages that neither repeat nor leave out, with counts that are kept.
import * as Effect from "effect/Effect"
import { type RunState, runStates } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import type { RunFilter } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectLimit, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  newRun,
  newRuns,
  runId,
  settle,
  success,
} from "../Fixtures.ts"

const listed = Effect.fnUntraced(function* (filter: RunFilter) {
  return (yield* (yield* RunStore).list(filter)).map((run) => run.id)
})

const countsNow = Effect.gen(function* () {
  const rows = yield* (yield* RunStore).counts()
  return new Map(rows.map((row) => [`${row.job} ${row.state}`, row.count]))
})

/** Cases of `get`, `list`, `counts` and `attempts`. */
export const listingCases: ReadonlyArray<Case> = [
  {
    name: "get > the runs in the order asked for, without those that are not there",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(4))
      const found = yield* runs.get([3, 9, 1, 4].map(runId))
      yield* expectSame(
        "ids",
        found.map((run) => run.id),
        [3, 1, 4].map(runId),
      )
      yield* expectSame("nothing for nothing", yield* runs.get([]), [])
      yield* expectSame("odd ids", yield* runs.get(["", "__proto__", "../1", "' OR 1=1 --"]), [])
      const ids = newRuns(1_001).map((run) => run.id)
      yield* expectLimit("ids", runs.get(ids))
    }),
  },
  {
    name: "list > newest id first, in whatever order the runs were stored",
    run: Effect.gen(function* () {
      yield* enqueue(...[4, 1, 5, 3, 2].map((n) => newRun(n)))
      yield* expectSame("ids", yield* listed({ limit: 200 }), [5, 4, 3, 2, 1].map(runId))
    }),
  },
  {
    name: "list > pages neither repeat nor leave out a run, also while newer ones arrive",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(25))
      const seen: Array<string> = []
      let before: string | undefined
      for (let page = 0; page < 10; page++) {
        const ids = yield* listed({ limit: 7, ...(before === undefined ? {} : { before }) })
        seen.push(...ids)
        if (ids.length === 0) break
        before = ids.at(-1)
        yield* enqueue(newRun(100 + page))
      }
      yield* expectSame(
        "ids",
        seen,
        newRuns(25)
          .map((run) => run.id)
          .toReversed(),
      )
    }),
  },
  {
    name: "list > by state, job and chain, alone and together",
    run: Effect.gen(function* () {
      yield* enqueue(
        newRun(1, { job: "a", chainId: runId(2) }),
        newRun(2, { job: "b", chainId: runId(2), needs: [runId(1)] }),
        newRun(3, { job: "a" }),
        newRun(4, { job: "a", delayMillis: 10 }),
      )
      yield* claimOne({ jobs: ["a"] })
      yield* expectSame("job", yield* listed({ job: "a", limit: 10 }), [4, 3, 1].map(runId))
      yield* expectSame("state", yield* listed({ state: "ready", limit: 10 }), [runId(3)])
      yield* expectSame("chain", yield* listed({ chainId: runId(2), limit: 10 }), [2, 1].map(runId))
      const both = yield* listed({ chainId: runId(2), state: "running", limit: 10 })
      yield* expectSame("chain and state", both, [runId(1)])
      const all = { job: "a", state: "scheduled", before: runId(4), limit: 10 } as const
      yield* expectSame("all", yield* listed(all), [])
      yield* expectSame("limited", yield* listed({ job: "a", limit: 2 }), [4, 3].map(runId))
    }),
  },
  {
    name: "list > every state can be asked for",
    run: Effect.gen(function* () {
      for (const [n, state] of runStates.entries()) yield* bringTo(n + 1, state)
      for (const [n, state] of runStates.entries()) {
        yield* expectSame(state, yield* listed({ state, job: "report", limit: 10 }), [runId(n + 1)])
      }
    }),
  },
  {
    name: "list > pages of 1 to 200",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(201))
      for (const limit of [0, 201, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        yield* expectLimit("limit", listed({ limit }))
      }
      yield* expectSame("largest page", (yield* listed({ limit: 200 })).length, 200)
      yield* expectSame("smallest page", (yield* listed({ limit: 1 })).length, 1)
    }),
  },
  {
    name: "counts > by job and state, without zeros, true after every kind of change",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const check = Effect.fnUntraced(function* (
        what: string,
        expected: ReadonlyArray<readonly [string, number]>,
      ) {
        const counts = yield* countsNow
        yield* expectSame(what, Object.fromEntries(counts), Object.fromEntries(expected))
      })
      yield* check("nothing", [])
      yield* enqueue(
        ...newRuns(4),
        newRun(5, { delayMillis: 100 }),
        newRun(6, { job: "load", needs: [runId(1)] }),
      )
      yield* check("enqueued", [
        ["report ready", 4],
        ["report scheduled", 1],
        ["load blocked", 1],
      ])
      const [one, two, three, four] = yield* claim({ limit: 4 })
      if (!one || !two || !three || !four) return yield* Effect.die("four runs")
      yield* check("claimed", [
        ["report running", 4],
        ["report scheduled", 1],
        ["load blocked", 1],
      ])
      yield* runs.settle([success(one), failing(two), failing(three, 50)])
      yield* check("settled", [
        ["report running", 1],
        ["report scheduled", 1],
        ["report succeeded", 1],
        ["report dead", 1],
        ["report retrying", 1],
        ["load ready", 1],
      ])
      yield* runs.cancel([four.id, runId(6)], "Not wanted")
      clock.advance(100)
      yield* runs.promote(10)
      yield* runs.replay([two.id], [runId(7)])
      yield* check("cancelled, promoted, replayed", [
        ["report ready", 3],
        ["report succeeded", 1],
        ["report dead", 1],
        ["report cancelled", 1],
        ["load cancelled", 1],
      ])
    }),
  },
  {
    name: "counts > agree with the lists after a long mixed history",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* runs.enqueue(
        newRuns(150).map((run, n) => ({ ...run, delayMillis: (n * 7) % 40, attemptMax: 2 })),
      )
      for (let round = 0; round < 12; round++) {
        clock.advance(5)
        for (const [n, run] of (yield* claim({ limit: 20 })).entries()) {
          if (n % 3 === 0) yield* settle(success(run))
          if (n % 3 === 1) yield* settle(failing(run, 3))
          if (n % 5 === 2) yield* runs.cancel([run.id], "Not wanted")
        }
      }
      const counts = yield* countsNow
      for (const state of runStates) {
        const ids = yield* listed({ state, limit: 200 })
        yield* expectSame(state, counts.get(`report ${state}`), ids.length === 0 ? undefined : ids.length)
      }
      const letters = yield* runs.deadLetters({ limit: 200 })
      const dead = yield* listed({ state: "dead", limit: 200 })
      yield* expectSame(
        "dead runs have letters",
        letters.map((row) => row.runId),
        dead,
      )
    }),
  },
  {
    name: "attempts > a run that is not there, or never failed, has none",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const states: ReadonlyArray<RunState> = ["ready", "running", "succeeded", "cancelled"]
      for (const [n, state] of states.entries()) yield* bringTo(n + 1, state)
      for (const n of [1, 2, 3, 4, 99]) yield* expectSame(`run ${n}`, yield* runs.attempts(runId(n)), [])
    }),
  },
]

// What `reclaim` promises: nothing that a dead node carried is lost, its late results change nothing, and
// attempts and losses keep their limits.
import * as Effect from "effect/Effect"
import type { ErrorInfo } from "../../domain/Run.ts"
import { lossMax } from "../../domain/Transition.ts"
import { NodeStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  claim,
  claimOne,
  enqueue,
  failing,
  join,
  newRun,
  newRuns,
  runId,
  settle,
  severalNodes,
  statesOf,
  stored,
  success,
} from "../Fixtures.ts"

const lostOf = (node: string): ErrorInfo => ({
  name: "LeaseLost",
  message: `Node "${node}" was lost while it carried the run`,
  kind: "lost",
})

/** Node "dead" claims what there is and loses its lease of a second; node "n1" is there to notice. */
const claimAndDie = Effect.fnUntraced(function* (acknowledged: boolean, limit = 100) {
  const clock = yield* ContractClock
  yield* join("dead", 1_000)
  const taken = yield* claim({ node: "dead", acknowledged, limit })
  clock.advance(1_000)
  yield* join("n1", 60_000)
  return taken
})

/** Cases of `reclaim`. */
export const reclaimCases: ReadonlyArray<Case> = [
  {
    name: "reclaim > a run that had started retries at once, and the lost attempt is recorded",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      const [run] = yield* claimAndDie(true)
      if (run === undefined) return yield* Effect.die("one run")
      const taken = yield* runs.reclaim("n1", 10)
      yield* expectSame("answer", taken, [
        { id: run.id, job: "report", state: "retrying", node: "dead", attempt: 1 },
      ])
      yield* expectFields("run", yield* stored(run.id), {
        state: "retrying",
        node: null,
        attempt: 1,
        losses: 0,
        dueAt: clock.now(),
        error: lostOf("dead"),
      })
      yield* expectSame("attempts", yield* runs.attempts(run.id), [
        {
          runId: run.id,
          attempt: 1,
          token: 1,
          node: "dead",
          startedAt: run.startedAt,
          endedAt: clock.now(),
          error: lostOf("dead"),
        },
      ])
      yield* expectFields("again", yield* claimOne(), { token: 2, attempt: 2, node: "n1" })
    }),
  },
  {
    name: "reclaim > a run that lost its last attempt is dead, with its letter",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { attemptMax: 1 }), newRun(2, { job: "load", needs: [runId(1)] }))
      yield* claimAndDie(true)
      yield* expectFields("answer", (yield* runs.reclaim("n1", 10))[0], { state: "dead", attempt: 1 })
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead", endedAt: clock.now(), attempt: 1 })
      yield* expectSame("attempts", (yield* runs.attempts(runId(1))).length, 1)
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [
        {
          runId: runId(1),
          job: "report",
          diedAt: clock.now(),
          attempt: 1,
          error: lostOf("dead"),
          replayedBy: null,
        },
      ])
      yield* expectFields("dependent", yield* stored(runId(2)), { state: "skipped" })
      yield* expectSame("claim", yield* claim(), [])
    }),
  },
  {
    name: "reclaim > a run that had not started keeps its attempt and is ready again",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { attemptMax: 1 }))
      yield* claimAndDie(false)
      yield* expectFields("answer", (yield* runs.reclaim("n1", 10))[0], { id: runId(1), state: "ready" })
      yield* expectFields("run", yield* stored(runId(1)), { attempt: 0, losses: 1, node: null, error: null })
      yield* expectSame("attempts", yield* runs.attempts(runId(1)), [])
      yield* expectFields("again", yield* claimOne(), { token: 2, attempt: 1 })
    }),
  },
  {
    name: "reclaim > a start that was acknowledged later counts as started",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* join("dead", 1_000)
      yield* enqueue(newRun(1))
      const run = yield* claimOne({ node: "dead", acknowledged: false })
      yield* runs.started([run])
      clock.advance(1_000)
      yield* join("n1", 60_000)
      yield* runs.reclaim("n1", 10)
      yield* expectFields("run", yield* stored(run.id), { state: "retrying", attempt: 1, losses: 0 })
    }),
  },
  {
    name: "reclaim > losses before the start are bounded apart: then the run is dead, with its letter",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      for (let n = 1; n <= lossMax; n++) {
        yield* claimAndDie(false)
        yield* runs.reclaim("n1", 10)
        yield* expectFields(`loss ${n}`, yield* stored(runId(1)), { state: "ready", losses: n, attempt: 0 })
      }
      yield* claimAndDie(false)
      yield* expectFields("one more", (yield* runs.reclaim("n1", 10))[0], { state: "dead" })
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead", losses: lossMax + 1 })
      const letters = yield* runs.deadLetters({ limit: 10 })
      yield* expectSame(
        "letters",
        letters.map((row) => [row.runId, row.error]),
        [[runId(1), lostOf("dead")]],
      )
    }),
  },
  {
    name: "reclaim > attempts never exceed the limit, whether they fail or are lost",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { attemptMax: 3 }))
      yield* claimAndDie(true)
      yield* runs.reclaim("n1", 10)
      yield* settle(failing(yield* claimOne(), 0))
      yield* claimAndDie(true)
      yield* runs.reclaim("n1", 10)
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead", attempt: 3 })
      const attempts = yield* runs.attempts(runId(1))
      yield* expectSame(
        "attempts",
        attempts.map((row) => [row.attempt, row.error.kind]),
        [
          [1, "lost"],
          [2, "error"],
          [3, "lost"],
        ],
      )
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "reclaim > a late result of the lost node is stale, before and after another node has the run",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const [lost] = yield* claimAndDie(true)
      if (lost === undefined) return yield* Effect.die("one run")
      yield* runs.reclaim("n1", 10)
      const late = [success(lost, '"late"'), failing(lost, 0), failing(lost)]
      const before = yield* stored(lost.id)
      for (const settlement of late) {
        yield* expectFields("before", yield* settle(settlement), { result: "stale", state: "retrying" })
      }
      yield* expectSame("run", yield* stored(lost.id), before)
      yield* expectSame("started", yield* runs.started([lost]), [false])
      const again = yield* claimOne()
      for (const settlement of late) {
        yield* expectFields("after", yield* settle(settlement), { result: "stale", state: "running" })
      }
      yield* expectSame("run", yield* stored(lost.id), again)
      yield* expectFields("the holder settles", yield* settle(success(again, '"right"')), {
        result: "settled",
      })
      yield* expectFields("run", yield* stored(lost.id), { output: '"right"' })
    }),
  },
  {
    name: "reclaim > a late result after a release that nobody asked for is stale",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const [lost] = yield* claimAndDie(false)
      if (lost === undefined) return yield* Effect.die("one run")
      yield* runs.reclaim("n1", 10)
      const answer = yield* settle({ id: lost.id, token: lost.token, kind: "released" })
      yield* expectFields("answer", answer, { result: "stale", state: "ready" })
      yield* expectFields("run", yield* stored(lost.id), { attempt: 0, losses: 1 })
    }),
  },
  {
    name: "reclaim > never one's own runs, even when one's lease has run out",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      yield* join("n1", 1_000)
      const run = yield* claimOne()
      ;(yield* ContractClock).advance(60_000)
      yield* expectSame("answer", yield* runs.reclaim("n1", 10), [])
      yield* expectSame("run", yield* stored(run.id), run)
    }),
  },
  {
    name: "reclaim > not a millisecond before the lease ends",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      yield* join("n1", 60_000)
      yield* join("n2", 1_000)
      yield* claimOne({ node: "n2" })
      clock.advance(999)
      yield* expectSame("alive", yield* runs.reclaim("n1", 10), [])
      yield* expectSame("renewed", yield* nodes.renew("n2", 1_000), true)
      clock.advance(999)
      yield* expectSame("alive by renewal", yield* runs.reclaim("n1", 10), [])
      clock.advance(1)
      yield* expectSame(
        "ended",
        (yield* runs.reclaim("n1", 10)).map((row) => row.node),
        ["n2"],
      )
    }),
  },
  {
    name: "reclaim > runs of a node that left are taken at once",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      yield* enqueue(newRun(1), newRun(2))
      for (const node of ["__proto__", "gone"]) {
        yield* join(node, 60_000)
        yield* claimOne({ node })
        yield* nodes.leave(node)
      }
      yield* join("n1", 60_000)
      const taken = yield* runs.reclaim("n1", 10)
      yield* expectSame("nodes", taken.map((row) => row.node).sort(), ["__proto__", "gone"])
    }),
  },
  {
    name: "reclaim > takes at most the limit, each run once, and then nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(5))
      yield* claimAndDie(true)
      const taken: Array<string> = []
      for (const expected of [2, 2, 1, 0]) {
        const some = yield* runs.reclaim("n1", 2)
        yield* expectSame("taken", some.length, expected)
        taken.push(...some.map((row) => row.id))
      }
      yield* expectSame("ids", taken.sort(), [1, 2, 3, 4, 5].map(runId))
      yield* expectSame("states", new Set(yield* statesOf(...taken)), new Set(["retrying"]))
      for (const id of taken) yield* expectSame("attempts", (yield* runs.attempts(id)).length, 1)
    }),
  },
  {
    name: "reclaim > the lowest id first, in whatever order the runs were claimed",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...[3, 1, 5, 2, 4].map((n) => newRun(n, { priority: n })))
      yield* claimAndDie(true)
      for (const expected of [[1, 2], [3, 4], [5]]) {
        const ids = (yield* runs.reclaim("n1", 2)).map((row) => row.id)
        yield* expectSame("ids", ids, expected.map(runId))
      }
    }),
  },
  {
    name: "reclaim > removes the row of a dead node that carries nothing any more",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const nodes = yield* NodeStore
      yield* enqueue(newRun(1))
      yield* claimAndDie(true)
      yield* runs.reclaim("n1", 10)
      yield* runs.reclaim("n1", 10)
      yield* expectSame(
        "nodes",
        (yield* nodes.nodes()).map((row) => row.id),
        ["n1"],
      )
      yield* expectSame("renew", yield* nodes.renew("dead", 1_000), false)
    }),
  },
]

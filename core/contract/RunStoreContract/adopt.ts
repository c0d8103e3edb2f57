// What `adopt` promises: a run that a worker carries on with goes to the node that the worker has come to, under its own
// token and with nothing else changed; and nothing goes to a node that may be dead, or under a token that is over.
import * as Effect from "effect/Effect"
import type { Held } from "../../ports/StoreDriver.ts"
import { NodeStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  failure,
  join,
  newRun,
  newRuns,
  runId,
  settle,
  severalNodes,
  stored,
  success,
} from "../Fixtures.ts"
import { beginFlow, claimStep, expectTrueCounts, flowOf, step } from "../FlowStoreContract/fixtures.ts"

const adopt = (node: string, ...runs: ReadonlyArray<Held>) =>
  Effect.flatMap(RunStore, (store) =>
    store.adopt(
      node,
      runs.map(({ id, token }) => ({ id, token })),
    ),
  )

const carriedIds = Effect.fnUntraced(function* (node: string) {
  return (yield* (yield* RunStore).carried(node, 100)).map(({ id }) => id)
})

/** Node "n1" carries runs 1 to `count`; node "n2" has joined after it. */
const carrying = Effect.fnUntraced(function* (count: number, acknowledged = false) {
  yield* join("n1", 1_000)
  yield* enqueue(...newRuns(count))
  const taken = yield* claim({ acknowledged })
  yield* join("n2", 600_000)
  return taken
})

/** Cases of `adopt`. */
export const adoptCases: ReadonlyArray<Case> = [
  {
    name: "adopt > a run that another node carries is this node's, under its own token, and nothing else of it changes",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const [run, other] = yield* carrying(2)
      if (run === undefined || other === undefined) return yield* Effect.die("two runs")
      const counts = yield* runs.counts()
      yield* expectSame("answer", yield* adopt("n2", run), [true])
      yield* expectSame("run", yield* stored(run.id), { ...run, node: "n2" })
      yield* expectSame("n1", yield* carriedIds("n1"), [other.id])
      yield* expectSame("n2", yield* carriedIds("n2"), [run.id])
      yield* expectSame("counts", yield* runs.counts(), counts)
      clock.advance(1_000)
      const taken = yield* runs.reclaim("n2", 10)
      yield* expectSame(
        "reclaimed of n1",
        taken.map(({ id }) => id),
        [other.id],
      )
      yield* expectSame("started", yield* runs.started([run]), [true])
      yield* expectFields("settled", yield* settle(success(run, '"done"')), { result: "settled" })
      yield* expectFields("end", yield* stored(run.id), { state: "succeeded", attempt: 1, losses: 0 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "adopt > before its dead node is reclaimed, a run is saved from the loss, and the node's row can go",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const [run] = yield* carrying(1)
      if (run === undefined) return yield* Effect.die("one run")
      ;(yield* ContractClock).advance(1_000)
      yield* expectSame("answer", yield* adopt("n2", run), [true])
      yield* expectSame("reclaimed", yield* runs.reclaim("n2", 10), [])
      yield* expectFields("run", yield* stored(run.id), { state: "running", token: 1, losses: 0 })
      const nodes = (yield* (yield* NodeStore).nodes()).map(({ id }) => id)
      yield* expectSame("nodes", nodes, ["n2"])
    }),
  },
  {
    name: "adopt > repeated, and for runs that were this node's before: true again, and nothing changes",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      for (const time of ["first", "second"]) {
        yield* expectSame(time, yield* adopt("n1", run), [true])
        yield* expectSame(`run, ${time}`, yield* stored(run.id), run)
      }
      yield* join("n2", 60_000)
      yield* adopt("n2", run)
      yield* expectSame("another's", yield* adopt("n2", run, run), [true, true])
      yield* expectSame("run", yield* stored(run.id), { ...run, node: "n2" })
    }),
  },
  {
    name: "adopt > a node that never joined, has left or whose lease has ended gets none, not even its own",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const nodes = yield* NodeStore
      yield* join("n1", 1_000)
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      yield* expectSame("never joined", yield* adopt("n3", run), [false])
      clock.advance(1_000)
      yield* expectSame("its lease has ended", yield* adopt("n1", run), [false])
      yield* nodes.renew("n1", 1_000)
      yield* expectSame("renewed", yield* adopt("n1", run), [true])
      yield* nodes.leave("n1")
      yield* expectSame("has left", yield* adopt("n1", run), [false])
      yield* expectSame("run", yield* stored(run.id), run)
    }),
  },
  {
    name: "adopt > of a batch, what does not run under this token is not given; the others are, in their order",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const [a, b, c, d] = yield* carrying(4)
      if (a === undefined || b === undefined || c === undefined || d === undefined)
        return yield* Effect.die("four runs")
      yield* settle(failing(b, 0))
      yield* runs.cancel([c.id], "Not wanted")
      const before = yield* runs.get([b.id, c.id])
      const answers = yield* adopt(
        "n2",
        d,
        { id: a.id, token: a.token + 1 },
        b,
        c,
        { id: runId(99), token: 1 },
        a,
        { id: d.id, token: 0 },
      )
      yield* expectSame("answers", answers, [true, false, false, false, false, true, false])
      yield* expectSame("the others", yield* runs.get([b.id, c.id]), before)
      yield* expectSame("n2", yield* carriedIds("n2"), [a.id, d.id])
      const again = yield* claimOne({ node: "n2" })
      yield* expectFields("claimed anew", again, { id: b.id, token: 2 })
      yield* expectSame("under its old token", yield* adopt("n2", b), [false])
      yield* expectTrueCounts
    }),
  },
  {
    name: "adopt > whether its start was acknowledged stays: so the loss of the new node costs an attempt, or none",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const [begun, waits] = yield* carrying(2)
      if (begun === undefined || waits === undefined) return yield* Effect.die("two runs")
      yield* runs.started([begun])
      yield* adopt("n2", begun, waits)
      clock.advance(600_000)
      yield* join("n3", 60_000)
      const taken = yield* runs.reclaim("n3", 10)
      yield* expectSame(
        "reclaimed",
        taken.map(({ id, node, state }) => [id, node, state]),
        [
          [begun.id, "n2", "retrying"],
          [waits.id, "n2", "ready"],
        ],
      )
      yield* expectFields("begun", yield* stored(begun.id), { attempt: 1, losses: 0 })
      yield* expectFields("waits", yield* stored(waits.id), { attempt: 0, losses: 1 })
    }),
  },
  {
    name: "adopt > a failure afterwards is recorded with the node that it is on by then",
    run: Effect.gen(function* () {
      const [run] = yield* carrying(1, true)
      if (run === undefined) return yield* Effect.die("one run")
      yield* adopt("n2", run)
      yield* settle(failing(run, 0))
      const attempts = yield* (yield* RunStore).attempts(run.id)
      yield* expectSame(
        "attempts",
        attempts.map(({ node, attempt, token, error }) => [node, attempt, token, error]),
        [["n2", 1, 1, failure]],
      )
    }),
  },
  {
    name: "adopt > the run of a step: its end releases the steps that need it, as before",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b", ["a"])]))
      const run = yield* claimStep("a")
      yield* join("n2", 60_000)
      yield* expectSame("answer", yield* adopt("n2", run), [true])
      yield* settle(success(run))
      yield* settle(success(yield* claimStep("b")))
      yield* expectFields("flow run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
  {
    name: "adopt > a run that does not run is nobody's to take, in any state",
    run: Effect.gen(function* () {
      yield* join("n2", 600_000)
      for (const [n, state] of (
        ["blocked", "scheduled", "ready", "retrying", "succeeded", "dead", "cancelled", "expired"] as const
      ).entries()) {
        const run = yield* bringTo(n + 1, state)
        yield* expectSame(state, yield* adopt("n2", run), [false])
        yield* expectSame(`run ${state}`, yield* stored(run.id), run)
      }
    }),
  },
  {
    name: "adopt > at most 1,000 runs, and none is none",
    run: Effect.gen(function* () {
      yield* join("n1")
      yield* expectSame("none", yield* adopt("n1"), [])
      const many = Array.from({ length: 1_001 }, (_, n) => ({ id: runId(n), token: 1 }))
      yield* expectSame(
        "answers",
        (yield* adopt("n1", ...many.slice(1))).filter((isOurs) => !isOurs).length,
        1_000,
      )
      yield* expectLimit("runs", adopt("n1", ...many))
    }),
  },
]

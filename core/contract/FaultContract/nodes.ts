// What the operations on nodes owe to a node that did not hear the answer. A lease counts from the latest call.
import * as Effect from "effect/Effect"
import { NodeStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectSame } from "../Case.ts"
import { claimOne, enqueue, join, newRun } from "../Fixtures.ts"
import { trial, unheard } from "./fixtures.ts"

const renew = Effect.flatMap(NodeStore, (nodes) => nodes.renew("n1", 5_000))

const reporting = (workers: string) =>
  Effect.flatMap(NodeStore, (nodes) => nodes.reportWorkers("n1", workers))

const joined = Effect.gen(function* () {
  yield* join("n1")
  yield* enqueue(newRun(1))
  yield* claimOne()
})

/** Cases of operations on nodes. */
export const nodeFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "join",
    promise: "the node is there once, with the lease of the second call",
    prepare: Effect.as(join("n2"), join("n1")),
    counts: "last",
  }),
  ...trial({
    operation: "renew",
    promise: "the lease is that of the second call",
    prepare: Effect.as(joined, renew),
    counts: "last",
  }),
  ...trial({
    operation: "leave",
    promise: "the node is gone, and what it carried is as it was",
    prepare: Effect.as(
      joined,
      Effect.flatMap(NodeStore, (nodes) => nodes.leave("n1")),
    ),
  }),
  ...trial({
    operation: "reportWorkers",
    promise: "it is kept once",
    prepare: Effect.gen(function* () {
      yield* joined
      yield* reporting("[]")
      return reporting('["w1"]')
    }),
  }),
  {
    name: "reportWorkers > done and reported as failed, then repeated after the node joined anew: it is said of the new one",
    run: Effect.gen(function* () {
      yield* joined
      yield* unheard("reportWorkers", reporting("[]"))
      yield* join("n1")
      yield* expectSame("answer", yield* reporting("[]"), true)
      yield* expectSame("workers", yield* (yield* NodeStore).workers(), [{ node: "n1", workers: "[]" }])
    }),
  },
  {
    name: "renew > done and reported as failed, then repeated after another node took the runs: it answers false",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* joined
      yield* unheard("renew", renew)
      clock.advance(5_000)
      yield* join("n2", 60_000)
      yield* (yield* RunStore).reclaim("n2", 100)
      yield* expectSame("answer", yield* renew, false)
      const nodes = (yield* (yield* NodeStore).nodes()).map(({ id }) => id)
      yield* expectSame("nodes", nodes, ["n2"])
    }),
  },
]

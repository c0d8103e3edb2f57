// What `claim` owes to the lease: a node that may lose what it carries at any moment, or has lost it, is given nothing. A
// claim may be on its way for long, and come when its node is dead by everybody's count.
import * as Effect from "effect/Effect"
import { NodeStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { enqueue, join, newRun, newRuns, runId, severalNodes, statesOf, wishOf } from "../Fixtures.ts"

/** A claim as it comes, by a node that need not be there. */
const claimAs = (node: string) =>
  Effect.flatMap(RunStore, (runs) => Effect.map(runs.claim(wishOf({ node })), (taken) => taken.length))

/** Cases of `claim`. */
export const claimLeaseCases: ReadonlyArray<Case> = [
  {
    name: "claim > a node that never joined, or has left, is given nothing",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(2))
      yield* expectSame("never joined", yield* claimAs("n1"), 0)
      yield* join("n1")
      yield* (yield* NodeStore).leave("n1")
      yield* expectSame("left", yield* claimAs("n1"), 0)
      yield* expectSame("states", yield* statesOf(runId(1), runId(2)), ["ready", "ready"])
      yield* join("n1")
      yield* expectSame("joined", yield* claimAs("n1"), 2)
    }),
  },
  {
    name: "claim > a node whose lease has ended is given nothing until it is renewed; no attempt and no token is used",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* join("n1", 1_000)
      yield* enqueue(newRun(1), newRun(2, { delayMillis: 1_000 }))
      clock.advance(1_000)
      yield* expectSame("ended", yield* claimAs("n1"), 0)
      const runs = yield* (yield* RunStore).get([runId(1), runId(2)])
      for (const run of runs) yield* expectFields("untouched", run, { node: null, token: 0, attempt: 0 })
      yield* (yield* NodeStore).renew("n1", 1_000)
      clock.advance(999)
      yield* expectSame("renewed", yield* claimAs("n1"), 2)
    }),
  },
  {
    name: "claim > one that comes when the node's runs have been taken back is given nothing; the others are",
    skip: severalNodes,
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const runs = yield* RunStore
      yield* join("late", 1_000)
      yield* join("n1", 60_000)
      yield* enqueue(...newRuns(3))
      clock.advance(1_000)
      yield* runs.reclaim("n1", 10)
      yield* expectSame("late", yield* claimAs("late"), 0)
      yield* expectSame("n1", yield* claimAs("n1"), 3)
      yield* expectSame("nothing left behind", yield* runs.reclaim("n1", 10), [])
    }),
  },
]

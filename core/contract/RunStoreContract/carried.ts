// What `carried` promises: a node finds every run that it holds, so that no claim is lost with its answer.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame } from "../Case.ts"
import { bringTo, claim, enqueue, failing, join, newRuns, runId, settle, success } from "../Fixtures.ts"

const carriedIds = Effect.fnUntraced(function* (node: string, limit = 100) {
  return (yield* (yield* RunStore).carried(node, limit)).map((run) => run.id).sort()
})

/** Cases of `carried`. */
export const carriedCases: ReadonlyArray<Case> = [
  {
    name: "carried > after a claim with an unknown outcome, its runs are found and can be settled",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(3))
      // The answer of this claim is lost on the way.
      yield* claim({ limit: 2, acknowledged: false })
      const found = yield* runs.carried("n1", 100)
      yield* expectSame("found", found, yield* runs.get(found.map((run) => run.id)))
      yield* expectSame("ids", found.map((run) => run.id).sort(), [runId(1), runId(2)])
      yield* expectSame("started", yield* runs.started(found), [true, true])
      for (const run of found)
        yield* expectFields("settled", yield* settle(success(run)), { result: "settled" })
      yield* expectSame("afterwards", yield* carriedIds("n1"), [])
    }),
  },
  {
    name: "carried > what is running on the node, and nothing else",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      for (const [n, state] of (["blocked", "scheduled", "ready", "retrying", "dead"] as const).entries()) {
        yield* bringTo(n + 11, state)
      }
      yield* enqueue(...newRuns(6))
      const taken = yield* claim({ limit: 4 })
      yield* claim({ node: "n2", limit: 2 })
      yield* expectSame("n1", yield* carriedIds("n1"), [1, 2, 3, 4].map(runId))
      yield* expectSame("n2", yield* carriedIds("n2"), [5, 6].map(runId))
      yield* expectSame("nobody", yield* carriedIds("n3"), [])
      for (const run of taken.slice(0, 1)) yield* settle(failing(run, 1))
      yield* runs.cancel([runId(2)], "Not wanted")
      yield* expectSame("n1", yield* carriedIds("n1"), [3, 4].map(runId))
      yield* join("n1", 1_000)
      clock.advance(1_000)
      yield* join("n2", 60_000)
      yield* runs.reclaim("n2", 100)
      yield* expectSame("n1 is lost", yield* carriedIds("n1"), [])
      yield* expectSame("n2 lives", yield* carriedIds("n2"), [5, 6].map(runId))
    }),
  },
  {
    name: "carried > page by page, by id",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(5))
      yield* claim()
      const pages: Array<ReadonlyArray<string>> = []
      for (let after: string | undefined; pages.at(-1)?.length !== 0; after = pages.at(-1)?.at(-1))
        pages.push((yield* runs.carried("n1", 2, after)).map(({ id }) => id))
      yield* expectSame("pages", pages, [[1, 2].map(runId), [3, 4].map(runId), [runId(5)], []])
    }),
  },
  {
    name: "carried > at most 1 to 1,000 runs",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(3))
      yield* claim()
      yield* expectSame("two", (yield* carriedIds("n1", 2)).length, 2)
      for (const limit of [0, 1_001, 0.5]) yield* expectLimit("limit", carriedIds("n1", limit))
    }),
  },
]

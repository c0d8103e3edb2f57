// What `settle` promises to a node that did not hear the answer: repeated under its own token, a settlement is
// answered with what is recorded, and is applied once; under an earlier token it is stale.
import * as Effect from "effect/Effect"
import type { Settlement } from "../../domain/Outcome.ts"
import type { Run } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  newRun,
  runId,
  settle,
  stored,
  success,
} from "../Fixtures.ts"
import { lostAs, loseOften } from "./releaseLost.ts"

const running = bringTo(1, "running")

/** One more loss of it is too many. */
const lostOften: typeof running = Effect.gen(function* () {
  yield* enqueue(newRun(1))
  yield* loseOften()
  return yield* claimOne()
})

const repeated = (
  name: string,
  settlementOf: (run: Run) => Settlement,
  situation: typeof running = running,
): Case => ({
  name: `settle > repeated after an unknown outcome, ${name} is answered as before and changes nothing`,
  run: Effect.gen(function* () {
    const runs = yield* RunStore
    const clock = yield* ContractClock
    const run = yield* situation
    const first = yield* settle(settlementOf(run))
    yield* expectFields("first", first, { result: "settled" })
    const look = Effect.all([
      stored(run.id),
      runs.attempts(run.id),
      runs.deadLetters({ limit: 10 }),
      runs.counts(),
    ])
    const before = yield* look
    clock.advance(30)
    yield* expectSame("second", yield* settle(settlementOf(run)), first)
    const both = yield* runs.settle([settlementOf(run), settlementOf(run)])
    yield* expectSame("third and fourth", both, [first, first])
    yield* expectSame("rows", yield* look, before)
  }),
})

/** Cases of settlements that arrive again or late. */
export const settleRepeatedCases: ReadonlyArray<Case> = [
  repeated("a success", (run) => success(run, '"done"')),
  repeated("a failure with a retry", (run) => failing(run, 60_000)),
  repeated("a failure for good", (run) => failing(run)),
  repeated("a snooze", ({ id, token }) => ({ id, token, kind: "snoozed", delayMillis: 60_000 })),
  repeated("a release", ({ id, token }) => ({ id, token, kind: "released" })),
  repeated("a release that is a loss", lostAs),
  repeated("a release that is one loss too many", lostAs, lostOften),
  {
    name: "settle > the first settlement of a token counts, another one after it changes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      yield* settle(success(run, '"first"'))
      const before = yield* stored(run.id)
      for (const other of [failing(run), failing(run, 10), success(run, '"second"')]) {
        yield* expectFields("answer", yield* settle(other), { state: "succeeded" })
      }
      yield* expectSame("run", yield* stored(run.id), before)
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [])
    }),
  },
  {
    name: "settle > the same run twice in one batch is settled once, by the first",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      const answers = yield* runs.settle([failing(run, 60_000), success(run)])
      yield* expectSame(
        "states",
        answers.map((answer) => answer.state),
        ["retrying", "retrying"],
      )
      yield* expectSame("attempts", (yield* runs.attempts(run.id)).length, 1)
    }),
  },
  {
    name: "settle > the token of an earlier claim is stale once the run is claimed again",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const early = yield* claimOne({ node: "n1" })
      yield* settle(failing(early, 0))
      const late = yield* claimOne({ node: "n2" })
      for (const settlement of [failing(early, 0), failing(early), success(early, '"late"')]) {
        yield* expectFields("answer", yield* settle(settlement), { result: "stale", state: "running" })
      }
      yield* expectSame("run", yield* stored(runId(1)), late)
      yield* expectSame("attempts", (yield* runs.attempts(runId(1))).length, 1)
    }),
  },
  {
    name: "settle > the token of an earlier claim is stale also after the later one was settled",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      const early = yield* claimOne()
      yield* settle({ id: early.id, token: early.token, kind: "released" })
      yield* settle(success(yield* claimOne(), '"right"'))
      yield* expectFields("answer", yield* settle(success(early, '"wrong"')), { result: "stale" })
      yield* expectFields("run", yield* stored(early.id), { state: "succeeded", output: '"right"' })
    }),
  },
  {
    name: "settle > a retry that became ready is not settled again by its old token",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "retrying")
      ;(yield* ContractClock).advance(60_000)
      yield* runs.promote(10)
      const before = yield* stored(run.id)
      yield* settle(success(run, '"late"'))
      yield* settle(failing(run))
      yield* expectSame("run", yield* stored(run.id), before)
      yield* expectSame("attempts", (yield* runs.attempts(run.id)).length, 1)
      yield* expectSame("still claimed", (yield* claim({ queues: [run.queue] })).length, 1)
    }),
  },
]

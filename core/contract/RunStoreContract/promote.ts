// What `promote` and `dueWithin` promise: waiting runs become ready when they are due, and say when that is.
import * as Effect from "effect/Effect"
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
  statesOf,
  stored,
} from "../Fixtures.ts"

/** Cases of `promote` and `dueWithin`. */
export const promoteCases: ReadonlyArray<Case> = [
  {
    name: "promote > makes ready what is due, and nothing else",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { delayMillis: 1_000 }), newRun(2, { delayMillis: 1_001 }), newRun(3))
      yield* settle(failing(yield* claimOne(), 1_000))
      yield* expectSame("too early", yield* runs.promote(10), 0)
      clock.advance(1_000)
      yield* expectSame("promoted", yield* runs.promote(10), 2)
      yield* expectSame("states", yield* statesOf(...[1, 2, 3].map(runId)), ["ready", "scheduled", "ready"])
      yield* expectSame("repeated", yield* runs.promote(10), 0)
    }),
  },
  {
    name: "promote > takes at most the limit, the rest the next time",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...[1, 2, 3, 4, 5].map((n) => newRun(n, { delayMillis: n })))
      ;(yield* ContractClock).advance(10)
      const answers = [yield* runs.promote(2), yield* runs.promote(2), yield* runs.promote(2)]
      yield* expectSame("answers", answers, [2, 2, 1])
      yield* expectSame(
        "claimed",
        (yield* claim()).map((run) => run.id),
        [1, 2, 3, 4, 5].map(runId),
      )
    }),
  },
  {
    name: "promote > the limit is that of all changes together, whatever they are",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1), newRun(2), newRun(3), newRun(4), newRun(5))
      for (const run of yield* claim({ limit: 2 })) yield* settle(failing(run, 10))
      yield* runs.cancel([runId(3), runId(4), runId(5)], "Not wanted")
      yield* enqueue(newRun(6, { delayMillis: 10 }), newRun(7, { delayMillis: 10 }))
      yield* enqueue(newRun(8, { startWithinMillis: 10 }), newRun(9, { startWithinMillis: 10 }))
      clock.advance(10)
      const answers = [yield* runs.promote(3), yield* runs.promote(2), yield* runs.promote(2)]
      yield* expectSame("answers", answers, [3, 2, 1])
    }),
  },
  {
    name: "promote > at most the limit expires, the rest the next time",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...[1, 2, 3].map((n) => newRun(n, { startWithinMillis: 10 })))
      ;(yield* ContractClock).advance(10)
      yield* expectSame("answers", [yield* runs.promote(2), yield* runs.promote(2)], [2, 1])
    }),
  },
  {
    name: "claim > of more than one claim can make ready, what was due first is given first",
    run: Effect.gen(function* () {
      const later = Array.from({ length: 1_000 }, (_, index) => newRun(index + 1, { delayMillis: 2 }))
      yield* enqueue(...later)
      yield* enqueue(newRun(2_000, { delayMillis: 1 }))
      ;(yield* ContractClock).advance(2)
      yield* expectFields("first", yield* claimOne(), { id: runId(2_000) })
    }),
  },
  {
    name: "promote > expires what has passed its time to start, in every waiting state",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const startWithinMillis = 100
      yield* enqueue(newRun(1, { startWithinMillis }))
      yield* settle(failing(yield* claimOne(), 9_000))
      yield* enqueue(newRun(2, { startWithinMillis }))
      const { id, token } = yield* claimOne()
      yield* settle({ id, token, kind: "snoozed", delayMillis: 9_000 })
      yield* enqueue(newRun(3, { startWithinMillis }))
      clock.advance(100)
      yield* expectSame("expired", yield* runs.promote(10), 3)
      for (const n of [1, 2, 3]) {
        yield* expectFields(`run ${n}`, yield* stored(runId(n)), { state: "expired", endedAt: clock.now() })
      }
    }),
  },
  {
    name: "dueWithin > the distinct due times of scheduled and retrying runs in the window, in order",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const now = (yield* ContractClock).now()
      yield* bringTo(1, "blocked")
      yield* bringTo(2, "running")
      yield* bringTo(3, "cancelled")
      yield* bringTo(4, "ready")
      yield* bringTo(5, "retrying")
      yield* enqueue(
        ...[700, 300, 500, 300, 900, 100].map((delayMillis, n) => newRun(10 + n, { delayMillis })),
      )
      const due = [100, 300, 500, 700, 900].map((delay) => now + delay)
      yield* expectSame("up to 500", yield* runs.dueWithin(now, now + 500, 100), due.slice(0, 3))
      yield* expectSame("after 300", yield* runs.dueWithin(now + 300, now + 700, 100), due.slice(2, 4))
      yield* expectSame("the first two", yield* runs.dueWithin(now, now + 500, 2), due.slice(0, 2))
      yield* expectSame("all", yield* runs.dueWithin(now, now + 60_000, 100), [...due, now + 60_000])
      yield* expectSame("none", yield* runs.dueWithin(now, now + 99, 100), [])
    }),
  },
]

// What `claim` promises: due runs only, in order, each to one node at a time, under a token of its own.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame } from "../Case.ts"
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
  stored,
} from "../Fixtures.ts"

/** Cases of `claim`. */
export const claimCases: ReadonlyArray<Case> = [
  {
    name: "claim > the run is running on the node, with one attempt and a token more",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { input: "[1]" }))
      clock.advance(10)
      const run = yield* claimOne({ node: "n7" })
      yield* expectFields("claimed", run, {
        id: runId(1),
        input: "[1]",
        state: "running",
        node: "n7",
        token: 1,
        attempt: 1,
        startedAt: clock.now(),
        startAcknowledged: true,
      })
      yield* expectSame("stored", yield* stored(runId(1)), run)
    }),
  },
  {
    name: "claim > without an acknowledged start the run says so",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      yield* expectFields("claimed", yield* claimOne({ acknowledged: false }), { startAcknowledged: false })
    }),
  },
  {
    name: "claim > of a job that expands a claim is not the start, and of the others beside it, it is",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { job: "flow" }), newRun(2))
      const taken = yield* claim({ jobs: ["flow", "report"], expanding: ["flow"] })
      yield* expectSame(
        "acknowledged",
        Object.fromEntries(taken.map((run) => [run.job, run.startAcknowledged])),
        {
          flow: false,
          report: true,
        },
      )
    }),
  },
  {
    name: "claim > higher priority first, then the earlier due time, then the lower id",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* enqueue(
        newRun(6, { priority: 0, dueAt: now - 5 }),
        newRun(3, { priority: 5, dueAt: now - 1 }),
        newRun(5, { priority: 0, dueAt: now - 9 }),
        newRun(2, { priority: 5, dueAt: now - 1 }),
        newRun(1, { priority: -1, dueAt: now - 99 }),
        newRun(4, { priority: 5, dueAt: now - 2 }),
      )
      const order = (yield* claim()).map((run) => run.id)
      yield* expectSame("order", order, [4, 2, 3, 5, 6, 1].map(runId))
    }),
  },
  {
    name: "claim > the order holds across queues and jobs",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* enqueue(
        newRun(1, { queue: "a", job: "x", dueAt: now - 1 }),
        newRun(2, { queue: "b", job: "x", dueAt: now - 4 }),
        newRun(3, { queue: "a", job: "y", dueAt: now - 3 }),
        newRun(4, { queue: "b", job: "y", dueAt: now - 2, priority: 1 }),
      )
      const order = (yield* claim({ queues: ["a", "b"], jobs: ["x", "y"] })).map((run) => run.id)
      yield* expectSame("order", order, [4, 2, 3, 1].map(runId))
    }),
  },
  {
    name: "claim > no queue comes before the others when there are more runs than the limit",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* enqueue(
        ...[1, 2, 3].map((n) => newRun(n, { queue: "a", dueAt: now - n })),
        ...[4, 5, 6].map((n) => newRun(n, { queue: "b", dueAt: now - n, priority: n === 5 ? 1 : 0 })),
      )
      const wish = { queues: ["a", "b"], limit: 2 }
      const pages = [yield* claim(wish), yield* claim(wish), yield* claim(wish)]
      const ids = pages.map((page) => page.map((run) => run.id))
      yield* expectSame("pages", ids, [[5, 6].map(runId), [4, 3].map(runId), [2, 1].map(runId)])
    }),
  },
  {
    name: "claim > runs due at the same instant go out in the order of their ids",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      // Stored in an order that is neither ascending nor descending.
      const mixed = newRuns(200).map((_, index) => newRun(((index * 37) % 200) + 1))
      yield* runs.enqueue(mixed)
      const first = (yield* claim({ limit: 120 })).map((run) => run.id)
      const second = (yield* claim({ limit: 120 })).map((run) => run.id)
      yield* expectSame(
        "order",
        [...first, ...second],
        newRuns(200).map((run) => run.id),
      )
    }),
  },
  {
    name: "claim > never before the due time, and at the due time at once",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { delayMillis: 1_000 }))
      clock.advance(999)
      yield* expectSame("one millisecond early", yield* claim(), [])
      clock.advance(1)
      yield* expectSame(
        "due",
        (yield* claim()).map((run) => run.id),
        [runId(1)],
      )
    }),
  },
  {
    name: "claim > a retry waits for its own due time",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      yield* settle(failing(yield* claimOne(), 2_000))
      clock.advance(1_999)
      yield* expectSame("one millisecond early", yield* claim(), [])
      clock.advance(1)
      yield* expectFields("due", yield* claimOne(), { attempt: 2, token: 2 })
    }),
  },
  {
    name: "claim > a clock that steps back makes nothing early",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const start = clock.now()
      yield* enqueue(newRun(1, { delayMillis: 1_000 }), newRun(2, { dueAt: start - 10_000 }))
      clock.advance(1_000)
      yield* (yield* RunStore).promote(10)
      clock.set(start + 500)
      yield* expectSame(
        "claimed",
        (yield* claim()).map((run) => run.id),
        [runId(2)],
      )
      clock.set(start + 1_000)
      yield* expectSame(
        "later",
        (yield* claim()).map((run) => run.id),
        [runId(1)],
      )
    }),
  },
  {
    name: "claim > only of the given queues",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { queue: "a" }), newRun(2, { queue: "b" }), newRun(3, { queue: "c" }))
      yield* expectSame("none", yield* claim({ queues: [] }), [])
      const taken = yield* claim({ queues: ["c", "a", "nowhere"] })
      yield* expectSame(
        "ids",
        taken.map((run) => run.id),
        [runId(1), runId(3)],
      )
    }),
  },
  {
    name: "claim > only jobs that the node has a handler for",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { job: "a" }), newRun(2, { job: "b" }), newRun(3, { job: "c" }))
      yield* expectSame("none", yield* claim({ jobs: [] }), [])
      const taken = yield* claim({ jobs: ["c", "a", "nobody"] })
      yield* expectSame(
        "ids",
        taken.map((run) => run.id),
        [runId(1), runId(3)],
      )
    }),
  },
  {
    name: "claim > a queue or job named twice gives its runs once",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1), newRun(2))
      const taken = yield* claim({ queues: ["default", "default"], jobs: ["report", "report"] })
      yield* expectSame(
        "ids",
        taken.map((run) => run.id),
        [runId(1), runId(2)],
      )
    }),
  },
  {
    name: "claim > repeated after an unknown outcome, it gives other runs, never the same twice",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(5))
      const first = yield* claim({ limit: 3 })
      const second = yield* claim({ limit: 3 })
      const third = yield* claim({ limit: 3 })
      yield* expectSame(
        "ids",
        [first, second, third].map((taken) => taken.map((run) => run.id)),
        [[1, 2, 3].map(runId), [4, 5].map(runId), []],
      )
    }),
  },
  {
    name: "claim > two nodes never hold the same run",
    run: Effect.gen(function* () {
      yield* enqueue(...newRuns(100))
      const seen = new Set<string>()
      for (let round = 0; round < 20; round++) {
        for (const run of yield* claim({ node: `n${round % 3}`, limit: 7 })) {
          yield* expectSame(`run ${run.id} was given before`, seen.has(run.id), false)
          yield* expectSame("node", run.node, `n${round % 3}`)
          seen.add(run.id)
        }
      }
      yield* expectSame("given", seen.size, 100)
    }),
  },
  {
    name: "claim > each claim of a run has a token of its own, and its start is acknowledged anew",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { attemptMax: 9 }))
      for (let n = 1; n <= 4; n++) {
        const run = yield* claimOne({ acknowledged: n % 2 === 1 })
        yield* expectFields(`claim ${n}`, run, { token: n, attempt: n, startAcknowledged: n % 2 === 1 })
        yield* settle(failing(run, 0))
      }
    }),
  },
  {
    name: "claim > whatever has passed its time to start expires instead",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(
        newRun(1, { startWithinMillis: 1_000 }),
        newRun(2, { startWithinMillis: 500, delayMillis: 500 }),
        newRun(3, { startWithinMillis: 1_000, priority: 1 }),
        newRun(4, { startWithinMillis: 1_000, priority: 2 }),
        newRun(5, { startWithinMillis: 1_001 }),
      )
      yield* settle(failing(yield* claimOne(), 3_000))
      const { id, token } = yield* claimOne()
      yield* settle({ id, token, kind: "snoozed", delayMillis: 5_000 })
      clock.advance(1_000)
      yield* expectSame(
        "claimed",
        (yield* claim()).map((run) => run.id),
        [runId(5)],
      )
      for (const n of [1, 2, 3, 4]) {
        const run = yield* stored(runId(n))
        yield* expectFields(`run ${n}`, run, { state: "expired", endedAt: clock.now(), node: null })
        yield* expectSame("a reason is given", typeof run.reason, "string")
      }
    }),
  },
  {
    name: "claim > what is overdue is never given, however much there is of it",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const startWithinMillis = 10
      yield* enqueue(...newRuns(1_000, { startWithinMillis }))
      yield* enqueue(...[1_001, 1_002].map((n) => newRun(n, { startWithinMillis })), newRun(1_003))
      clock.advance(10)
      const ids = (yield* claim({ limit: 1_000 })).map((run) => run.id)
      yield* expectSame("given", ids, [runId(1_003)])
    }),
  },
  {
    name: "claim > a run may start until the millisecond before it expires",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { startWithinMillis: 1_000 }))
      clock.advance(999)
      yield* expectFields("claimed", yield* claimOne(), { state: "running" })
      clock.advance(10_000)
      yield* (yield* RunStore).promote(10)
      yield* expectFields("still running", yield* stored(runId(1)), { state: "running" })
    }),
  },
  {
    name: "claim > a run that is cancelled, or waits for another, is not given",
    run: Effect.gen(function* () {
      yield* bringTo(1, "cancelled", { queue: "default" })
      yield* bringTo(2, "blocked", { queue: "default" })
      yield* expectSame("claimed", yield* claim(), [])
    }),
  },
  {
    name: "claim > at most 1 to 1,000 runs",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      for (const limit of [0, -1, 1_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
        yield* expectLimit("limit", claim({ limit }))
      }
      yield* expectSame("claimed", (yield* claim({ limit: 1_000 })).length, 1)
    }),
  },
]

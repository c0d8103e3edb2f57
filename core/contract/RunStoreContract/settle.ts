// What `settle` and `started` promise: only the holder of the token changes a run, once, and all of it at once.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  failure,
  newRun,
  newRuns,
  runId,
  settle,
  stored,
  success,
} from "../Fixtures.ts"

/** Cases of what each settlement does. */
export const settleCases: ReadonlyArray<Case> = [
  {
    name: "settle > a run that returned has succeeded, with its output and its end",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      clock.advance(250)
      const settled = yield* settle(success(run, '{"rows":3}'))
      yield* expectSame("answer", settled, { id: run.id, result: "settled", state: "succeeded", dueAt: null })
      yield* expectSame("run", yield* stored(run.id), {
        ...run,
        state: "succeeded",
        node: null,
        endedAt: clock.now(),
        output: '{"rows":3}',
      })
    }),
  },
  {
    name: "settle > a failed attempt is recorded and retried when asked",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      clock.advance(100)
      const dueAt = clock.now() + 3_000
      const settled = yield* settle(failing(run, 3_000))
      yield* expectSame("answer", settled, { id: run.id, result: "settled", state: "retrying", dueAt })
      yield* expectSame("run", yield* stored(run.id), {
        ...run,
        state: "retrying",
        node: null,
        dueAt,
        error: failure,
      })
      yield* expectSame("attempts", yield* runs.attempts(run.id), [
        {
          runId: run.id,
          attempt: 1,
          token: 1,
          node: "n1",
          startedAt: run.startedAt,
          endedAt: clock.now(),
          error: failure,
        },
      ])
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [])
    }),
  },
  {
    name: "settle > a run that failed for good is dead, with its attempt and one letter in the same step",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      clock.advance(100)
      const settled = yield* settle(failing(run))
      yield* expectSame("answer", settled, { id: run.id, result: "settled", state: "dead", dueAt: null })
      yield* expectFields("run", yield* stored(run.id), {
        state: "dead",
        endedAt: clock.now(),
        error: failure,
      })
      yield* expectSame("attempts", (yield* runs.attempts(run.id)).length, 1)
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [
        { runId: run.id, job: "report", diedAt: clock.now(), attempt: 1, error: failure, replayedBy: null },
      ])
    }),
  },
  {
    name: "settle > attempts never exceed the limit, whatever retry the caller asks for",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { attemptMax: 2 }))
      yield* expectFields("first", yield* settle(failing(yield* claimOne(), 0)), { state: "retrying" })
      yield* expectFields("second", yield* settle(failing(yield* claimOne(), 0)), { state: "dead" })
      yield* expectSame("claim", yield* claim(), [])
      yield* expectSame(
        "attempts",
        (yield* runs.attempts(runId(1))).map((row) => row.attempt),
        [1, 2],
      )
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((row) => row.attempt),
        [2],
      )
    }),
  },
  {
    name: "settle > a snoozed run comes back later with its attempt",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { attemptMax: 1 }))
      const run = yield* claimOne()
      const dueAt = clock.now() + 500
      const settled = yield* settle({ id: run.id, token: run.token, kind: "snoozed", delayMillis: 500 })
      yield* expectSame("answer", settled, { id: run.id, result: "settled", state: "scheduled", dueAt })
      yield* expectFields("run", yield* stored(run.id), { attempt: 0, node: null, dueAt })
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
      clock.advance(500)
      yield* expectFields("again", yield* claimOne(), { attempt: 1, token: 2 })
    }),
  },
  {
    name: "settle > a released run is ready at once, with its attempt, under a new token",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { attemptMax: 1 }))
      const run = yield* claimOne()
      const settled = yield* settle({ id: run.id, token: run.token, kind: "released" })
      yield* expectFields("answer", settled, { result: "settled", state: "ready" })
      yield* expectFields("run", yield* stored(run.id), { attempt: 0, node: null, token: 1 })
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
      yield* expectFields("again", yield* claimOne({ node: "n2" }), { attempt: 1, token: 2, node: "n2" })
    }),
  },
  {
    name: "settle > a success after failures clears the error and keeps the failed attempts, oldest first",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      for (let n = 1; n <= 2; n++) {
        const run = yield* claimOne({ node: `n${n}` })
        clock.advance(10)
        yield* settle(failing(run, 0))
      }
      yield* settle(success(yield* claimOne()))
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded", error: null, attempt: 3 })
      const attempts = yield* runs.attempts(runId(1))
      yield* expectSame(
        "attempts",
        attempts.map((row) => [row.attempt, row.token, row.node]),
        [
          [1, 1, "n1"],
          [2, 2, "n2"],
        ],
      )
    }),
  },
  {
    name: "settle > another token than the row's is stale and changes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      for (const token of [0, 2, -1, 99]) {
        const held = { id: run.id, token }
        for (const settlement of [
          success(held, '"forged"'),
          failing(held),
          failing(held, 10),
          { ...held, kind: "snoozed", delayMillis: 1 } as const,
          { ...held, kind: "released" } as const,
        ]) {
          const answer = yield* settle(settlement)
          yield* expectFields(`${settlement.kind} under ${token}`, answer, {
            result: "stale",
            state: "running",
          })
        }
      }
      yield* expectSame("run", yield* stored(run.id), run)
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [])
    }),
  },
  {
    name: "settle > a run that nobody knows is stale, without a state",
    run: Effect.gen(function* () {
      const settled = yield* settle(success({ id: runId(9), token: 1 }))
      yield* expectSame("answer", settled, { id: runId(9), result: "stale", state: null, dueAt: null })
    }),
  },
  {
    name: "settle > a stale one does not hold up the others of its batch",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(3))
      const [one, two, three] = yield* claim()
      if (one === undefined || two === undefined || three === undefined)
        return yield* Effect.die("three runs")
      const answers = yield* runs.settle([
        failing(three),
        success({ id: two.id, token: 7 }),
        success({ id: runId(9), token: 1 }),
        success(one),
      ])
      yield* expectSame(
        "answers",
        answers.map(({ id, result, state }) => [id, result, state]),
        [
          [three.id, "settled", "dead"],
          [two.id, "stale", "running"],
          [runId(9), "stale", null],
          [one.id, "settled", "succeeded"],
        ],
      )
      yield* expectSame("nothing for nothing", yield* runs.settle([]), [])
    }),
  },
  {
    name: "settle > a run that was cancelled under the holder answers stale, and stays cancelled",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      yield* runs.cancel([run.id], "Not wanted")
      const cancelled = yield* stored(run.id)
      for (const settlement of [success(run, "1"), failing(run), failing(run, 5)]) {
        yield* expectFields("answer", yield* settle(settlement), { result: "stale", state: "cancelled" })
      }
      yield* expectSame("run", yield* stored(run.id), cancelled)
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
    }),
  },
  {
    name: "settle > 1,000 outcomes are one batch, 1,001 are refused",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* runs.enqueue(newRuns(1_000))
      const taken = yield* claim({ limit: 1_000 })
      const all = taken.map((run) => success(run))
      yield* expectLimit("settlements", runs.settle([...all, success({ id: runId(1), token: 1 })]))
      yield* expectSame("untouched", yield* runs.counts(), [
        { job: "report", state: "running", count: 1_000 },
      ])
      yield* runs.settle(all)
      yield* expectSame("settled", yield* runs.counts(), [
        { job: "report", state: "succeeded", count: 1_000 },
      ])
    }),
  },
  {
    name: "started > acknowledges the start under the token, also when repeated",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const run = yield* claimOne({ acknowledged: false })
      const held = { id: run.id, token: run.token }
      const answers = yield* runs.started([{ ...held, token: 2 }, { id: runId(9), token: 1 }, held, held])
      yield* expectSame("answers", answers, [false, false, true, true])
      yield* expectSame("run", yield* stored(run.id), { ...run, startAcknowledged: true })
    }),
  },
  {
    name: "started > answers false as soon as the token no longer holds",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      const other = yield* bringTo(2, "running")
      yield* settle(success(run))
      yield* runs.cancel([other.id], "Not wanted")
      yield* expectSame("answers", yield* runs.started([run, other]), [false, false])
      yield* expectLimit("runs", runs.started(Array.from({ length: 1_001 }, () => run)))
    }),
  },
]

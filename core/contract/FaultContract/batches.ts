// What a batch owes to a caller who did not hear its answer and repeats it: as a whole, and then each of it alone, as
// the engine does (core/run/Batcher, core/trigger/Planner).
import * as Effect from "effect/Effect"
import type { Settled, Settlement } from "../../domain/Outcome.ts"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  claim,
  claimOne,
  enqueue,
  failing,
  newRun,
  newRuns,
  runId,
  settle,
  stored,
  success,
} from "../Fixtures.ts"
import { expanding, flowOf, step } from "../FlowStoreContract/fixtures.ts"
import { fireAt, fireOne, newSchedule, put, rowOf } from "../ScheduleStoreContract/fixtures.ts"
import { inTwin, pauseMillis, unheard } from "./fixtures.ts"
import { changingNothing, expectAlike, lookAtEnd } from "./look.ts"

const settleAll = (batch: ReadonlyArray<Settlement>) => Effect.flatMap(RunStore, (runs) => runs.settle(batch))

/** Outcomes of five runs: one under a token that another node has outdone, one twice, and one of a run that is not there. */
const mixed = Effect.gen(function* () {
  yield* enqueue(...newRuns(5), newRun(6, { job: "load", needs: [1, 2].map(runId) }))
  const early = yield* claimOne()
  yield* settle({ id: early.id, token: early.token, kind: "released" })
  yield* claimOne({ node: "n2" })
  const [b, c, d, e] = yield* claim()
  if (b === undefined || c === undefined || d === undefined || e === undefined)
    return yield* Effect.die("four runs")
  return [
    success(b, '"b"'),
    success(early, '"late"'),
    failing(c, 60_000),
    failing(d),
    failing(b),
    success({ id: runId(99), token: 1 }),
    expanding(e, flowOf([step("a"), step("b", ["a"])])),
  ]
})

const settleCase = (
  fails: "before" | "after",
  name: string,
  repeat: (batch: ReadonlyArray<Settlement>, expected: ReadonlyArray<Settled>) => ReturnType<typeof alone>,
): Case => ({
  name,
  run: Effect.gen(function* () {
    const clock = yield* ContractClock
    const wait = Effect.sync(() => clock.advance(pauseMillis))
    const twin = yield* inTwin(
      Effect.gen(function* () {
        const batch = yield* mixed
        if (fails === "before") yield* wait
        const answers = yield* settleAll(batch)
        if (fails === "after") yield* wait
        return { answers, seen: yield* lookAtEnd }
      }),
    )
    const batch = yield* mixed
    yield* unheard("settle", settleAll(batch), fails)
    yield* wait
    yield* repeat(batch, twin.answers)
    yield* expectAlike(yield* lookAtEnd, twin.seen)
  }),
})

/** Each alone, whose first answer is lost as well. */
const alone = (batch: ReadonlyArray<Settlement>, expected: ReadonlyArray<Settled>) =>
  Effect.forEach(
    batch,
    (each, index) =>
      Effect.gen(function* () {
        yield* unheard("settle", settleAll([each]))
        yield* expectSame(`answer ${index} alone`, yield* settleAll([each]), [expected[index]])
      }),
    { discard: true },
  )

/** Cases of batches. */
export const batchFaultCases: ReadonlyArray<Case> = [
  settleCase(
    "after",
    "settle > a batch, partly stale, done and reported as failed: repeated as a whole and then one by one, each is answered as the first time",
    (batch, expected) =>
      Effect.gen(function* () {
        yield* expectSame("answers", yield* settleAll(batch), expected)
        yield* alone(batch, expected)
      }),
  ),
  settleCase(
    "before",
    "settle > a batch that failed before it was done: repeated one by one, it is answered as a whole would be",
    alone,
  ),
  {
    name: "enqueue > a batch with keys, done and reported as failed, and its first run ended since: the same ids exist, whoever has the key by now",
    run: Effect.gen(function* () {
      const batch = enqueue(
        newRun(1, { key: "k" }),
        newRun(2, { key: "l", delayMillis: 60_000 }),
        newRun(3, { job: "load", needs: [runId(1)] }),
      )
      yield* unheard("enqueue", batch)
      yield* settle(success(yield* claimOne()))
      const [other] = yield* enqueue(newRun(4, { key: "k" }))
      yield* expectFields("another with the key", other, { id: runId(4), result: "created" })
      const ended = yield* stored(runId(1))
      const answers = yield* changingNothing(batch)
      yield* expectSame(
        "answers",
        answers.map(({ id, result, state }) => [id, result, state]),
        [
          [runId(1), "exists", "succeeded"],
          [runId(2), "exists", "scheduled"],
          [runId(3), "exists", "ready"],
        ],
      )
      yield* expectFields("of the one that ended", answers[0], { dueAt: ended.dueAt })
    }),
  },
  {
    name: "enqueue > a run that another one with its key stood in for was not stored: repeated after that one ended, it is created",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { key: "k" }))
      const second = enqueue(newRun(2, { key: "k" }))
      yield* changingNothing(unheard("enqueue", second))
      const [there] = yield* second
      yield* expectFields("while it lives", there, { id: runId(1), result: "exists" })
      yield* settle(success(yield* claimOne()))
      const [created] = yield* second
      yield* expectFields("afterwards", created, { id: runId(2), result: "created" })
    }),
  },
  {
    name: "fire > a batch, done and reported as failed: repeated one by one, and then without runs, each is a conflict, also where another planner went on",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      const ids = ["a", "b", "c"]
      yield* put(...ids.map((id) => newSchedule(id, { cursor: now - 1, nextAt: now })))
      const steps = yield* Effect.forEach(ids, (id, index) =>
        Effect.map(rowOf(id), (row) => fireAt(row, now, newRun(index + 1))),
      )
      yield* unheard(
        "fire",
        Effect.flatMap(ScheduleStore, (store) => store.fire(steps)),
      )
      const next = fireAt(yield* rowOf("b"), now + 1_000, newRun(9))
      yield* expectSame("another planner", yield* fireOne(next), "fired")
      yield* changingNothing(
        Effect.gen(function* () {
          for (const each of steps) {
            yield* expectSame(`step of ${each.scheduleId}`, yield* fireOne(each), "conflict")
            const bare = { ...each, occurrences: [], runs: [], lastRunId: null }
            yield* expectSame(`no run of ${each.scheduleId}`, yield* fireOne(bare), "conflict")
          }
          const whole = yield* schedules.fire(steps)
          yield* expectSame("as a whole", whole, ["conflict", "conflict", "conflict"])
        }),
      )
    }),
  },
]

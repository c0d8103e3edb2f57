// What dead letters promise: one per dead run, until it is replayed, once, or dropped.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
import { bringTo, claimOne, enqueue, failing, newRun, runId, settle, stored, success } from "../Fixtures.ts"

const dead = Effect.fnUntraced(function* (count: number, job = "report") {
  for (let n = 1; n <= count; n++) yield* bringTo(n, "dead", { job })
})

/** Cases of `deadLetters`, `replay` and `drop`. */
export const deadLetterCases: ReadonlyArray<Case> = [
  {
    name: "deadLetters > newest run first, in pages, for one job or for all",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* dead(5)
      yield* bringTo(6, "dead", { job: "mail" })
      const page = Effect.fnUntraced(function* (filter: { job?: string; before?: string; limit: number }) {
        return (yield* runs.deadLetters(filter)).map((row) => row.runId)
      })
      yield* expectSame("first page", yield* page({ limit: 4 }), [6, 5, 4, 3].map(runId))
      yield* expectSame("second page", yield* page({ limit: 4, before: runId(3) }), [2, 1].map(runId))
      yield* expectSame("one job", yield* page({ limit: 2, job: "report" }), [5, 4].map(runId))
      yield* expectSame(
        "its next",
        yield* page({ limit: 2, job: "report", before: runId(4) }),
        [3, 2].map(runId),
      )
      yield* expectSame("no job", yield* page({ limit: 10, job: "nobody" }), [])
    }),
  },
  {
    name: "deadLetters > only dead runs have one",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const [n, state] of (
        ["retrying", "succeeded", "cancelled", "skipped", "expired"] as const
      ).entries()) {
        yield* bringTo(n + 1, state)
      }
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 200 }), [])
    }),
  },
  {
    name: "deadLetters > pages of 1 to 200",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const limit of [0, 201, -5, 0.5, Number.NaN])
        yield* expectLimit("limit", runs.deadLetters({ limit }))
    }),
  },
  {
    name: "replay > makes a new run of the dead one, with fresh attempts and nothing of its ties",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const nominalAt = clock.now()
      yield* bringTo(8, "succeeded")
      yield* enqueue(
        newRun(1, {
          job: "mail",
          input: '{"a":1}',
          priority: 4,
          attemptMax: 2,
          key: "k",
          startWithinMillis: 100,
          scheduleId: "mail",
          nominalAt,
          chainId: runId(1),
          needs: [runId(8)],
        }),
      )
      const run = yield* claimOne({ jobs: ["mail"] })
      yield* settle(failing(run))
      const before = yield* stored(run.id)
      clock.advance(1_000)
      const answers = yield* runs.replay([run.id], [runId(2)])
      yield* expectSame("answer", answers, [{ runId: run.id, newRunId: runId(2), result: "created" }])
      yield* expectFields("new run", yield* stored(runId(2)), {
        job: "mail",
        queue: "default",
        input: '{"a":1}',
        priority: 4,
        attemptMax: 2,
        attempt: 0,
        losses: 0,
        token: 0,
        state: "ready",
        createdAt: clock.now(),
        dueAt: clock.now(),
        key: null,
        expiresAt: null,
        scheduleId: null,
        nominalAt,
        needs: [],
        error: null,
        replayOf: run.id,
      })
      yield* expectSame("the dead run stays as it is", yield* stored(run.id), before)
      yield* expectSame("its letter is off the list", yield* runs.deadLetters({ limit: 10 }), [])
      yield* expectFields("claimed", yield* claimOne({ jobs: ["mail"] }), { id: runId(2), attempt: 1 })
    }),
  },
  {
    name: "replay > repeated after an unknown outcome, it answers with the first new run and makes no other",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* dead(1)
      yield* runs.replay([runId(1)], [runId(2)])
      const again = yield* runs.replay([runId(1)], [runId(2)])
      const other = yield* runs.replay([runId(1)], [runId(3)])
      const first = { runId: runId(1), newRunId: runId(2), result: "exists" }
      yield* expectSame("answers", [again, other], [[first], [first]])
      yield* expectSame(
        "runs",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [runId(2), runId(1)],
      )
    }),
  },
  {
    name: "replay > the same letter twice in one batch makes one run",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* dead(2)
      const answers = yield* runs.replay([1, 1, 9, 2].map(runId), [11, 12, 13, 14].map(runId))
      yield* expectSame("answers", answers, [
        { runId: runId(1), newRunId: runId(11), result: "created" },
        { runId: runId(1), newRunId: runId(11), result: "exists" },
        { runId: runId(9), newRunId: null, result: "unknown" },
        { runId: runId(2), newRunId: runId(14), result: "created" },
      ])
      yield* expectSame(
        "runs",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [14, 11, 2, 1].map(runId),
      )
    }),
  },
  {
    name: "replay > a new id that is taken refuses the whole batch and replays nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* dead(2)
      yield* enqueue(newRun(11, { job: "other" }))
      yield* expectRefused("taken", runs.replay([1, 2].map(runId), [12, 11].map(runId)))
      yield* expectSame(
        "runs",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [11, 2, 1].map(runId),
      )
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 2)
    }),
  },
  {
    name: "replay > refused when there is not one new id for each run",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* bringTo(1, "dead")
      yield* expectRefused("none", runs.replay([runId(1)], []))
      yield* expectRefused("none for an unknown run", runs.replay([runId(7)], []))
      yield* expectRefused("one more", runs.replay([runId(1)], [runId(2), runId(3)]))
      yield* expectSame("letters", (yield* runs.deadLetters({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "replay > a run without a letter is unknown",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* bringTo(1, "succeeded")
      yield* bringTo(2, "running")
      const answers = yield* runs.replay([1, 2, 3].map(runId), [11, 12, 13].map(runId))
      yield* expectSame(
        "results",
        answers.map((answer) => answer.result),
        ["unknown", "unknown", "unknown"],
      )
      yield* expectSame("new runs", yield* runs.get([11, 12, 13].map(runId)), [])
    }),
  },
  {
    name: "replay > a replay that dies has a letter of its own",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      yield* settle(failing(yield* claimOne()))
      yield* runs.replay([runId(1)], [runId(2)])
      yield* settle(failing(yield* claimOne()))
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((row) => row.runId),
        [runId(2)],
      )
      const [answer] = yield* runs.replay([runId(2)], [runId(3)])
      yield* expectFields("answer", answer, { result: "created" })
      yield* settle(success(yield* claimOne()))
      yield* expectFields("third", yield* stored(runId(3)), { state: "succeeded", replayOf: runId(2) })
    }),
  },
  {
    name: "drop > removes letters, leaves the dead runs, and answers how many there were",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* dead(3)
      yield* expectSame("dropped", yield* runs.drop([1, 2, 9].map(runId)), 2)
      yield* expectSame("repeated", yield* runs.drop([1, 2, 9].map(runId)), 0)
      yield* expectSame(
        "left",
        (yield* runs.deadLetters({ limit: 10 })).map((row) => row.runId),
        [runId(3)],
      )
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
      const [answer] = yield* runs.replay([runId(1)], [runId(11)])
      yield* expectSame("replay", answer, { runId: runId(1), newRunId: null, result: "unknown" })
    }),
  },
  {
    name: "replay, drop > 1,001 ids are refused",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const ids = Array.from({ length: 1_001 }, (_, n) => runId(n + 1))
      yield* expectLimit("runIds", runs.replay(ids, ids))
      yield* expectLimit("runIds", runs.drop(ids))
    }),
  },
]

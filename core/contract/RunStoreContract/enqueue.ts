// What `enqueue` promises: stored once, whole and exactly, whatever is repeated, and nothing of a bad batch.
import * as Effect from "effect/Effect"
import { finalStates } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
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
  success,
} from "../Fixtures.ts"

/** Cases of `enqueue`, without dependents. */
export const enqueueCases: ReadonlyArray<Case> = [
  {
    name: "enqueue > an acknowledged run is stored with every field as it was given",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const given = newRun(1, {
        job: "mail",
        queue: "slow",
        input: '{"to":["a","b"]}',
        dueAt: now + 5_000,
        priority: -7,
        attemptMax: 25,
        key: "mail-1",
        startWithinMillis: 4_000,
        scheduleId: "mail",
        nominalAt: now + 4_000,
        chainId: runId(1),
        replayOf: runId(77),
      })
      const answers = yield* enqueue(given)
      yield* expectSame("answer", answers, [
        { id: given.id, result: "created", state: "scheduled", dueAt: now + 5_000 },
      ])
      const { startWithinMillis: _startWithinMillis, ...fields } = given
      yield* expectSame("run", yield* stored(given.id), {
        ...fields,
        expiresAt: now + 9_000,
        state: "scheduled",
        createdAt: now,
        attempt: 0,
        losses: 0,
        token: 0,
        node: null,
        waitingFor: 0,
        startedAt: null,
        startAcknowledged: false,
        endedAt: null,
        output: null,
        error: null,
        reason: null,
      })
    }),
  },
  {
    name: "enqueue > a run without a due time is ready at the store's now",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const [answer] = yield* enqueue(newRun(1))
      yield* expectFields("answer", answer, { result: "created", state: "ready", dueAt: now })
    }),
  },
  {
    name: "enqueue > the time to start counts from the due time, by the store's clock",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      yield* enqueue(
        newRun(1, { startWithinMillis: 700 }),
        newRun(2, { startWithinMillis: 700, delayMillis: 1_500 }),
        newRun(3, { startWithinMillis: 700, dueAt: now - 1_000 }),
        newRun(4, { startWithinMillis: null }),
      )
      for (const [n, expiresAt] of [now + 700, now + 2_200, now - 300, null].entries())
        yield* expectFields(`run ${n + 1}`, yield* stored(runId(n + 1)), { expiresAt })
    }),
  },
  {
    name: "enqueue > a delay counts from the store's clock",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const [answer] = yield* enqueue(newRun(1, { delayMillis: 1_500 }))
      yield* expectFields("answer", answer, { state: "scheduled", dueAt: now + 1_500 })
      const run = yield* stored(runId(1))
      yield* expectFields("run", run, { dueAt: now + 1_500, delayMillis: 0 })
    }),
  },
  {
    name: "enqueue > a due time that has passed is ready at once and kept as it is",
    run: Effect.gen(function* () {
      const now = (yield* ContractClock).now()
      const [answer] = yield* enqueue(newRun(1, { dueAt: now - 86_400_000 }))
      yield* expectFields("answer", answer, { state: "ready", dueAt: now - 86_400_000 })
    }),
  },
  {
    name: "enqueue > answers come in the order of the batch",
    run: Effect.gen(function* () {
      const answers = yield* enqueue(newRun(3), newRun(1), newRun(2))
      yield* expectSame(
        "ids",
        answers.map((answer) => answer.id),
        [runId(3), runId(1), runId(2)],
      )
      yield* expectSame("nothing for nothing", yield* enqueue(), [])
    }),
  },
  {
    name: "enqueue > repeated after an unknown outcome, it makes one run and answers with the state now",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { input: '"first"' }))
      const before = yield* claimOne()
      const [answer] = yield* enqueue(newRun(1, { input: '"second"', priority: 9 }))
      yield* expectFields("answer", answer, { id: runId(1), result: "exists", state: "running" })
      yield* expectSame("run", yield* stored(runId(1)), before)
      yield* expectSame("counts", yield* runs.counts(), [{ job: "report", state: "running", count: 1 }])
    }),
  },
  {
    name: "enqueue > repeated after the run has ended, it does not run again",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      yield* settle(success(yield* claimOne()))
      const [answer] = yield* enqueue(newRun(1))
      yield* expectFields("answer", answer, { id: runId(1), result: "exists", state: "succeeded" })
      yield* expectSame("claim", yield* claim(), [])
    }),
  },
  {
    name: "enqueue > repeated when its needs are pruned, or for a key that is in use, it answers what is there",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1), newRun(2, { needs: [runId(1)], key: "k" }))
      yield* settle(success(yield* claimOne()))
      clock.advance(1)
      yield* runs.cancel([runId(2)], "Not wanted")
      yield* enqueue(newRun(3, { key: "k" }))
      yield* expectSame("pruned", yield* runs.prune(clock.now(), 10), 1)
      const again = yield* enqueue(
        newRun(2, { needs: [runId(1)], key: "k" }),
        newRun(4, { needs: [runId(1)], key: "k" }),
      )
      yield* expectSame(
        "answers",
        again.map(({ id, result }) => [id, result]),
        [
          [runId(2), "exists"],
          [runId(3), "exists"],
        ],
      )
    }),
  },
  {
    name: "enqueue > the same id twice in one batch makes one run",
    run: Effect.gen(function* () {
      const answers = yield* enqueue(newRun(1), newRun(1))
      yield* expectSame(
        "results",
        answers.map((answer) => answer.result),
        ["created", "exists"],
      )
      yield* expectSame("claimed", (yield* claim()).length, 1)
    }),
  },
  {
    name: "enqueue > while a run of the job and key is not final, it answers that one and stores nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const [n, state] of (
        ["blocked", "scheduled", "ready", "running", "retrying"] as const
      ).entries()) {
        const first = yield* bringTo(n + 1, state, { key: `key-${state}` })
        const [answer] = yield* enqueue(newRun(n + 501, { key: `key-${state}` }))
        yield* expectSame(`key of a ${state} run`, answer, {
          id: first.id,
          result: "exists",
          state,
          dueAt: first.dueAt,
        })
        yield* expectSame("second run", yield* runs.get([runId(n + 501)]), [])
      }
    }),
  },
  {
    name: "enqueue > the key is free as soon as its run is final",
    run: Effect.gen(function* () {
      for (const [n, state] of finalStates.entries()) {
        yield* bringTo(n + 1, state, { key: `key-${state}` })
        const [answer] = yield* enqueue(newRun(n + 501, { key: `key-${state}` }))
        yield* expectFields(`key of a ${state} run`, answer, { id: runId(n + 501), result: "created" })
      }
    }),
  },
  {
    name: "enqueue > the key is taken while its run is between two attempts",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1, { key: "k" }))
      yield* settle(failing(yield* claimOne(), 0))
      yield* settle({ id: runId(1), token: (yield* claimOne()).token, kind: "released" })
      const [answer] = yield* enqueue(newRun(2, { key: "k" }))
      yield* expectFields("answer", answer, { id: runId(1), result: "exists" })
    }),
  },
  {
    name: "enqueue > a key counts once within a batch, and for its job alone",
    run: Effect.gen(function* () {
      const answers = yield* enqueue(
        newRun(1, { key: "k" }),
        newRun(2, { key: "k" }),
        newRun(3, { key: "k", job: "other" }),
        newRun(4, { key: "K" }),
      )
      yield* expectSame(
        "answers",
        answers.map(({ id, result }) => [id, result]),
        [
          [runId(1), "created"],
          [runId(1), "exists"],
          [runId(3), "created"],
          [runId(4), "created"],
        ],
      )
    }),
  },
  {
    name: "enqueue > job and key are never run together into one text",
    run: Effect.gen(function* () {
      const answers = yield* enqueue(
        newRun(1, { job: "a:b", key: "c" }),
        newRun(2, { job: "a", key: "b:c" }),
        newRun(3, { job: "a|b", key: "c" }),
        newRun(4, { job: "a", key: "b|c" }),
        newRun(5, { job: "a", key: "" }),
        newRun(6, { job: "a", key: null }),
      )
      yield* expectSame("results", new Set(answers.map((answer) => answer.result)).size, 1)
    }),
  },
  {
    name: "enqueue > an unknown need refuses the whole batch and stores nothing of it",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* expectRefused("unknown need", enqueue(newRun(1), newRun(2, { needs: [runId(99)] }), newRun(3)))
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
      yield* expectSame("counts", yield* runs.counts(), [])
      const answers = yield* enqueue(newRun(1, { key: "k" }))
      yield* expectSame(
        "later",
        answers.map((answer) => answer.result),
        ["created"],
      )
    }),
  },
  {
    name: "enqueue > a refused batch leaves its keys free",
    run: Effect.gen(function* () {
      yield* expectRefused(
        "unknown need",
        enqueue(newRun(1, { key: "k" }), newRun(2, { needs: [runId(99)] })),
      )
      const [answer] = yield* enqueue(newRun(3, { key: "k" }))
      yield* expectFields("answer", answer, { id: runId(3), result: "created" })
    }),
  },
  {
    name: "enqueue > a need that comes later in the batch, or is the run itself, is unknown",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* expectRefused("later", enqueue(newRun(2, { needs: [runId(1)] }), newRun(1)))
      yield* expectRefused("itself", enqueue(newRun(3, { needs: [runId(3)] })))
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
    }),
  },
  {
    name: "enqueue > 1,000 runs are one batch, 1,001 are refused and none is stored",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* expectLimit("runs", runs.enqueue(newRuns(1_001)))
      yield* expectSame("counts", yield* runs.counts(), [])
      yield* runs.enqueue(newRuns(1_000))
      yield* expectSame("counts", yield* runs.counts(), [{ job: "report", state: "ready", count: 1_000 }])
    }),
  },
]

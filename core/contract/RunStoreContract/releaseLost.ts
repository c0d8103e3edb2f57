// What `settle` promises of a release that is a loss: whoever was to start the run was lost before. It counts as a loss
// of a node before the start does, and with those: the run is not sent to its end for ever.
import * as Effect from "effect/Effect"
import type { Settlement } from "../../domain/Outcome.ts"
import type { Run } from "../../domain/Run.ts"
import { lossMax } from "../../domain/Transition.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame, expectTrue } from "../Case.ts"
import { claimOne, enqueue, join, newRun, newRuns, runId, settle, stored } from "../Fixtures.ts"
import { beginFlow, claimStep, expectTrueCounts, flowOf, step } from "../FlowStoreContract/fixtures.ts"

/** The settlement of a run whose worker was lost before it started it. */
export const lostAs = ({ id, token }: Pick<Run, "id" | "token">): Settlement => ({
  id,
  token,
  kind: "released",
  loss: true,
})

/** Claims and loses what a job has, as often as may be; the next loss is one too many. */
export const loseOften = Effect.fnUntraced(function* (job = "report") {
  for (let loss = 1; loss <= lossMax; loss++)
    yield* settle(lostAs(yield* claimOne({ jobs: [job], acknowledged: false })))
})

/** Cases of releases that are losses. */
export const releaseLostCases: ReadonlyArray<Case> = [
  {
    name: "settle > a release that is a loss gives the attempt back at once, and is counted",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { attemptMax: 1 }))
      const run = yield* claimOne({ acknowledged: false })
      const answer = yield* settle(lostAs(run))
      yield* expectSame("answer", answer, {
        id: run.id,
        result: "settled",
        state: "ready",
        dueAt: run.dueAt,
      })
      const released = { attempt: 0, losses: 1, token: 1, node: null, dueAt: run.dueAt, error: null } as const
      yield* expectFields("run", yield* stored(run.id), released)
      yield* expectSame("attempts", yield* runs.attempts(run.id), [])
      yield* expectSame("carried", yield* runs.carried("n1", 10), [])
      yield* expectFields("again", yield* claimOne(), { id: run.id, token: 2, attempt: 1 })
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > a release that is no loss, or says so, counts as none",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      for (const fields of [{}, { loss: false }]) {
        const { id, token } = yield* claimOne({ acknowledged: false })
        yield* settle({ id, token, kind: "released", ...fields })
        yield* expectFields("run", yield* stored(id), { state: "ready", attempt: 0, losses: 0 })
      }
    }),
  },
  {
    name: `settle > ${lossMax} releases may be losses; with one more the run is dead, with its attempt and its letter`,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { key: "k" }), newRun(2, { job: "load", needs: [runId(1)] }))
      yield* loseOften()
      yield* expectFields("so far", yield* stored(runId(1)), { state: "ready", losses: lossMax, attempt: 0 })
      const run = yield* claimOne({ acknowledged: false })
      const answer = yield* settle(lostAs(run))
      yield* expectSame("answer", answer, { id: run.id, result: "settled", state: "dead", dueAt: null })
      const dead = yield* stored(run.id)
      const ended = { state: "dead", losses: lossMax + 1, attempt: 1, endedAt: clock.now() } as const
      yield* expectFields("run", dead, ended)
      yield* expectFields("error", dead.error ?? undefined, { kind: "lost" })
      const attempts = yield* runs.attempts(run.id)
      yield* expectSame(
        "attempts",
        attempts.map(({ attempt, token, node, endedAt, error }) => [attempt, token, node, endedAt, error]),
        [[1, run.token, "n1", clock.now(), dead.error]],
      )
      yield* expectSame("letters", yield* runs.deadLetters({ limit: 10 }), [
        {
          runId: run.id,
          job: "report",
          diedAt: clock.now(),
          attempt: 1,
          error: dead.error,
          replayedBy: null,
        },
      ])
      yield* expectFields("dependent", yield* stored(runId(2)), { state: "skipped" })
      const [next] = yield* enqueue(newRun(3, { key: "k" }))
      yield* expectFields("its key is free", next, { result: "created" })
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > losses of nodes and of whoever they sent a run to count together",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      yield* loseOften()
      yield* join("dead", 1_000)
      yield* claimOne({ node: "dead", acknowledged: false })
      clock.advance(1_000)
      yield* join("n1", 60_000)
      yield* expectFields("reclaimed", (yield* runs.reclaim("n1", 10))[0], { state: "dead" })
      yield* expectFields("run", yield* stored(runId(1)), { losses: lossMax + 1 })
    }),
  },
  {
    name: "settle > a loss gives the attempt back also where the start was acknowledged: whoever settles it knows better",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      yield* settle(lostAs(yield* claimOne({ acknowledged: true })))
      yield* expectFields("run", yield* stored(runId(1)), { state: "ready", attempt: 0, losses: 1 })
    }),
  },
  {
    name: "settle > a loss under a token that is over changes nothing",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1))
      const early = yield* claimOne({ acknowledged: false })
      yield* settle(lostAs(early))
      const late = yield* claimOne({ acknowledged: false })
      yield* expectFields("answer", yield* settle(lostAs(early)), { result: "stale", state: "running" })
      yield* expectSame("run", yield* stored(runId(1)), late)
    }),
  },
  {
    name: "settle > losses in one batch with other outcomes, each under its token",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(...newRuns(3))
      const [a, b, c] = yield* Effect.forEach([1, 2, 3], () => claimOne({ acknowledged: false }))
      if (a === undefined || b === undefined || c === undefined) return yield* Effect.die("three runs")
      const answers = yield* runs.settle([
        lostAs(a),
        { id: b.id, token: b.token, kind: "succeeded", output: null },
        lostAs(c),
        lostAs(a),
      ])
      yield* expectSame(
        "answers",
        answers.map(({ result, state }) => `${result} ${state}`),
        ["settled ready", "settled succeeded", "settled ready", "settled ready"],
      )
      const losses = (yield* runs.get([a.id, b.id, c.id])).map((run) => run.losses)
      yield* expectSame("losses", losses, [1, 0, 1])
      yield* expectTrueCounts
    }),
  },
  {
    name: "settle > a step that is lost too often fails its flow run, which has the letter",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, flowOf([step("a"), step("b", ["a"])]))
      yield* loseOften("do-a")
      const run = yield* claimStep("a")
      yield* expectFields("answer", yield* settle(lostAs(run)), { result: "settled", state: "dead" })
      yield* expectFields("flow run", yield* stored(runId(1)), { state: "dead" })
      const letters = (yield* runs.deadLetters({ limit: 10 })).map((letter) => letter.runId)
      yield* expectSame("letters", letters, [runId(1)])
      yield* expectTrue("its attempt", (yield* runs.attempts(run.id)).length === 1)
    }),
  },
]

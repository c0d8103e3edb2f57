// What is promised when others went on before a caller repeats what it did not hear the answer of: the first who did
// it counts, the late one is told so, and nothing changes.
import * as Effect from "effect/Effect"
import { FlowStore, RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  claim,
  claimOne,
  enqueue,
  failing,
  join,
  newRun,
  runId,
  settle,
  stored,
  success,
} from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  expanding,
  failSteps,
  flowOf,
  step,
  succeedSteps,
  viewOf,
} from "../FlowStoreContract/fixtures.ts"
import { fireAt, fireOne, newSchedule, put, rowOf } from "../ScheduleStoreContract/fixtures.ts"
import { unheard } from "./fixtures.ts"
import { changingNothing } from "./look.ts"

const settling = (settlement: Parameters<typeof settle>[0]) =>
  Effect.flatMap(RunStore, (runs) => runs.settle([settlement]))

/** Node "n1" has claimed run 1, under a lease of a second. */
const held = Effect.gen(function* () {
  yield* join("n1", 1_000)
  yield* enqueue(newRun(1))
  return yield* claimOne()
})

/** The lease of "n1" ends, and "n2" takes back what it finds. */
const reclaimed = Effect.gen(function* () {
  ;(yield* ContractClock).advance(1_000)
  yield* join("n2", 60_000)
  return yield* (yield* RunStore).reclaim("n2", 100)
})

/** Schedule "s", due now, and its row. */
const due = Effect.gen(function* () {
  const now = (yield* ContractClock).now()
  yield* put(newSchedule("s", { cursor: now - 1, nextAt: now }))
  return { now, row: yield* rowOf("s") }
})

const settleCases: ReadonlyArray<Case> = [
  {
    name: "settle > a retry, done and reported as failed, and another node has claimed the run: repeated, it is stale",
    run: Effect.gen(function* () {
      const run = yield* held
      yield* unheard("settle", settling(failing(run, 0)))
      yield* claimOne({ node: "n2" })
      const answer = yield* changingNothing(settle(failing(run, 0)))
      yield* expectFields("answer", answer, { result: "stale", state: "running" })
    }),
  },
  {
    name: "settle > failed before it was done, and another node reclaimed the run: repeated, it is stale until the end",
    run: Effect.gen(function* () {
      const run = yield* held
      yield* unheard("settle", settling(success(run, '"late"')), "before")
      yield* expectSame(
        "reclaimed",
        (yield* reclaimed).map(({ id }) => id),
        [run.id],
      )
      const late = changingNothing(settle(success(run, '"late"')))
      yield* expectFields("reclaimed", yield* late, { result: "stale", state: "retrying" })
      const again = yield* claimOne({ node: "n2" })
      yield* expectFields("claimed", yield* late, { result: "stale", state: "running" })
      yield* settle(success(again, '"right"'))
      yield* expectFields("settled", yield* late, { result: "stale", state: "succeeded" })
    }),
  },
  {
    name: "settle > done and reported as failed, and the lease ended: there is nothing to reclaim, and repeated it is settled",
    run: Effect.gen(function* () {
      const run = yield* held
      yield* unheard("settle", settling(success(run, '"done"')))
      yield* expectSame("reclaimed", yield* reclaimed, [])
      const answer = yield* changingNothing(settle(success(run, '"done"')))
      yield* expectFields("answer", answer, { result: "settled", state: "succeeded" })
    }),
  },
  {
    name: "settle > done and reported as failed, and the run was pruned: repeated, it is stale and makes nothing",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const run = yield* held
      yield* unheard("settle", settling(success(run)))
      clock.advance(1_000)
      yield* expectSame("pruned", yield* (yield* RunStore).prune(clock.now(), 10), 1)
      const answer = yield* changingNothing(settle(success(run)))
      yield* expectFields("answer", answer, { result: "stale", state: null })
    }),
  },
  {
    name: "settle > a flow that begins, done and reported as failed, and its steps went on: repeated, no step begins anew, in no round",
    run: Effect.gen(function* () {
      const flow = flowOf([step("a"), step("b", ["a"])])
      yield* enqueue(newRun(1, { job: "flow-1" }))
      const run = yield* claimOne({ jobs: ["flow-1"] })
      const begin = expanding(run, flow, 0)
      yield* unheard("settle", settling(begin))
      yield* succeedSteps("a")
      yield* changingNothing(settle(begin))
      yield* failSteps("b")
      const between = yield* changingNothing(settle(begin))
      yield* expectFields("between two rounds", between, { result: "settled", state: "retrying" })
      const second = expanding(yield* claimOne({ jobs: ["flow-1"] }), flow, 0)
      yield* unheard("settle", settling(second))
      const stale = yield* changingNothing(settle(begin))
      yield* expectFields("of the round before", stale, { result: "stale", state: "blocked" })
      yield* succeedSteps("b")
      const answer = yield* changingNothing(settle(second))
      yield* expectFields("at the end", answer, { result: "settled", state: "succeeded" })
    }),
  },
]

const runCases: ReadonlyArray<Case> = [
  {
    name: "claim > done and reported as failed, and another node reclaimed the runs: carried finds none of them",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* join("n1", 1_000)
      yield* enqueue(newRun(1), newRun(2))
      yield* unheard("claim", claim())
      yield* expectSame("reclaimed", (yield* reclaimed).length, 2)
      const taken = (yield* claim({ node: "n2" })).map(({ id }) => id)
      yield* expectSame("claimed by another", taken, [1, 2].map(runId))
      yield* expectSame("carried", yield* runs.carried("n1", 100), [])
      yield* expectSame("claim", yield* claim(), [])
    }),
  },
  {
    name: "started > done and reported as failed, and another node reclaimed the run: repeated, the token holds no more",
    run: Effect.gen(function* () {
      yield* join("n1", 1_000)
      yield* enqueue(newRun(1))
      const { id, token } = yield* claimOne({ acknowledged: false })
      const started = Effect.flatMap(RunStore, (runs) => runs.started([{ id, token }]))
      yield* unheard("started", started)
      yield* expectFields("a loss after its start", (yield* reclaimed)[0], { state: "retrying", attempt: 1 })
      yield* expectSame("answer", yield* changingNothing(started), [false])
    }),
  },
  {
    name: "cancel > done and reported as failed: repeated with other words, it answers final and the first reason stays",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* held
      const cancel = (reason: string) => Effect.flatMap(RunStore, (store) => store.cancel([runId(1)], reason))
      yield* unheard("cancel", cancel("First"))
      const answers = yield* changingNothing(cancel("Second"))
      yield* expectSame("answers", answers, [{ id: runId(1), result: "final" }])
      yield* expectFields("run", (yield* runs.get([runId(1)]))[0], { state: "cancelled", reason: "First" })
    }),
  },
  {
    name: "replay > a batch, done and reported as failed: repeated one by one with other new ids, the first ones exist",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2))
      for (const run of yield* claim()) yield* settle(failing(run))
      yield* unheard(
        "replay",
        Effect.flatMap(RunStore, (store) => store.replay([1, 2].map(runId), [11, 12].map(runId))),
      )
      const [first] = yield* claim()
      yield* expectFields("claimed since", first, { id: runId(11) })
      for (const n of [1, 2]) {
        const answers = yield* changingNothing(runs.replay([runId(n)], [runId(n + 20)]))
        yield* expectSame("answers", answers, [
          { runId: runId(n), newRunId: runId(n + 10), result: "exists" },
        ])
      }
    }),
  },
]

const flowCases: ReadonlyArray<Case> = [
  {
    name: "rerunFlow > of a letter, done and reported as failed: repeated with another new id, the first one exists",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* beginFlow(1, flowOf([step("a")]))
      yield* failSteps("a")
      yield* unheard(
        "rerunFlow",
        Effect.flatMap(FlowStore, (store) => store.rerunFlow(runId(1), runId(2), "failed")),
      )
      yield* succeedSteps("a")
      const answer = yield* changingNothing(flows.rerunFlow(runId(1), runId(3), "failed"))
      yield* expectSame("answer", answer, { result: "exists", runId: runId(2) })
    }),
  },
  {
    name: "markStep > done and reported as failed: repeated with another end, it answers ended and the first one stays",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a"), step("b", ["a"])]))
      const mark = (end: "succeeded" | "skipped", reason: string) =>
        Effect.flatMap(FlowStore, (flows) =>
          flows.markStep({ runId: runId(1), step: "a", end, reason, output: null }),
        )
      yield* unheard("markStep", mark("succeeded", "First"))
      yield* claimStep("b")
      yield* expectSame("answer", yield* changingNothing(mark("skipped", "Second")), "ended")
      yield* expectFields("step", (yield* viewOf(runId(1))).steps[0], { state: "succeeded", reason: "First" })
    }),
  },
]

const scheduleCases: ReadonlyArray<Case> = [
  {
    name: "fire > done and reported as failed, and another planner wants the same instant: both are in conflict, and the first run stays",
    run: Effect.gen(function* () {
      const { now, row } = yield* due
      const own = fireOne(fireAt(row, now, newRun(1)))
      yield* unheard("fire", own)
      const other = yield* changingNothing(fireOne(fireAt(row, now, newRun(2))))
      yield* expectSame("another planner", other, "conflict")
      yield* expectSame("repeated", yield* changingNothing(own), "conflict")
      yield* expectFields("row", yield* rowOf("s"), { lastRunId: runId(1), runCount: 1 })
    }),
  },
  {
    name: "fire > failed before it was done, and another planner was first: repeated, it is a conflict and its run is not stored",
    run: Effect.gen(function* () {
      const { now, row } = yield* due
      const own = fireOne(fireAt(row, now, newRun(1)))
      yield* unheard("fire", own, "before")
      yield* expectSame("another planner", yield* fireOne(fireAt(row, now, newRun(2))), "fired")
      yield* expectSame("repeated", yield* changingNothing(own), "conflict")
      yield* expectFields("row", yield* rowOf("s"), { lastRunId: runId(2), runCount: 1 })
      yield* expectSame("not stored", yield* (yield* RunStore).get([runId(1)]), [])
    }),
  },
  {
    name: "fire > a step without an instant, done and reported as failed, and another planner went on: repeated, it moves nothing back",
    run: Effect.gen(function* () {
      const { now, row } = yield* due
      const own = fireOne({ ...fireAt(row, now), occurrences: [] })
      yield* unheard("fire", own)
      yield* fireOne(fireAt(yield* rowOf("s"), now + 5_000, newRun(1)))
      yield* expectSame("repeated", yield* changingNothing(own), "conflict")
      yield* expectFields("row", yield* rowOf("s"), { cursor: now + 5_000, lastRunId: runId(1) })
    }),
  },
  {
    name: "backfill > done and reported as failed: repeated with another run, the instant keeps the first",
    run: Effect.gen(function* () {
      const { now } = yield* due
      const fill = (n: number) =>
        Effect.flatMap(ScheduleStore, (schedules) =>
          schedules.backfill([{ scheduleId: "s", at: now - 7_000, runs: [newRun(n)] }]),
        )
      yield* unheard("backfill", fill(1))
      yield* settle(success(yield* claimOne()))
      const answers = yield* changingNothing(fill(2))
      yield* expectSame("answers", answers, [{ at: now - 7_000, runId: runId(1), result: "exists" }])
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded" })
    }),
  },
]

/** Cases of repetitions that come after others went on. */
export const lateCases: ReadonlyArray<Case> = [...settleCases, ...runCases, ...flowCases, ...scheduleCases]

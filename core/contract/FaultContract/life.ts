// One story that calls every operation that changes something, told to a store whose calls fail every other time.
import * as Effect from "effect/Effect"
import type { StoreError } from "../../domain/Errors.ts"
import type { Settlement } from "../../domain/Outcome.ts"
import { FlowStore, NodeStore, RunStore, ScheduleStore, type Store } from "../../ports/Store.ts"
import type { Claim } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock } from "../Case.ts"
import type { Fault } from "../Faults.ts"
import { withFaults } from "../Faults.ts"
import { enqueue, failing, join, newRun, runId, success, wishOf } from "../Fixtures.ts"
import { expanding, flowOf, step } from "../FlowStoreContract/fixtures.ts"
import { deleteRecords, newRecord, pruneRecords, putRecords } from "../RecordStoreContract.ts"
import { fireAt, newSchedule, put, rowOf } from "../ScheduleStoreContract/fixtures.ts"
import { inTwin } from "./fixtures.ts"
import { expectAlike, lookAtEnd } from "./look.ts"

/** Calls until it is answered, which is the second time at the latest. */
const insist = <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(call, { times: 1 })

/** Claims everything of this job; without an answer it takes what it carries, or claims again. */
const take = (job: string, fields: Partial<Claim> = {}) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const claim = runs.claim(wishOf({ jobs: [job], ...fields }))
    return yield* Effect.catch(claim, () =>
      Effect.gen(function* () {
        const found = yield* insist(runs.carried("n1", 100))
        return found.length > 0 ? found.toSorted((a, b) => (a.id < b.id ? -1 : 1)) : yield* insist(claim)
      }),
    )
  })

const settleAll = (settlements: ReadonlyArray<Settlement>) =>
  Effect.flatMap(RunStore, (runs) => insist(runs.settle(settlements)))

const runsAndFlows = Effect.gen(function* () {
  const runs = yield* RunStore
  const flows = yield* FlowStore
  const clock = yield* ContractClock
  yield* insist(
    enqueue(
      newRun(1, { key: "k" }),
      newRun(2, { job: "load", needs: [runId(1)] }),
      newRun(3, { attemptMax: 2 }),
      newRun(4, { delayMillis: 3_600_000 }),
      newRun(5, { job: "flow" }),
    ),
  )
  const first = yield* take("report", { acknowledged: false })
  yield* insist(runs.started(first.map(({ id, token }) => ({ id, token }))))
  yield* settleAll(first.map((run) => (run.id === runId(1) ? success(run, "1") : failing(run, 500))))
  yield* settleAll((yield* take("load")).map((run) => failing(run)))
  const flow = flowOf([step("a"), step("b", ["a"]), step("c", ["b"])])
  yield* settleAll((yield* take("flow")).map((run) => expanding(run, flow)))
  clock.advance(500)
  yield* insist(runs.promote(100))
  yield* settleAll((yield* take("report")).map((run) => failing(run)))
  yield* settleAll((yield* take("do-a")).map((run) => success(run)))
  const mark = { runId: runId(5), step: "b", end: "succeeded", reason: "By hand", output: "2" } as const
  yield* insist(flows.markStep(mark))
  yield* settleAll((yield* take("do-c")).map((run) => failing(run)))
  yield* insist(flows.rerunFlow(runId(5), runId(6), "failed"))
  yield* insist(runs.replay([runId(3)], [runId(7)]))
  yield* insist(runs.drop([runId(2)]))
  yield* insist(runs.cancel([runId(4)], "Not wanted"))
})

const schedulesAndNodes = Effect.gen(function* () {
  const runs = yield* RunStore
  const schedules = yield* ScheduleStore
  const nodes = yield* NodeStore
  const clock = yield* ContractClock
  const now = clock.now()
  const at = { cursor: now - 1, nextAt: now }
  yield* insist(put(newSchedule("a", at), newSchedule("b", at), newSchedule("c", at)))
  yield* insist(schedules.putCalendars([{ name: "freeze", definition: "{}", fromConfig: true }]))
  const steps = [fireAt(yield* insist(rowOf("a")), now, newRun(21)), fireAt(yield* insist(rowOf("b")), now)]
  yield* insist(schedules.fire(steps))
  yield* insist(schedules.backfill([{ scheduleId: "b", at: now, runs: [newRun(22)] }]))
  yield* insist(schedules.pauseSchedule("a", true, "The disk is full"))
  yield* insist(schedules.pauseSchedule("b", true))
  yield* insist(schedules.pauseSchedule("b", false))
  yield* insist(schedules.deleteSchedules(["c"]))
  yield* insist(schedules.deleteCalendars(["freeze"]))
  yield* insist(nodes.renew("n1", 5_000))
  yield* take("report", { limit: 1 })
  yield* insist(nodes.leave("n1"))
  yield* insist(join("n2"))
  yield* insist(runs.reclaim("n2", 100))
  clock.advance(1_000)
  yield* insist(runs.prune(clock.now(), 100))
})

// What another put has changed is not put again: 0 is the answer to one that was done before.
const records = Effect.gen(function* () {
  const expiresAt = (yield* ContractClock).now()
  yield* insist(putRecords(newRecord("a", { expected: 0 }), newRecord("b", { expected: 0 })))
  yield* insist(putRecords(newRecord("a", { expected: 1, body: "1" })))
  yield* insist(putRecords(newRecord("c", { expiresAt })))
  yield* insist(deleteRecords("b"))
  yield* insist(pruneRecords(10))
})

const life = Effect.gen(function* () {
  yield* insist(join("n1"))
  yield* records
  yield* runsAndFlows
  yield* schedulesAndNodes
})

/** The first, third and so on call of each operation. */
const everyOther = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  fails: NonNullable<Fault["fails"]>,
): Effect.Effect<A, E | StoreError, R | Store> =>
  Effect.flatMap(Effect.context<Store>(), (store) => {
    const isNext = new Map<string, boolean>()
    const faulty = withFaults(store, (operation) => {
      isNext.set(operation, !(isNext.get(operation) ?? false))
      return isNext.get(operation) === true ? { fails } : null
    })
    return Effect.provide(effect, faulty)
  })

const lifeCase = (name: string, fails: NonNullable<Fault["fails"]>): Case => ({
  name,
  run: Effect.gen(function* () {
    const expected = yield* inTwin(Effect.andThen(life, lookAtEnd))
    yield* everyOther(life, fails)
    yield* expectAlike(yield* lookAtEnd, expected)
  }),
})

/** Cases of all operations together. */
export const lifeCases: ReadonlyArray<Case> = [
  lifeCase(
    "every operation > a story of which every other answer is lost ends as it does without faults",
    "after",
  ),
  lifeCase(
    "every operation > a story of which every other call is not done ends as it does without faults",
    "before",
  ),
]

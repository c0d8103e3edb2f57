// What `expanded` promises: the run waits for its steps, the first of them have runs, once, and a refused batch
// leaves nothing.
import * as Effect from "effect/Effect"
import { flowStepMax, itemMax } from "../../domain/Flow.ts"
import { stepRunId } from "../../domain/Ids.ts"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  join,
  newRun,
  runId,
  settle,
  statesOf,
  stored,
  success,
} from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  expanding,
  expectTrueCounts,
  flowOf,
  mapOf,
  step,
  stepStates,
  viewOf,
} from "./fixtures.ts"

const three = flowOf([
  step("a"),
  step("b", ["a"]),
  step("c", [], { priority: 7, attemptMax: 4, queue: "mail" }),
])

/** Cases of `settle` with `expanded`. */
export const expandCases: ReadonlyArray<Case> = [
  {
    name: "expanded > the run is blocked, waits for all its steps and carries no node",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const answer = yield* beginFlow(1, three)
      yield* expectSame("answer", answer, { id: runId(1), result: "settled", state: "blocked", dueAt: null })
      yield* expectFields("run", yield* stored(runId(1)), {
        state: "blocked",
        waitingFor: 3,
        node: null,
        attempt: 1,
        token: 1,
        startedAt: clock.now(),
        endedAt: null,
      })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["released", "blocked", "released"])
      yield* expectTrueCounts
    }),
  },
  {
    name: "expanded > the steps that can begin have runs, each as its plan says, of one chain",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, three, { input: '{"day":1}', nominalAt: 5_000 })
      const ids = [stepRunId(runId(1), 0, 1), null, stepRunId(runId(1), 2, 1)]
      yield* expectSame(
        "ids",
        (yield* viewOf(runId(1))).steps.map((each) => each.runId),
        ids,
      )
      const now = clock.now()
      const first = {
        state: "ready",
        parentId: runId(1),
        chainId: runId(1),
        input: null,
        createdAt: now,
      } as const
      const rest = {
        dueAt: now,
        attempt: 0,
        token: 0,
        nominalAt: 5_000,
        scheduleId: null,
        key: null,
      } as const
      const plan = { job: "do-a", queue: "default", priority: 0, attemptMax: 1, step: 0 }
      yield* expectFields("a", yield* stored(ids[0] ?? ""), { ...first, ...rest, ...plan })
      const other = { job: "do-c", queue: "mail", priority: 7, attemptMax: 4, step: 2 }
      yield* expectFields("c", yield* stored(ids[2] ?? ""), { ...first, ...rest, ...other })
      yield* expectSame("chain", (yield* (yield* RunStore).list({ chainId: runId(1), limit: 10 })).length, 2)
    }),
  },
  {
    name: "expanded > a run that belongs to a chain has its steps in that chain",
    run: Effect.gen(function* () {
      yield* beginFlow(1, three, { chainId: runId(9) })
      yield* expectFields("a", yield* claimStep("a"), { chainId: runId(9) })
    }),
  },
  {
    name: "expanded > repeated under its token, it changes nothing and answers settled, also when steps have moved on",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      const settlement = expanding(run, three)
      const first = yield* settle(settlement)
      const look = Effect.all([runs.list({ limit: 10 }), viewOf(runId(1)), runs.counts()])
      const before = yield* look
      yield* expectSame("second", yield* settle(settlement), first)
      yield* expectSame("third and fourth", yield* runs.settle([settlement, settlement]), [first, first])
      yield* expectSame("rows", yield* look, before)
      yield* settle(success(yield* claimStep("a")))
      const later = yield* look
      yield* expectSame("fifth", yield* settle(settlement), first)
      yield* settle(success(run, '"late"'))
      yield* settle(failing(run))
      yield* expectSame("rows later", yield* look, later)
    }),
  },
  {
    name: "expanded > under a token that does not hold, it is stale and makes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      for (const token of [run.token - 1, run.token + 1]) {
        const answer = yield* settle(expanding({ id: run.id, token }, three))
        yield* expectFields(`token ${token}`, answer, { result: "stale", state: "running" })
      }
      yield* expectSame("run", yield* stored(run.id), run)
      yield* expectSame("flow", yield* (yield* FlowStore).flowOf(run.id), null)
      yield* expectSame("runs", (yield* runs.list({ limit: 10 })).length, 1)
      yield* runs.cancel([run.id], "Not wanted")
      yield* expectFields("cancelled", yield* settle(expanding(run, three)), { result: "stale" })
      const nonsense = flowOf([step("a", ["gone"])])
      yield* expectFields("what nobody reads", yield* settle(expanding(run, nonsense)), { result: "stale" })
      yield* expectSame("still", (yield* runs.list({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "expanded > too many steps or items are refused, and the batch leaves nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2))
      const [one, two] = yield* claim()
      if (one === undefined || two === undefined) return yield* expectSame("claimed", 0, 2)
      const look = Effect.all([runs.list({ limit: 10 }), runs.counts(), runs.attempts(one.id)])
      const before = yield* look
      const steps = Array.from({ length: flowStepMax + 1 }, (_, index) => step(String(index)))
      yield* expectLimit("steps", runs.settle([success(one), expanding(two, flowOf(steps))]))
      const items = Array.from({ length: itemMax + 1 }, () => null)
      yield* expectLimit("items", runs.settle([expanding(one, three), expanding(two, mapOf(items))]))
      yield* expectLimit("items", runs.settle([failing(one), expanding(two, mapOf(items))]))
      yield* expectSame("rows", yield* look, before)
      yield* expectSame("flow", yield* (yield* FlowStore).flowOf(one.id), null)
    }),
  },
  {
    name: "expanded > steps that make no graph are refused, naming the steps, and the batch leaves nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2))
      const [one, two] = yield* claim()
      if (one === undefined || two === undefined) return yield* expectSame("claimed", 0, 2)
      const before = yield* runs.list({ limit: 10 })
      for (const [index, [expansion, named]] of (
        [
          [flowOf([step("a", ["b"]), step("b", ["a"])]), '"a" -> "b"'],
          [flowOf([step("a", ["gone"])]), '"gone"'],
          [flowOf([step("a"), step("a")]), '"a"'],
          [flowOf([step("a")], { output: "gone" }), '"gone"'],
        ] as const
      ).entries()) {
        const error = yield* expectRefused(
          `${index}`,
          runs.settle([expanding(one, three), expanding(two, expansion)]),
        )
        yield* expectSame(`${error.message} names ${named}`, error.message.includes(named), true)
      }
      yield* expectSame("rows", yield* runs.list({ limit: 10 }), before)
    }),
  },
  {
    name: "expanded > a flow without steps succeeds at once",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const answer = yield* beginFlow(1, flowOf([]))
      yield* expectSame("answer", answer, {
        id: runId(1),
        result: "settled",
        state: "succeeded",
        dueAt: null,
      })
      yield* expectFields("run", yield* stored(runId(1)), {
        waitingFor: 0,
        output: null,
        endedAt: clock.now(),
        error: null,
      })
      yield* expectSame("steps", yield* stepStates(runId(1)), [])
    }),
  },
  {
    name: "expanded > what needs the flow run waits for its steps",
    run: Effect.gen(function* () {
      yield* beginFlow(1, flowOf([step("a")]))
      yield* enqueue(newRun(2, { needs: [runId(1)] }))
      yield* settle(success(yield* claimStep("a")))
      yield* expectSame("states", yield* statesOf(runId(1), runId(2)), ["succeeded", "ready"])
    }),
  },
  {
    name: "expanded > a flow run is nobody's while it waits: no claim, no reclaim, no due time",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* join("n1", 1_000)
      yield* beginFlow(1, flowOf([step("a")]))
      const before = yield* stored(runId(1))
      clock.advance(60_000)
      yield* join("n2")
      yield* expectSame("reclaim", yield* runs.reclaim("n2", 10), [])
      yield* expectSame("claim", yield* claim({ jobs: ["flow-1"] }), [])
      yield* expectSame("promote", yield* runs.promote(10), 0)
      yield* expectSame("due", yield* runs.dueWithin(0, clock.now() + 60_000, 10), [])
      yield* expectSame("run", yield* stored(runId(1)), before)
    }),
  },
  {
    name: "expanded > several flow runs of one definition in one batch stay apart",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2))
      const claimed = yield* claim()
      yield* runs.settle(claimed.map((run) => expanding(run, flowOf([step("a"), step("b", ["a"])]))))
      const first = yield* claimStep("a")
      yield* settle(success(first))
      const other = first.parentId === runId(1) ? runId(2) : runId(1)
      yield* expectSame("one", yield* stepStates(first.parentId ?? ""), ["succeeded", "released"])
      yield* expectSame("other", yield* stepStates(other), ["released", "blocked"])
    }),
  },
  {
    name: "flowOf > null for what is not there and for a run that did not expand",
    run: Effect.gen(function* () {
      const flows = yield* FlowStore
      yield* enqueue(newRun(1))
      yield* expectSame("plain", yield* flows.flowOf(runId(1)), null)
      yield* expectSame("unknown", yield* flows.flowOf(runId(2)), null)
    }),
  },
  {
    name: "flowOf > the run, what it expanded into, the round, the deadline and the steps",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const odd = flowOf(
        [step("__proto__", [], { rule: "all_done", allowFailure: true }), step('ü "x"', ["__proto__"])],
        {
          output: "__proto__",
          failFast: true,
          timeoutMillis: 5_000,
        },
      )
      yield* beginFlow(1, odd)
      yield* expectSame("view", yield* viewOf(runId(1)), {
        run: yield* stored(runId(1)),
        expansion: odd,
        round: 1,
        deadlineAt: clock.now() + 5_000,
        steps: [
          { state: "released", runId: stepRunId(runId(1), 0, 1), reason: null },
          { state: "blocked", runId: null, reason: null },
        ],
      })
    }),
  },
]

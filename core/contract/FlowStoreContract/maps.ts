// What a list promises that is mapped: an item is a step without needs, and the output is the array of theirs.
import * as Effect from "effect/Effect"
import { itemMax } from "../../domain/Flow.ts"
import { stepRunId } from "../../domain/Ids.ts"
import { payloadBytesMax } from "../../domain/Payload.ts"
import type { Settlement } from "../../domain/Outcome.ts"
import type { Run } from "../../domain/Run.ts"
import { FlowStore, RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { claim, claimOne, failing, runId, settle, stored, success } from "../Fixtures.ts"
import {
  beginFlow,
  claimStep,
  declining,
  expanding,
  expectTrueCounts,
  flowOf,
  mapOf,
  step,
  stepStates,
  succeedSteps,
  viewOf,
} from "./fixtures.ts"

/** Claims all items, in the order of the list. */
const claimItems = Effect.map(claim({ jobs: ["item"], limit: itemMax }), (runs) =>
  [...runs].sort((a, b) => (a.step ?? 0) - (b.step ?? 0)),
)

const settleAll = Effect.fnUntraced(function* (
  items: ReadonlyArray<Run>,
  settlementOf: (run: Run) => Settlement,
) {
  for (const item of items)
    yield* expectFields("item", yield* settle(settlementOf(item)), { result: "settled" })
})

/** Cases of lists. */
export const mapCases: ReadonlyArray<Case> = [
  {
    name: "map > each item has a run with the item as its input, and the outputs come in the order of the list",
    run: Effect.gen(function* () {
      const list = mapOf(['{"id":1}', null, '"drei"'])
      yield* expectFields("answer", yield* beginFlow(1, list), { state: "blocked" })
      yield* expectFields("view", yield* viewOf(runId(1)), { expansion: list, round: 1, deadlineAt: null })
      const items = yield* claimItems
      const seen = items.map(({ id, input, parentId, step: place }) => [id, input, parentId, place])
      yield* expectSame(
        "items",
        seen,
        ['{"id":1}', null, '"drei"'].map((input, n) => [stepRunId(runId(1), n, 1), input, runId(1), n]),
      )
      yield* settleAll([...items].reverse(), (run) =>
        success(run, run.step === 1 ? null : `{"n":${run.step}}`),
      )
      yield* expectFields("run", yield* stored(runId(1)), {
        state: "succeeded",
        output: '[{"n":0},null,{"n":2}]',
        waitingFor: 0,
      })
      yield* expectTrueCounts
    }),
  },
  {
    name: "map > an empty list succeeds at once, with an empty array",
    run: Effect.gen(function* () {
      yield* expectFields("answer", yield* beginFlow(1, mapOf([])), { result: "settled", state: "succeeded" })
      yield* expectFields("run", yield* stored(runId(1)), { output: "[]", waitingFor: 0 })
    }),
  },
  {
    name: "map > an item that failed makes it fail when all have ended; one that declined is null",
    run: Effect.gen(function* () {
      yield* beginFlow(1, mapOf(["1", "2", "3"]))
      const items = yield* claimItems
      yield* settleAll(items.slice(0, 1), failing)
      yield* expectFields("goes on", yield* stored(runId(1)), { state: "blocked", waitingFor: 2 })
      yield* settleAll(items.slice(1, 2), declining)
      yield* settleAll(items.slice(2), success)
      const run = yield* stored(runId(1))
      yield* expectFields("run", run, { state: "dead", output: null })
      yield* expectSame("message", run.error?.message, '1 of 3 steps failed: "0"')
      yield* beginFlow(2, mapOf(["1", "2"]))
      yield* settleAll(yield* claimItems, (run2) => (run2.step === 0 ? declining(run2) : success(run2, "2")))
      yield* expectFields("declined", yield* stored(runId(2)), { state: "succeeded", output: "[null,2]" })
    }),
  },
  {
    name: "map > with fail-fast the first failed item calls the others off",
    run: Effect.gen(function* () {
      yield* beginFlow(1, mapOf(["1", "2", "3"], true))
      const items = yield* claimItems
      yield* settleAll(items.slice(1, 2), failing)
      yield* expectFields("run", yield* stored(runId(1)), { state: "dead" })
      yield* expectSame("steps", yield* stepStates(runId(1)), ["failed", "failed", "failed"])
      yield* expectFields("first", yield* stored(items[0]?.id ?? ""), { state: "cancelled" })
      yield* expectTrueCounts
    }),
  },
  {
    name: "map > as a step of a flow, its array is the step's output and its failure the step's",
    run: Effect.gen(function* () {
      const steps = [step("list"), step("map", ["list"]), step("sum", ["map"])]
      yield* beginFlow(1, flowOf(steps, { output: "map" }), { input: "5" })
      yield* succeedSteps("list")
      const map = yield* claimStep("map")
      yield* settle(expanding(map, mapOf(["10", "20"])))
      yield* expectSame("open", yield* stepStates(runId(1)), ["succeeded", "released", "blocked"])
      const items = yield* claimItems
      yield* expectFields("chain", items[0], { chainId: runId(1), parentId: map.id })
      const inputs = yield* (yield* FlowStore).stepInputs([items[0]?.id ?? ""])
      yield* expectSame("an item needs nothing", inputs, [{ runId: items[0]?.id, input: null, needs: [] }])
      yield* settleAll(items, (run) => success(run, run.input))
      yield* expectFields("map", yield* stored(map.id), { state: "succeeded", output: "[10,20]" })
      const sum = yield* claimStep("sum")
      yield* expectSame("sum reads", yield* (yield* FlowStore).stepInputs([sum.id]), [
        { runId: sum.id, input: "5", needs: [{ id: "map", state: "succeeded", output: "[10,20]" }] },
      ])
      yield* settle(success(sum))
      yield* expectFields("run", yield* stored(runId(1)), { state: "succeeded", output: "[10,20]" })
      yield* beginFlow(2, flowOf(steps))
      yield* succeedSteps("list")
      yield* settle(expanding(yield* claimStep("map"), mapOf(["10"])))
      yield* settleAll(yield* claimItems, failing)
      yield* expectSame("failed", yield* stepStates(runId(2)), ["succeeded", "failed", "upstream_failed"])
      yield* expectFields("dead", yield* stored(runId(2)), { state: "dead" })
    }),
  },
  {
    name: "map > outputs that are too large together fail it for good",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      // Two brackets, two quotes each and one comma: the second list is one byte over.
      const half = payloadBytesMax / 2
      for (const [n, over] of [0, 1].entries()) {
        yield* beginFlow(n + 1, mapOf(["1", "2"]), {}, 1_000)
        const lengths = [half - 2 - 2, half - 1 - 2 + over]
        yield* settleAll(yield* claimItems, (run) =>
          success(run, `"${"x".repeat(lengths[run.step ?? 0] ?? 0)}"`),
        )
      }
      const fits = yield* stored(runId(1))
      yield* expectSame("fits", [fits.state, fits.output?.length], ["succeeded", payloadBytesMax])
      const run = yield* stored(runId(2))
      yield* expectFields("run", run, { state: "dead", output: null })
      yield* expectSame("kind", run.error?.kind, "payload")
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((each) => each.runId),
        [runId(2)],
      )
      yield* expectSame("items", yield* stepStates(runId(2)), ["succeeded", "succeeded"])
    }),
  },
  {
    name: "map > the largest list runs",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* beginFlow(1, mapOf(Array.from({ length: itemMax }, (_, index) => String(index))))
      const items = yield* claimItems
      yield* expectSame("items", items.length, itemMax)
      yield* runs.settle(items.map((run) => success(run, run.input)))
      const { state, output } = yield* stored(runId(1))
      yield* expectSame("state", state, "succeeded")
      yield* expectSame("output", output, `[${items.map((_, index) => index).join(",")}]`)
    }),
  },
  {
    name: "map > of two lists in one flow, each ends with its own items",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* beginFlow(1, flowOf([step("a"), step("b"), step("both", ["a", "b"])]))
      const a = yield* claimStep("a")
      const b = yield* claimStep("b")
      yield* settle(expanding(a, mapOf(["1"])))
      yield* settle(expanding(b, mapOf(["2"])))
      const items = yield* claimItems
      const isOfA = (run: Run): boolean => run.parentId === a.id
      yield* settleAll(items.filter(isOfA), success)
      yield* expectSame("one", yield* stepStates(runId(1)), ["succeeded", "released", "blocked"])
      clock.advance(1)
      yield* settleAll(
        items.filter((each) => !isOfA(each)),
        success,
      )
      yield* expectFields("both", yield* claimOne({ jobs: ["do-both"] }), { parentId: runId(1), step: 2 })
    }),
  },
]

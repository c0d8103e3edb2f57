// What the operations on runs owe to a caller who did not hear the answer, but for `settle`, which has its own file.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import type { Claim } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock } from "../Case.ts"
import { bringTo, claim, enqueue, failing, join, newRun, newRuns, runId, settle } from "../Fixtures.ts"
import { beginFlow, flowOf, step } from "../FlowStoreContract/fixtures.ts"
import { trial } from "./fixtures.ts"

const operate = <A, E>(
  call: (runs: RunStore["Service"]) => Effect.Effect<A, E>,
): Effect.Effect<A, E, RunStore> => Effect.flatMap(RunStore, call)

const batch = [
  newRun(1, { key: "k", input: '{"day":1}' }),
  newRun(2, { delayMillis: 60_000 }),
  newRun(3, { job: "load", needs: [runId(1)], chainId: runId(3) }),
  newRun(4, { key: "k" }),
]

const dead = (count: number) =>
  Effect.gen(function* () {
    yield* enqueue(...newRuns(count))
    for (const run of yield* claim({ limit: count })) yield* settle(failing(run))
  })

const byId = <A extends { readonly id: string }>(rows: ReadonlyArray<A>): ReadonlyArray<A> =>
  rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))

const claimTrial = (what: string, fields: Partial<Claim>) => {
  const taken = Effect.map(claim({ limit: 3, ...fields }), byId)
  return trial({
    operation: "claim",
    what,
    promise: "carried finds the very runs that it took",
    prepare: Effect.as(Effect.andThen(join("n1", 60_000), enqueue(...newRuns(5))), taken),
    // As the dispatcher does: it asks for what it carries before it claims more.
    again: Effect.gen(function* () {
      const found = yield* operate((runs) => runs.carried("n1", 1_000))
      return found.length > 0 ? byId(found) : yield* taken
    }),
  })
}

/** Cases of operations on runs. */
export const runFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "enqueue",
    promise: "it answers exists with the same ids, and stores nothing twice",
    prepare: Effect.succeed(enqueue(...batch)),
    recorded: (answers) => answers.map((answer) => ({ ...answer, result: "exists" })),
  }),
  ...claimTrial("as the start", { acknowledged: true }),
  ...claimTrial("not as the start", { acknowledged: false }),
  ...trial({
    operation: "started",
    promise: "it answers the same, and the start is acknowledged",
    prepare: Effect.gen(function* () {
      yield* enqueue(...newRuns(2))
      const held = (yield* claim({ acknowledged: false })).map(({ id, token }) => ({ id, token }))
      return operate((runs) =>
        runs.started([...held, { id: runId(1), token: 0 }, { id: runId(9), token: 1 }]),
      )
    }),
  }),
  ...trial({
    operation: "promote",
    promise: "it finds nothing more to do",
    prepare: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { delayMillis: 500 }), newRun(2, { delayMillis: 60_000 }))
      yield* enqueue(newRun(3, { delayMillis: 500, startWithinMillis: 0 }))
      yield* bringTo(4, "retrying")
      yield* beginFlow(5, flowOf([step("a"), step("b", ["a"])], { timeoutMillis: 500 }), {}, 1_000)
      clock.advance(500)
      return operate((runs) => runs.promote(100))
    }),
    recorded: () => 0,
  }),
  ...trial({
    operation: "adopt",
    promise: "it is answered as the first time",
    prepare: Effect.gen(function* () {
      yield* enqueue(...newRuns(3))
      const [a, b, c] = yield* claim({ acknowledged: false })
      yield* join("n2", 60_000)
      const held = [a, b, { id: c?.id ?? "", token: 7 }].flatMap((run) => (run === undefined ? [] : [run]))
      return operate((runs) =>
        runs.adopt(
          "n2",
          held.map(({ id, token }) => ({ id, token })),
        ),
      )
    }),
  }),
  ...trial({
    operation: "reclaim",
    promise: "it answers nothing more, each loss counts once, and the rows say where they went",
    prepare: Effect.gen(function* () {
      yield* enqueue(newRun(1), newRun(2, { attemptMax: 1 }), newRun(3))
      yield* enqueue(newRun(4, { job: "load", needs: [runId(2)] }))
      yield* join("dead", 1_000)
      yield* claim({ node: "dead", limit: 2 })
      yield* claim({ node: "dead", acknowledged: false })
      ;(yield* ContractClock).advance(1_000)
      yield* join("n1", 60_000)
      return operate((runs) => Effect.map(runs.reclaim("n1", 100), byId))
    }),
    recorded: () => [],
  }),
  ...trial({
    operation: "cancel",
    promise: "it answers final, and the reason and the end stay",
    prepare: Effect.gen(function* () {
      yield* bringTo(1, "running")
      yield* enqueue(newRun(2, { job: "load", needs: [runId(1)] }))
      yield* beginFlow(3, flowOf([step("a"), step("b", ["a"])]))
      yield* bringTo(4, "succeeded")
      return operate((runs) => runs.cancel([1, 3, 4, 9].map(runId), "Not wanted"))
    }),
    recorded: (answers) =>
      answers.map((answer) => (answer.result === "cancelled" ? { ...answer, result: "final" } : answer)),
  }),
  ...trial({
    operation: "replay",
    promise: "it answers exists with the first new runs, and makes no other",
    prepare: Effect.gen(function* () {
      yield* dead(2)
      return operate((runs) => runs.replay([1, 2, 9].map(runId), [11, 12, 13].map(runId)))
    }),
    recorded: (answers) =>
      answers.map((answer) => (answer.result === "created" ? { ...answer, result: "exists" } : answer)),
  }),
  ...trial({
    operation: "drop",
    promise: "it finds no letter more",
    prepare: Effect.as(
      dead(3),
      operate((runs) => runs.drop([1, 2, 9].map(runId))),
    ),
    recorded: () => 0,
  }),
  ...trial({
    operation: "prune",
    promise: "it finds nothing more to delete",
    prepare: Effect.gen(function* () {
      const clock = yield* ContractClock
      for (const n of [1, 2]) yield* bringTo(n, "succeeded")
      yield* bringTo(3, "dead")
      clock.advance(1_000)
      const before = clock.now()
      yield* bringTo(4, "succeeded")
      return operate((runs) => runs.prune(before, 100))
    }),
    recorded: () => 0,
  }),
]

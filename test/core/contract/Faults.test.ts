// Faults do what they say, at their time, and nothing else: the store behind them is as it would be without.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { type Fault, type FaultPlan, withFaults } from "../../../core/contract/Faults.ts"
import { join, newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { StoreError } from "../../../core/domain/Errors.ts"
import { makeVirtualTime } from "../../../core/engine/VirtualTime.ts"
import {
  contextDriver,
  CredentialStore,
  FlowStore,
  NodeStore,
  RecordStore,
  RunStore,
  ScheduleStore,
  StoreInfo,
  type Store,
} from "../../../core/ports/Store.ts"
import { startAt, turn } from "../engine/world.ts"

/** A store in memory on a virtual clock, and the same through faults. */
const world = (plan: FaultPlan) => {
  const time = makeVirtualTime(startAt)
  const plain = contextDriver(memoryDriver({ now: time.now }))
  const run = <A, E>(effect: Effect.Effect<A, E, Store>, store = withFaults(plain, plan)) =>
    Effect.runPromise(Effect.provide(effect, store).pipe(Effect.provide(time.context)))
  return { time, plain, run }
}

const always =
  (fault: Fault): FaultPlan =>
  (operation) =>
    operation === "enqueue" ? fault : null

const enqueue = Effect.flatMap(RunStore, (runs) => runs.enqueue([newRun(1)]))
const ids = Effect.flatMap(RunStore, (runs) =>
  Effect.map(runs.get([runId(1)]), (rows) => rows.map(({ id }) => id)),
)

test("before > it fails with an unknown outcome, and nothing is done", async () => {
  const { run } = world(always({ fails: "before" }))
  const error: StoreError = await run(Effect.flip(enqueue))
  expect(error).toMatchObject({
    _tag: "StoreError",
    driver: "memory",
    operation: "enqueue",
    outcomeUnknown: true,
  })
  expect(await run(ids)).toEqual([])
})

test("after > it is done, and fails with an unknown outcome", async () => {
  const { run } = world(always({ fails: "after" }))
  const error: StoreError = await run(Effect.flip(enqueue))
  expect(error).toMatchObject({
    _tag: "StoreError",
    driver: "memory",
    operation: "enqueue",
    outcomeUnknown: true,
  })
  expect(await run(ids)).toEqual([runId(1)])
})

test("after > a refusal of the store itself stays a refusal", async () => {
  const { run } = world(always({ fails: "after" }))
  const refused = Effect.flatMap(RunStore, (runs) => runs.enqueue([newRun(1, { needs: [runId(9)] })]))
  expect(await run(Effect.flip(refused))).toMatchObject({ outcomeUnknown: false })
})

test.each([
  ["succeeds", {}, "created"],
  ["fails after it was done", { fails: "after" }, "StoreError"],
] as const)(
  "delays > a call that %s is on its way there, done, and on its way back",
  async (_, fails, end) => {
    const { time, run, plain } = world(always({ delayMillis: 300, answerMillis: 200, ...fails }))
    let heard = ""
    const call = Effect.match(enqueue, {
      onSuccess: ([row]) => row?.result ?? "",
      onFailure: ({ _tag }) => _tag,
    })
    const answer = run(call).then((word) => void (heard = word))
    const steps: Array<unknown> = []
    for (const at of [0, 299, 300, 499, 500]) {
      time.moveTo(startAt + at)
      await turn()
      steps.push([at, (await run(ids, plain)).length, heard])
    }
    expect(steps).toEqual([
      [0, 0, ""],
      [299, 0, ""],
      [300, 1, ""],
      [499, 1, ""],
      [500, 1, end],
    ])
    await answer
  },
)

test("delays > a call that fails before it was done takes its time as well", async () => {
  const { time, run } = world(always({ delayMillis: 300, fails: "before", answerMillis: 200 }))
  let failed = false
  const answer = run(Effect.flip(enqueue)).then(() => void (failed = true))
  const seen: Array<boolean> = []
  for (const at of [300, 499, 500]) {
    time.moveTo(startAt + at)
    await turn()
    await turn()
    seen.push(failed)
  }
  expect(seen).toEqual([false, false, true])
  await answer
  expect(await run(ids)).toEqual([])
})

test("null > the store answers as it does without", async () => {
  const { plain, run } = world(() => null)
  const story = (n: number) =>
    Effect.gen(function* () {
      const runs = yield* RunStore
      const info = yield* StoreInfo
      yield* join("n1")
      const created = yield* runs.enqueue([newRun(n)])
      const claim = { node: "n1", queues: ["default"], jobs: ["report"], limit: 1, acknowledged: true }
      const [run] = yield* runs.claim(claim)
      const refusal = yield* Effect.flip(runs.list({ limit: 0 }))
      const rows = [created[0]?.result, run?.state, run?.token, refusal.outcomeUnknown, refusal.message]
      return [...rows, yield* info.now, info.capabilities]
    })
  expect(await run(story(2))).toEqual(await run(story(1), plain))
})

type Service = Readonly<
  Record<string, (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, StoreError>>
>

test("the plan hears of every operation, by its name and with its arguments", async () => {
  const heard: Array<unknown> = []
  const { plain, run } = world(() => null)
  const expected: Array<unknown> = []
  const faulty = withFaults(plain, (operation, args) => {
    heard.push([operation, ...args])
    return { fails: "before" }
  })
  const services = [
    Context.get(faulty, RunStore),
    Context.get(faulty, FlowStore),
    Context.get(faulty, ScheduleStore),
    Context.get(faulty, NodeStore),
    Context.get(faulty, CredentialStore),
    Context.get(faulty, RecordStore),
  ] as ReadonlyArray<object>
  for (const service of services) {
    for (const [operation, call] of Object.entries(service as Service)) {
      const error = await run(Effect.flip(call("first", 2)))
      expect(error.operation).toBe(operation)
      expected.push([operation, "first", 2])
    }
  }
  await run(Effect.flip(Context.get(faulty, StoreInfo).now))
  expect(heard).toEqual([...expected, ["now"]])
  expect(expected).toHaveLength(48)
})

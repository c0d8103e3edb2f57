// The watch over flow runs, on the memory store and a clock that moves by hand: what it tells of their ends, when,
// and that it tells each once.
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Exit from "effect/Exit"
import { afterEach, expect, test } from "vitest"
import { contextDriver } from "uhrwerk/effect"
import { makeVirtualTime } from "uhrwerk/testing"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { type EngineEvent, makeEvents } from "../../../core/observe/Event.ts"
import { type FlowWatch, makeFlowWatch } from "../../../core/run/FlowWatch.ts"
import { makeWheelTimers } from "../../../core/wheel/WheelTimers.ts"

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const jobs = ["flow", "step"]

/** A store with a flow run of two steps in a row, expanded, and a watch over it. */
const begin = async (options: { attemptMax?: number; timeoutMillis?: number | null } = {}) => {
  const { attemptMax = 1, timeoutMillis = null } = options
  const time = makeVirtualTime(1_000_000)
  const driver = memoryDriver({ now: time.now })
  const events = makeEvents()
  const told: Array<readonly [run: string, state: string]> = []
  events.listen((event: EngineEvent) => {
    if (event.kind === "ended") told.push([event.run.id, event.state])
  })
  const seen = { due: [] as Array<number>, closed: 0, awaited: false }
  const scope = Effect.runSync(Scope.make())
  const watch: FlowWatch = await Effect.runPromiseWith(time.context)(
    Effect.gen(function* () {
      return yield* makeFlowWatch({
        pollMillis: 60_000,
        timers: yield* makeWheelTimers,
        events,
        isAwaited: () => seen.awaited,
        onDue: (dueAt) => seen.due.push(dueAt),
        onClosed: () => seen.closed++,
        onTrouble: (doing, error) => {
          throw new Error(`${doing}: ${error.message}`)
        },
      })
    }).pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(contextDriver(driver))),
  )
  closers.push(() => Effect.runPromiseWith(time.context)(Scope.close(scope, Exit.void)))
  await driver.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e9)
  await driver.enqueue([newRun(1, { job: "flow", attemptMax })])
  const claim = async (): Promise<Run> => {
    const [run] = await driver.claim({ node: "n1", queues: ["default"], jobs, limit: 1, acknowledged: true })
    if (run === undefined) throw new Error("There is no run to claim")
    return run
  }
  const work = { job: "step", queue: "default", priority: 0, attemptMax: 1 }
  const steps = [
    { id: "a", needs: [], ...work },
    { id: "b", needs: ["a"], ...work },
  ]
  const definition = { name: "flow", version: "1", steps, output: "b", failFast: false, timeoutMillis }
  const flow = await claim()
  const held = (run: Run) => ({ id: run.id, token: run.token })
  const expansion = { kind: "flow", definition } as const
  const retryInMillis = attemptMax > 1 ? 5000 : null
  await driver.settle([{ ...held(flow), kind: "expanded", expansion, retryInMillis }])
  watch.expanded(flow, timeoutMillis)
  const error = { name: "Error", message: "no", kind: "error" } as const
  return {
    time,
    driver,
    watch,
    told,
    seen,
    succeed: async () => driver.settle([{ ...held(await claim()), kind: "succeeded", output: "1" }]),
    fail: async () => driver.settle([{ ...held(await claim()), kind: "failed", error, retryInMillis: null }]),
    wait: async (millis: number) => {
      const target = time.now() + millis
      for (await turn(); time.nextAt() <= target; await turn()) time.moveTo(time.nextAt())
      time.moveTo(target)
      await turn()
    },
  }
}

test("an end is told when it is looked for, once, and then the run is forgotten", async () => {
  const { watch, told, seen, succeed, wait } = await begin()
  await succeed()
  watch.look([runId(1)])
  await wait(0)
  expect(told).toEqual([])
  await succeed()
  watch.look([runId(1)])
  watch.look()
  await wait(0)
  expect(told).toEqual([[runId(1), "succeeded"]])
  expect([watch.size(), seen.closed]).toEqual([0, 1])
  watch.look([runId(1)])
  await wait(120_000)
  expect(told).toHaveLength(1)
})

test("a success is not told before the end of its last step is", async () => {
  const { watch, told, seen, succeed, wait } = await begin()
  seen.awaited = true
  await succeed()
  await succeed()
  watch.look([runId(1)])
  await wait(0)
  expect(told).toEqual([])
  seen.awaited = false
  watch.look([runId(1)])
  await wait(0)
  expect(told).toEqual([[runId(1), "succeeded"]])
})

test("what nobody looked for is found by the next poll", async () => {
  const { told, driver, wait } = await begin()
  await driver.cancel([runId(1)], "by a tool")
  await wait(59_000)
  expect(told).toEqual([])
  await wait(1_000)
  expect(told).toEqual([[runId(1), "cancelled"]])
})

test("a run that waits for its next attempt says when that is due, and is watched anew when it has expanded", async () => {
  const { watch, told, seen, fail, time, wait } = await begin({ attemptMax: 2 })
  await fail()
  watch.look([runId(1)])
  await wait(0)
  expect(told).toEqual([[runId(1), "retrying"]])
  expect(seen.due).toEqual([time.now() + 5000])
  expect(watch.size()).toBe(0)
})

test("a limit ends the run at its instant, without anybody who claims", async () => {
  const { told, driver, wait } = await begin({ timeoutMillis: 3000 })
  await wait(2999)
  expect(told).toEqual([])
  await wait(1)
  expect(told).toEqual([[runId(1), "dead"]])
  expect((await driver.get([runId(1)]))[0]).toMatchObject({ error: { kind: "timeout" } })
})

test("a run that only its steps made known is told too, and one that is gone is forgotten", async () => {
  const { watch, told, driver, wait } = await begin()
  await driver.enqueue([newRun(2), newRun(3)])
  watch.add(runId(2))
  watch.add(runId(9))
  expect(watch.size()).toBe(3)
  await driver.cancel([runId(2)], "Not wanted")
  watch.look()
  await wait(0)
  expect(told).toEqual([[runId(2), "cancelled"]])
  expect(watch.size()).toBe(1)
})

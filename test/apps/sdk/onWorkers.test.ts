// Jobs and steps that are left to workers: what the engine is told of them, what it refuses, and that its own process never
// carries one out. Workers themselves are in test/apps/worker.
import * as Schema from "effect/Schema"
import { afterEach, describe, expect, test } from "vitest"
import { checkConfig, type Config } from "../../../apps/sdk/config.ts"
import { engine, flow, job, onWorkers, type Refusal, type RunningEngine } from "../../../apps/sdk/mod.ts"
import { testEngine } from "../../../apps/sdk/testing.ts"

const state: { app?: RunningEngine } = {}
afterEach(async () => {
  await state.app?.stop({ grace: 0 })
  delete state.app
})
const refusal = (config: Partial<Config>): Promise<Refusal> =>
  checkConfig({ storage: "memory:", jobs: [], ...config }).then(
    () => Promise.reject(new Error("The config was taken")),
    (error: Refusal) => error,
  )

describe("a job on workers", () => {
  test("has its placement, and no other job has one", async () => {
    const { book } = await checkConfig({
      storage: "memory:",
      jobs: [
        job("any", { run: onWorkers() }),
        job("some", { run: onWorkers({ where: "gpu > 1", by: { hash: "file" } }) }),
        job("all", { run: onWorkers({ broadcast: true }) }),
        job("here", { run: () => {} }),
      ],
    })
    const placementOf = (name: string) => book.jobs.get(name)?.placement
    expect(placementOf("any")).toEqual({ by: "leastLoaded", where: null, broadcast: false })
    expect(placementOf("some")).toEqual({ by: { hash: "file" }, where: "gpu > 1", broadcast: false })
    expect(placementOf("all")).toEqual({ by: "leastLoaded", where: null, broadcast: true })
    expect(placementOf("here")).toBe(undefined)
  })

  test("is not carried out by the engine's process; its input is checked when it is sent", async () => {
    const away = job("away", {
      input: Schema.Struct({ file: Schema.String }),
      run: onWorkers<number>({ where: "gpu > 1" }),
    })
    const here = job("here", { run: () => "done" })
    state.app = await engine({ storage: "memory:", jobs: [away, here] }).start({ guard: false })
    await expect(away.send({ file: 5 } as never)).rejects.toMatchObject({ _tag: "InvalidPayload" })
    const sent = await away.send({ file: "a.mp4" })
    expect(await (await here.send()).result({ timeout: "10s" })).toBe("done")
    expect(await state.app.run(sent.id)).toMatchObject({
      state: "ready",
      attempt: 0,
      input: '{"file":"a.mp4"}',
    })
  })

  test("what is wrong is refused when the config is loaded, with its place and the next step", async () => {
    const of = (run: unknown, more: object = {}) =>
      refusal({ jobs: [job("encode", { run, ...more } as never)] })
    expect(await of(onWorkers({ where: "gpu >> 1" }))).toMatchObject({
      _tag: "InvalidInput",
      field: 'job "encode".run.where',
      position: 4,
      next: expect.stringContaining(">="),
    })
    expect(await of(onWorkers({ by: "fastest" as never }))).toMatchObject({ field: 'job "encode".run.by' })
    expect(await of(onWorkers({ broadcast: 1 as never }))).toMatchObject({
      field: 'job "encode".run.broadcast',
    })
    expect(await of(onWorkers("gpu" as never))).toMatchObject({ field: 'job "encode".run' })
    expect(await of(onWorkers(null as never))).toMatchObject({ field: 'job "encode".run' })
    const first = job("first", { run: () => 1 })
    expect(
      await refusal({
        jobs: [first, job("all", { needs: { first }, run: onWorkers({ broadcast: true }) })],
      }),
    ).toMatchObject({ field: 'job "all".needs', reason: expect.stringContaining("broadcast") })
    expect(await of(undefined)).toMatchObject({ reason: expect.stringContaining("onWorkers()") })
  })
})

describe("a step on workers", () => {
  const etl = (options: object) =>
    flow("etl", {}, (f) => {
      const rows = f.step("rows", { run: () => [1, 2] })
      f.step("load", { needs: { rows }, run: onWorkers(), ...options } as never)
    })

  test("the step goes there, and of a list its items", async () => {
    const whole = flow("etl", {}, (f) => {
      const rows = f.step("rows", { run: () => [1, 2] })
      f.step("load", { needs: { rows }, run: onWorkers({ where: "zone = a" }) })
      f.map("each", {
        needs: { rows },
        when: () => true,
        over: ({ rows }) => rows,
        run: onWorkers({ by: "roundRobin" }),
      })
    })
    const { book } = await checkConfig({ storage: "memory:", jobs: [whole] })
    const placed = [...book.jobs.values()].filter(({ placement }) => placement !== undefined)
    expect(placed.map(({ name, expands, placement }) => [name, expands, placement])).toEqual([
      ["etl/load", undefined, { by: "leastLoaded", where: "zone = a", broadcast: false }],
      ["etl/each[]", undefined, { by: "roundRobin", where: null, broadcast: false }],
    ])
    expect(book.jobs.get("etl/each")?.expands).toBe(true)

    const app = await testEngine({ jobs: [whole] })
    state.app = app
    await whole.send()
    await app.advance("1s")
    const states = (await app.runs({ limit: 50 })).map((run) => [run.job, run.state, run.input] as const)
    // What comes before it is done, the list has expanded, and what is left to workers waits.
    expect(states.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
      ["etl", "blocked", null],
      ["etl/each", "blocked", null],
      ["etl/each[]", "ready", "1"],
      ["etl/each[]", "ready", "2"],
      ["etl/load", "ready", null],
      ["etl/rows", "succeeded", null],
    ])
  })

  test("what the engine would have to do for it is refused, and a broadcast", async () => {
    expect(await refusal({ jobs: [etl({ when: () => true })] })).toMatchObject({
      field: 'flow "etl": step "load".when',
      next: expect.stringContaining("a step before it"),
    })
    expect(await refusal({ jobs: [etl({ input: () => 1 })] })).toMatchObject({
      field: 'flow "etl": step "load".input',
    })
    expect(await refusal({ jobs: [etl({ run: onWorkers({ broadcast: true }) })] })).toMatchObject({
      field: 'flow "etl": step "load".run',
      reason: expect.stringContaining("no broadcast"),
    })
    expect(await refusal({ jobs: [etl({ run: onWorkers({ where: "(" }) })] })).toMatchObject({
      field: 'flow "etl": step "load".run.where',
    })
  })
})

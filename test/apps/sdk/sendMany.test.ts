// Runs of several jobs sent together, and what of a project is told to whoever explains a run.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { engine, flow, job, onWorkers, type RunningEngine, SendsRefused } from "uhrwerk"
import { checkConfig } from "../../../apps/sdk/config.ts"
import { surroundingsOf } from "../../../apps/sdk/explainRun.ts"
import { runId } from "../../../core/contract/Fixtures.ts"

const one = job<{ n: number }, number>("one", { run: ({ n }) => n })
const two = job("two", { needs: { one }, run: () => 2 })
const remote = job("remote", { run: onWorkers({ where: "gpu > 1" }) })
const whole = flow("whole", {}, (f) => {
  f.step("step", { run: () => 1 })
})
const foreign = job("foreign", { run: () => 1 })

describe("sendMany", () => {
  let running: RunningEngine
  beforeAll(async () => {
    running = await engine({ jobs: [one, two, whole], storage: "memory:" }).start({ guard: false })
  })
  afterAll(() => running.stop({ grace: 0 }))

  test("answers in order; a job's options are its own, and the runs that it needs come with it", async () => {
    const sent = await running.sendMany([
      { job: one, input: { n: 1 }, options: { id: runId(1), delay: "1h" } },
      { job: two, options: { delay: "1h" } },
      { job: one, input: { n: 2 }, options: { id: runId(1), delay: "1h" } },
      { job: whole, options: { delay: "1h" } },
    ])
    expect(sent.map(({ created }) => created)).toEqual([true, true, false, true])
    expect([sent[0]?.id, sent[2]?.id]).toEqual([runId(1), runId(1)])
    expect(await running.run(sent[1]?.id ?? "")).toMatchObject({ job: "two", needs: [expect.any(String)] })
    expect((await running.run(sent[3]?.id ?? ""))?.job).toBe("whole")
    expect(await running.sendMany([])).toEqual([])
  })

  test("all that are refused are named, also by what only the engine knows, and nothing is stored", async () => {
    const before = await running.counts()
    const refused = async (items: Parameters<RunningEngine["sendMany"]>[0]) => {
      const error: unknown = await running.sendMany(items).catch((cause: unknown) => cause)
      if (!(error instanceof SendsRefused)) throw error
      expect(error.message).toContain(`item ${error.refusals[0]?.index}: `)
      return error.refusals.map(({ index, error: cause }) => [index, (cause as Error).name])
    }
    const good = { job: one, input: { n: 1 }, options: { delay: "1h" } } as const
    expect(await refused([good, { job: foreign }, good, { ...good, options: { priority: 0.5 } }])).toEqual([
      [1, "UnknownJob"],
      [3, "InvalidInput"],
    ])
    expect(
      await refused([good, { ...good, options: { queue: "nowhere" } }, { job: two, options: { key: "a" } }]),
    ).toEqual([
      [1, "InvalidInput"],
      [2, "InvalidInput"],
    ])
    expect(await running.counts()).toEqual(before)
  })
})

test("surroundings of a run > who carries it out, as far as the config says", async () => {
  const config = { jobs: [one, two, remote, whole], storage: "memory:" } as const
  const [own, served] = [
    await checkConfig({ ...config, worker: { concurrency: 4 } }),
    await checkConfig({ ...config, worker: { concurrency: 0 } }),
  ]
  expect(surroundingsOf(own, "one")).toMatchObject({ slots: 4, placement: undefined })
  expect([...(surroundingsOf(own, "one").jobs ?? [])]).toEqual(
    expect.arrayContaining(["one", "whole", "whole/step"]),
  )
  expect(surroundingsOf(own, "remote").placement).toMatchObject({})
  const placements = ["one", "whole/step", "whole", "nobody"].map((name) => surroundingsOf(served, name))
  expect(placements.map(({ placement, slots }) => [placement, slots])).toEqual([
    [null, null],
    [null, null],
    [undefined, null],
    [undefined, null],
  ])
})

// Jobs, steps and items of lists that are left to workers, from a config to their outputs: a real server, real workers, and
// what `onWorkers()` says about where they go.
import { afterEach, describe, expect, test } from "vitest"
import { flow, job, onWorkers } from "../../../apps/sdk/mod.ts"
import { type RunningServer, serve } from "../../../apps/server/mod.ts"
import { type JobsOptions, type RunningWorker, worker } from "../../../apps/worker/mod.ts"

const open: Array<{ readonly stop: (options: { readonly grace: 0 }) => Promise<unknown> }> = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop({ grace: 0 })
})
const served = async (jobs: Parameters<typeof serve>[0]["jobs"]): Promise<RunningServer> => {
  const server = await serve({ jobs, storage: "memory:" }, { port: 0, guard: false })
  open.push(server)
  return server
}
const work = async (
  server: RunningServer,
  name: string,
  jobs: JobsOptions["jobs"],
  more: Partial<JobsOptions> = {},
): Promise<RunningWorker> => {
  const started = await worker({ url: server.workerUrl, name, jobs, guard: false, ...more }).start()
  open.push(started)
  await expect
    .poll(() => server.engine.workers?.list().map((each) => each.name), { timeout: 10_000 })
    .toContain(name)
  return started
}
const timeout = "10s"

describe("a job on workers", () => {
  test("goes where its rule says, and comes back with its output", async () => {
    const encode = job<{ file: string }, string>("encode", { run: onWorkers({ where: "gpu > 1" }) })
    const server = await served([encode])
    const named = (name: string) =>
      job<{ file: string }, string>("encode", { run: ({ file }) => `${file} on ${name}` })
    await work(server, "plain", [named("plain")], { concurrency: 50 })
    await work(server, "strong", [named("strong")], { labels: { gpu: 2 } })
    const runs = await Promise.all(["a", "b", "c"].map((file) => encode.send({ file })))
    const results = await Promise.all(runs.map((run) => run.result({ timeout })))
    expect(results).toEqual(["a on strong", "b on strong", "c on strong"])
  })

  test("a broadcast answers the list of what all returned, each of which knew its part", async () => {
    const clear = job<{ prefix: string }, ReadonlyArray<string>>("clear", {
      run: onWorkers<string>({ broadcast: true }),
    })
    const server = await served([clear])
    const told = (name: string) =>
      job<{ prefix: string }, string>("clear", {
        run: ({ prefix }, { shard }) => `${prefix} ${name} ${shard?.index}/${shard?.count}`,
      })
    for (const name of ["b", "a", "c"]) await work(server, name, [told(name)])
    const run = await clear.send({ prefix: "x" })
    expect(await run.result({ timeout })).toEqual(["x a 0/3", "x b 1/3", "x c 2/3"])
  })
})

describe("a flow with steps on workers", () => {
  test("hands outputs to workers and takes theirs; of a list each item goes to one", async () => {
    const etl = flow("etl", {}, (f) => {
      const rows = f.step("rows", { run: () => [3, 1, 2] })
      const sorted = f.step("sorted", { needs: { rows }, run: onWorkers<ReadonlyArray<number>>() })
      const doubled = f.map("doubled", {
        needs: { sorted },
        over: ({ sorted }) => sorted,
        run: onWorkers<{ value: number; by: string }>({ by: "roundRobin" }),
      })
      return f.step("all", {
        needs: { doubled },
        run: ({ doubled }) => ({
          values: doubled.map(({ value }) => value),
          workers: new Set(doubled.map(({ by }) => by)).size,
        }),
      })
    })
    const server = await served([etl])
    const theirs = (name: string) =>
      flow("etl", {}, (f) => {
        const rows = f.step("rows", { run: () => [0] })
        const sorted = f.step("sorted", {
          needs: { rows },
          run: ({ rows }) => rows.toSorted((a, b) => a - b),
        })
        f.map("doubled", {
          needs: { sorted },
          over: ({ sorted }) => sorted,
          run: (value) => ({ value: value * 2, by: name }),
        })
      })
    for (const name of ["w1", "w2"]) await work(server, name, [theirs(name)])
    const run = await etl.send()
    expect(await run.result({ timeout })).toEqual({ values: [2, 4, 6], workers: 2 })
  })
})

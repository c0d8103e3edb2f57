// `uhrwerk run explain`, and the same sentence in `run show`: beside a store without an engine, with and without
// the config that says which jobs there are.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-explain-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const project = join(folder, "project")

beforeAll(async () => {
  mkdirSync(project)
  writeFileSync(
    join(project, "uhrwerk.config.mjs"),
    `export default { jobs: [{ name: "report" }], storage: "sqlite:../a.db", worker: { concurrency: 1 } }\n`,
  )
  const store = sqliteDriver({ file: join(folder, "a.db"), now: () => Date.now() })
  await store.enqueue([
    newRun(1),
    newRun(2, { delayMillis: 7_200_000 }),
    newRun(3, { needs: [runId(1)] }),
    newRun(4, { job: "odd", priority: 9 }),
  ])
  await store.join({ id: "n", host: "h", pid: 1, runtime: "r" }, 60_000)
  await store.claim({ node: "n", queues: ["default"], jobs: ["odd"], limit: 1, acknowledged: true })
  const failure = { name: "Error", message: "broken \u001b[31m.", kind: "error" } as const
  await store.settle([{ id: runId(4), token: 1, kind: "failed", error: failure, retryInMillis: null }])
  await store.leave("n")
  await store.close()
})
const at = (...args: ReadonlyArray<string>) => inProcess(["run", ...args, "--storage", "sqlite:a.db"], folder)

describe("run explain", () => {
  test("is one sentence on stdout, and the next step on stderr", async () => {
    expect(await at("explain", runId(1))).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Ready for .*; no engine is running on this store\.\n$/),
      stderr: "Start one: uhrwerk dev\n",
    })
    expect((await at("explain", runId(2))).stdout).toMatch(
      /^Waits for its time: due at .* in (2 h|120 min)\.\n$/,
    )
    expect((await at("explain", runId(3))).stdout).toBe(
      'Waits for 1 of the 1 runs that it needs: "report" (ready).\n',
    )
    expect(await at("explain", runId(4))).toMatchObject({
      stdout: expect.stringMatching(
        /^Dead at .*, because attempt 1 of 3 failed for good: Error: broken \[31m\.\n$/,
      ),
      stderr: expect.stringContaining(`uhrwerk dead replay ${runId(4)}`),
    })
  })

  test("is in run show too, and JSON for scripts", async () => {
    expect((await at("show", runId(1))).stdout).toMatch(/\nwhy {2,}Ready for .*; no engine is running/)
    const json = await at("explain", runId(3), "-o", "json")
    expect(JSON.parse(json.stdout)).toMatchObject([
      { id: runId(3), state: "blocked", why: expect.any(String) },
    ])
  })

  test("knows the jobs of the config, where the store is the config's", async () => {
    const store = sqliteDriver({ file: join(folder, "a.db"), now: () => Date.now() })
    await store.join({ id: "n", host: "h", pid: 1, runtime: "r" }, 60_000)
    await store.enqueue([newRun(5, { job: "gone" })])
    await store.close()
    const ended = await inProcess(["run", "explain", runId(5)], project)
    expect(ended.stdout).toMatch(
      /^Ready for .*; no job named "gone" is in the config, so no engine takes it\.\n$/,
    )
  })

  test("of a run that is not there ends with 3", async () => {
    expect(await at("explain", "nothing")).toMatchObject({ code: 3, stdout: "" })
  })
})

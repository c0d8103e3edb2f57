// `uhrwerk job run` and `uhrwerk run logs | wait | retry | replay`, beside an engine on the same file.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { printLogs } from "../../../apps/cli/runHands.ts"
import type { Flags } from "../../../apps/cli/open.ts"
import { type Config, engine, type RunningEngine } from "../../../apps/sdk/mod.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { logBody, logId, logKind } from "../../../core/observe/RunRecords.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-hands-"))
let running: RunningEngine
beforeAll(async () => {
  mkdirSync(join(folder, "elsewhere"))
  const file = join(folder, "uhrwerk.config.mjs")
  writeFileSync(
    file,
    `import { job, flow, NonRetryable } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const numbers = { "~standard": { version: 1, vendor: "test", validate: (value) =>
  typeof value === "object" && typeof value?.n === "number" ? { value } : { issues: [{ message: "n is no number" }] } } }
export default {
  jobs: [
    job("double", { input: numbers, run: ({ n }) => n * 2 }),
    job("refused", { run: () => { throw new NonRetryable("never") } }),
    job("late", { retry: { max: 2, delay: "1h" }, run: () => { throw new Error("not yet") } }),
    flow("whole", {}, (f) => { f.step("only", { retry: { max: 1 }, run: () => { throw new Error("of the step") } }) }),
  ],
  storage: ${JSON.stringify(`sqlite:${join(folder, "a.db")}`)},
  poll: "20ms",
}
`,
  )
  running = await engine(((await import(file)) as { readonly default: Config }).default).start({
    guard: false,
  })
})
afterAll(async () => {
  await running.stop({ grace: 0 })
  rmSync(folder, { recursive: true, force: true })
})
const at = (...args: ReadonlyArray<string>) => inProcess(args, folder)
const idOf = (text: string): string => /[0-9a-f-]{36}/.exec(text)?.[0] ?? ""

describe("job run", () => {
  test("prints the id, and with --wait how the run ended", async () => {
    const sent = await at("job", "run", "double", "--input", '{"n":21}', "--delay", "1h")
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
    expect(sent.stderr).toContain(`What became of it: uhrwerk run show ${idOf(sent.stdout)}`)

    const done = await at("job", "run", "double", "--input", '{"n":21}', "--wait")
    expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36} succeeded\n$/) })
    const json = await at("job", "run", "double", "--input", '{"n":4}', "--wait", "-o", "ndjson")
    expect(JSON.parse(json.stdout)).toMatchObject({ state: "succeeded", output: "8" })
  })

  test("exit code 10 when it did not succeed, 7 when the time is over before", async () => {
    const failed = await at("job", "run", "refused", "--wait")
    expect(failed).toMatchObject({ code: 10, stdout: expect.stringMatching(/ dead\n$/) })
    expect(failed.stderr).toContain("did not succeed: NonRetryable: never")
    const late = await at(
      "job",
      "run",
      "double",
      "--input",
      '{"n":1}',
      "--delay",
      "1h",
      "--wait",
      "--timeout",
      "1ms",
    )
    expect(late).toMatchObject({ code: 7, stdout: expect.stringMatching(/ scheduled\n$/) })
  })

  test("with a key it is one run while that has not ended", async () => {
    const send = () => at("job", "run", "double", "--input", '{"n":1}', "--key", "a", "--delay", "1h")
    const [first, second] = [await send(), await send()]
    expect(second).toMatchObject({ code: 0, stdout: first.stdout })
    expect(second.stderr).toContain("has this key already, and is scheduled")
  })

  test("what is wrong is refused, and nothing is stored", async () => {
    const before = await running.counts()
    const wrong: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
      [["nobody"], /no job or flow named "nobody" is in the config\. .*"?double"?/],
      [["double"], /n is no number/],
      [["double", "--input", "{"], /--input is not JSON/],
      [["double", "--input", '{"n":1}', "--delay", "soon"], /"soon" is not a time span/],
      [["double", "--input", '{"n":1}', "--timeout", "1s"], /give --wait too/],
      [[], /takes one name of a job or flow/],
    ]
    for (const [args, text] of wrong)
      expect(await at("job", "run", ...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(text) })
    expect(
      await inProcess(["job", "run", "double", "--storage", "sqlite:../a.db"], join(folder, "elsewhere")),
    ).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("go to the folder with uhrwerk.config.ts"),
    })
    expect(await running.counts()).toEqual(before)
  })
})

describe("run wait, retry, replay", () => {
  test("wait ends with the run, and says how", async () => {
    const { stdout } = await at("job", "run", "double", "--input", '{"n":1}', "--delay", "300ms")
    expect(await at("run", "wait", idOf(stdout))).toMatchObject({
      code: 0,
      stdout: `${idOf(stdout)} succeeded\n`,
    })
    expect(await at("run", "wait", idOf(stdout), "--timeout", "long")).toMatchObject({ code: 2 })
    expect(await at("run", "wait", runId(9))).toMatchObject({ code: 3 })
  })

  test("a dead run is run again, once", async () => {
    const id = idOf((await at("job", "run", "refused", "--wait")).stdout)
    const first = await at("run", "retry", id)
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining("is replayed as run") })
    expect(await running.run(idOf(first.stdout))).toMatchObject({ replayOf: id })
    expect(await at("run", "replay", id)).toMatchObject({ code: 0, stdout: first.stdout })
  })

  test("what is not dead says why not", async () => {
    const late = idOf((await at("job", "run", "late")).stdout)
    await vi.waitFor(async () => expect((await running.run(late))?.state).toBe("retrying"), 10_000)
    expect(await at("run", "retry", late)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("starts its next attempt by itself"),
    })
    expect(await at("run", "replay", late)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is retrying, and only a dead run"),
    })
    const whole = idOf((await at("job", "run", "whole", "--wait")).stdout)
    const [step] = await running.runs({ job: "whole/only" })
    expect((await at("run", "retry", step?.id ?? "")).stderr).toContain(`flow rerun ${whole} --from-failed`)
    expect(await at("run", "retry", runId(9))).toMatchObject({ code: 3 })
  })
})

describe("run logs", () => {
  const store = memoryDriver({ now: () => Date.UTC(2027, 0, 1) })
  const put = (from: number, to: number, attempt = 1) =>
    store.putRecords(
      Array.from({ length: to - from }, (_, n) => ({
        kind: logKind,
        id: logId(runId(1), attempt, from + n),
        body: logBody({ at: from + n, line: `line ${from + n}\u001b[31m`, leftOut: 0 }),
        expiresAt: null,
        expected: null,
      })),
    )
  beforeAll(async () => {
    await store.enqueue([newRun(1), newRun(2)])
    for (let from = 0; from < 2_500; from += 500) await put(from, from + 500)
    await put(2_500, 2_503, 2)
  })
  /** What it prints; `meanwhile` is done when the first line is there. */
  const printed = async (id: string, flags: Flags, meanwhile?: () => unknown) => {
    const out: Array<string> = []
    const err: Array<string> = []
    vi.spyOn(console, "log").mockImplementation((line: string) => {
      if (out.push(line) === 1) void meanwhile?.()
    })
    vi.spyOn(console, "error").mockImplementation((line: string) => void err.push(line))
    await printLogs(store, id, flags).finally(() => vi.restoreAllMocks())
    return { out, err }
  }

  test("all lines, oldest first, with their attempt, and nothing that steers a terminal", async () => {
    const { out } = await printed(runId(1), {})
    expect(out.length).toBe(2_503)
    expect(out[0]).toMatch(/ {2}1 {2}line 0 \[31m$/)
    expect(out.at(-1)).toMatch(/ {2}2 {2}line 2502 \[31m$/)
  })

  test("the last lines, those of an attempt, and lines of JSON", async () => {
    const { out } = await printed(runId(1), { limit: "2", output: "ndjson" })
    expect(out.map((line) => JSON.parse(line).seq)).toEqual([2_501, 2_502])
    expect((await printed(runId(1), { attempt: "2" })).out.length).toBe(3)
    await expect(printed(runId(1), { attempt: "two" })).rejects.toThrow("--attempt two")
    await expect(printed(runId(1), { limit: "0" })).rejects.toThrow("--limit 0")
    await expect(printed(runId(3), {})).rejects.toThrow("there is no run")
    const { out: none, err } = await printed(runId(2), {})
    expect([none, err]).toEqual([[], [expect.stringContaining("Nothing is kept of it")]])
  })

  test("with --follow until the end of the run, each line once", async () => {
    const { out } = await printed(runId(1), { limit: "1", follow: true }, async () => {
      await put(2_503, 2_510, 2)
      await store.cancel([runId(1)], "enough")
    })
    expect(out.map((line) => /line (\d+)/.exec(line)?.[1])).toEqual(
      Array.from({ length: 8 }, (_, n) => String(2_502 + n)),
    )
  })
})

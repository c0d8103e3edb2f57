// `uhrwerk flow rerun | mark | cancel`, beside an engine and without one; and flows in `uhrwerk dev`.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { cli, inProcess, moduleUrl } from "./cli.ts"
import { flowProject } from "./flowProject.ts"

let project: Awaited<ReturnType<typeof flowProject>>
beforeAll(async () => {
  project = await flowProject()
})
afterAll(() => project.close())
const at = (...args: ReadonlyArray<string>) => project.at(...args)

describe("flow rerun", () => {
  test("runs what failed again and keeps the rest; once", async () => {
    const id = await project.dead()
    project.mend(true)
    const { stdout, stderr } = await at("flow", "rerun", id, "--from-failed")
    const again = stdout.trim()
    expect(stderr).toContain("4 of 9 steps start anew, 5 keep state and output. An engine on this store")
    expect(await project.ended(again)).toMatchObject({ state: "succeeded", replayOf: id, output: "3" })
    const shown = (await at("flow", "show", again)).stdout
    expect(shown).toMatch(/\n\+ {2}extract +succeeded +1\/3 +- +\S{36} +kept\n/)
    expect(shown).toContain(`re-run of`)
    const twice = await at("flow", "rerun", id, "--from-failed")
    expect([twice.code, twice.stdout.trim()]).toEqual([0, again])
    expect(twice.stderr).toContain("is done again already")
  })

  test("from named steps and from what was skipped, as JSON for scripts", async () => {
    project.mend(true)
    const id = await project.begin("etl")
    await project.ended(id)
    const rerun = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await at("flow", "rerun", id, ...args, "-o", "json")).stdout)[0]
    const named = await rerun("--from", "publish", "--from", "monday")
    expect(named).toEqual({ runId: expect.any(String), result: "created", reset: 3 })
    const skipped = await rerun("--skipped")
    expect(skipped.reset).toBe(2)
    await Promise.all([named, skipped].map(({ runId }) => project.ended(runId)))
  })

  test("that cannot be says why, and what to do", async () => {
    const id = await project.dead()
    const { id: gate } = await project.waiting()
    const files = await project.stepRun(id, "files")
    project.mend(true)
    const wide = await project.begin("wide")
    await project.ended(wide)
    const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [[id], 2, /--from-failed, --skipped, --from STEP/],
      [[id, "--skipped", "--from", "load"], 2, /one of/],
      [[id, "--from", "x"], 3, /no step "x"\. Name one of its steps: "extract", "check"/],
      [[gate, "--from-failed"], 1, /has not ended\. Wait for its end, or cancel it: uhrwerk flow cancel/],
      [[wide, "--from-failed"], 1, /none failed\. Name the steps/],
      [[files, "--from-failed"], 1, new RegExp(`uhrwerk flow rerun ${id} --from files`)],
      [["x", "--from-failed"], 3, /no flow run "x"/],
    ]
    for (const [args, code, text] of refused) {
      const answer = await at("flow", "rerun", ...args)
      expect([answer.code, answer.stdout, answer.stderr]).toEqual([code, "", expect.stringMatching(text)])
    }
    await at("flow", "cancel", gate)
  })
})

describe("flow mark and flow cancel", () => {
  test("a step that is marked ends, and what needs it reads the output that was given", async () => {
    const { id, step } = await project.waiting()
    expect((await at("run", "list", "--job", "gate", "--limit", "1")).stdout).toMatch(
      /blocked .* waits for 2 steps/,
    )
    expect((await at("run", "explain", id)).stdout).toMatch(
      /^Waits for 2 of 2 steps; under way: "the partner's file"/,
    )
    const shown = await at("flow", "show", id, "--open")
    expect(shown.stdout).toMatch(
      /\n> {2}"the partner's file" +running .* so far +\S{36}\n\. {2}next +blocked .* waits for "the partner's file"\n/,
    )
    const given = ["--reason", "they called", "--step-output", '{"rows":3}']
    const mark = ["flow", "mark", id, "the partner's file", "succeeded", ...given]
    const { code, stdout, stderr } = await at(...mark)
    expect([code, stdout]).toEqual([0, "the partner's file succeeded\n"])
    expect(stderr).toContain("counts as succeeded; what needs it goes on")
    expect(await project.ended(id)).toMatchObject({ state: "succeeded", output: '{"rows":3}' })
    expect(await project.ended(step)).toMatchObject({ state: "cancelled" })
    expect((await at("flow", "show", id)).stdout).toMatch(/the partner's file" .* they called\n/)
    expect(await at("flow", "mark", id, "next", "skipped", "--reason", "late")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`uhrwerk flow rerun ${id} --from next`),
    })
  })

  test("a cancel ends it once, and its running step is told", async () => {
    const { id, step } = await project.waiting()
    const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [[id, "next", "skipped"], 2, /--reason TEXT/],
      [[id, "next", "failed", "--reason", "r"], 2, /"failed" is neither/],
      [[id, "next"], 2, /takes a flow run's id, a step/],
      [[id, "x", "skipped", "--reason", "r"], 3, /no step "x"/],
      [[id, "next", "skipped", "--reason", "r", "--step-output", "1"], 2, /no output/],
      [[id, "next", "succeeded", "--reason", "r", "--step-output", "{"], 2, /not JSON/],
      [[id, "next", "skipped", "--reason", "r".repeat(513)], 2, /513 characters/],
      [["x", "next", "skipped", "--reason", "r"], 3, /no flow run "x"/],
    ]
    for (const [args, code, text] of refused) {
      const answer = await at("flow", "mark", ...args)
      expect([answer.code, answer.stderr]).toEqual([code, expect.stringMatching(text)])
    }
    const { code, stdout } = await at("flow", "cancel", id, "--reason", "not today")
    expect([code, stdout]).toEqual([0, `${id} cancelled\n`])
    expect(await project.ended(step)).toMatchObject({ state: "cancelled" })
    expect((await at("flow", "show", id)).stdout).toMatch(/\nwhy +Cancelled .*: not today\n/)
    const twice = await at("flow", "cancel", id, "-o", "ndjson")
    expect(JSON.parse(twice.stdout)).toEqual({ runId: id, result: "final", state: "cancelled" })
  })
})

describe("dev", () => {
  test("tells of flows, their steps and the items of lists, and where to look when one is dead", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "uhrwerk-flows-dev-"))
    writeFileSync(
      join(cwd, "uhrwerk.config.mjs"),
      `import { after, defineConfig, flow, NonRetryable } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const load = flow("load", { on: after("1h") }, (f) => {
  f.map("files", { over: () => ["a"], run: (name) => name })
  f.step("no", { when: () => false, run: () => 1 })
  f.step("bad", { run: () => { throw new NonRetryable("full") } })
})
export default defineConfig({ jobs: [load] })
`,
    )
    const { code, stdout } = await cli(["dev"], { cwd, until: /--from-failed/ })
    rmSync(cwd, { recursive: true, force: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/\n {2}load: 1h after its end, a flow of 3 steps\n/)
    expect(stdout).toMatch(/> load has 3 steps {2}/)
    expect(stdout).toMatch(/> load\/files has 1 item {2}/)
    expect(stdout).toMatch(/\+ load\/files\[0\] succeeded in .*: "a"\n/)
    expect(stdout).toMatch(/- load\/no is skipped: its condition does not hold\n/)
    expect(stdout).toMatch(/x load\/bad failed for good .*full\n {4}uhrwerk run show \S{36}\n/)
    expect(stdout).toMatch(
      /x load is dead .*"bad"\n {4}uhrwerk flow show (\S{36})\n {4}uhrwerk flow rerun \1 --from-failed/,
    )
  })

  test("--fast-forward shows a flow's starts, and with handlers those of its steps", async () => {
    writeFileSync(
      join(project.bare, "forward.mjs"),
      `import { every, flow } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const hourly = flow("hourly", { on: every("1h") }, (f) => f.step("a", { run: () => 1 }))
const never = flow("never", {}, (f) => f.step("a", { run: () => 1 }))
export default { jobs: [hourly, never] }
`,
    )
    const without = await inProcess(["dev", "--fast-forward", "90m", "forward.mjs"], project.bare)
    expect(without.stdout.match(/^\d.* hourly$/gm)).toHaveLength(2)
    expect(without.stdout).toMatch(/\nhourly +2 .*\nnever +0 .*\n$/)
    const along = await inProcess(
      ["dev", "--fast-forward", "90m", "forward.mjs", "--run-handlers"],
      project.bare,
    )
    expect(along.stdout.match(/^\d.* hourly\/a$/gm)).toHaveLength(2)
    expect(along.stdout).toMatch(/\nhourly +2 .*\nnever +0 .*\nhourly\/a +2 .*\n$/)
  })
})

// Last: afterwards no engine runs.
describe("without an engine", () => {
  test("a flow run waits, has no steps yet, and says both", async () => {
    await project.engine.stop({ grace: 0 })
    const { stdout, stderr } = await at("flow", "run", "gate")
    expect(stderr).toContain("No engine is running on this store; start one: uhrwerk dev")
    const id = stdout.trim()
    const shown = await at("flow", "show", id)
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(
      /\nstate +ready\nwhy +Ready for .*no engine is running.*\nsteps +none yet\n$/,
    )
    expect(shown.stderr).toContain(`uhrwerk run explain ${id}`)
    expect(await at("flow", "mark", id, "next", "skipped", "--reason", "r")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no steps yet"),
    })
    expect(await at("flow", "cancel", id)).toMatchObject({ code: 0, stdout: `${id} cancelled\n` })
    expect(await at("flow", "show", id)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`uhrwerk run show ${id}`),
    })
  })
})

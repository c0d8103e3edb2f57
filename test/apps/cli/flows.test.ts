// `uhrwerk flow ...`, and what the other commands say of flow runs: over a real file, with an engine that runs them.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { flowProject } from "./flowProject.ts"

let project: Awaited<ReturnType<typeof flowProject>>
beforeAll(async () => {
  project = await flowProject()
})
afterAll(() => project.close())
const at = (...args: ReadonlyArray<string>) => project.at(...args)

describe("flow graph", () => {
  test("draws a flow of the config, for people and for programs that draw", async () => {
    const { stdout } = await at("flow", "graph", "etl")
    expect(stdout).toMatch(/^1 {2}extract\n2 {2}check +<- extract {2}\(may fail\)\n/)
    expect(stdout).toMatch(/\n4 {2}tell +<- load, check {2}\(all_done\)\n/)
    expect((await at("flow", "graph", "etl", "--mermaid")).stdout).toMatch(
      /^flowchart TD\n {2}s0\["extract"\]/,
    )
    expect((await at("flow", "graph", "etl", "--dot")).stdout).toMatch(/^digraph flow \{/)
    const [value] = JSON.parse((await at("flow", "graph", "gate", "-o", "json")).stdout) as [object]
    expect(value).toMatchObject({
      flow: "gate",
      run: null,
      steps: [
        { id: "the partner's file", layer: 1, needs: [] },
        { id: "next", layer: 2, needs: ["the partner's file"], rule: "all_success", allowFailure: false },
      ],
    })
  })

  test.each([
    [["nope"], 3, /no flow "nope"\. Name one of its flows: "etl", "inner", "gate", "wide"/],
    [["plain"], 3, /"plain" is a job, and no flow/],
    [["etl", "--dot", "--mermaid"], 2, /not both/],
    [["etl", "--limit", "0"], 2, /--limit 0 is not/],
    [[], 2, /takes one flow's name/],
    [["01890a5d-ac96-774b-bcce-b302099a8057"], 3, /no flow run "0189/],
  ])("%j is refused", async (args, code, text) => {
    expect(await at("flow", "graph", ...args)).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringMatching(text),
    })
  })

  test("of a name needs the config", async () => {
    const { code, stderr } = await project.beside("flow", "graph", "etl")
    expect([code, stderr]).toEqual([2, expect.stringContaining("uhrwerk.config.ts")])
  })
})

describe("flow run", () => {
  test("starts a run with its input, given as text or as a file, and prints its id", async () => {
    project.mend(true)
    writeFileSync(join(project.folder, "day.json"), '{"day": 1}')
    const { stdout, stderr } = await at("flow", "run", "etl", "--input", "@day.json")
    const id = stdout.trim()
    expect(stderr).toBe(`An engine on this store begins within a second. See: uhrwerk flow show ${id}\n`)
    expect(await project.ended(id)).toMatchObject({
      job: "etl",
      input: '{"day":1}',
      state: "succeeded",
      output: "3",
    })
    const [row] = JSON.parse((await at("flow", "run", "etl", "--input", '{"day":2}', "-o", "json")).stdout)
    expect(await project.ended(row.runId)).toMatchObject({ input: '{"day":2}' })
  })

  test.each([
    [["etl", "--input", '{"day":"x"}'], 2, /input of flow "etl": it does not fit the flow's schema/],
    [["etl", "--input", "{day: 1}"], 2, /--input is not JSON: .*@day\.json/],
    [["etl", "--input", "@none.json"], 2, /--input: cannot read "none\.json"/],
    [["nope"], 3, /no flow "nope"/],
  ])("%j is refused", async (args, code, text) => {
    const before = (await project.engine.runs({ job: "etl" })).length
    expect(await at("flow", "run", ...args)).toMatchObject({ code, stderr: expect.stringMatching(text) })
    expect(await project.engine.runs({ job: "etl" })).toHaveLength(before)
  })
})

describe("flow show", () => {
  test("says of every step where it stands and why; lists and flows are summed up", async () => {
    const id = await project.dead()
    const { code, stdout, stderr } = await at("flow", "show", id)
    expect(code).toBe(0)
    const line = (start: string): string | undefined =>
      stdout.split("\n").find((each) => each.startsWith(start))
    expect(line("flow ")).toMatch(/^flow +etl, version [0-9a-f]{24}$/)
    expect(line("steps ")).toMatch(/ 9: 4 succeeded, 2 failed, 2 skipped, 1 upstream_failed$/)
    expect(line("critical path ")).toMatch(/ extract \d/)
    expect(line("+  extract ")).toMatch(/ succeeded +1\/3 +[\d.]+ m?s +[0-9a-f-]{36}$/)
    expect(line("x  check ")).toMatch(/ failed +1\/1 .* Error: no country$/)
    expect(line("+  files ")).toMatch(/ 3 items: 3 succeeded$/)
    expect(line("+  sub ")).toMatch(/ flow inner, 1 steps?: 1 succeeded$/)
    expect(line("x  load ")).toMatch(/ NonRetryable: the disk is full$/)
    expect(line("-  monday ")).toMatch(/ Its condition does not hold$/)
    expect(line("-  monday.report ")).toMatch(/ rule all_success does not hold, as "monday" was skipped$/)
    expect(line("!  publish ")).toMatch(/ - +- +- +not run, as "load" failed$/)
    expect(stderr).toContain(`uhrwerk flow rerun ${id} --from-failed`)
    expect((await at("flow", "graph", id)).stdout).toMatch(
      /\n2 {2}x check .*\n[^]*\n\n\+ succeeded, x failed, /,
    )
  })

  test("is bounded and says how much more there is; --open has what failed first", async () => {
    const id = await project.dead()
    const first = await at("flow", "show", id, "--limit", "2")
    expect(first.stdout).toMatch(/\n\+ {2}extract .*\nx {2}check .*\n\+7 more: /)
    expect(first.stderr).toContain("More: --limit N, at most 20000, or --open")
    const open = await at("flow", "show", id, "--limit", "3", "--open")
    expect(open.stdout).toMatch(/REASON\nx {2}check .*\nx {2}load .*\n! {2}publish .*\n\+6 more: /)
    const [value] = JSON.parse((await at("flow", "show", id, "--limit", "1", "-o", "json")).stdout)
    expect(value).toMatchObject({
      id,
      flow: "etl",
      state: "dead",
      counts: { failed: 2, upstream_failed: 1, skipped: 2, succeeded: 4 },
      criticalPath: { steps: expect.arrayContaining(["files"]), millis: expect.any(Number) },
      steps: [{ id: "extract", state: "succeeded", attempt: 1, reason: null }],
      more: 8,
    })
  })

  test("of a list shows its items", async () => {
    const id = await project.dead()
    const files = await project.stepRun(id, "files")
    const { stdout } = await at("flow", "show", files)
    expect(stdout).toMatch(/\nlist +etl\/files\n/)
    expect(stdout).toMatch(/\nitems +3: 3 succeeded\n[^]*\n\+ {2}2 +succeeded/)
    expect(stdout).not.toContain("critical path")
  })

  test("what has no steps says what it is, and where to look", async () => {
    const id = await project.dead()
    const step = await project.stepRun(id, "load")
    expect(await at("flow", "show", step)).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        new RegExp(`it is step "load" of run "${id}"\\. Look at the whole: uhrwerk flow show ${id}`),
      ),
    })
    expect(await at("flow", "show", "x")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("uhrwerk run list"),
    })
  })

  test("in a narrow terminal no line is longer than it, and nothing is lost", async () => {
    const id = await project.dead()
    const full = (await at("flow", "show", id)).stdout
    const { isTTY, columns } = process.stdout
    Object.assign(process.stdout, { isTTY: true, columns: 60 })
    vi.stubEnv("NO_COLOR", "1")
    try {
      const { stdout } = await at("flow", "show", id)
      const table = stdout.slice(stdout.indexOf("STEP") - 3).split("\n")
      expect(table.filter((line) => line.length > 60)).toEqual([
        expect.stringMatching(/^ {6}rule all_success does not hold, as "monday" was skipped$/),
      ])
      const words = (text: string) =>
        text
          .slice(text.indexOf("STEP"))
          .split(/\s+/)
          .filter((word) => word !== "-")
      expect(words(stdout)).toEqual(words(full))
    } finally {
      Object.assign(process.stdout, { isTTY, columns })
      vi.unstubAllEnvs()
    }
  })
})

describe("other commands", () => {
  test("run show and run explain know flow runs and steps", async () => {
    const id = await project.dead()
    const shown = await at("run", "show", id)
    expect(shown.stdout).toMatch(/\nsteps +9: /)
    expect(shown.stdout).toMatch(/\n"load" failed: NonRetryable: the disk is full \(run [0-9a-f-]{36}\)\n/)
    expect(shown.stderr).toContain(`Its steps: uhrwerk flow show ${id}`)
    const step = await project.stepRun(id, "load")
    const part = await at("run", "show", step)
    expect(part.stdout).toContain(`run ${id}, as its step "load"`)
    expect(part.stdout).toMatch(/\nwhy +Step "load" of run "etl": dead /)
    expect((await at("run", "explain", step)).stderr).toContain(`uhrwerk run explain ${id}`)
  })

  test("dead list, show and replay say which steps failed and what keeps the good ones", async () => {
    const id = await project.dead()
    const listed = await at("dead", "list", "--limit", "1")
    expect(listed.stdout).toMatch(/StepsFailed: 2 of 9 steps failed: "load", "publish"/)
    expect(listed.stderr).toContain(`uhrwerk flow rerun ${id} --from-failed`)
    expect((await at("dead", "show", id)).stdout).toContain('"load" failed: NonRetryable')
    const { stdout, stderr } = await at("dead", "replay", id)
    expect(stderr).toContain('"check", "load" failed; all 9 steps run again, also the 4 that had succeeded')
    expect(stderr).toContain("in place of a replay: uhrwerk flow rerun RUN --from-failed")
    await project.ended(stdout.trim())
  })

  test("flow list and job list show flows and not their steps, with the config and without", async () => {
    const { id } = await project.waiting()
    await at("flow", "cancel", id)
    const { stdout } = await at("flow", "list")
    expect(stdout).toMatch(
      /^FLOW +STEPS +STARTS +NEXT +OPEN +SUCCEEDED +DEAD +OTHER +LAST RUN\netl +9 +when sent/,
    )
    expect(stdout).toMatch(/\ninner +1 .* -\n/)
    expect(stdout).toMatch(/\nwide +8 /)
    const other = await project.beside("flow", "list")
    expect(other.stdout.match(/^\w+ +\d/gm)).toEqual(stdout.match(/^(?!wide)\w+ +\d/gm))
    const jobs = await at("job", "list")
    expect(jobs.stdout.match(/^(?!JOB)\S+( \(flow\))?/gm)).toEqual([
      "etl (flow)",
      "gate (flow)",
      "inner (flow)",
      "plain",
      "wide (flow)",
    ])
    expect(jobs.stderr).toMatch(/^\d+ more are steps of flows: uhrwerk flow list\n$/)
  })
})

// `uhrwerk schedule skip | run | backfill`, and `occurrence list`: done on the store, whether an engine runs or not.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-operate-"))
const bare = mkdtempSync(join(tmpdir(), "uhrwerk-operate-bare-"))
afterAll(() => [folder, bare].forEach((each) => rmSync(each, { recursive: true, force: true })))
const at = (...args: ReadonlyArray<string>) => inProcess(args, folder)
const file = join(folder, "uhrwerk.db")
const nextAt = Date.UTC(2099, 0, 1)

/** The runs of a state, oldest first. */
const runs = async (state: Run["state"]): Promise<ReadonlyArray<Run>> => {
  const store = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  const found = await store.list({ state, limit: 200 })
  await store.close()
  return found.toReversed()
}

beforeAll(async () => {
  writeFileSync(
    join(folder, "uhrwerk.config.mjs"),
    `import { cron, defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({ jobs: [job("report", { priority: 7, on: cron("0 9 * * *", { tz: "Europe/Berlin" }), run: () => {} })] })
`,
  )
  const store = sqliteDriver({ file, now: () => Date.now() })
  const common = {
    input: '{"for":"all"}',
    overlap: "skip",
    fromConfig: true,
    zoneData: null,
    createdAt: 0,
  } as const
  const trigger = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" } as const
  const place = { cursor: Date.UTC(2026, 0, 1), nextAt }
  await store.putSchedules([
    { ...common, ...place, id: "report", job: "report", trigger },
    { ...common, ...place, id: "gone", job: "gone", trigger },
    { ...common, ...place, id: "over", job: "report", trigger: { kind: "at", at: 0 }, nextAt: null },
  ])
  await store.close()
})

describe("schedule skip", () => {
  test("leaves out the next instant, and says so in the ledger", async () => {
    expect(await at("schedule", "skip", "report")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^report leaves out 20(98|99)-/),
    })
    expect((await at("occurrence", "list", "--schedule", "report")).stdout).toMatch(
      /AT +SCHEDULE +BECAME +LATE +BY\n.* report +skipped .* cron 0 9 \* \* \* Europe\/Berlin/,
    )
    expect(await at("schedule", "skip", "over")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no next instant"),
    })
    expect(await at("schedule", "skip", "nobody")).toMatchObject({ code: 3 })
  })
})

describe("schedule run", () => {
  test("starts a run of the config's job; while it lives, the overlap refuses another", async () => {
    const { code, stdout } = await at("schedule", "run", "report")
    expect(code).toBe(0)
    const [run] = await runs("ready")
    expect(run).toMatchObject({ id: stdout.trim(), job: "report", priority: 7, input: '{"for":"all"}' })
    expect(await at("schedule", "run", "report")).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has not ended, .*uhrwerk schedule show report/),
    })
  })

  test("needs the config, and the job in it", async () => {
    expect(await inProcess(["schedule", "run", "report", "--storage", `sqlite:${file}`], bare)).toMatchObject(
      {
        code: 2,
        stderr: expect.stringContaining("uhrwerk.config.ts"),
      },
    )
    const gone = await at("schedule", "run", "gone")
    expect(gone.code).not.toBe(0)
    expect(gone.stderr).toContain('no job named "gone" is defined')
  })
})

describe("schedule backfill", () => {
  const range = ["--from", "2026-03-27T00:00:00Z", "--to", "2026-03-30T23:00:00Z"]
  const nine = ["2026-03-27T08", "2026-03-28T08", "2026-03-29T07", "2026-03-30T07"]

  test("first says what it would do, then does it once", async () => {
    const dry = await at("schedule", "backfill", "report", ...range, "--dry-run", "-o", "json")
    expect(dry.stderr).toContain("Would start 4 runs; 0 instants have their run already.")
    const planned = JSON.parse(dry.stdout) as ReadonlyArray<{ at: number; before: null; result: string }>
    expect(planned.map((row) => new Date(row.at).toISOString().slice(0, 13))).toEqual(nine)
    expect(planned[0]).toMatchObject({ before: null, result: "planned" })
    const before = (await runs("ready")).length

    const wet = await at("schedule", "backfill", "report", ...range)
    expect(wet.code).toBe(0)
    expect(wet.stderr).toContain("Started 4 runs; 0 instants have their run already.")
    expect(wet.stdout.match(/never decided +created/g)).toHaveLength(4)
    const made = (await runs("ready")).slice(before)
    expect(made.map(({ nominalAt }) => new Date(nominalAt ?? 0).toISOString().slice(0, 13))).toEqual(nine)
    expect(made.map(({ priority }) => priority)).toEqual([6, 6, 6, 6])

    const again = await at("schedule", "backfill", "report", ...range)
    expect(again.stderr).toContain("Started 0 runs; 4 instants have their run already.")
    expect((await runs("ready")).length).toBe(before + 4)
  })

  test("with a limit says that there is more, newest first if asked", async () => {
    const part = await at(
      "schedule",
      "backfill",
      "report",
      "--from",
      "2026-02-01T00:00:00Z",
      "--to",
      "2026-02-11T00:00:00Z",
      "--max",
      "2",
      "--order",
      "newest",
      "--dry-run",
    )
    expect(part.stderr).toContain("Would start 2 runs; 0 instants have their run already. There are more")
    expect(part.stdout).toMatch(/2026-02-10 [^]*2026-02-09 /)
  })

  test.each([
    [["report"], 2, /needs --from TIME/],
    [["report", "--from", "yesterday"], 2, /--from/],
    [["report", "--from", "2099-01-01T00:00:00Z", "--to", "2099-01-02T00:00:00Z"], 2, /to/],
    [["report", "--from", "2026-01-01T00:00:00Z", "--max", "0"], 2, /--max 0 is not a whole number/],
    [
      ["report", "--from", "2026-01-01T00:00:00Z", "--order", "any"],
      2,
      /--order any is none of oldest, newest/,
    ],
    [["nobody", "--from", "2026-01-01T00:00:00Z"], 3, /no schedule "nobody"/],
  ])("%j is refused", async (args, code, text) => {
    const ended = await at("schedule", "backfill", ...args)
    expect(ended.stderr).toMatch(text)
    expect(ended.code).toBe(code)
  })
})

// `uhrwerk doctor`: exit codes for deployments, lines that fit for people, JSON for programs.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { failing, newRun } from "../../../core/contract/Fixtures.ts"
import type { Finding } from "../../../core/ports/Examination.ts"
import { examineStore } from "../../../apps/sdk/checkup.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-doctor-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const at = (...args: ReadonlyArray<string>) => inProcess(["doctor", ...args], folder)
const findingsOf = (stdout: string) => JSON.parse(stdout) as ReadonlyArray<Finding>

const trigger = { kind: "cron", expression: "0 9 * * *", zone: "Europe/Berlin" } as const
const schedule = {
  job: "report",
  input: null,
  overlap: "skip",
  fromConfig: true,
  trigger,
  cursor: 0,
  createdAt: 0,
} as const
const day = 86_400_000

test("without a storage that is there: code 0, and the next step", async () => {
  const { code, stdout, stderr } = await at("--storage", "sqlite:none.db")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toMatch(/^Storage none\.db\n\nok {4}runtime {3}(node|bun|deno) /)
  expect(stdout).toMatch(
    / -> Start an engine, which makes it: uhrwerk dev\n\n3 things looked at: an engine can work; 1 to know about\.\n$/,
  )
})

test("what keeps an engine from working: code 1", async () => {
  writeFileSync(join(folder, "text.db"), "no database ".repeat(500))
  const { code, stdout } = await at("--storage", "sqlite:text.db")
  expect(code).toBe(1)
  expect(stdout).toMatch(/^FAIL {2}file .*not a usable SQLite database/m)
  expect(stdout).toMatch(/: 1 must be mended\.\n$/)
})

test("a config says the storage, --json is for programs, and no line of the table is wider than 80", async () => {
  writeFileSync(
    join(folder, "my.config.mjs"),
    `import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({ jobs: [job("report", { run: () => {} })], storage: "sqlite:mine.db" })
`,
  )
  const store = sqliteDriver({ file: join(folder, "mine.db"), now: () => Date.now() })
  await store.enqueue([newRun(1, { attemptMax: 1 })])
  await store.join({ id: "n", host: "here", pid: 1, runtime: "test" }, 60_000)
  const [run] = await store.claim({
    node: "n",
    queues: ["default"],
    jobs: [newRun(1).job],
    limit: 1,
    acknowledged: true,
  })
  if (run === undefined) throw new Error("Nothing was claimed")
  await store.settle([failing(run)])
  await store.leave("n")
  await store.putSchedules([
    { ...schedule, id: "overdue", nextAt: Date.now() - day, zoneData: null },
    { ...schedule, id: "other", nextAt: Date.now() + day, zoneData: "1999a 0badc0de 3600" },
  ])
  await store.close()
  const { code, stdout } = await at("my.config.mjs", "--json")
  expect(code).toBe(0)
  const of = Object.fromEntries(findingsOf(stdout).map((each) => [each.what, each]))
  expect(of["schedules"]).toMatchObject({
    state: "warn",
    found: "2 schedules, 1 overdue: overdue, for 24 h, and no node is live",
  })
  expect(of["zone data"]).toMatchObject({
    state: "warn",
    found: expect.stringContaining("planned with 1999a; they disagree about other"),
  })
  expect(of["dead letters"]).toMatchObject({
    state: "warn",
    mend: expect.stringContaining("uhrwerk dead list"),
  })
  expect(of["clock"]).toMatchObject({ state: "ok" })
  const table = (await at("my.config.mjs")).stdout.split("\n")
  expect(table.length).toBeGreaterThan(15)
  expect(Math.max(...table.map(({ length }) => length))).toBeLessThanOrEqual(80)
  expect(findingsOf((await at("my.config.mjs", "-o", "json")).stdout)).toHaveLength(findingsOf(stdout).length)
})

test("a clock that differs from the store's, and nodes that do not plan, are told", async () => {
  const path = join(folder, "ahead.db")
  const ahead = () => Date.now() + 60_000
  const store = sqliteDriver({ file: path, now: ahead })
  await store.join({ id: "n", host: "here", pid: 1, runtime: "test" }, 60_000)
  await store.putSchedules([{ ...schedule, id: "stuck", nextAt: Date.now() - day, zoneData: null }])
  const shared = { ...store, capabilities: { ...store.capabilities, name: "shared" } }
  const findings = await examineStore(shared)
  const of = Object.fromEntries(findings.map((each) => [each.what, each]))
  expect(of["clock"]).toMatchObject({
    state: "warn",
    found: expect.stringMatching(/^this machine's is (59|60)\.\d s behind the store's/),
  })
  expect(of["schedules"]).toMatchObject({
    state: "fail",
    mend: expect.stringContaining("schedule show stuck"),
  })
  await store.close()
})

test("what is not understood: code 2", async () => {
  expect(await at("a.config.ts", "b.config.ts")).toMatchObject({ code: 2 })
  expect(await at("my.config.mjs", "--storage", "sqlite:x.db")).toMatchObject({ code: 2 })
})

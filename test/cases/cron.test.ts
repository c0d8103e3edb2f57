// The shared cron cases, all of them, here and in processes of other zones; and the script that runs them.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { checksOf, type CronCases } from "./checkCases.ts"
import { runScript } from "./runScript.ts"

const file = fileURLToPath(new URL("../../../shared/cases/cron-cases.json", import.meta.url))
const present = existsSync(file)
const cases: CronCases = present ? (JSON.parse(readFileSync(file, "utf8")) as CronCases) : {}
if (!present) console.warn(`The shared cron cases are skipped: ${file} does not exist`)

describe.skipIf(!present)("the shared cron cases", () => {
  const checks = checksOf(cases)

  test("all kinds are there, and none is left out", () => {
    const { next = [], never = [], invalid = [], perf = [] } = cases
    for (const kind of [next, never, invalid, perf]) expect(kind.length).toBeGreaterThan(0)
    expect(checks).toHaveLength(next.length + never.length + invalid.length + perf.length)
  })

  test.each(checks)("$id: $title", ({ run }) => {
    expect(run()).toBeUndefined()
  })

  test.each(["UTC", "Australia/Sydney", "America/Sao_Paulo", "Pacific/Apia"])(
    "have the same answers in a process of the zone %s",
    async (zone) => {
      const { lines, code } = await runScript([], { TZ: zone })
      expect(lines.at(-2)).toContain(`process zone ${zone}`)
      // Beside them are cases of other files.
      const [, passed, failed] = /^(\d+) passed, (\d+) failed$/.exec(lines.at(-1) ?? "") ?? []
      expect(Number(passed)).toBeGreaterThanOrEqual(checks.length)
      expect(failed).toBe("0")
      expect(code).toBe(0)
    },
    60_000,
  )
})

describe("the script", () => {
  const folder = mkdtempSync(join(tmpdir(), "cases-"))
  const run = async (cases: unknown): Promise<{ lines: string[]; code: number }> => {
    writeFileSync(join(folder, "cron-cases.json"), JSON.stringify(cases))
    const answer = await runScript([folder])
    rmSync(join(folder, "cron-cases.json"))
    return answer
  }
  const right = {
    id: "A",
    title: "daily",
    expr: "0 0 * * *",
    tz: "Europe/Berlin",
    from: "2026-01-01T00:00:00Z",
    count: 1,
    expected: ["2026-01-01T23:00:00.000Z"],
  }

  test("tells each failure with what was expected and what came, and counts cases of other process zones", async () => {
    const wrong = { ...right, id: "B", expected: ["2026-01-02T00:00:00.000Z"], processTz: "Asia/Tokyo" }
    const accepted = {
      id: "C",
      expr: "0 0 * * *",
      tz: "UTC",
      reason: "none",
      why: "nothing is wrong with it",
    }
    const { lines, code } = await run({ next: [right, wrong], invalid: [accepted] })
    expect(lines.join("\n")).toContain(
      [
        "FAILED B daily (cron-cases.json)",
        "  occurrences",
        '  expected ["2026-01-02T00:00:00.000Z"]',
        '  got      ["2026-01-01T23:00:00.000Z"]',
      ].join("\n"),
    )
    expect(lines.join("\n")).toContain("FAILED C nothing is wrong with it")
    expect(lines.at(-1)).toBe("1 passed, 2 failed")
    expect(code).toBe(1)
  }, 60_000)

  test("refuses a folder without cases and words that it does not know", async () => {
    expect((await runScript([folder])).code).toBe(2)
    expect((await runScript(["--runtime", "rhino"])).code).toBe(2)
    expect((await runScript(["--what"])).code).toBe(2)
  }, 60_000)
})

// `uhrwerk dev --fast-forward`: what a config will start, told without a store, without a handler and at once.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { inProcess, moduleUrl } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-forward-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeAll(() => {
  writeFileSync(
    join(folder, "a.mjs"),
    `import { cron, every, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const ran = () => {
  globalThis.forwardRan = (globalThis.forwardRan ?? 0) + 1
  if (globalThis.forwardRan === 1) throw new Error("once")
}
const nightly = job("nightly", { on: cron("30 2 * * *", { tz: "Europe/Berlin" }), run: ran, retry: { delay: "1s", jitter: "none" } })
const sync = job("sync", { on: every("6h"), run: ran, needs: {} })
const idle = job("idle", { run: ran })
export default { jobs: [nightly, sync, idle], storage: "sqlite:never.db" }
`,
  )
})
const forward = async (...args: ReadonlyArray<string>) => {
  vi.useFakeTimers({ now: Date.UTC(2027, 2, 27, 12), toFake: ["Date"] })
  try {
    return await inProcess(["dev", "--fast-forward", ...args], folder)
  } finally {
    vi.useRealTimers()
  }
}

describe("dev --fast-forward", { timeout: 60_000 }, () => {
  test("prints each start in the schedule's zone, with clock changes, and a summary", async () => {
    const { code, stdout, stderr } = await forward("2d", "a.mjs")
    expect(code).toBe(0)
    expect(stderr).toMatch(/on a virtual clock\. No handler is run/)
    const lines = stdout.split("\n")
    expect(lines).toContain(
      "Sun 2027-03-28 03:00:00 +02:00 Europe/Berlin  nightly  02:30 does not exist on this day: it runs at 03:00",
    )
    expect(lines).toContain("Mon 2027-03-29 02:30:00 +02:00 Europe/Berlin  nightly")
    expect(lines.filter((line) => /^2027\S+ \S+ \S+ +sync$/.test(line))).toHaveLength(9)
    expect(stdout).toMatch(
      /\n\nJOB +STARTS +FIRST +LAST +SKIPPED\nnightly +2 .*\nsync +9 .*\nidle +0 +- +- +-\n$/,
    )
  })

  test("writes nothing and runs no handler", async () => {
    expect(globalThis).not.toHaveProperty("forwardRan")
    expect(readdirSync(folder)).toEqual(["a.mjs"])
  })

  test("is bounded, says how much more there is, and is JSON for scripts", async () => {
    const table = await forward("30d", "a.mjs", "--limit", "3")
    expect(table.stdout.split("\n").slice(3, 5)).toEqual(["+148 more", ""])
    const json = await forward("30d", "a.mjs", "--limit", "3", "-o", "json")
    expect(json.stderr).toMatch(/\n\+148 more/)
    expect(JSON.parse(json.stdout)).toMatchObject([
      { at: "2027-03-27T12:00:00Z", job: "sync", attempt: 1, notes: [] },
      { at: "2027-03-27T18:00:00Z" },
      { at: "2027-03-28T00:00:00Z" },
    ])
  })

  test("runs handlers when it is told to, and shows their retries", async () => {
    const { stdout, stderr } = await forward("1d", "a.mjs", "--run-handlers")
    expect(stderr).toMatch(/Handlers are run/)
    expect(stdout).toMatch(/sync, attempt 2\n/)
    expect(globalThis).toHaveProperty("forwardRan", 7)
  })

  test("runs of jobs that are left to workers end at once, with handlers or without", async () => {
    const code = `import { every, job, onWorkers } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default { jobs: [job("away", { on: every("1h"), run: onWorkers({ broadcast: true }) })] }
`
    writeFileSync(join(folder, "away.mjs"), code)
    for (const more of [[], ["--run-handlers"]])
      expect((await forward("1d", "away.mjs", ...more)).stdout).toMatch(/\naway +25 .* -\n$/)
  })

  test.each([
    [["soon", "a.mjs"], /--fast-forward: "soon" is not/],
    [["1d", "a.mjs", "--limit", "0"], /--limit 0 is not/],
    [["1d", "a.mjs", "-o", "xml"], /--output xml/],
    [["1d", "none.mjs"], /no config file "none.mjs"/],
  ])("refuses %j with 2", async (args, message) => {
    expect(await forward(...args)).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(message),
    })
  })

  test("--run-handlers alone is refused", async () => {
    expect(await inProcess(["dev", "a.mjs", "--run-handlers"], folder)).toMatchObject({ code: 2 })
  })
})

// `uhrwerk cron explain | next | check`: for people and for scripts, without a store and without a config.
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-cron-"))
afterAll(() => {
  expect(readdirSync(folder)).toEqual([])
  rmSync(folder, { recursive: true, force: true })
})
const at = (...args: ReadonlyArray<string>) => inProcess(["cron", ...args], folder)

describe("cron check", () => {
  test("says what a right expression means, with 0", async () => {
    expect(await at("check", "0 9 * * 1-5", "--tz", "Europe/Berlin")).toEqual({
      code: 0,
      stdout: "Right: at 09:00 on Monday to Friday, Europe/Berlin time\n",
      stderr: "",
    })
  })

  test.each([
    ["0 25 * * *", '  0 25 * * *\n    ^\ncron.hour: "25" is not between 0 and 23\nWrite 0-23\n'],
    ["0 9 * *", "  0 9 * *\n         ^\ncron: a cron text has 5, 6 or 7 fields, this one has 4\n"],
    ["0\t9\u001b * * *", "  0 9  * * *\n     ^\n"],
    ["0 0 30 2 *", "cron: it never runs: no date up to the end of 2199 matches\n"],
    ["0 0 0 1 1 * 2020", "cron: it does not run again: its last time was Wed 2020-01-01 00:00:00 +00:00\n"],
  ])("marks the place of the fault in %j, with 2", async (text, stderr) => {
    const ended = await at("check", text)
    expect(ended).toMatchObject({ code: 2, stdout: "" })
    expect(ended.stderr).toContain(stderr)
  })

  test("shows a part of a long text", async () => {
    const { stderr } = await at("check", `0,${"1,".repeat(200)}99 * * * *`)
    const [text = "", mark = ""] = stderr.split("\n")
    expect(text.length).toBeLessThan(110)
    expect(text[mark.indexOf("^")]).toBe("9")
  })

  test("names a zone that was meant, and is JSON for scripts", async () => {
    const zone = await at("check", "0 9 * * *", "--tz", "Europe/Berln")
    expect(zone).toMatchObject({ code: 2, stderr: expect.stringContaining('Write "Europe/Berlin"') })
    const json = await at("check", "0 25 * * *", "-o", "json")
    expect(json.code).toBe(2)
    expect(JSON.parse(json.stdout)).toMatchObject([{ ok: false, field: "cron.hour", position: 2 }])
  })

  test("takes one expression, in quotes", async () => {
    expect(await at("check")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("takes one expression"),
    })
    expect(await at("check", "0", "9")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("in quotes"),
    })
  })
})

describe("cron next", () => {
  const args = ["next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2027-03-26T12:00:00Z", "--n", "2"]
  test("is a table of local time, UTC, distance and notes", async () => {
    const { code, stdout } = await at(...args)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^LOCAL +UTC +RELATIVE +NOTE\nSat 2027-03-27 02:30:00 \+01:00 Europe\/Berlin +2027-03-27T01:30:00Z +\S.*\nSun 2027-03-28 03:00:00 \+02:00 Europe\/Berlin.*02:30 does not exist on this day: it runs at 03:00\n$/,
    )
  })

  test("is JSON for scripts", async () => {
    const { stdout } = await at(...args, "-o", "ndjson")
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      {
        at: "2027-03-27T01:30:00Z",
        local: "Sat 2027-03-27 02:30:00 +01:00",
        zone: "Europe/Berlin",
        notes: [],
      },
      expect.objectContaining({ notes: ["02:30 does not exist on this day: it runs at 03:00"] }),
    ])
  })

  test("refuses a count and an instant that are none, and says when nothing comes", async () => {
    expect(await at("next", "* * * * *", "--n", "0")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--n 0 is not a whole number from 1 to 1000"),
    })
    expect(await at("next", "* * * * *", "--from", "tomorrow")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--from: "tomorrow" is not an instant'),
    })
    expect(await at("next", "0 0 30 2 *")).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("it never runs"),
    })
  })
})

describe("cron explain", () => {
  test("says it in words, field by field, with the next instant and clock change", async () => {
    const { code, stdout } = await at("explain", "30 2 * * *", "--tz", "Europe/Berlin")
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^at 02:30 every day, Europe\/Berlin time\n\nminute +30 +30\nhour +2 +2\nday +\* +every day\n[^]*\nnext +\w{3} \d{4}-[^]*\(in \d[^]*\nclocks +change next on \w{3} [^]*\nnote +[^]*02:30 (does not exist|comes twice)/,
    )
  })

  test("keeps each field beside its own text, where seconds are written or not", async () => {
    expect((await at("explain", "0 5 * * * *")).stdout).toMatch(/minute +5 +5\nhour +\* +every hour/)
    expect((await at("explain", "1 5 * * * *")).stdout).toMatch(/second +1 +1\nminute +5 +5/)
    expect((await at("explain", "@daily")).stdout).toMatch(/minute +0\nhour +0\n/)
  })

  test("says that it never runs, and is JSON for scripts", async () => {
    expect((await at("explain", "0 0 30 2 *")).stdout).toMatch(/next +never\n[^]*note +it never runs/)
    const { stdout } = await at("explain", "0 9 * * *", "-o", "json")
    expect(JSON.parse(stdout)).toMatchObject([
      { zone: "UTC", words: "at 09:00 every day, UTC", fields: { hour: "9" }, clocks: null, notes: [] },
    ])
  })
})

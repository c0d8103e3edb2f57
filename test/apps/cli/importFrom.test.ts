// `import-from crontab`: what is read of a crontab, the config that comes of it, which runs, and what is said of the rest.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { readCrontab } from "../../../apps/cli/crontab.ts"
import { configText, importedJobs } from "../../../apps/cli/crontabConfig.ts"
import type { Config } from "../../../apps/sdk/mod.ts"
import { testEngine } from "../../../apps/sdk/testing.ts"
import { inProcess } from "./cli.ts"

// Below the repository, so that the configs find the package.
const folder = mkdtempSync(fileURLToPath(new URL("../../.crontab-", import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const read = (...lines: ReadonlyArray<string>) => readCrontab(lines.join("\n"), false)

describe("readCrontab", () => {
  test("settings hold for the lines below them, and those for cron itself are told apart", () => {
    const { jobs, left } = read(
      "# a comment",
      "0 1 * * * first",
      'PATH = "/usr/local/bin:/bin"',
      "'A B'= c d ",
      "MAILTO=ops@example.org",
      "CRON_TZ=Europe/Berlin",
      "0  2\t* * *   second  --flag=1",
      'MAILTO=""',
      "@weekly third",
    )
    expect(left).toEqual([])
    expect(jobs.map(({ env, zone, mailTo, line }) => [line, env, zone, mailTo])).toEqual([
      [2, {}, null, null],
      [7, { PATH: "/usr/local/bin:/bin", "A B": "c d" }, "Europe/Berlin", "ops@example.org"],
      [9, { PATH: "/usr/local/bin:/bin", "A B": "c d" }, "Europe/Berlin", ""],
    ])
    expect(jobs.map(({ expression, command }) => [expression, command])).toEqual([
      ["0 1 * * *", "first"],
      ["0 2 * * *", "second  --flag=1"],
      ["@weekly", "third"],
    ])
  })

  test.each([
    ["mail x%Hello%%Bye", "mail x", "Hello\n\nBye"],
    ["date +\\%F", "date +%F", null],
    ["a\\%b%c\\%d", "a%b", "c%d"],
    ["cat%", "cat", ""],
    ["echo \\n", "echo \\n", null],
  ])("%s: a percent sign ends the command, and begins and breaks its input", (text, command, input) => {
    expect(read(`* * * * * ${text}`).jobs).toMatchObject([{ command, input }])
  })

  test("the system's form has a user", () => {
    const { jobs, left } = readCrontab("17 * * * * root run-parts /etc/cron.hourly\n@daily www-data", true)
    expect(jobs).toMatchObject([{ user: "root", command: "run-parts /etc/cron.hourly" }])
    expect(left).toMatchObject([{ line: 2, reason: expect.stringContaining("no user and command") }])
  })

  test.each([
    ["@reboot start", "@reboot names no time"],
    ["0~30 * * * * x", "extensions"],
    ["-*/5 * * * * x", "extensions"],
    ["61 * * * * x", '"61"'],
    ["* * * * *", "no command"],
    ["0 0 30 2 * x", "never"],
    ["nonsense", "no times"],
  ])("%s is left, and why is said", (line, reason) => {
    const { jobs, left } = read("0 0 * * * good", line)
    expect(jobs).toHaveLength(1)
    expect(left).toMatchObject([{ line: 2, text: line, reason: expect.stringContaining(reason) }])
  })

  test("names are of the program, and none comes twice", () => {
    const { jobs } = {
      jobs: importedJobs(
        read(
          "* * * * * /opt/backup.sh --all",
          "* * * * * cd /srv/app && nice -n 5 ./sync >/dev/null 2>&1",
          "* * * * * X=1 /usr/bin/backup.sh",
          "* * * * * [ -x /bin/a ] && /bin/a",
          "* * * * * $((",
        ),
      ),
    }
    expect(jobs.map(({ name }) => name)).toEqual(["backup.sh", "sync", "backup.sh-2", "a", "job"])
  })
})

test("the config runs what cron ran: shell, folder, environment, input", async () => {
  const lines = [
    `HOME=${folder}`,
    "SHELL=/bin/sh",
    'GREETING="hello $there"',
    '* * * * * echo "$GREETING $0" > out1; cat >> out1; pwd >> out1',
    "* * * * * cat > out2%one \\% 'two'%END%$HOME",
  ]
  const text = configText("a crontab", importedJobs(read(...lines)), "UTC")
  const file = join(folder, "run.config.ts")
  writeFileSync(file, text)
  const { default: config } = (await import(file)) as { readonly default: Config }
  const engine = await testEngine({ ...config, storage: "memory:" }, { startAt: "2026-03-01T10:00:30Z" })
  await engine.advance("1m")
  const deadline = performance.now() + 10_000
  const ended = async (): Promise<number> => (await engine.runs({ state: "succeeded" })).length
  while ((await ended()) < 2 && performance.now() < deadline) await engine.advance("1ms")
  expect(await engine.runs({ state: "dead" })).toEqual([])
  expect(await ended()).toBe(2)
  await engine.stop()
  expect(readFileSync(join(folder, "out1"), "utf8")).toBe(`hello $there /bin/sh\n${folder}\n`)
  expect(readFileSync(join(folder, "out2"), "utf8")).toBe("one % 'two'\nEND\n$HOME\n")
})

describe("the command", () => {
  test("writes a config, says what was not taken, and ends with 8 then", async () => {
    writeFileSync(join(folder, "tab"), "MAILTO=ops@example.org\n0 9 * * * /opt/report\n@reboot x\n")
    const { code, stderr } = await inProcess(
      ["import-from", "crontab", "tab", "--tz", "Europe/Berlin", "--out", "made.config.ts"],
      folder,
    )
    expect(code).toBe(8)
    expect(stderr).toContain("1 line is a job now, with times in Europe/Berlin")
    expect(stderr).toContain("line 2 (report): cron mailed its output to ops@example.org")
    expect(stderr).toContain("line 3 was not taken: @reboot")
    const { default: config } = (await import(join(folder, "made.config.ts"))) as { readonly default: Config }
    expect(config.jobs.map(({ name }) => name)).toEqual(["report"])
    const again = await inProcess(["import-from", "crontab", "tab", "--out", "made.config.ts"], folder)
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("already")])
  })

  test("a crontab without a job makes no file", async () => {
    writeFileSync(join(folder, "empty"), "# nothing\n")
    const { code } = await inProcess(["import-from", "crontab", "empty", "--out", "none.config.ts"], folder)
    expect([code, existsSync(join(folder, "none.config.ts"))]).toEqual([1, false])
  })

  test("a file that is not there, and none at all", async () => {
    expect((await inProcess(["import-from", "crontab", "absent"], folder)).code).toBe(2)
    expect((await inProcess(["import-from", "crontab"], folder)).code).toBe(2)
  })
})

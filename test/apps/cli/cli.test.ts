// The command line as its users meet it: exit codes, what goes to which stream, and what happens when the config,
// the store or the command itself is wrong.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, newRuns, runId } from "../../../core/contract/Fixtures.ts"
import { cli, inProcess, moduleUrl } from "./cli.ts"

// Processes start slowly on a busy machine.
const limit = 60_000

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-cli-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)

const escape = "\u001b[31mred\u009b1m\u0007"
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

beforeAll(async () => {
  const store = sqliteDriver({ file: join(folder, "uhrwerk.db"), now: () => Date.now() })
  await store.enqueue(newRuns(300))
  await store.enqueue([
    newRun(301, { job: "odd", input: JSON.stringify(`${escape}\n`) }),
    newRun(302, { job: `odd ${escape}`, delayMillis: 1e9 }),
  ])
  await store.join({ id: "n", host: "h", pid: 1, runtime: "r" }, 60_000)
  await store.claim({ node: "n", queues: ["default"], jobs: ["odd"], limit: 1, acknowledged: true })
  await store.settle([
    {
      id: runId(301),
      token: 1,
      kind: "failed",
      error: { name: "Error", message: `broken ${escape}`, kind: "error" },
      retryInMillis: null,
    },
  ])
  await store.close()
  mkdirSync(join(folder, "empty"))
})

const at = (...args: ReadonlyArray<string>) => inProcess(args, folder)

describe("exit codes", { timeout: limit }, () => {
  const wrong: ReadonlyArray<[string, ReadonlyArray<string>, number, RegExp]> = [
    ["an unknown command", ["frob"], 2, /"frob" is no command\nTry `uhrwerk --help`/],
    ["half a command", ["run"], 2, /"run" is no command/],
    ["an unknown flag", ["run", "list", "--frob"], 2, /Unknown option '--frob'/],
    [
      "a config for a store command",
      ["run", "list", "--config", "b.ts"],
      2,
      /only\. This command reads .* --storage/,
    ],
    [
      "a config for what would change a store",
      ["token", "revoke", "m", "--config", "b.ts"],
      2,
      /--config is for/,
    ],
    ["a config for serve", ["serve", "--config", "b.ts"], 2, /without it: uhrwerk serve b\.ts/],
    ["a flag without its value", ["run", "list", "--storage"], 2, /--storage/],
    [
      "an unknown output format",
      ["run", "list", "-o", "xml"],
      2,
      /--output xml is none of table, json, ndjson/,
    ],
    ["an unknown state", ["run", "list", "--state", "lost"], 2, /--state lost is none of blocked, /],
    ["a limit of 0", ["run", "list", "--limit", "0"], 2, /--limit 0 is not a whole number from 1 to 200/],
    ["a limit of 201", ["run", "list", "--limit", "201"], 2, /--limit 201 is not/],
    ["a limit of x", ["dead", "list", "--limit", "x"], 2, /--limit x is not/],
    ["no id", ["run", "show"], 2, /takes one run id/],
    ["two ids", ["run", "cancel", "a", "b"], 2, /takes one run id/],
    ["an argument too many", ["run", "list", "dead"], 2, /takes no argument, and "dead" is one/],
    [
      "a storage that is none",
      ["run", "list", "--storage", "mysql://x"],
      2,
      /"mysql:\/\/x" is not a storage/,
    ],
    [
      "a storage in another process's memory",
      ["run", "list", "--storage", "memory:"],
      2,
      /cannot be looked at/,
    ],
    [
      "a run that is not there",
      ["run", "show", "nothing"],
      3,
      /there is no run "nothing" in this store\. List what there is: uhrwerk run list/,
    ],
    ["a run that is not there to cancel", ["run", "cancel", "nothing"], 3, /there is no run "nothing"/],
    [
      "a letter that is not there",
      ["dead", "replay", "nothing"],
      3,
      /no dead letter "nothing".* uhrwerk dead list/,
    ],
    ["a letter that is not there to drop", ["dead", "drop", "nothing"], 3, /no dead letter "nothing"/],
    [
      "a store that is not there",
      ["run", "list", "--storage", "sqlite:none.db"],
      6,
      /storage "none.db": the file does not exist/,
    ],
    [
      "a store in no folder",
      ["job", "list", "--storage", "sqlite:none/a.db"],
      6,
      /the folder "none" does not exist/,
    ],
  ]
  test.each(wrong)("%s", async (_, args, code, message) => {
    const ended = await at(...args)
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(message) })
    expect(ended.stderr).toMatch(/^uhrwerk: /)
    expect(ended.stderr).not.toMatch(/\n {4}at /)
    expect(readdirSync(folder).filter((name) => name.startsWith("none"))).toEqual([])
  })

  test("--help and no command show all commands, --version the version, on stdout, with 0", async () => {
    const help = await at("--help")
    const nothing = await at()
    const version = await at("--version")
    expect(help).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(
        /Usage: uhrwerk COMMAND[^]*run list[^]*dead replay ID[^]*Exit codes: 0 ok/,
      ),
    })
    expect(nothing.stdout).toBe(help.stdout)
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })

  test("main.ts and the launcher do the same as processes", async () => {
    const [script, launcher] = await Promise.all([
      cli(["run", "list", "--limit", "0"], { cwd: folder }),
      cli(["run", "list", "--limit", "0"], { cwd: folder, script: "bin.js" }),
    ])
    expect(script).toEqual({
      code: 2,
      stdout: "",
      stderr: "uhrwerk: --limit 0 is not a whole number from 1 to 200\nTry `uhrwerk --help`.\n",
    })
    expect(launcher).toEqual(script)
  })

  test("a store that is another program's", async () => {
    const sqlite = new DatabaseSync(join(folder, "songs.db"))
    sqlite.exec("create table songs (title text)")
    sqlite.close()
    expect(await at("run", "list", "--storage", "sqlite:songs.db")).toMatchObject({
      code: 6,
      stderr: expect.stringMatching(/another program's database .*Name another file/),
    })
  })

  test("a second engine is told of the first, with 5", async () => {
    const store = sqliteDriver({ file: join(folder, "taken.db"), now: () => Date.now() })
    await store.join({ id: "n", host: "here", pid: 4711, runtime: "r" }, 5000)
    write(
      "taken.config.ts",
      configOf(`{ jobs: [job("one", { run: () => {} })], storage: "sqlite:taken.db" }`),
    )
    expect(await cli(["dev", "taken.config.ts"], { cwd: folder })).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(
        /^uhrwerk: storage "taken.db": the engine in process 4711 on here serves this file.* Stop that engine first/,
      ),
    })
    await store.close()
  })
})

const configOf = (config: string, before = ""): string =>
  `import { cron, every, job, onWorkers } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}\n${before}\nexport default ${config}\n`

describe("a config", { timeout: limit }, () => {
  const wrong: ReadonlyArray<[string, string, string, RegExp]> = [
    [
      "that throws",
      "throws.ts",
      `const load = () => {\n  throw new TypeError("no token")\n}\nload()\nexport {}\n`,
      /Cannot load "throws.ts": TypeError: no token \(at .*throws\.ts:2/,
    ],
    [
      "that exports nothing",
      "nothing.ts",
      "export const jobs = []\n",
      /"nothing.ts" exports no config\. End it with: export default defineConfig/,
    ],
    [
      "with a syntax error",
      "syntax.ts",
      "const a = 1\nconst b: = 5\nexport default b\n",
      /Cannot load "syntax.ts": SyntaxError: .*syntax\.ts:2/,
    ],
    [
      "that imports what is not installed",
      "missing.ts",
      `import "no-such-package-here"\n`,
      /Cannot load "missing.ts": .*no-such-package-here/,
    ],
    [
      "that keeps the process busy and fails",
      "busy.ts",
      "setInterval(() => {}, 1000)\nexport default { jobs: [5] }\n",
      /jobs\[0\]: 5 is not a job/,
    ],
    [
      "whose refusal holds escapes",
      "escape.ts",
      `export default { jobs: [], storage: ${JSON.stringify(escape)} }\n`,
      /storage: .* is not a storage/,
    ],
    [
      "with a wrong cron text",
      "cron.ts",
      configOf(`{ jobs: [job("one", { on: cron("0 25 * * *"), run: () => {} })] }`),
      /job "one"\.on\.cron\.hour: "25" is not between 0 and 23\. Write 0-23/,
    ],
  ]
  // All at once: a process takes a second or two to start.
  const started = new Map<string, ReturnType<typeof cli>>()
  beforeAll(() => {
    for (const [, name, text] of wrong) {
      write(name, text)
      started.set(name, cli(["dev", name], { cwd: folder }))
    }
  })
  test.each(wrong)(
    "%s ends dev with 2, and the message names the file and the fault",
    async (_, name, __, message) => {
      const ended = await started.get(name)
      expect(ended).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) })
      expect(ended?.stderr).not.toMatch(controls)
    },
  )

  test("that is missing: the default, or the named one", async () => {
    const cwd = join(folder, "empty")
    const none = await inProcess(["dev"], cwd)
    const named = await inProcess(["dev", "mine.ts"], cwd)
    const two = await inProcess(["dev", "a.ts", "b.ts"], cwd)
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no uhrwerk\.config\.ts in this folder/),
    })
    expect(named).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no config file "mine\.ts"/),
    })
    expect(two).toMatchObject({ code: 2, stderr: expect.stringMatching(/takes one config file/) })
    expect(readdirSync(cwd)).toEqual([])
  })

  test("of another folder runs there: dev tells what happens, and a signal ends it with 0", async () => {
    write(
      "good.config.ts",
      configOf(
        `{ jobs: [job("beat", { on: every("100ms"), run: (_, ctx) => ctx.log(${JSON.stringify(escape)}) }), job("away", { run: onWorkers({ where: "gpu > 1" }) })], storage: "memory:" }`,
      ),
    )
    const ended = await cli(["dev", join(folder, "good.config.ts")], {
      cwd: tmpdir(),
      until: /beat succeeded/,
    })
    expect(ended).toMatchObject({ code: 0, stderr: "" })
    expect(ended.stdout).toMatch(
      /storage memory, 10 slots[^]*beat: every 100ms\n  away: when sent, on workers with gpu > 1\n[^]*beat started[^]*beat succeeded[^]*Draining[^]*Stopped/,
    )
    expect(ended.stdout).not.toMatch(controls)
  })

  test("says where the store is, below the environment and the flag", async () => {
    const cwd = join(folder, "project")
    mkdirSync(cwd)
    for (const [name, job] of [
      ["config.db", "c"],
      ["env.db", "e"],
      ["flag.db", "f"],
    ] as const) {
      const store = sqliteDriver({ file: join(cwd, name), now: () => 0 })
      await store.enqueue([newRun(1, { job })])
      await store.close()
    }
    writeFileSync(
      join(cwd, "uhrwerk.config.ts"),
      `setInterval(() => {}, 1000)\nexport default { jobs: [], storage: "sqlite:config.db" }\n`,
    )
    const env = { UHRWERK_STORAGE: "sqlite:env.db" }
    const args = ["run", "list", "-o", "ndjson"]
    const ended = await Promise.all([
      cli(args, { cwd }),
      cli(args, { cwd, env }),
      cli([...args, "--storage", "sqlite:flag.db"], { cwd, env }),
      cli([...args, "--storage", `sqlite:${join(cwd, "flag.db")}`], { cwd: folder, env }),
    ])
    expect(ended.map(({ code, stdout }) => [code, (JSON.parse(stdout) as { job: string }).job])).toEqual([
      [0, "c"],
      [0, "e"],
      [0, "f"],
      [0, "f"],
    ])
  })
})

describe("output", { timeout: limit }, () => {
  test("run list is a table, JSON or NDJSON of the same rows; what is more is told on stderr", async () => {
    const page = ["run", "list", "--job", "report", "--limit", "200"]
    const table = await at(...page)
    const json = await at(...page, "-o", "json")
    const ndjson = await at(...page, "--output", "ndjson")
    const rows = JSON.parse(json.stdout) as Array<{ id: string }>
    expect(rows).toHaveLength(200)
    expect(
      ndjson.stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(rows)
    const lines = table.stdout.trimEnd().split("\n")
    expect(lines).toHaveLength(201)
    expect(lines[0]).toMatch(/^ID {2,}JOB {2,}STATE/)
    expect(lines.slice(1).map((line) => line.split(" ")[0])).toEqual(rows.map(({ id }) => id))
    for (const each of [table, json, ndjson]) {
      expect(each).toMatchObject({ code: 0, stderr: `More: --before ${rows[199]?.id}\n` })
    }
  })

  test("of names, inputs and errors with controls and escapes is inert, in every format", async () => {
    const all = [
      await at("run", "list"),
      await at("run", "list", "-o", "json"),
      await at("run", "list", "-o", "ndjson"),
      await at("run", "show", runId(301)),
      await at("run", "show", runId(301), "-o", "json"),
      await at("run", "show", runId(302)),
      await at("dead", "list"),
      await at("job", "list"),
      await at("run", "show", escape),
      await at(escape),
    ]
    for (const { stdout, stderr } of all) {
      expect(stdout).not.toMatch(controls)
      expect(stderr).not.toMatch(controls)
    }
    expect(all[3]?.stdout).toMatch(/error {2,}Error: broken \[31mred 1m/)
    const [shown] = JSON.parse(all[4]?.stdout ?? "") as [{ error: { message: string } }]
    expect(shown.error.message).toBe(`broken ${escape}`)
  })

  test("has no colour where it is no terminal, with NO_COLOR or without", async () => {
    const ended = await Promise.all(
      [{}, { NO_COLOR: "1" }].map((env) => cli(["run", "list"], { cwd: folder, env })),
    )
    for (const { code, stdout } of ended) {
      expect(code).toBe(0)
      expect(stdout).toMatch(/^ID /)
      expect(stdout).not.toContain("\u001b")
    }
  })

  test("whose reader goes away ends the command without a trace of an error", async () => {
    const args = ["run", "list", "--job", "report", "--limit", "200", "-o", "json"]
    const ended = await cli(args, { cwd: folder, first: true })
    expect(ended.code).toBe(0)
    expect(ended.stderr).not.toMatch(/EPIPE|Error|at /)
  })

  test("of what was done is the id alone on stdout; a second time is told", async () => {
    const first = await at("dead", "replay", runId(301))
    const id = first.stdout.trim()
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(`is replayed as run ${id}`) })
    const second = await at("dead", "replay", runId(301))
    expect(second).toMatchObject({
      code: 0,
      stdout: `${id}\n`,
      stderr: expect.stringContaining("was replayed before"),
    })
    const cancelled = await at("run", "cancel", id, "--reason", "Not wanted")
    expect(cancelled).toMatchObject({ code: 0, stdout: `${id} cancelled\n` })
    expect(await at("run", "cancel", id)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("had ended already"),
    })
  })
})

test.skipIf(process.versions["bun"] !== undefined || process.versions["deno"] !== undefined)(
  "a config in a folder of CommonJS is told how to be read, and .mts is read anywhere",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "uhrwerk-commonjs-"))
    try {
      const source = `import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({ jobs: [job("one", { run: () => {} })] })\n`
      writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }')
      writeFileSync(join(folder, "uhrwerk.config.ts"), source)
      const refused = await cli(["dev"], { cwd: folder })
      expect(refused.code).not.toBe(0)
      expect(refused.stderr).toContain(
        'Set "type": "module" in package.json, or name the file uhrwerk.config.mts',
      )
      rmSync(join(folder, "uhrwerk.config.ts"))
      writeFileSync(join(folder, "uhrwerk.config.mts"), source)
      const read = await cli(["dev", "--fast-forward", "1s"], { cwd: folder })
      expect(read).toMatchObject({ code: 0 })
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
)

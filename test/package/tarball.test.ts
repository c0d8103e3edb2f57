// What npm gets, as a new user has it: the tarball is installed into an empty project from the registry, and there each
// runtime loads every entry, runs a job, serves, and works as a remote worker; and a project that `init` made runs.
import { execFile, execFileSync, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "uhrwerk-package-"))
const project = join(folder, "project")
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const bin = (name: string): string => join(root, "node_modules/.bin", name)
// Which runtime the package is on, and how a script of it is started there.
const runtimes: ReadonlyArray<readonly [name: string, program: string, args: ReadonlyArray<string>]> = [
  ["node", bin("node"), []],
  ["bun", bin("bun"), []],
  ["deno", bin("deno"), ["run", "-A"]],
]
const run = promisify(execFile)
const inProject = async (program: string, args: ReadonlyArray<string>): Promise<string> => {
  const { stdout } = await run(program, [...args], { cwd: project, timeout: 60_000 })
  return stdout
}
let entries: ReadonlyArray<string> = []

beforeAll(() => {
  const dist = join(folder, "dist")
  execFileSync(process.execPath, ["apps/cli/build.ts", dist], { cwd: root })
  execFileSync("npm", ["pack", dist, "--pack-destination", folder, "--silent"], { cwd: folder })
  const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz")) ?? "none"
  mkdirSync(project)
  writeFileSync(
    join(project, "package.json"),
    JSON.stringify({
      name: "p",
      private: true,
      type: "module",
      dependencies: { uhrwerk: `file:../${tarball}` },
    }),
  )
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts"], { cwd: project })
  const { exports } = JSON.parse(
    readFileSync(join(project, "node_modules/uhrwerk/package.json"), "utf8"),
  ) as { readonly exports: Readonly<Record<string, unknown>> }
  entries = Object.keys(exports)
    .filter((key) => key !== "./package.json")
    .map((key) => `uhrwerk${key.slice(1)}`)
  writeFileSync(join(project, "entries.mjs"), entriesScript())
  writeFileSync(join(project, "job.mjs"), jobScript)
  writeFileSync(join(project, "server.mjs"), serverScript)
}, 180_000)

// Native transports are of one runtime each.
const entriesScript = (): string => `
const own = typeof Bun !== "undefined" ? "bun" : typeof Deno !== "undefined" ? "deno" : "node"
for (const entry of ${JSON.stringify(entries)}) {
  const [, native] = /transport\\/(bun|deno)$/.exec(entry) ?? []
  if (native !== undefined && native !== own) continue
  const names = Object.keys(await import(entry))
  if (names.length === 0) throw new Error(entry + " exports nothing")
}
console.log("loaded")
`

const jobScript = `
import { engine, job } from "uhrwerk"
const double = job("double", { run: ({ n }) => n * 2 })
const started = await engine({ jobs: [double], storage: "sqlite:" + process.argv[2] }).start()
const { result } = await double.send({ n: 21 })
console.log(await result())
await started.stop()
`

const serverScript = `
import { job, onWorkers } from "uhrwerk"
import { serve } from "uhrwerk/server"
import { worker } from "uhrwerk/worker"
const there = job("there", { run: onWorkers() })
const server = await serve({ jobs: [there], storage: "memory:" }, { port: 0 })
const mine = job("there", { run: () => "from a worker" })
const running = await worker({ url: server.workerUrl, jobs: [mine] }).start()
const sent = await fetch(server.url + "/v1/runs", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ job: "there" }),
})
let run = await sent.json()
for (const end = Date.now() + 20_000; run.state !== "succeeded" && Date.now() < end; )
  run = await (await fetch(server.url + "/v1/runs/" + run.id)).json()
console.log(run.output)
await running.stop()
await server.stop()
process.exit()
`

describe.each(runtimes)("%s", (name, program, args) => {
  test("every entry can be loaded", async () => {
    expect(entries.length).toBeGreaterThan(15)
    expect(await inProject(program, [...args, "entries.mjs"])).toBe("loaded\n")
  }, 90_000)

  test("a job runs, in a file", async () => {
    expect(await inProject(program, [...args, "job.mjs", `${name}.db`])).toBe("42\n")
  }, 90_000)

  test("a server takes a run over HTTP, and a worker carries it out", async () => {
    expect(await inProject(program, [...args, "server.mjs"])).toBe("from a worker\n")
  }, 90_000)

  test("the command works on what is there, and a project that it made runs", async () => {
    const command = join(project, "node_modules/uhrwerk/apps/cli/bin.js")
    expect(await inProject(program, [...args, command, "--version"])).toMatch(/^\d+\.\d+\.\d+\n$/)
    await inProject(program, [...args, command, "init", `made-${name}`, "--template", "flow"])
    const child = spawn(program, [...args, command, "dev"], {
      cwd: join(project, `made-${name}`),
      env: { ...process.env, NO_COLOR: "1" },
    })
    let said = ""
    let isTold = false
    const ended = new Promise<number | null>((resolve) => child.on("exit", resolve))
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => {
        said += String(data)
        // Its first run has come to its last step. A second signal would not let it end in order.
        if (!isTold && said.includes("etl/load")) isTold = child.kill("SIGTERM")
      })
    expect([await ended, said]).toEqual([0, expect.stringContaining("Nothing was lost")])
  }, 90_000)
})

test.each(["NodeNext", "Bundler"])(
  "the compiler finds the types of every entry, with %s resolution",
  async (resolution) => {
    const lines = entries.map(
      (entry, n) => `import * as e${n} from "${entry}"\nexport type E${n} = keyof typeof e${n}`,
    )
    // What is `any` would let it pass.
    const use =
      'import { cron, job } from "uhrwerk"\n// @ts-expect-error\ncron("0 9 * *")\nexport const made = job("a", { run: (n: number) => n })'
    const own = join(project, `types-${resolution}`)
    mkdirSync(own)
    writeFileSync(join(own, "all.ts"), `${lines.join("\n")}\n${use}\n`)
    writeFileSync(
      join(own, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "ES2024",
          module: resolution === "NodeNext" ? "NodeNext" : "ESNext",
          moduleResolution: resolution,
          strict: true,
          noEmit: true,
          skipLibCheck: true,
          types: [],
        },
      }),
    )
    expect(await inProject(bin("tsc"), ["-p", own])).toBe("")
  },
  90_000,
)

test("`bunx --bun uhrwerk` and `deno run npm:uhrwerk` find it in the project", async () => {
  expect(await inProject(bin("bun"), ["x", "--bun", "uhrwerk", "--version"])).toMatch(/^\d/)
  writeFileSync(join(project, "deno.json"), JSON.stringify({ nodeModulesDir: "manual" }))
  expect(await inProject(bin("deno"), ["run", "-A", "npm:uhrwerk", "--version"])).toMatch(/^\d/)
}, 90_000)

test("deno publish would take it", async () => {
  const { stderr } = await run(
    bin("deno"),
    ["publish", "--dry-run", "--allow-dirty", "--allow-slow-types", "--no-check"],
    { cwd: root, timeout: 60_000 },
  )
  expect(stderr).toContain("Dry run complete")
}, 90_000)

// The README's examples do what the README says: each TypeScript block is run, as it stands, on this runtime.
import { execFile, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { connect } from "../adapters/store-sql/postgres/connect.ts"
import { checkConfig, type Config } from "../apps/sdk/config.ts"
import { missing } from "./adapters/store-sql/postgres/server.ts"
import { scriptedServer } from "./common/scriptedServer.ts"

const root = new URL("../", import.meta.url).pathname
// Within the package, where its own name resolves.
let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(root, "test/.readme-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const blocks = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, code]) => code as string,
)
const write = (name: string, code: string): string => {
  const file = join(folder, name)
  writeFileSync(file, code)
  return file
}
const run = async (name: string, containing: string): Promise<string> => {
  const code = blocks.find((block) => block.includes(containing))
  if (code === undefined) throw new Error(`The README has no block with ${containing}`)
  const args = process.versions["deno"] === undefined ? [write(name, code)] : ["run", "-A", write(name, code)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 15_000, cwd: root })
  return stdout
}

test("there are the examples that are run here, and no other", () => {
  expect(blocks).toHaveLength(16)
})

test("the commands that it shows are commands", async () => {
  const text = readFileSync(join(root, "README.md"), "utf8")
  const shown = [...text.matchAll(/^npx uhrwerk ([a-z]+(?: [a-z]+)?)/gm)].map(([, words]) => words as string)
  const script = join(root, "apps/cli/main.ts")
  const args = process.versions["deno"] === undefined ? [script] : ["run", "-A", script]
  const { stdout } = await promisify(execFile)(process.execPath, [...args, "--help"], { timeout: 15_000 })
  expect(shown).toContain("flow rerun")
  expect(shown.filter((words) => !stdout.includes(`uhrwerk ${words} `))).toEqual([])
})

test("the config is one that the engine takes", async () => {
  const code = blocks.find((block) => block.includes("export default defineConfig")) as string
  const module = (await import(write("uhrwerk.config.ts", code))) as { readonly default: Config }
  const project = await checkConfig(module.default)
  expect(project.schedules.map(({ id, trigger }) => [id, trigger.kind])).toEqual([
    ["mail.digest", "cron"],
    ["machine.sample", "every"],
    ["inbox.sync", "after"],
  ])
})

test.skipIf(missing !== null)(
  `a run is a part of a transaction (${missing ?? "on the server"})`,
  async () => {
    const connection = connect({ url: "postgres://postgres@127.0.0.1:5432/test", connectionsMax: 1 })
    try {
      expect(await run("transaction.ts", "readme_shop")).toContain("order 1 is on its way")
    } finally {
      await connection.query("drop schema if exists readme_shop cascade", [])
      await connection.close()
    }
  },
)

test("a run is a part of a transaction on a file", async () => {
  expect(await run("file.ts", "sendInSync")).toContain("order 1 is on its way")
})

test("a worker takes a run of a server, carries it out, and drains on a signal", async () => {
  const server = await scriptedServer()
  const file = write("worker.ts", blocks.find((block) => block.includes("ctx.progress(50")) ?? "")
  const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
  const { NO_COLOR: _, ...env } = process.env
  const child = spawn(process.execPath, args, { cwd: root, env: { ...env, UHRWERK_URL: server.url } })
  let stdout = ""
  child.stdout.on("data", (data: Buffer) => (stdout += String(data)))
  const ended = new Promise((resolve) => child.on("close", resolve))
  try {
    await server.until("hello", () => server.all("hello").length === 1, 15_000)
    expect(server.all("hello")[0]).toMatchObject({ slots: 4, labels: { region: "eu", gpu: 2 } })
    server.assign({ run: "r1", job: "video.encode", input: '{"file":"a.mov"}' })
    await server.until("the result", () => server.all("result").length === 1)
    expect(server.all("result")[0]?.outcome).toEqual({
      kind: "succeeded",
      output: '{"file":"a.mov","seconds":90}',
    })
    child.kill("SIGTERM")
    expect(await ended).toBe(0)
    expect(stdout).toBe("the worker has drained\n")
  } finally {
    child.kill("SIGKILL")
    await server.close()
  }
})

test("a program starts an engine, sends a run and gets its result", async () => {
  expect(await run("program.ts", "image.resize")).toContain("width: 640")
})

test("a chain hands outputs on", async () => {
  expect(await run("chain.ts", "toSorted")).toContain("smallest: 1")
})

test("calendars move an invoice to a working day and hold deployments in a freeze", async () => {
  const starts = (await run("calendars.ts", 'closed: "hold"')).trim().split("\n")
  expect(starts).toEqual([
    "deploy 2026-12-18T11:00",
    "deploy 2027-01-04T07:00",
    "invoice 2027-01-04T08:00",
    "deploy 2027-01-04T11:00",
  ])
})

test("a schedule in croner's dialect starts when croner says", async () => {
  expect(await run("croner.ts", 'dialect: "croner"')).toBe("11 12 13 15\n")
})

test("a flow joins, skips, maps and goes on after a failure that is allowed", async () => {
  const said = await run("flow.ts", 'flow("nightly"')
  expect(said.trim().split("\n")).toEqual([
    "2 tables loaded, compare failed",
    "extract: succeeded",
    "compare: failed",
    "load: succeeded",
    "warn: skipped",
    "report: succeeded",
  ])
})

test("a program in another language gets its input and gives its output", async () => {
  expect(await run("command.ts", 'command("python3"')).toBe("counting\n3\n")
})

test("a request is signed, and has the run's id as its key", async () => {
  expect(await run("request.ts", 'sign: "partner"')).toContain("accepted: true")
})

test("a run goes to the worker that fits, and a broadcast to all of them", async () => {
  expect(await run("workers.ts", "onWorkers")).toBe("a.mp4 on big\nbig: 0 of 2, small: 1 of 2\n")
})

test("a server's worker does what is sent over HTTP", async () => {
  // Node writes texts in single quotes.
  const said = (await run("server.ts", "thumbnail")).replaceAll("'", '"')
  expect(said).toBe('201 succeeded 320\n[ "hand-1 does thumbnail" ]\n')
})

test("a week passes in a test", async () => {
  expect(await run("week.ts", "let runs = 0")).toBe("7\n")
})

test("the Effect style runs on the same core", async () => {
  expect(await run("effect.ts", "Job.toLayer")).toContain("created")
})

test("a store passes the contract, and an engine on one that loses answers does its work once", async () => {
  expect(await run("faults.ts", "withFaults")).toBe("greeted\nexists\n")
})

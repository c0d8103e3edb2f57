// The life of a token over the command line: made by one process while another one serves, used over a real WebSocket,
// revoked by a third; and what `serve` says and refuses.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { rawWorker } from "../server/RawWorker.ts"
import { until } from "../server/project.ts"
import { cli, inProcess, moduleUrl } from "./cli.ts"

let folder = ""
let child: ChildProcess | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-tokens-"))
  // As a server leaves it.
  void sqliteDriver({ file: join(folder, "a.db"), role: "tool", now: () => Date.now() }).close()
  writeFileSync(
    join(folder, "uhrwerk.config.ts"),
    `import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({
  jobs: [job("echo", { run: (input) => input })],
  storage: "sqlite:a.db",
  worker: { concurrency: 0 },
})
`,
  )
})
afterEach(() => {
  child?.kill("SIGKILL")
  child = undefined
  rmSync(folder, { recursive: true, force: true })
})

/** `uhrwerk serve` as a process, when it listens. */
const serve = async (...args: ReadonlyArray<string>) => {
  const script = fileURLToPath(new URL("../../../apps/cli/main.ts", import.meta.url))
  const running = spawn(process.execPath, [script, "serve", ...args], { cwd: folder })
  child = running
  let said = ""
  for (const stream of [running.stdout, running.stderr]) stream.on("data", (data) => (said += String(data)))
  const ended = new Promise<number | null>((resolve) => running.on("exit", resolve))
  await until(
    "it listens",
    () => said,
    (text) => /Listening on|uhrwerk: /.test(text),
    30_000,
  )
  const [workerUrl = ""] = /ws:\/\/\S+\/v1\/worker/.exec(said) ?? []
  return { workerUrl, url: /http:\/\/\S+/.exec(said)?.[0] ?? "", said: () => said, ended, running }
}

test("a token is made while the server runs, connects a worker, and cuts it off when it is revoked", async () => {
  const { workerUrl, said, ended, running } = await serve("--port", "0")
  expect(said()).toContain("without a token, from this machine only")
  const made = await cli(["token", "create", "--name", "mailers", "--queue", "default"], { cwd: folder })
  expect(made.code).toBe(0)
  expect(made.stdout).toMatch(/^uhrw_[\da-f]{16}_[\w-]{43}\n$/)
  expect(made.stderr).toContain("Token mailers (")
  const token = made.stdout.trim()
  const secret = token.slice(-43)
  expect(made.stderr).not.toContain(secret)

  const worker = await rawWorker(workerUrl, { token, name: "mailer-1" })
  await worker.welcome
  await until(
    "it asks for tokens",
    async () => (await (await rawWorker(workerUrl, { name: "b" })).closed).code,
    (code) => code === 4401,
  )

  const listed = await inProcess(["token", "list"], folder)
  expect(listed.stdout).toMatch(/mailers +valid +default .* never/)
  const since = performance.now()
  const revoked = await cli(["token", "revoke", "mailers"], { cwd: folder })
  expect(revoked.stdout).toContain("is revoked")
  expect(revoked.stderr).toContain("No token is left")
  expect((await worker.closed).code).toBe(4401)
  expect(performance.now() - since).toBeLessThan(5_000 + startMillis)
  expect((await (await rawWorker(workerUrl, { token })).closed).code).toBe(4401)

  await until("it said so", said, (text) => text.includes("revoked, or of another store"))
  expect(said()).toMatch(/Refused worker b of 127\.0\.0\.1: it came without a token/)
  expect(said()).not.toContain(secret)
  running.kill("SIGTERM")
  expect(await ended).toBe(0)
  expect(said()).toContain("Stopped.")
})
// What the command itself takes to start, on a machine that does other things as well.
const startMillis = 10_000

describe("uhrwerk serve", () => {
  test("a second node on the machine takes a free port; one that was named and is taken is refused", async () => {
    const { createServer } = await import("node:net")
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve))
    const { port } = holder.address() as { readonly port: number }
    const refused = await cli(["serve", "--port", String(port)], { cwd: folder })
    holder.close()
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("another program has it")
  })

  test("an address that others reach needs a token and a key first, and then says that it asks for them", async () => {
    const refused = await cli(["serve", "--host", "0.0.0.0", "--port", "0"], { cwd: folder })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("uhrwerk token create --name NAME")
    expect(refused.stderr).toContain("uhrwerk key create --name NAME --role admin")
    expect((await inProcess(["token", "create", "--name", "a"], folder)).code).toBe(0)
    const still = await cli(["serve", "--host", "0.0.0.0", "--port", "0"], { cwd: folder })
    expect([still.code, still.stderr.includes("token create")]).toEqual([2, false])
    expect((await inProcess(["key", "create", "--name", "a"], folder)).code).toBe(0)
    const { said } = await serve("--host", "0.0.0.0", "--port", "0")
    expect(said()).toContain("each with a token")
    expect(said()).toContain("each request of the API needs a key")
  })

  test("without workers it opens no port, and needs a slot of its own", async () => {
    const refused = await cli(["serve", "--no-workers"], { cwd: folder })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("worker.concurrency")
    const text = `import config from "./uhrwerk.config.ts"\nexport default { ...config, worker: { concurrency: 1 } }\n`
    writeFileSync(join(folder, "own.config.ts"), text)
    const { code, stdout } = await cli(["serve", "own.config.ts", "--no-workers"], {
      cwd: folder,
      until: /echo: when sent/,
    })
    expect(code).toBe(0)
    expect(stdout).not.toContain("Listening")
  })

  test.each([
    [["serve", "--port", "x"], "--port x is not"],
    [["serve", "--port", "65536"], "--port 65536 is not"],
    [["serve", "--no-workers", "--port", "1"], "of no use"],
    [["token", "create"], "--name NAME"],
    [["token", "create", "a"], "takes no argument"],
    [["token", "revoke"], "takes one token"],
    [["token", "create", "--name", "a", "--expires", "soon"], "expires: "],
  ])("%j is refused with what to do", async (args, text) => {
    const { code, stderr } = await inProcess(args, folder)
    expect(code).toBe(2)
    expect(stderr).toContain(text)
  })

  test("a token that is not there: exit code 3", async () => {
    const { code, stderr } = await inProcess(["token", "revoke", "nobody"], folder)
    expect(code).toBe(3)
    expect(stderr).toContain("uhrwerk token list")
  })
})

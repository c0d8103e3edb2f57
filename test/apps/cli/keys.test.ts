// The life of an API key over the command line: made while a server runs, used over HTTP, revoked.
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { until } from "../server/project.ts"
import { inProcess, moduleUrl } from "./cli.ts"

let folder = ""
let stop: (() => void) | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-keys-"))
  void sqliteDriver({ file: join(folder, "a.db"), role: "tool", now: () => Date.now() }).close()
  writeFileSync(
    join(folder, "uhrwerk.config.ts"),
    `import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({ jobs: [job("echo", { run: (input) => input })], storage: "sqlite:a.db" })
`,
  )
})
afterEach(() => {
  stop?.()
  stop = undefined
  rmSync(folder, { recursive: true, force: true })
})

test("a key is made while a server runs, is asked for from then on, and is over when it is revoked", async () => {
  const script = fileURLToPath(new URL("../../../apps/cli/main.ts", import.meta.url))
  const server = spawn(process.execPath, [script, "serve", "--port", "0"], { cwd: folder })
  stop = () => server.kill("SIGKILL")
  let said = ""
  for (const stream of [server.stdout, server.stderr]) stream.on("data", (data) => (said += String(data)))
  await until(
    "it listens",
    () => said,
    (text) => text.includes("the API answers this machine without a key"),
    30_000,
  )
  const url = /http:\/\/[\d.:]+/.exec(said)?.[0] ?? ""
  const statusOf = async (key?: string): Promise<number> => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    return (await fetch(`${url}/v1/me`, { headers })).status
  }
  await until(
    "it serves",
    () => statusOf(),
    (status) => status === 200,
  )

  const made = await inProcess(
    ["key", "create", "--name", "ops", "--role", "operator", "--namespace", "mail"],
    folder,
  )
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^uhr_api_[\da-f]{16}_[\w-]{43}\n$/) })
  expect(made.stderr).toMatch(/^Key ops \([\da-f]{16}\) of an operator for mail\.\*, until it is revoked/)
  const key = made.stdout.trim()
  expect(made.stderr).not.toContain(key.slice(-43))
  await until(
    "it asks for keys",
    () => statusOf(),
    (status) => status === 401,
  )
  expect(await statusOf(key)).toBe(200)
  await until(
    "it said so",
    () => said,
    (text) => text.includes("Refused a request of 127.0.0.1: it came without a key"),
  )

  const revoked = await inProcess(["key", "revoke", "ops"], folder)
  expect(revoked.stdout).toContain("is revoked; servers refuse it within five seconds")
  expect(revoked.stderr).toContain("goes on asking")
  await until(
    "it is refused",
    () => statusOf(key),
    (status) => status === 401,
    5_000,
  )
  expect(said).not.toContain(key.slice(-43))
})

test("keys are listed without secrets, and the audit with its filters", async () => {
  await inProcess(["key", "create", "--name", "reader", "--expires", "90d"], folder)
  const listed = await inProcess(["key", "list"], folder)
  expect(listed.stdout).toMatch(/reader +valid +viewer +all jobs .* in 90 d/)
  const audit = await inProcess(
    ["audit", "list", "--actor", "reader", "--from", "2026-01-01T00:00:00Z"],
    folder,
  )
  expect(audit).toMatchObject({ code: 0, stdout: expect.stringContaining("ROUTE") })
})

test.each([
  [["key", "create"], 2, "--name NAME"],
  [["key", "create", "--name", "a", "--role", "root"], 2, "--role root is none of viewer, operator, admin"],
  [["key", "create", "--name", "a", "--expires", "soon"], 2, "expires: "],
  [["key", "create", "--name", "a", "--namespace", ""], 2, "namespace: "],
  [["key", "revoke"], 2, "takes one key"],
  [["key", "revoke", "nobody"], 3, "uhrwerk key list"],
  [["audit", "list", "--from", "yesterday"], 2, "--from: "],
  [["audit", "list", "--limit", "0"], 2, "--limit 0"],
])("%j is refused with what to do", async (args, code, text) => {
  const ended = await inProcess(args, folder)
  expect(ended.code).toBe(code)
  expect(ended.stderr).toContain(text)
})

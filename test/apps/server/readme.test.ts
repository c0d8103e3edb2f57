// The example of the server's README does what it says, on this runtime.
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, expect, test } from "vitest"
import { problemCodes } from "../../../apps/api/mod.ts"
import { faultProblem, problemOf } from "../../../apps/server/problems.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const folder = mkdtempSync(join(root, "test/.readme-server-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const text = readFileSync(join(root, "apps/server/README.md"), "utf8")

test("a run is sent and read over HTTP, and a wrong request is told where", async () => {
  const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? ""
  const file = join(folder, "example.ts")
  writeFileSync(file, code)
  const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000, cwd: root })
  const said = stdout.replaceAll("'", '"').replaceAll(/\s+/g, " ")
  expect(said).toContain('201 greet { name: "Ada"')
  expect(said).toContain("succeeded hello Ada")
  expect(said).toContain('422 invalidBody [ { pointer: "/priority", detail: "Expected number"')
})

test("the table of codes has every code that is answered", () => {
  const codes = Object.keys(problemCodes)
  expect(codes.length).toBeGreaterThan(15)
  const told = new Set([...text.matchAll(/`(\w+)`/g)].map(([, code]) => code))
  expect(codes.filter((code) => !told.has(code))).toEqual([])
  expect(problemOf(new Error("x"))).toBeUndefined()
  expect(faultProblem.status).toBe(500)
})

// The example of the transport's README does what it says, on this runtime.
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const folder = mkdtempSync(join(root, "test/.readme-transport-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("a frame goes there and back, and a stop is heard by both", async () => {
  const text = readFileSync(join(root, "adapters/transport-websocket/README.md"), "utf8")
  const code = /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? ""
  const file = join(folder, "example.ts")
  writeFileSync(file, code.replace('"./adapters/', '"../../adapters/'))
  const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000, cwd: root })
  const [first, ...ends] = stdout.trim().split("\n")
  expect(first).toBe("HELLO")
  expect(ends.sort()).toEqual(["the client hears 1012 a new version", "the server hears 1012 a new version"])
})

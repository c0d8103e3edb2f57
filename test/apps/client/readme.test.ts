// The example of the client's README does what it says, on this runtime.
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, expect, test } from "vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))
const folder = mkdtempSync(join(root, "test/.readme-client-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("a run is sent and read, and a refusal is typed", async () => {
  const text = readFileSync(join(root, "apps/client/README.md"), "utf8")
  const file = join(folder, "example.ts")
  writeFileSync(file, /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? "")
  const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 30_000, cwd: root })
  expect(stdout).toBe("succeeded hello Ada\n422 unknownJob /job\n")
})

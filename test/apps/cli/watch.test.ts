// `--watch`: it looks again, stops when it is told to, and is refused where a command does something.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { inProcess } from "./cli.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-watch-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("what came in the meantime is in the next look; SIGINT ends it with 130", async () => {
  const store = sqliteDriver({ file: join(folder, "uhrwerk.db"), now: () => Date.now() })
  await store.enqueue([newRun(1)])
  const script = fileURLToPath(new URL("../../../apps/cli/main.ts", import.meta.url))
  const child = spawn(process.execPath, [script, "run", "list", "--watch", "-o", "ndjson"], { cwd: folder })
  let said = ""
  child.stdout.on("data", (data: Buffer) => (said += String(data)))
  const ended = once(child, "exit")
  const until = async (is: () => boolean): Promise<void> => {
    while (!is()) await once(child.stdout, "data")
  }
  await until(() => said.includes("\n"))
  const [first = ""] = said.split("\n")
  await store.enqueue([newRun(2)])
  await store.close()
  await until(() => said.includes(newRun(2).id))
  expect(said.split("\n").filter((line) => line === first).length).toBeGreaterThan(0)
  child.kill("SIGINT")
  expect(await ended).toEqual([130, null])
}, 30_000)

test("a command that does something cannot be watched, and a wrong question is asked once", async () => {
  const { code, stderr } = await inProcess(["run", "cancel", "x", "--watch"], folder)
  expect([code, stderr]).toEqual([2, expect.stringContaining("--watch is for commands that look")])
  expect((await inProcess(["run", "show", "x", "--watch"], folder)).code).toBe(3)
})

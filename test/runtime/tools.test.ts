// What a tool does in the file of a running engine reaches that engine, though no hint crosses processes.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test, vi } from "vitest"
import { engine, job, type RunningEngine } from "uhrwerk"
import { sqliteDriver } from "uhrwerk/sqlite"
import type { StoreDriver } from "uhrwerk/effect"

let folder = ""
let running: RunningEngine | undefined
let tool: StoreDriver | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-tools-"))
})
afterEach(async () => {
  await running?.stop({ grace: "100ms" })
  await tool?.close()
  rmSync(folder, { recursive: true, force: true })
})

test("a run that a tool cancels tells its handler within a poll, and its slot is free again", async () => {
  const file = join(folder, "a.db")
  let why: unknown
  const long = job("long", {
    run: (_: void, { signal }) =>
      new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => {
          why = signal.reason
          resolve()
        }),
      ),
  })
  running = await engine({ jobs: [long], storage: `sqlite:${file}`, poll: "50ms" }).start()
  const sent = await long.send()
  await vi.waitFor(() => expect(running?.load().carried).toBe(1), 5000)
  tool = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  expect(await tool.cancel([sent.id], "By a tool")).toEqual([{ id: sent.id, result: "cancelled" }])
  await vi.waitFor(() => expect(running?.load().carried).toBe(0), 5000)
  expect(why).toMatchObject({ why: "cancelled" })
  expect(await running.run(sent.id)).toMatchObject({ state: "cancelled", reason: "By a tool" })
})

test("a run that a tool enqueues is carried out", async () => {
  const file = join(folder, "b.db")
  const greet = job("greet", { run: () => "hello" })
  running = await engine({ jobs: [greet], storage: `sqlite:${file}`, poll: "50ms" }).start()
  const sent = await greet.send()
  await sent.result({ timeout: "5s" })
  tool = sqliteDriver({ file, role: "tool", now: () => Date.now() })
  const [row] = await tool.get([sent.id])
  if (row === undefined) throw new Error("The run is not there")
  const id = "01a00000-0000-7000-8000-000000000001"
  await tool.enqueue([{ ...row, id, dueAt: null, startWithinMillis: null }])
  await vi.waitFor(async () => expect(await running?.run(id)).toMatchObject({ state: "succeeded" }), 5000)
})

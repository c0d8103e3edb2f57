// One engine a file: the second is refused and told who has it, whatever name it has for the file; the lock goes
// with the process; tools need none.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { symlinkSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { sqliteDriver, type SqliteOptions } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()
const open = (path: string, options: Partial<SqliteOptions> = {}) =>
  sqliteDriver({ file: path, now, ...options })

const inUse = (path: string, who: RegExp): void => {
  let error: unknown
  try {
    void open(path).close()
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({
    _tag: "StoreInUse",
    field: `storage "${path}"`,
    reason: expect.stringMatching(who),
    next: expect.stringMatching(/Stop that engine first/),
  })
}

test("a second engine is refused and told whose the file is; closing sets it free", async () => {
  const path = file("one.db")
  const first = open(path)
  inUse(path, /^another engine serves this file/)
  await first.join({ id: "n1", host: "here", pid: 4711, runtime: "test" }, 5000)
  inUse(path, /^the engine in process 4711 on here serves this file/)
  inUse(path, /4711/)
  await first.enqueue([newRun(1)])
  await first.close()
  const second = open(path)
  expect(await second.get([runId(1)])).toHaveLength(1)
  await second.close()
})

test("a link to the file is the same file", async () => {
  const path = file("real.db")
  symlinkSync(path, file("link.db"))
  const first = open(path)
  inUse(file("link.db"), /serves this file/)
  await first.close()
  const second = open(file("link.db"))
  inUse(path, /serves this file/)
  await second.close()
})

test("an engine that is refused changes nothing, also not the schema", async () => {
  const path = file("older.db")
  await open(path).close()
  const sqlite = new DatabaseSync(path)
  sqlite.exec("drop index occurrences_at; pragma user_version = 1")
  const holder = new DatabaseSync(`${path}-engine`)
  holder.exec("begin exclusive")
  inUse(path, /serves this file/)
  expect(sqlite.prepare("pragma user_version").get()).toEqual({ user_version: 1 })
  holder.close()
  sqlite.close()
})

test("tools open beside an engine, read, enqueue and cancel", async () => {
  const path = file("beside.db")
  const engine = open(path)
  const tools = [open(path, { role: "tool", create: false }), open(path, { role: "tool" })]
  for (const [index, tool] of tools.entries()) {
    await tool.enqueue([newRun(index + 1)])
    await engine.enqueue([newRun(index + 11)])
  }
  for (const store of [engine, ...tools]) expect(await store.list({ limit: 10 })).toHaveLength(4)
  await tools[0]?.cancel([runId(11)], "Not wanted")
  expect(await engine.get([runId(11)])).toMatchObject([{ state: "cancelled" }])
  for (const tool of tools) await tool.close()
  inUse(path, /serves this file/)
  await engine.close()
})

test("a process that is killed leaves no lock behind, and what it carried is taken back at once", async () => {
  const path = file("killed.db")
  const script = fileURLToPath(new URL("holder.child.ts", import.meta.url))
  const child = spawn(process.execPath, [script, path], { stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "exit")
  const [line] = (await once(child.stdout, "data")) as [Buffer]
  expect(String(line)).toBe("ready\n")
  inUse(path, new RegExp(`^the engine in process ${child.pid} on somewhere`))
  child.kill("SIGKILL")
  await ended
  const store = open(path)
  await store.join({ id: "next", host: "here", pid: 1, runtime: "test" }, 5000)
  expect(await store.reclaim("next", 10)).toMatchObject([{ id: runId(1), node: "child", state: "retrying" }])
  await store.close()
}, 20_000)

test("a tool of a newer version does not change the tables under an engine's hands", async () => {
  const path = file("tables.db")
  const engine = open(path)
  const sqlite = new DatabaseSync(path)
  // As an engine of an older version left it.
  const { user_version: newest } = sqlite.prepare("pragma user_version").get() as { user_version: number }
  sqlite.exec(`pragma user_version = ${newest - 1}`)
  expect(() => open(path, { role: "tool" })).toThrow(/serves this file/)
  expect(sqlite.prepare("pragma user_version").get()).toEqual({ user_version: newest - 1 })
  sqlite.exec(`pragma user_version = ${newest}`)
  sqlite.close()
  await open(path, { role: "tool" }).close()
  await engine.close()
})

test("a tool that makes the tables leaves the file to the next engine", async () => {
  const tool = open(file("fresh.db"), { role: "tool" })
  const engine = open(file("fresh.db"))
  await engine.enqueue([newRun(1)])
  expect(await tool.get([runId(1)])).toHaveLength(1)
  await tool.close()
  await engine.close()
})

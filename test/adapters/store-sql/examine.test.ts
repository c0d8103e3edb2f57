// What an examination finds of a SQLite file, and that it changes nothing.
import { chmodSync, closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { examineSqlite, sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, newRuns } from "../../../core/contract/Fixtures.ts"
import type { Finding } from "../../../core/ports/Examination.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()
const open = (path: string) => sqliteDriver({ file: path, now })
const look = (path: string, at = now()) => {
  const { findings, store } = examineSqlite({ file: path, now: () => at })
  void store?.close()
  const of = (what: string): Finding | undefined => findings.find((each) => each.what === what)
  return { findings, of, usable: store !== null }
}

describe("examine > a file", () => {
  test("that is not there is told with the next step, and not made; a folder that is not there fails", () => {
    expect(look(file("new.db")).findings).toMatchObject([
      { what: "file", state: "warn", mend: expect.stringContaining("uhrwerk dev") },
    ])
    expect(statSync(file("new.db"), { throwIfNoEntry: false })).toBeUndefined()
    expect(look(file("no", "new.db")).findings).toMatchObject([
      { what: "file", state: "fail", mend: expect.stringContaining("Create") },
    ])
  })

  test("of an engine that stopped well has nothing to mend", () => {
    const path = file("well.db")
    void open(path).close()
    const { findings, usable } = look(path)
    expect(findings.filter(({ state }) => state !== "ok")).toEqual([])
    expect(findings.map(({ what }) => what)).toEqual([
      "file",
      "disk",
      "schema",
      "journal",
      "health",
      "engine",
      "due runs",
    ])
    expect(usable).toBe(true)
  })

  test("that an engine holds is looked at beside it, and whose it is is said; one that was killed too", async () => {
    const path = file("held.db")
    const engine = open(path)
    await engine.join({ id: "n1", host: "here", pid: 4711, runtime: "test 1" }, 5000)
    expect(look(path).of("engine")).toMatchObject({
      state: "ok",
      found: expect.stringContaining("process 4711 on here (test 1)"),
    })
    expect(look(path, now() + 65_000).of("engine")).toMatchObject({
      state: "warn",
      found: expect.stringContaining("60.0 s ago"),
    })
    // It has its lock still, and works.
    expect(() => open(path)).toThrow(/serves this file/)
    await engine.enqueue([newRun(1)])
    await engine.close()
  })

  test("with runs that nobody takes says for how long", async () => {
    const path = file("late.db")
    const engine = open(path)
    await engine.enqueue(newRuns(3))
    await engine.close()
    expect(look(path, now() + 300_000).of("due runs")).toMatchObject({
      state: "warn",
      found: "3 runs due and not started, the oldest for 5 min, and no node is live",
    })
  })

  test("that is damaged fails", async () => {
    const path = file("damaged.db")
    const engine = open(path)
    for (let from = 0; from < 2000; from += 500)
      await engine.enqueue(
        Array.from({ length: 500 }, (_, n) => newRun(from + n, { input: `"${"x".repeat(200)}"` })),
      )
    await engine.close()
    const handle = openSync(path, "r+")
    // Pages in the middle, far from those that say what the file is.
    writeSync(handle, Buffer.alloc(4096 * 8, 0x5a), 0, 4096 * 8, 4096 * 60)
    closeSync(handle)
    const { findings, usable } = look(path)
    expect(findings.some(({ state, mend }) => state === "fail" && /backup/.test(mend ?? ""))).toBe(true)
    expect(usable).toBe(false)
  })

  test("of another program, or no database at all, fails unchanged", () => {
    const foreign = file("foreign.db")
    const other = new DatabaseSync(foreign)
    other.exec("create table customers (id integer)")
    other.close()
    const before = readFileSync(foreign)
    expect(look(foreign).of("file")).toMatchObject({
      state: "fail",
      found: expect.stringContaining('"customers"'),
    })
    expect(readFileSync(foreign)).toEqual(before)
    writeFileSync(
      file("text.db"),
      "this is a text, and long enough to be taken for a file of something else ".repeat(20),
    )
    expect(look(file("text.db")).of("file")).toMatchObject({ state: "fail" })
  })

  test("of a newer version fails, of an older one is brought up to date by the next engine", () => {
    const path = file("versions.db")
    void open(path).close()
    const set = (change: number) => {
      const sqlite = new DatabaseSync(path)
      const version = Number(Object.values(sqlite.prepare("pragma user_version").get() ?? {})[0])
      sqlite.exec(`pragma user_version = ${version + change}`)
      sqlite.close()
    }
    set(1)
    expect(look(path).of("file")).toMatchObject({ state: "fail", mend: expect.stringContaining("Upgrade") })
    set(-2)
    expect(look(path)).toMatchObject({ usable: false })
    expect(look(path).of("schema")).toMatchObject({
      state: "warn",
      mend: expect.stringContaining("brings the file up to date"),
    })
  })

  test.skipIf(process.getuid?.() === 0)("that this user may not write fails", () => {
    const path = file("closed.db")
    void open(path).close()
    chmodSync(path, 0o444)
    expect(look(path).of("file")).toMatchObject({ state: "fail" })
  })

  test("that another program holds for long fails", () => {
    const path = file("busy.db")
    void open(path).close()
    const holder = new DatabaseSync(path)
    holder.exec("begin immediate")
    expect(look(path).of("file")).toMatchObject({
      state: "fail",
      found: expect.stringContaining("holds the file"),
    })
    holder.exec("rollback")
    holder.close()
  })
})

// Opening a file: what cannot serve is refused by a typed error that says why, and is left as it was; any path
// that the operating system takes is taken.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, test } from "vitest"
import { migrations } from "../../../adapters/store-sql/sqlite/migrations.ts"
import { layerSqlite, sqliteDriver, type SqliteOptions } from "../../../adapters/store-sql/sqlite.ts"
import { newRun, newRuns, runId } from "../../../core/contract/Fixtures.ts"
import { contextDriver, RunStore } from "../../../core/ports/Store.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()

const open = (path: string, options: Partial<SqliteOptions> = {}) =>
  sqliteDriver({ file: path, now, ...options })

const refusalOf = (path: string, options: Partial<SqliteOptions> = {}): unknown => {
  try {
    void open(path, options).close()
  } catch (error) {
    return error
  }
  return "opened"
}

const expectUnusable = (path: string, kind: string, reason: RegExp, options: Partial<SqliteOptions> = {}) =>
  expect(refusalOf(path, options)).toMatchObject({
    _tag: "StoreUnusable",
    kind,
    field: `storage "${path}"`,
    reason: expect.stringMatching(reason),
    next: expect.stringMatching(/^[A-Z`].*\.$/),
  })

/** A good file with a hundred runs in it, closed. */
const filled = async (name: string): Promise<string> => {
  const path = file(name)
  const store = open(path)
  await store.enqueue(newRuns(100, { input: JSON.stringify("x".repeat(2000)) }))
  await store.close()
  return path
}

const foreign = (name: string, version = 0, extra = ""): string => {
  const path = file(name)
  const sqlite = new DatabaseSync(path)
  sqlite.exec(
    `create table songs (title text); insert into songs values ('Clocks'); pragma user_version = ${version}`,
  )
  if (extra !== "") sqlite.exec(extra)
  sqlite.close()
  return path
}

const overwrite = (path: string, offset: number, length: number): void => {
  const handle = openSync(path, "r+")
  writeSync(handle, Buffer.alloc(length, 0xaa), 0, length, offset)
  closeSync(handle)
}

describe("what cannot be opened is refused, with the reason", () => {
  test("a file in a folder that is not there", () => {
    expectUnusable(file("none", "a.db"), "notFound", /the folder ".*none" does not exist/)
    expect(existsSync(file("none"))).toBe(false)
  })

  test("a folder", () => {
    mkdirSync(file("folder.db"))
    expectUnusable(file("folder.db"), "notWritable", /it is a folder/)
    expectUnusable(file("folder.db"), "notWritable", /it is a folder/, { create: false })
    expect(readdirSync(file("folder.db"))).toEqual([])
  })

  test("a file within a file", () => {
    writeFileSync(file("plain"), "text")
    expect(refusalOf(file("plain", "a.db"))).toMatchObject({ _tag: "StoreUnusable" })
  })

  test("a file that is missing and must not be made: no file is left behind", () => {
    for (const role of ["tool", "engine"] as const) {
      expectUnusable(file("missing.db"), "notFound", /does not exist/, { create: false, role })
    }
    expect(readdirSync(file()).filter((name) => name.startsWith("missing"))).toEqual([])
  })

  test("a link to nothing that must not be made", () => {
    symlinkSync(file("gone.db"), file("dangling.db"))
    expectUnusable(file("dangling.db"), "notFound", /does not exist/, { create: false })
    expect(existsSync(file("gone.db"))).toBe(false)
  })

  test("text that is no database: it stays as it is", () => {
    const text = "This is a diary, and not a database. ".repeat(200)
    writeFileSync(file("diary.txt"), text)
    expectUnusable(file("diary.txt"), "notADatabase", /not a usable SQLite database/)
    expect(readFileSync(file("diary.txt"), "utf8")).toBe(text)
    expect(existsSync(file("diary.txt-engine"))).toBe(false)
  })

  test.each([
    ["without a version", 0, ""],
    ["whose version is the same as ours", migrations.length, ""],
    ["with a version of its own", 99, ""],
    ["with tables of the same name as some of ours", 1, "create table runs (distance real)"],
    ["in WAL mode", 0, "pragma journal_mode = wal"],
  ])("another program's database %s: byte for byte as it was afterwards", (_, version, extra) => {
    const path = foreign(`foreign-${version}-${extra.length}.db`, version, extra)
    const before = readFileSync(path)
    for (const role of ["engine", "tool"] as const) {
      expectUnusable(path, "notADatabase", /another program's database \(it has a table "(runs|songs)"\)/, {
        role,
      })
    }
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(
      readdirSync(file()).filter((name) => name.startsWith(path.split("/").pop() as string)),
    ).toHaveLength(1)
  })

  test("a file of a newer version of this program: nothing in it is changed", async () => {
    const path = await filled("newer.db")
    const sqlite = new DatabaseSync(path)
    sqlite.exec("pragma user_version = 99")
    sqlite.close()
    const before = readFileSync(path)
    expectUnusable(
      path,
      "newerSchema",
      new RegExp(`the file has schema version 99, this program knows ${migrations.length}`),
    )
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  const root = process.getuid?.() === 0
  test.skipIf(root)("a file that may only be read (root may write it all the same)", async () => {
    const path = await filled("readonly.db")
    chmodSync(path, 0o400)
    expectUnusable(path, "notWritable", /cannot be opened for writing/)
  })

  test.skipIf(root)("a folder that may only be read (root may write it all the same)", () => {
    mkdirSync(file("closed"))
    chmodSync(file("closed"), 0o500)
    expect(refusalOf(file("closed", "a.db"))).toMatchObject({ _tag: "StoreUnusable" })
    chmodSync(file("closed"), 0o700)
  })

  test("a file cut off in the middle", async () => {
    const path = await filled("cut.db")
    truncateSync(path, 20_000)
    expectUnusable(path, "notADatabase", /malformed/)
    expect(statSync(path).size).toBe(20_000)
  })

  test("a file cut off within its first page", async () => {
    const path = await filled("stump.db")
    truncateSync(path, 50)
    expectUnusable(path, "notADatabase", /not a usable SQLite database/)
  })

  test("a file whose schema is damaged", async () => {
    const path = await filled("schema.db")
    overwrite(path, 100, 3996)
    expectUnusable(path, "notADatabase", /malformed/)
  })

  test("a file that another program holds locked, after waiting for it", () => {
    const path = file("held.db")
    const holder = new DatabaseSync(path)
    holder.exec("begin exclusive")
    expectUnusable(path, "notWritable", /another program holds the file/, { busyMillis: 50 })
    holder.exec("rollback")
    holder.close()
    void open(path).close()
  })

  test("a place for the lock where a folder is", () => {
    mkdirSync(file("lockless.db-engine"))
    expect(refusalOf(file("lockless.db"))).toMatchObject({ _tag: "StoreUnusable", kind: "notWritable" })
  })
})

test("a damaged page is an error of the operation that reads it, and no wrong answer", async () => {
  const path = await filled("page.db")
  const size = statSync(path).size
  const table = new DatabaseSync(path)
  const roots = table.prepare("select rootpage from sqlite_schema where name = 'runs_id'").get()
  table.close()
  overwrite(path, (Number(roots?.["rootpage"]) - 1) * 4096, 4096)
  const store = open(path, { role: "tool" })
  const exit = await Effect.runPromiseExit(
    Effect.provide(
      Effect.flatMap(RunStore, (runs) => runs.get([runId(50)])),
      contextDriver(store),
    ),
  )
  expect(Exit.isFailure(exit)).toBe(true)
  expect(JSON.stringify(exit)).toMatch(/StoreError/)
  await store.close()
  expect(statSync(path).size).toBe(size)
})

test("as a layer, a refusal is the layer's typed error and not a defect", async () => {
  const layer = layerSqlite({ file: foreign("layer.db") })
  const failed = Effect.flip(Effect.scoped(Layer.build(layer)))
  expect(await Effect.runPromise(failed)).toMatchObject({ _tag: "StoreUnusable", kind: "notADatabase" })
})

describe("what can be opened", () => {
  test("an empty file that is there", async () => {
    writeFileSync(file("empty.db"), "")
    const store = open(file("empty.db"), { create: false })
    expect(await store.enqueue([newRun(1)])).toMatchObject([{ result: "created" }])
    await store.close()
  })

  test("a database of ours, again and again: what was acknowledged is there", async () => {
    const path = await filled("again.db")
    for (let each = 0; each < 3; each++) {
      const store = open(path)
      expect(await store.counts()).toEqual([{ job: "report", state: "ready", count: 100 }])
      await store.close()
    }
  })

  test.each([
    "with blanks.db",
    "question?mark=1.db",
    "hash#sign.db",
    "per%20cent.db",
    "file:name.db?mode=memory",
    "Füße 夜 🕰.db",
    "e\u0301.db",
    "quote'\"s.db",
    "back\\slash.db",
    "line\nbreak.db",
    "-o.db",
    ".hidden",
  ])("a path as it is written: %j", async (name) => {
    const path = file("paths", name)
    mkdirSync(file("paths"), { recursive: true })
    const store = open(path)
    await store.enqueue([newRun(1)])
    expect(existsSync(path)).toBe(true)
    expect(() => open(path)).toThrow(/serves this file/)
    const tool = open(path, { role: "tool", create: false })
    expect(await tool.get([runId(1)])).toHaveLength(1)
    await tool.close()
    await store.close()
    const made = readdirSync(file("paths")).filter((each) => each === name || each.startsWith(`${name}-`))
    // Bun lists a folder in no order.
    expect(made.toSorted()).toEqual([name, `${name}-engine`])
  })

  test("a relative path, from where the program was when it opened it", async () => {
    const before = process.cwd()
    mkdirSync(file("here"))
    process.chdir(file("here"))
    try {
      const store = open("relative.db")
      process.chdir(before)
      await store.enqueue([newRun(1)])
      expect(readdirSync(file("here")).toSorted()).toContain("relative.db")
      await store.close()
    } finally {
      process.chdir(before)
    }
  })

  test(":memory:, each a store of its own, and no file", async () => {
    const [a, b] = [open(":memory:"), open(":memory:")]
    await a.enqueue([newRun(1)])
    expect(await b.counts()).toEqual([])
    expect(a.capabilities).toMatchObject({ durable: false })
    await a.close()
    await b.close()
    expect(existsSync(":memory:")).toBe(false)
  })
})

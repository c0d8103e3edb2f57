// The SQL that makes the tables and the tables as Drizzle knows them are written twice, and must say the same.
import { getTableColumns, getTableName, is } from "drizzle-orm"
import { getTableConfig, SQLiteTable } from "drizzle-orm/sqlite-core"
import { DatabaseSync } from "node:sqlite"
import { afterAll, describe, expect, test } from "vitest"
import { openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { migrations } from "../../../adapters/store-sql/sqlite/migrations.ts"
import * as schema from "../../../adapters/store-sql/sqlite/schema.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import { newCredential } from "../../../core/contract/CredentialStoreContract.ts"
import { now, testFolder } from "./folder.ts"

const file = testFolder()
const database = openDatabase({ file: ":memory:" })
afterAll(() => database.close())

const tables = Object.values(schema).filter((value) => is(value, SQLiteTable))

describe("migrations.ts and schema.ts", () => {
  test("have the same tables", () => {
    const made = database.prepare("select name from sqlite_schema where type = 'table' order by name").all()
    expect(tables.map(getTableName).sort()).toEqual(made.map(({ name }) => name))
  })

  test.each(tables.map((table): [string, SQLiteTable] => [getTableName(table), table]))(
    "have the same columns of %s: names, order, types, nulls and primary key",
    (name, table) => {
      const made = database
        .prepare(`select name, type, "notnull", pk from pragma_table_info('${name}')`)
        .all()
      const composed = getTableConfig(table).primaryKeys.flatMap(({ columns }) =>
        columns.map((each) => each.name),
      )
      const known = Object.values(getTableColumns(table)).map((column) => ({
        name: column.name,
        type: column.getSQLType().toUpperCase(),
        // A primary key that is the row's own number needs no word; all others are written out.
        notnull: column.notNull && !(column.primary && column.getSQLType() === "integer") ? 1 : 0,
        pk: column.primary ? 1 : composed.indexOf(column.name) + 1,
      }))
      expect(made.map((row) => ({ ...row }))).toEqual(known)
    },
  )

  test("every table is strict, so that a value of a wrong type is refused", () => {
    const loose = database
      .prepare("select name from pragma_table_list where schema = 'main' and strict = 0")
      .all()
    expect(loose.map(({ name }) => name)).toEqual(["sqlite_schema"])
  })
})

describe("a file of an older schema", () => {
  test.each(migrations.map((_, version): [number] => [version]))(
    "of version %i is brought up to date",
    (version) => {
      const old = file(`version-${version}.db`)
      const sqlite = new DatabaseSync(old)
      for (const step of migrations.slice(0, version)) sqlite.exec(step)
      sqlite.exec(`pragma user_version = ${version}`)
      sqlite.close()
      const opened = openDatabase({ file: old })
      const shape = "select type, name, sql from sqlite_schema order by type, name"
      expect(opened.prepare(shape).all()).toEqual(database.prepare(shape).all())
      expect(opened.prepare("pragma user_version").get()).toEqual({ user_version: migrations.length })
      opened.close()
    },
  )

  test("of version 2 keeps what its schedules wait for, and how often they ran", async () => {
    const old = file("waiting.db")
    const sqlite = new DatabaseSync(old)
    for (const step of migrations.slice(0, 2)) sqlite.exec(step)
    const columns =
      "id, job, trigger, overlap, from_config, version, cursor, next_at, created_at, last_run_id"
    const put = sqlite.prepare(
      `insert into schedules (${columns}) values (?, 'j', ?, 'skip', 1, 3, 5, ?, 1, ?)`,
    )
    put.run("delay", '{"kind":"after","delayMillis":7}', null, "gone")
    put.run("over", '{"kind":"at","at":5}', null, "gone")
    put.run("rate", '{"kind":"every","periodMillis":10,"startAt":null}', 9e15, "gone")
    const instant = sqlite.prepare("insert into occurrences values (?, ?, ?, 1, ?, ?, 9)")
    for (const at of [1, 2, 3])
      instant.run("rate", at, at, at === 2 ? null : `r${at}`, at === 2 ? "missed" : null)
    sqlite.exec("pragma user_version = 2")
    sqlite.close()
    const store = driverOver(openDatabase({ file: old }), { file: old, now })
    const due = await store.dueSchedules(10)
    expect(due.map(({ id, waitsUntil, lastRunAlive }) => ({ id, waitsUntil, lastRunAlive }))).toEqual([
      { id: "delay", waitsUntil: 5, lastRunAlive: false },
    ])
    expect((await store.schedules()).map(({ id, runCount }) => [id, runCount])).toEqual([
      ["delay", 0],
      ["over", 0],
      ["rate", 2],
    ])
    const rows = await store.occurrences({ scheduleId: "rate", limit: 10 })
    expect(rows.map(({ trigger }) => trigger)).toEqual([null, null, null])
    await store.close()
  })

  test("of version 5 keeps its node, which can report from then on, and gets credentials", async () => {
    const old = file("node.db")
    const sqlite = new DatabaseSync(old)
    for (const step of migrations.slice(0, 5)) sqlite.exec(step)
    sqlite.exec("insert into nodes values ('n1', 1, 'h', 2, 'r', 9007199254740991); pragma user_version = 5")
    sqlite.close()
    const store = driverOver(openDatabase({ file: old }), { file: old, now })
    expect(await store.nodes()).toMatchObject([{ id: "n1", pid: 2 }])
    expect(await store.workers()).toEqual([])
    expect(await store.reportWorkers("n1", "[]")).toBe(true)
    expect(await store.workers()).toEqual([{ node: "n1", workers: "[]" }])
    expect(await store.putCredential(newCredential(1))).toBe("created")
    await store.close()
  })
})

test("of credentials there are at most 10,000, and one that is there already is none more", async () => {
  const opened = openDatabase({ file: ":memory:" })
  const store = driverOver(opened, { file: ":memory:", now })
  opened
    .prepare(
      `insert into credentials with recursive n(n) as (select 1 union all select n + 1 from n where n < 9999)
        select 'i' || n, 'api', 'n' || n, 'h', '{}', null, 1 from n`,
    )
    .run()
  expect(await store.putCredential(newCredential(1))).toBe("created")
  expect(await store.putCredential(newCredential(1))).toBe("exists")
  expect(() => store.putCredential(newCredential(2))).toThrow(/^credentials: 10000 are stored/)
  expect(await store.credentials()).toHaveLength(10_000)
  expect(await store.deleteCredentials(["i1"])).toBe(1)
  expect(await store.putCredential(newCredential(2))).toBe("created")
  await store.close()
})

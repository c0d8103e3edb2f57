// Opening a MySQL store: what cannot serve is refused with a reason and the next thing to do, unchanged; what can is
// brought to the newest version, once, whoever else opens it.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { newCredential } from "../../../core/contract/CredentialStoreContract.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { StoreUnusable } from "../../../core/domain/Errors.ts"
import { StoreInfo } from "../../../core/ports/Store.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { migrationText, newestVersion } from "../../../plugins/store-mysql/migrate.ts"
import { layerMysql, migrationPlan, mysqlDriver } from "../../../plugins/store-mysql/mod.ts"
import { targetOf } from "../../../plugins/store-mysql/target.ts"
import { databaseName, dropDatabases, missing, placeOf, server, url } from "./server.ts"

/** The refusal that `opening` ends with. */
const refusalOf = async (opening: () => unknown): Promise<StoreUnusable> => {
  try {
    await opening()
  } catch (error) {
    if (error instanceof StoreUnusable) return error
    throw error
  }
  throw new Error("It was not refused")
}

describe("an address", () => {
  test("is read with its %-codes, and what it lacks is the usual", () => {
    expect(targetOf("mysql://anna:p%40ss@db.example:3307/jobs")).toEqual({
      host: "db.example",
      port: 3307,
      user: "anna",
      password: "p@ss",
      database: "jobs",
      name: "db.example:3307/jobs",
    })
    expect(targetOf("mariadb://127.0.0.1")).toMatchObject({ port: 3306, user: "root", database: "uhrwerk" })
    expect(targetOf("mysql://h/one", "other").name).toBe("h:3306/other")
  })

  test.each([
    "",
    "localhost",
    "postgres://u:secret@h/d",
    "mysql://u:sec%ret@h/d",
    "mysql://u:secret@h/d?ssl=true",
    "mysql://u:secret@h/Big",
    "mysql://u:secret@h/mysql",
    "mysql://u:secret@h/a`b",
  ])("%j is refused, and the refusal says no password", async (address) => {
    const refusal = await refusalOf(() => targetOf(address))
    expect(refusal.message).not.toContain("sec")
  })

  test("of a port where nobody listens is refused", async () => {
    const refusal = await refusalOf(() => mysqlDriver({ url: "mysql://root@127.0.0.1:1/nowhere" }))
    expect(refusal).toMatchObject({ kind: "unreachable", field: 'storage "127.0.0.1:1/nowhere"' })
  })

  test("of a port where nobody listens fails the layer with the same refusal", async () => {
    const opened = await Effect.runPromise(
      Effect.result(Effect.provide(StoreInfo, layerMysql({ url: "mysql://root@127.0.0.1:1/nowhere" }))),
    )
    expect(Result.isFailure(opened) && opened.failure.kind).toBe("unreachable")
  })
})

describe.skipIf(missing !== null)(`migrate${missing === null ? "" : ` (${missing})`}`, () => {
  let admin: Connection
  beforeAll(() => void (admin = connect(placeOf("none"), { connectionsMax: 1 }, null)))
  afterAll(async () => {
    await admin.close()
    await dropDatabases()
  })
  const versionsOf = async (database: string) =>
    (await admin.read(`select version from \`${database}\`.uhrwerk_migrations order by version`)).map(
      ({ version }) => version,
    )
  const all = Array.from({ length: newestVersion }, (_, index) => index + 1)

  test("six openers at once make the tables once, and all of them serve", async () => {
    const database = databaseName()
    const stores = await Promise.all(Array.from({ length: 6 }, () => mysqlDriver({ url, database })))
    expect(await versionsOf(database)).toEqual(all)
    await stores[0]?.enqueue([newRun(1)])
    for (const store of stores) {
      expect(await store.get([newRun(1).id])).toHaveLength(1)
      await store.close()
    }
  })

  test("the printed plan makes what opening makes, and is empty afterwards", async () => {
    const [printed, opened] = [databaseName(), databaseName()]
    const plan = await migrationPlan({ url, database: printed })
    for (const text of plan.split(";\n")) if (text !== "") await admin.change(text)
    expect(plan).toBe(migrationText(printed, server))
    await (await mysqlDriver({ url, database: opened })).close()
    const columnsOf = (database: string) =>
      admin.read(
        `select table_name, column_name, column_type, is_nullable, collation_name from information_schema.columns
          where table_schema = ? and column_name <> 'done_at' order by table_name, ordinal_position`,
        [database],
      )
    const indexesOf = (database: string) =>
      admin.read(
        `select table_name, index_name, seq_in_index, column_name, non_unique from information_schema.statistics
          where table_schema = ? order by table_name, index_name, seq_in_index`,
        [database],
      )
    expect(await columnsOf(printed)).toEqual(await columnsOf(opened))
    expect(await indexesOf(printed)).toEqual(await indexesOf(opened))
    expect((await indexesOf(opened)).length).toBeGreaterThan(30)
    expect(await migrationPlan({ url, database: printed })).toBe("")
  })

  test("a migration that was cut short after any of its statements is brought to its end", async () => {
    const statements = migrationText("cut", server)
      .split(";\n")
      .filter((text) => text !== "")
    for (const count of [1, 3, statements.length - 1]) {
      const database = databaseName()
      for (const text of statements.slice(0, count))
        await admin.change(text.replaceAll("`cut`", `\`${database}\``))
      const store = await mysqlDriver({ url, database })
      expect(await store.enqueue([newRun(1, { key: "k" })])).toMatchObject([{ result: "created" }])
      expect(await versionsOf(database)).toEqual(all)
      expect((await admin.read(`select count(*) as n from \`${database}\`.chains`))[0]?.["n"]).toBe(256)
      await store.close()
    }
  })

  test("a database of version 1 keeps its rows, and serves what the newest version knows", async () => {
    const database = databaseName()
    const statements = migrationText(database, server).split(";\n")
    const first = statements.findIndex((text) => text.includes("(version) values (1)"))
    for (const text of statements.slice(0, first + 1)) await admin.change(text)
    await admin.change(`insert into \`${database}\`.nodes values ('n1', 1, 'h', 2, 'r', 9007199254740991)`)
    expect(await versionsOf(database)).toEqual([1])
    const store = await mysqlDriver({ url, database })
    expect(await versionsOf(database)).toEqual(all)
    expect(await store.nodes()).toMatchObject([{ id: "n1", pid: 2 }])
    expect(await store.workers()).toEqual([])
    expect(await store.reportWorkers("n1", "[]")).toBe(true)
    expect(await store.putCredential(newCredential(1))).toBe("created")
    await store.close()
  })

  test("of credentials there are at most 10,000, and one that is there already is none more", async () => {
    const database = databaseName()
    const store = await mysqlDriver({ url, database })
    const rows = Array.from({ length: 9_999 }, (_, n) => `('i${n}', 'api', 'n${n}', 'h', '{}', null, 1)`)
    await admin.change(`insert into \`${database}\`.credentials values ${rows.join(", ")}`)
    expect(await store.putCredential(newCredential(1))).toBe("created")
    expect(await store.putCredential(newCredential(1))).toBe("exists")
    await expect(store.putCredential(newCredential(2))).rejects.toThrow(/^credentials: 10000 are stored/)
    expect(await store.credentials()).toHaveLength(10_000)
    await store.close()
  })

  test("a database of a newer version is refused, and keeps its version", async () => {
    const database = databaseName()
    await (await mysqlDriver({ url, database })).close()
    await admin.change(
      `insert into \`${database}\`.uhrwerk_migrations (version) values (${newestVersion + 1})`,
    )
    expect(await refusalOf(() => mysqlDriver({ url, database }))).toMatchObject({
      kind: "newerSchema",
      next: expect.stringContaining("Upgrade"),
    })
    expect(await versionsOf(database)).toEqual([...all, newestVersion + 1])
  })

  test("another program's database is refused and gets no table", async () => {
    const database = databaseName()
    await admin.change(`create database \`${database}\``)
    await admin.change(`create table \`${database}\`.customers (id int)`)
    const refusal = await refusalOf(() => mysqlDriver({ url, database }))
    expect(refusal).toMatchObject({ kind: "notADatabase", reason: expect.stringContaining('"customers"') })
    expect(await admin.read(`show tables from \`${database}\``)).toHaveLength(1)
  })
})

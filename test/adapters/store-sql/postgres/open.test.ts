// Opening a PostgreSQL store: what cannot serve is refused with a reason and the next thing to do, unchanged.
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { driverOver, migrationText, postgresDriver } from "../../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import { migrate, newestVersion } from "../../../../adapters/store-sql/postgres/migrate.ts"
import { checkSchema } from "../../../../adapters/store-sql/postgres/schemaName.ts"
import { newCredential } from "../../../../core/contract/CredentialStoreContract.ts"
import { StoreUnusable } from "../../../../core/domain/Errors.ts"
import { cannotStart, type OwnServer, startServer } from "./ownServer.ts"
import { pgliteConnection } from "./pglite.ts"

/** The refusal that `opening` ends with. */
const refusalOf = async (opening: Promise<{ close(): unknown } | void>): Promise<StoreUnusable> => {
  try {
    await (await opening)?.close()
  } catch (error) {
    if (error instanceof StoreUnusable) return error
    throw error
  }
  throw new Error("It was not refused")
}

describe("migrate", () => {
  let database: PGlite
  beforeAll(async () => void (database = await PGlite.create()))
  afterAll(() => database.close())
  const versionOf = async (schema: string) =>
    (await database.query<{ version: number }>(`select max(version) as version from "${schema}".migrations`))
      .rows[0]?.version

  test("a new schema gets the newest version, and a second time nothing", async () => {
    const connection = pgliteConnection(database)
    await migrate(connection, "here", "fresh")
    expect(await versionOf("fresh")).toBe(newestVersion)
    await migrate(connection, "here", "fresh")
    expect((await database.query("select from fresh.migrations")).rows).toHaveLength(newestVersion)
  })

  test("the printed text makes what migrating makes", async () => {
    await database.exec(migrationText("printed"))
    await migrate(pgliteConnection(database), "here", "migrated")
    const columns = async (schema: string) =>
      (
        await database.query(
          `select table_name, column_name, data_type, is_nullable from information_schema.columns
            where table_schema = $1 order by table_name, ordinal_position`,
          [schema],
        )
      ).rows
    expect(await columns("printed")).toEqual(await columns("migrated"))
    await migrate(pgliteConnection(database), "here", "printed")
    expect(migrationText("printed", newestVersion)).toBe("")
  })

  test("a schema of version 1 keeps its rows, and serves what the newest version knows", async () => {
    const connection = pgliteConnection(database)
    const [first = ""] = migrationText("aged").split("commit;\n")
    await database.exec(`${first}commit;`)
    expect(await versionOf("aged")).toBe(1)
    await database.exec("insert into aged.nodes values ('n1', 1, 'h', 2, 'r', 9007199254740991)")
    await migrate(connection, "here", "aged")
    const store = driverOver(connection, "aged")
    expect(await store.nodes()).toMatchObject([{ id: "n1", pid: 2 }])
    expect(await store.workers()).toEqual([])
    expect(await store.reportWorkers("n1", "[]")).toBe(true)
    expect(await store.putCredential(newCredential(1))).toBe("created")
  })

  test("of credentials there are at most 10,000, and one that is there already is none more", async () => {
    const connection = pgliteConnection(database)
    await migrate(connection, "here", "full")
    const store = driverOver(connection, "full")
    await database.exec(`insert into "full".credentials
      select 'i' || n, 'api', 'n' || n, 'h', '{}', null, 1 from generate_series(1, 9999) as n`)
    expect(await store.putCredential(newCredential(1))).toBe("created")
    expect(await store.putCredential(newCredential(1))).toBe("exists")
    await expect(store.putCredential(newCredential(2))).rejects.toThrow(/^credentials: 10000 are stored/)
    expect(await store.credentials()).toHaveLength(10_000)
  })

  test("a schema of a newer version is refused, and keeps its version", async () => {
    const connection = pgliteConnection(database)
    await migrate(connection, "here", "newer")
    await database.exec(`insert into newer.migrations (version) values (${newestVersion + 1})`)
    expect(await refusalOf(migrate(connection, "here", "newer"))).toMatchObject({
      kind: "newerSchema",
      field: 'storage "here"',
      next: expect.stringContaining("Upgrade"),
    })
    expect(await versionOf("newer")).toBe(newestVersion + 1)
  })

  test("another program's schema is refused and gets no table", async () => {
    await database.exec(`create schema foreign_one; create table foreign_one.customers (id int)`)
    const refusal = await refusalOf(migrate(pgliteConnection(database), "here", "foreign_one"))
    expect(refusal).toMatchObject({ kind: "notADatabase", reason: expect.stringContaining('"customers"') })
    const tables = await database.query("select from pg_tables where schemaname = 'foreign_one'")
    expect(tables.rows).toHaveLength(1)
  })

  test.each(["", "Uhrwerk", 'a"b', "a.b", "public", "pg_temp", "information_schema", "1a", "a".repeat(41)])(
    "the name %j is refused as that of a schema",
    (name) => expect(() => checkSchema(name)).toThrow(StoreUnusable),
  )
})

describe.skipIf(cannotStart !== null)(
  `open > a server of our own${cannotStart === null ? "" : ` (${cannotStart})`}`,
  () => {
    let server: OwnServer
    beforeAll(async () => void (server = await startServer()))
    afterAll(() => server.remove())
    const open = (url: string, more = {}) => postgresDriver({ url, connectMillis: 5000, ...more })

    test("a wrong password is refused, and no error says it", async () => {
      const refusal = await refusalOf(open(server.url({ password: "mistyped" })))
      expect(refusal.kind).toBe("denied")
      expect(refusal.message).not.toContain("mistyped")
    })

    test("a database that is not there is refused", async () => {
      const refusal = await refusalOf(open(server.url({ database: "nowhere" })))
      expect(refusal).toMatchObject({ kind: "notFound", next: expect.stringContaining("Create it") })
    })

    test("a port where nobody listens is refused", async () => {
      const refusal = await refusalOf(open("postgres://postgres@127.0.0.1:1/postgres"))
      expect(refusal).toMatchObject({ kind: "unreachable", field: 'storage "127.0.0.1:1/postgres"' })
    })

    test("a user who may not make tables is refused, and may serve once they are there", async () => {
      const admin = connect({ url: server.url(), connectionsMax: 1 })
      await admin.script("create role clerk login password 'secret'")
      const url = server.url({ user: "clerk" })
      expect((await refusalOf(open(url))).kind).toBe("notWritable")
      await (await open(server.url())).close()
      await admin.script(`grant usage on schema uhrwerk to clerk;
      grant select, insert, update, delete on all tables in schema uhrwerk to clerk`)
      await admin.close()
      const driver = await open(url)
      expect(await driver.counts()).toEqual([])
      await driver.close()
    })

    test("a statement that takes too long is given up", async () => {
      const connection = connect({ url: server.url(), statementMillis: 50, connectionsMax: 1 })
      await expect(connection.query("select pg_sleep(20)", [])).rejects.toMatchObject({
        code: "57014",
        outcomeUnknown: false,
      })
      await connection.close()
    })

    test("without prepared statements everything works as well, and nothing is set for a session", async () => {
      const driver = await open(server.url(), { prepare: false, schema: "pooled" })
      expect(await driver.dueSchedules(10)).toEqual([])
      await driver.close()
      const connection = connect({ url: server.url(), prepare: false, connectionsMax: 1 })
      const [row] = await connection.query("select current_setting('statement_timeout') as value", [])
      expect(row).toEqual({ value: "0" })
      await connection.close()
    })
  },
)

// The whole storage contract over PostgreSQL: on PGlite in this process, and on a real server where there is one. Each
// case has a schema of its own, emptied instead of made anew where that is quicker.
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, describe, test } from "vitest"
import { driverOver, postgresDriver } from "../../adapters/store-sql/postgres.ts"
import { connect } from "../../adapters/store-sql/postgres/connect.ts"
import type { Connection } from "../../adapters/store-sql/postgres/Connection.ts"
import { migrate } from "../../adapters/store-sql/postgres/migrate.ts"
import { pgliteConnection } from "../adapters/store-sql/postgres/pglite.ts"
import { dropSchemas, missing, schemaName, url } from "../adapters/store-sql/postgres/server.ts"
import { registerCases, type TestFunction } from "./registerCases.ts"

const capabilities = { durable: true, shared: true }

/** Empties all tables of a schema, but not how far it is migrated. */
const empty = async (connection: Connection, schema: string): Promise<void> => {
  const tables = await connection.query(
    "select tablename as name from pg_tables where schemaname = $1 and tablename <> 'migrations'",
    [schema],
  )
  // Not `truncate`, which makes new files: there are a few rows in each, if any.
  await connection.script(tables.map(({ name }) => `delete from "${schema}"."${String(name)}";`).join("\n"))
}

describe("PGlite", () => {
  let database: PGlite
  beforeAll(async () => {
    database = await PGlite.create()
    await migrate(pgliteConnection(database), "pglite", "uhrwerk")
  }, 60_000)
  afterAll(() => database.close())
  registerCases(
    test,
    "postgres",
    async (now) => {
      const connection = pgliteConnection(database)
      await empty(connection, "uhrwerk")
      return driverOver(connection, "uhrwerk", now)
    },
    capabilities,
  )
})

describe("a server", () => {
  const schema = schemaName()
  const only =
    missing === null
      ? test
      : Object.assign(((name, run) => test.skip(`${name} (${missing})`, run)) as TestFunction, {
          skip: test.skip,
        })
  let connection: Connection
  beforeAll(() => void (connection = connect({ url, connectionsMax: 1 })))
  afterAll(async () => {
    await connection.close()
    await dropSchemas()
  })
  registerCases(
    only as TestFunction,
    "postgres",
    async (now) => {
      const driver = await postgresDriver({ url, schema, now, connectionsMax: 3 })
      await empty(connection, schema)
      return driver
    },
    capabilities,
  )
})

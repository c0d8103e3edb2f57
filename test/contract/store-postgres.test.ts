// The whole storage contract over PostgreSQL: on PGlite in this process, and on a real server where there is one.
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, describe, test } from "vitest"
import { connect } from "../../adapters/store-sql/postgres/connect.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { pgliteConnection } from "../adapters/store-sql/postgres/pglite.ts"
import { openStores } from "../adapters/store-sql/postgres/schemas.ts"
import { dropSchemas, missing, schemaName, url } from "../adapters/store-sql/postgres/server.ts"
import { registerCases, type TestFunction } from "../../apps/sdk/registerCases.ts"

const capabilities = { durable: true, shared: true }

describe("PGlite", () => {
  let database: PGlite
  let open: (now: () => number) => Promise<StoreDriver>
  let count = 0
  beforeAll(async () => {
    database = await PGlite.create()
    open = openStores(pgliteConnection(database), () => `uhrwerk_${count++}`)
  })
  afterAll(() => database.close())
  registerCases(test, "postgres", (now) => open(now), capabilities)
})

describe("a server", () => {
  const connection = connect({ url, connectionsMax: 3 })
  const open = openStores(connection, schemaName)
  afterAll(async () => {
    await connection.close()
    await dropSchemas()
  })
  const skipped: TestFunction = Object.assign(
    (name: string, run: () => Promise<void>) => test.skip(`${name} (${missing})`, run),
    { skip: test.skip },
  )
  registerCases(missing === null ? test : skipped, "postgres", open, capabilities)
})

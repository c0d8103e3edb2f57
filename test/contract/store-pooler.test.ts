// The storage contract over PostgreSQL behind a transaction pooler, where each transaction is on another connection: a part
// of it, or all with UHRWERK_TEST_POOLER=all.
import { afterAll, beforeAll, describe, test } from "vitest"
import { connect } from "../../adapters/store-sql/postgres/connect.ts"
import type { Connection } from "../../adapters/store-sql/postgres/Connection.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { noPooler, type Pooler, startPooler } from "../adapters/store-sql/postgres/pooler.ts"
import { openStores } from "../adapters/store-sql/postgres/schemas.ts"
import { dropSchemas, schemaName } from "../adapters/store-sql/postgres/server.ts"
import { registerCases, type TestFunction } from "../../apps/sdk/registerCases.ts"

// Each fifth case, of every part of the contract.
const share = process.env["UHRWERK_TEST_POOLER"] === "all" ? 1 : 5

describe("behind a pooler", () => {
  let pooler: Pooler | undefined
  let connection: Connection | undefined
  let open: ((now: () => number) => Promise<StoreDriver>) | undefined
  beforeAll(async () => {
    if (noPooler !== null) return
    pooler = await startPooler()
    connection = connect({ url: pooler.url, prepare: false, connectionsMax: 6 })
    open = openStores(connection, schemaName)
  })
  afterAll(async () => {
    await connection?.close()
    await pooler?.stop()
    await dropSchemas()
  })
  let place = 0
  const some: TestFunction = Object.assign(
    (name: string, run: () => Promise<void>) => {
      if (noPooler !== null) test.skip(`${name} (${noPooler})`, run)
      else if (place++ % share === 0) test(name, run)
    },
    { skip: test.skip },
  )
  registerCases(some, "postgres", (now) => (open as NonNullable<typeof open>)(now), {
    durable: true,
    shared: true,
  })
})

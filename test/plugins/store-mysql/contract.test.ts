// The whole storage contract over MySQL or MariaDB, where there is a server.
import { afterAll, describe, test } from "vitest"
import { registerCases, type TestFunction } from "../../../apps/sdk/registerCases.ts"
import { durable, missing, openStores } from "./server.ts"

describe("a server", () => {
  const stores = openStores()
  afterAll(() => stores.close())
  // Each case has a database and a clock of its own; the server waits for its disk once for several that commit together.
  const together: TestFunction = Object.assign(
    (name: string, run: () => Promise<void>) => test.concurrent(name, run),
    { skip: test.skip },
  )
  const skipped: TestFunction = Object.assign(
    (name: string, run: () => Promise<void>) => test.skip(`${name} (${missing})`, run),
    { skip: test.skip },
  )
  registerCases(missing === null ? together : skipped, "mysql", stores.open, { durable, shared: true })
})

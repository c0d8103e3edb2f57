// The whole storage contract over SQLite, each case on a file of its own.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, test } from "vitest"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import { registerCases } from "../../apps/sdk/registerCases.ts"

const folder = mkdtempSync(join(tmpdir(), "uhrwerk-contract-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
registerCases(test, "sqlite", (now) => sqliteDriver({ file: join(folder, `${files++}.db`), now }), {
  durable: true,
  shared: false,
})

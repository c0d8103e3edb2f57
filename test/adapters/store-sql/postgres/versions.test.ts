// Programs of several versions over one schema, and migrations that are interrupted: refused or repeated, never half.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { postgresDriver } from "../../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import type { Connection, Queryable } from "../../../../adapters/store-sql/postgres/Connection.ts"
import { migrate, newestVersion } from "../../../../adapters/store-sql/postgres/migrate.ts"
import { newRun, runId } from "../../../../core/contract/Fixtures.ts"
import { cli, moduleUrl } from "../../../apps/cli/cli.ts"
import { dropSchemas, missing, schemaName, url } from "./server.ts"

const node = { id: "n", host: "here", pid: 1, runtime: "test" }

describe.skipIf(missing !== null)(`versions (${missing ?? "on the server"})`, () => {
  let admin: Connection
  beforeAll(() => void (admin = connect({ url, connectionsMax: 2 })))
  afterAll(async () => {
    await admin?.close()
    await dropSchemas()
  })
  const tablesOf = async (schema: string) =>
    (await admin.query("select tablename as name from pg_tables where schemaname = $1", [schema])).length
  const upgrade = (schema: string) =>
    admin.query(`insert into "${schema}".migrations (version) values (${newestVersion + 1})`, [])

  test("several that start at once make one schema, and each of them serves", async () => {
    const schema = schemaName()
    const drivers = await Promise.all(Array.from({ length: 6 }, () => postgresDriver({ url, schema })))
    const rows = await admin.query(`select version from "${schema}".migrations order by version`, [])
    expect(rows.map(({ version }) => version)).toEqual(Array.from({ length: newestVersion }, (_, n) => n + 1))
    for (const [n, driver] of drivers.entries()) {
      await driver.enqueue([newRun(n)])
      await driver.close()
    }
  })

  /** A connection on which `event` happens before the last statement of a migration's transaction. */
  const disturbed = (connection: Connection, event: (queryable: Queryable) => Promise<void>): Connection => ({
    ...connection,
    transaction: (body) =>
      connection.transaction((queryable) =>
        body({
          ...queryable,
          script: async (text) => {
            if (text.includes("insert into")) await event(queryable)
            return queryable.script(text)
          },
        }),
      ),
  })

  test("one that fails in the middle leaves nothing behind, and the next one passes", async () => {
    const schema = schemaName()
    const connection = connect({ url, connectionsMax: 1 })
    const full = disturbed(connection, () => Promise.reject(new Error("the disk is full")))
    await expect(migrate(full, "here", schema)).rejects.toThrow("the disk is full")
    expect(await tablesOf(schema)).toBe(0)
    await migrate(connection, "here", schema)
    expect(await tablesOf(schema)).toBeGreaterThan(10)
    await connection.close()
  })

  test("one whose connection is killed in the middle leaves nothing behind, and its lock is free", async () => {
    const schema = schemaName()
    const connection = connect({ url, connectionsMax: 1 })
    const killed = disturbed(connection, async (queryable) => {
      const [row] = await queryable.query("select pg_backend_pid() as pid", [])
      await admin.query("select pg_terminate_backend($1::int)", [Number(row?.["pid"])])
    })
    await expect(migrate(killed, "here", schema)).rejects.toThrow()
    expect(await tablesOf(schema)).toBe(0)
    await migrate(connection, "here", schema)
    expect(await tablesOf(schema)).toBeGreaterThan(10)
    await connection.close()
  })

  test("a node that is open while a newer version migrates gets no lease and no work any more, and is told why", async () => {
    const schema = schemaName()
    const old = await postgresDriver({ url, schema })
    await old.join(node, 60_000)
    expect(await old.renew("n", 60_000)).toBe(true)
    await upgrade(schema)
    expect(await old.renew("n", 60_000)).toBe(false)
    await expect(old.join({ ...node, id: "m" }, 60_000)).rejects.toMatchObject({
      _tag: "StoreUnusable",
      kind: "newerSchema",
      reason: expect.stringContaining(`version ${newestVersion + 1}, this program knows ${newestVersion}`),
      next: expect.stringContaining("Upgrade"),
    })
    expect((await old.nodes()).map(({ id }) => id)).toEqual(["n"])
    await old.close()
    await expect(postgresDriver({ url, schema })).rejects.toMatchObject({ kind: "newerSchema" })
  })

  test("`uhrwerk serve` ends by itself when a newer version has migrated, with code 5, and its work is left to others", async () => {
    const schema = schemaName()
    const folder = mkdtempSync(join(tmpdir(), "uhrwerk-versions-"))
    writeFileSync(
      join(folder, "uhrwerk.config.mjs"),
      `import { defineConfig, job } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
export default defineConfig({ jobs: [job("wait", { run: (_, { sleep }) => sleep("1m") })], storage: "${url}?schema=${schema}", lease: "2s" })
`,
    )
    try {
      const serving = cli(["serve"], { cwd: folder })
      const store = await postgresDriver({ url, schema })
      await expect.poll(async () => (await store.nodes()).length, { timeout: 30_000 }).toBe(1)
      await store.enqueue([newRun(1, { job: "wait" })])
      await expect
        .poll(async () => (await store.get([runId(1)]))[0]?.state, { timeout: 30_000 })
        .toBe("running")
      await upgrade(schema)
      const { code, stdout } = await serving
      expect(code).toBe(5)
      expect(stdout).toContain("This node is too old for its store and ends")
      expect(stdout).toContain("Upgrade uhrwerk")
      await store.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

// What an examination finds on a server of its own that is set up in many wrong ways, and what a store promises there.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  examinePostgres,
  postgresDriver,
  type PostgresOptions,
} from "../../../../adapters/store-sql/postgres.ts"
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import type { Connection } from "../../../../adapters/store-sql/postgres/Connection.ts"
import {
  type Durability,
  durabilityFindings,
  promiseOf,
} from "../../../../adapters/store-sql/postgres/durability.ts"
import { versionFinding } from "../../../../adapters/store-sql/postgres/examine.ts"
import { upkeepFindings } from "../../../../adapters/store-sql/postgres/examine/upkeep.ts"
import { newestVersion } from "../../../../adapters/store-sql/postgres/migrate.ts"
import type { Finding } from "../../../../core/ports/Examination.ts"
import { waitingFinding } from "../../../../adapters/store-sql/waiting.ts"
import { newRun } from "../../../../core/contract/Fixtures.ts"
import { engine, type EngineEvent, job } from "uhrwerk"
import { cannotStart, type OwnServer, startServer } from "./ownServer.ts"

describe("durability > what may be lost is said", () => {
  const kept: Durability = {
    fsync: true,
    synchronousCommit: "on",
    fullPageWrites: true,
    synchronousStandbyNames: "",
    standbys: [],
  }
  const standby = { name: "b", kind: "async" } as const
  test.each<readonly [string, Partial<Durability>, boolean, string | null]>([
    ["as it comes", {}, true, null],
    ["fsync off", { fsync: false }, false, "fsync is off"],
    ["synchronous_commit off", { synchronousCommit: "off" }, false, "synchronous_commit is off"],
    ["full_page_writes off", { fullPageWrites: false }, true, "full_page_writes is off"],
    ["a standby that is asynchronous", { standbys: [standby] }, true, 'the standby "b" is asynchronous'],
    [
      "several",
      { standbys: [standby, { ...standby, name: "c" }] },
      true,
      '2 standbys "b", "c" are asynchronous',
    ],
    ["a standby that may not be seen", { standbys: [{ name: "b", kind: null }] }, true, "is asynchronous"],
    [
      "a standby that is waited for",
      { synchronousStandbyNames: "b", standbys: [{ name: "b", kind: "sync" }] },
      true,
      null,
    ],
    [
      "waited for by nobody",
      { synchronousStandbyNames: "b", synchronousCommit: "local" },
      true,
      "wait for no standby",
    ],
  ])("%s", (_name, change, durable, said) => {
    const { durable: promised, cautions } = promiseOf({ ...kept, ...change })
    expect(promised).toBe(durable)
    expect(cautions?.length).toBe(said === null ? 0 : 1)
    if (said !== null) expect(cautions?.[0]).toContain(said)
    for (const { state, mend } of durabilityFindings({ ...kept, ...change }, "me"))
      expect(mend === null).toBe(state === "ok")
  })
})

test("schema > an older one fails, and its migrations mend it", () => {
  expect(versionFinding("mine", 2, 3)).toMatchObject({
    state: "fail",
    found: '"mine" has version 2 of 3',
    mend: expect.stringContaining("uhrwerk migrate"),
  })
  expect(versionFinding("mine", 0, 3).state).toBe("warn")
  expect(versionFinding("mine", 3, 3).state).toBe("ok")
})

test("due runs > a queue is no fault, one that nobody serves is", () => {
  const base = { count: 3, longestMillis: 30_000, liveNodes: 0 }
  expect(waitingFinding({ ...base, count: 0 })).toMatchObject({ state: "ok", found: "none waits" })
  expect(waitingFinding(base)).toMatchObject({ state: "ok" })
  expect(waitingFinding({ ...base, longestMillis: 300_000 })).toMatchObject({
    state: "warn",
    mend: expect.stringContaining("uhrwerk serve"),
  })
  expect(waitingFinding({ ...base, longestMillis: 300_000, liveNodes: 2 }).mend).toContain("run explain")
})

test("a server that is not there is a finding", async () => {
  const url = "postgres://postgres:hidden@127.0.0.1:1/postgres"
  const { findings, store } = await examinePostgres({ url, connectMillis: 5000 })
  expect(store).toBeNull()
  expect(findings).toMatchObject([
    { what: "server", state: "fail", mend: expect.stringContaining("host and port") },
  ])
  expect(JSON.stringify(findings)).not.toContain("hidden")
})

describe.skipIf(cannotStart !== null)(
  `a server of our own${cannotStart === null ? "" : ` (${cannotStart})`}`,
  () => {
    let server: OwnServer
    let admin: Connection
    beforeAll(async () => {
      server = await startServer()
      admin = connect({ url: server.url(), connectionsMax: 2 })
    })
    afterAll(async () => {
      await admin?.close()
      server?.remove()
    })
    const look = async (options: Partial<PostgresOptions> = {}) => {
      const { findings, store } = await examinePostgres({
        url: server.url(),
        connectMillis: 5000,
        ...options,
      })
      await store?.close()
      const of = (what: string): Finding | undefined => findings.find((each) => each.what === what)
      return { findings, of, usable: store !== null }
    }
    // A new session has what `alter system` says a moment after the server was told.
    const set = async (name: string, value: string, then: (value: string) => boolean) => {
      await admin.query(`alter system set ${name} = ${value}`, [])
      await admin.query("select pg_reload_conf()", [])
      await expect
        .poll(async () => {
          const fresh = connect({ url: server.url(), connectionsMax: 1 })
          const [row] = await fresh.query(`select current_setting('${name}') as value`, [])
          await fresh.close()
          return then(String(row?.["value"]))
        })
        .toBe(true)
    }

    test("without tables nothing is wrong, and the next step is said; with them all is well", async () => {
      const before = await look()
      expect(before.findings.filter(({ state }) => state !== "ok").map(({ what }) => what)).toEqual([
        "schema",
      ])
      expect(before.of("schema")?.mend).toContain("uhrwerk migrate")
      expect(before.usable).toBe(false)
      const driver = await postgresDriver({ url: server.url() })
      expect(driver.capabilities).toEqual({ name: "postgres", durable: true, shared: true, cautions: [] })
      await driver.close()
      const after = await look()
      expect(after.findings.filter(({ state }) => state !== "ok")).toEqual([])
      expect(after.usable).toBe(true)
      expect(after.of("connections")?.found).toContain("of 37 in use")
    })

    test("a schema of a newer version fails", async () => {
      await (await postgresDriver({ url: server.url(), schema: "newer" })).close()
      await admin.query(`insert into newer.migrations (version) values (${newestVersion + 1})`, [])
      expect((await look({ schema: "newer" })).of("schema")).toMatchObject({
        state: "fail",
        mend: expect.stringContaining("Upgrade"),
      })
    })

    test("commits that are not kept are warned of, a store does not promise them, and an engine says so once", async () => {
      await set("synchronous_commit", "off", (value) => value === "off")
      expect((await look()).of("commits")).toMatchObject({
        state: "warn",
        mend: expect.stringContaining('alter role "postgres" set synchronous_commit = on'),
      })
      const driver = await postgresDriver({ url: server.url() })
      expect(driver.capabilities).toMatchObject({
        durable: false,
        cautions: [expect.stringContaining("synchronous_commit is off")],
      })
      await driver.close()
      const events: Array<EngineEvent> = []
      const running = await engine({
        jobs: [job("none", { run: () => {} })],
        storage: server.url() as "postgres://",
      }).start({ onEvent: (event) => void events.push(event) })
      expect(events.filter(({ kind }) => kind === "caution")).toMatchObject([
        { text: expect.stringContaining("synchronous_commit is off") },
      ])
      await running.stop()
      await admin.query("alter role postgres set synchronous_commit = on", [])
      expect((await look()).of("commits")?.state).toBe("ok")
      await set("fsync", "off", (value) => value === "off")
      expect((await look()).of("commits")).toMatchObject({
        state: "warn",
        found: expect.stringContaining("fsync is off"),
      })
      await set("fsync", "on", (value) => value === "on")
    })

    test("a user without rights fails with the grant that mends it, and with it may serve", async () => {
      await admin.script("create role clerk login password 'secret'")
      const url = server.url({ user: "clerk" })
      expect((await look({ url, schema: "nowhere" })).of("rights")?.state).toBe("fail")
      const refused = await look({ url })
      expect(refused.usable).toBe(false)
      expect(refused.of("schema")).toMatchObject({
        state: "fail",
        mend: expect.stringContaining("grant usage"),
      })
      await admin.script(
        "grant usage on schema uhrwerk to clerk; grant select on uhrwerk.migrations to clerk",
      )
      const mend = (await look({ url })).of("rights")?.mend ?? ""
      expect(mend).toContain("grant select, insert, update, delete")
      await admin.script(mend.slice(mend.indexOf("grant")))
      const granted = await look({ url })
      expect(granted.of("rights")?.state).toBe("ok")
      expect(granted.usable).toBe(true)
    })

    test("a transaction that is open for long is named, with what ends it", async () => {
      const [, oldTransactions] = upkeepFindings("uhrwerk", true, 0)[0] ?? []
      let release = (): void => {}
      const holding = admin.transaction(async (queryable) => {
        await queryable.query("select txid_current()", [])
        await new Promise<void>((resolve) => void (release = resolve))
      })
      const other = connect({ url: server.url(), connectionsMax: 1 })
      await expect
        .poll(async () => other.transaction(async (queryable) => oldTransactions?.(queryable)))
        .toMatchObject([{ state: "warn", mend: expect.stringContaining("pg_terminate_backend(") }])
      release()
      await holding
      await other.close()
    })

    test("runs that nobody takes are told", async () => {
      const driver = await postgresDriver({ url: server.url() })
      await driver.enqueue([newRun(1)])
      await admin.query("update uhrwerk.live set due_at = due_at - 600000", [])
      expect((await look()).of("due runs")).toMatchObject({
        state: "warn",
        found: "1 run due and not started, the oldest for 10 min, and no node is live",
      })
      await admin.query("delete from uhrwerk.live", [])
      await driver.close()
    })

    test("a standby fails as a storage; beside a primary it is warned of, until commits wait for it", async () => {
      const { url } = await server.standby()
      const standby = await look({ url })
      expect(standby.of("role")).toMatchObject({ state: "fail", mend: expect.stringContaining("primary") })
      expect(standby.usable).toBe(false)
      await expect.poll(async () => (await look()).of("replication")?.state, { timeout: 20_000 }).toBe("warn")
      expect((await look()).of("replication")?.found).toContain('"standby" is asynchronous')
      const driver = await postgresDriver({ url: server.url() })
      expect(driver.capabilities).toMatchObject({
        durable: true,
        cautions: [expect.stringContaining("a failover may lose")],
      })
      await driver.close()
      await set("synchronous_standby_names", "'ANY 1 (standby)'", (value) => value !== "")
      await expect.poll(async () => (await look()).of("replication")?.found).toContain('now "standby"')
      await set("synchronous_standby_names", "''", (value) => value === "")
    })
  },
)

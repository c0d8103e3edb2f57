// What a session is set to, and what a connection does with what goes wrong on it: nothing waits for ever, nothing is
// sent on a connection that broke, and nothing is cut or changed on its way.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newRun } from "../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { driverOver } from "../../../plugins/store-mysql/mod.ts"
import { nowOf } from "../../../plugins/store-mysql/Statement.ts"
import { dropDatabases, durable, empty, makeDatabase, missing, placeOf, server } from "./server.ts"

describe.skipIf(missing !== null)(`a session${missing === null ? "" : ` (${missing})`}`, () => {
  let database: string
  let connection: Connection
  let store: StoreDriver
  beforeAll(async () => {
    database = await makeDatabase()
    connection = connect(placeOf(database), { connectionsMax: 3 })
    store = driverOver(connection, durable)
  })
  afterAll(async () => {
    await store.close()
    await dropDatabases()
  })
  const open = (options: Parameters<typeof connect>[1]) => connect(placeOf(database), options)

  test("has the server's clock in whole milliseconds, whatever the zone of the session", async () => {
    await connection.transaction(async (queryable) => {
      const before = await nowOf(queryable, null)
      await queryable.change("set time_zone = '+13:00'")
      const after = await nowOf(queryable, null)
      await queryable.change("set time_zone = '+00:00'")
      expect(after - before).toBeLessThan(5000)
      expect(after).toBeGreaterThanOrEqual(before)
      expect(Math.abs(after - Date.now())).toBeLessThan(60_000)
    })
    expect(Number.isInteger(await store.now())).toBe(true)
  })

  test("refuses what does not fit a column instead of cutting it, and says that nothing was done", async () => {
    await expect(store.enqueue([newRun(1), newRun(2, { job: "j".repeat(300) })])).rejects.toMatchObject({
      code: "ER_DATA_TOO_LONG",
      outcomeUnknown: false,
    })
    expect(await store.get([newRun(1).id, newRun(2).id])).toEqual([])
  })

  test("an error holds nothing of what the statement was given", async () => {
    const failed = await Promise.resolve(
      store.enqueue([newRun(1, { input: '"a secret"', job: "j".repeat(300) })]),
    ).catch((error: unknown) => error)
    expect(
      Object.getOwnPropertyNames(failed)
        .map((name) => String(Reflect.get(failed as object, name)))
        .join(),
    ).not.toContain("a secret")
  })

  test("a statement that takes too long is given up by the server, and its connection goes on", async () => {
    const own = open({ statementMillis: 300, connectionsMax: 1 })
    const [first] = await own.read("select connection_id() as id")
    // MySQL's own limit is for reads of tables; MariaDB's for everything.
    const slow = server.isMariaDb ? "select sleep(100)" : "select sleep(100) from chains"
    await own.read(slow).then(
      (rows) => expect(Object.values(rows[0] ?? {})).toEqual([1]),
      (error: unknown) => expect(error).toMatchObject({ outcomeUnknown: false }),
    )
    expect((await own.read("select connection_id() as id"))[0]).toEqual(first)
    await own.close()
  })

  test("a connection that is killed within a transaction is replaced, and what it did is not there", async () => {
    const own = open({ connectionsMax: 1 })
    const failure = await own
      .transaction(async (queryable) => {
        await queryable.change(
          "insert into calendars (name, definition, from_config) values ('lost', '{}', 0)",
        )
        const [row] = await queryable.read("select connection_id() as id")
        await connection.change(`kill ${String(row?.["id"])}`)
        return queryable.read("select 1")
      })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(Error)
    // Who asks again may have been the one whose commit was not heard.
    expect((failure as { outcomeUnknown?: boolean }).outcomeUnknown).not.toBe(false)
    expect(await own.read("select name from calendars")).toEqual([])
    await own.close()
  })

  test("of two transactions in a deadlock both are done, one of them a second time", async () => {
    await connection.change(
      "insert into calendars (name, definition, from_config) values ('a', '', 0), ('b', '', 0)",
    )
    let tries = 0
    const met = Promise.withResolvers<void>()
    const both = (first: string, second: string) =>
      connection.transaction(async (queryable) => {
        const change = (name: string) =>
          queryable.change("update calendars set definition = concat(definition, 'x') where name = ?", [name])
        await change(first)
        if (++tries === 2) met.resolve()
        await met.promise
        // Sent together, as the shared logic does; and one that has more to send than the transaction lives to see.
        const count = async () => {
          for (let part = 0; part < 3; part++)
            await queryable.change("insert into run_counts (job, state, count) values ('met', 'ready', 1)")
        }
        await Promise.all([change(second), count()])
      })
    await Promise.all([both("a", "b"), both("b", "a")])
    expect(tries).toBe(3)
    expect(await connection.read("select definition from calendars")).toEqual([
      { definition: "xx" },
      { definition: "xx" },
    ])
    // Nothing of the one that was taken back.
    expect((await store.counts()).filter(({ job }) => job === "met")).toEqual([
      { job: "met", state: "ready", count: 6 },
    ])
    await empty(connection)
  })

  test("a statement over max_allowed_packet is refused before it is sent, with the setting's name", async () => {
    const [row] = await connection.read("select @@max_allowed_packet as bytes")
    const text = "x".repeat(Number(row?.["bytes"]))
    await expect(connection.read("select length(?)", [text])).rejects.toMatchObject({
      message: expect.stringContaining("max_allowed_packet"),
      outcomeUnknown: false,
    })
    expect(await connection.read("select 1 as one")).toEqual([{ one: 1 }])
  })

  test("runs of the largest input are stored, in as many statements as it takes", async () => {
    const large = JSON.stringify("'".repeat(256 * 1024 - 2))
    const runs = Array.from({ length: 40 }, (_, index) => newRun(index + 1, { input: large }))
    expect(await store.enqueue(runs)).toHaveLength(40)
    expect((await store.get([newRun(40).id]))[0]?.input === large).toBe(true)
    await empty(connection)
  })

  test.each(["k", "K", "k ", " k", "kä", "ka", "k\u0301", "k\0", "'", "\\", "?", '";--', "😀"])(
    "a key %j is no other key",
    async (key) => {
      const job = "keys"
      const id = `key ${JSON.stringify(key)}`
      expect(await store.enqueue([newRun(1, { id, job, key })])).toMatchObject([{ id, result: "created" }])
      expect(await store.enqueue([newRun(1, { id: `${id}2`, job, key })])).toMatchObject([
        { id, result: "exists" },
      ])
    },
  )

  test("ids that differ in case, accents or a blank at the end are others", async () => {
    await empty(connection)
    const ids = ["id", "ID", "id ", "íd"]
    await store.enqueue(ids.map((id) => newRun(1, { id })))
    expect((await store.get(["id "])).map(({ id }) => id)).toEqual(["id "])
    expect((await store.list({ limit: 200 })).map(({ id }) => id)).toEqual(ids.toSorted().toReversed())
  })

  test("half of a character is stored as the sign for one, and the rest of the batch with it", async () => {
    await store.join({ id: "n", host: "h", pid: 1, runtime: "test" }, 60_000)
    await store.enqueue([newRun(50), newRun(51)])
    const wish = { node: "n", queues: ["default"], jobs: ["report"], limit: 2, acknowledged: true }
    const [first, second] = (await store.claim({ ...wish, limit: 10 })).slice(-2)
    await store.settle([
      { id: first!.id, token: first!.token, kind: "declined", reason: "a\0b" },
      { id: second!.id, token: second!.token, kind: "declined", reason: "half \ud800 of one" },
    ])
    const reasons = (await store.get([first!.id, second!.id])).map(({ reason }) => reason)
    expect(reasons).toEqual(["a\0b", "half \ufffd of one"])
  })
})

// The server goes away in the middle of work, once in order and once by kill -9, and comes back: no acknowledged row is
// lost, none is done twice, and the same driver goes on by itself. Then everything that is refused at opening by what
// a server is, as only a server of our own can be set so.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { StoreUnusable } from "../../../core/domain/Errors.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { connect } from "../../../plugins/store-mysql/connect.ts"
import { mysqlDriver } from "../../../plugins/store-mysql/mod.ts"
import { targetOf } from "../../../plugins/store-mysql/target.ts"
import { cannotStart, type OwnServer, startServer } from "./ownServer.ts"

/** How long the engine may have to wait for a store that is back. */
const backMillis = 5000

describe.skipIf(cannotStart !== null)(
  `a server of our own${cannotStart === null ? "" : ` (${cannotStart})`}`,
  () => {
    let server: OwnServer
    beforeAll(async () => void (server = await startServer()))
    afterAll(() => server.remove())

    /** Repeats an operation until it has an answer, as the engine does. */
    const insist = async <A>(operation: () => Promise<A> | A): Promise<A> => {
      for (;;) {
        try {
          return await operation()
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
    }

    let next = 1
    test.each(["SIGTERM", "SIGKILL"] as const)(
      "%s: the driver goes on when the server is back, and nothing is lost or doubled",
      async (signal) => {
        const job = `restart-${signal}`
        const driver = await mysqlDriver({ url: server.url })
        const enqueued: Array<string> = []
        const done = new Map<string, number>()
        const state = { isOver: false, troubles: 0 }
        const counting = async <A>(operation: () => Promise<A> | A): Promise<A> => {
          try {
            return await operation()
          } catch (error) {
            state.troubles++
            throw error
          }
        }
        const producer = async (): Promise<void> => {
          while (!state.isOver) {
            // Some by the short way, and some in a transaction of the general one.
            const runs = Array.from({ length: 5 }, () => newRun(next++, { job }))
            if (next % 2 === 0) runs.push(newRun(next++, { job, needs: [runs[0]!.id] }))
            await insist(() => counting(() => driver.enqueue(runs)))
            enqueued.push(...runs.map(({ id }) => id))
          }
        }
        const node = { node: `n-${signal}`, queues: ["default"], jobs: [job], limit: 20, acknowledged: true }
        await driver.join({ id: node.node, host: "h", pid: 1, runtime: "test" }, 3_600_000)
        const worker = async (): Promise<void> => {
          while (!state.isOver || done.size < enqueued.length) {
            const claimed = await insist(() => counting(() => driver.claim(node)))
            // A claim whose answer was lost is found here.
            const held = claimed.length > 0 ? claimed : await insist(() => driver.carried(node.node, 100))
            const settled = await insist(() =>
              driver.settle(held.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null }))),
            )
            for (const { id, result, state: end } of settled)
              if (result === "settled" && end === "succeeded") done.set(id, (done.get(id) ?? 0) + 1)
          }
        }
        const work = Promise.all([producer(), worker()])
        while (done.size < 50) await new Promise((resolve) => setTimeout(resolve, 10))
        await server.stop(signal)
        while (state.troubles === 0) await new Promise((resolve) => setTimeout(resolve, 10))
        await server.start()
        const backAt = performance.now()
        await insist(() => driver.counts())
        const waited = performance.now() - backAt
        const before = done.size
        while (done.size < before + 50) await new Promise((resolve) => setTimeout(resolve, 10))
        state.isOver = true
        await work
        expect([...done.keys()].toSorted()).toEqual(enqueued.toSorted())
        expect((await driver.counts()).filter((row) => row.job === job)).toEqual([
          { job, state: "succeeded", count: enqueued.length },
        ])
        expect((await driver.get(enqueued.slice(0, 1000))).every(({ attempt }) => attempt === 1)).toBe(true)
        expect(waited).toBeLessThan(backMillis)
        await driver.close()
      },
    )

    test("while no server answers, an operation fails at once, and says that nothing was done", async () => {
      const driver = await mysqlDriver({ url: server.url })
      await server.stop("SIGKILL")
      const failures = []
      for (let count = 0; count < 3; count++)
        failures.push(await Promise.resolve(driver.counts()).catch((error: unknown) => error))
      // What lay idle was lost with the server; from then on nothing could be sent.
      expect(failures.at(-1)).toMatchObject({ code: "ECONNREFUSED", outcomeUnknown: false })
      await server.start()
      expect((await insist(() => driver.counts())).length).toBeGreaterThan(0)
      await driver.close()
    })

    const refusalOf = async (opening: Promise<StoreDriver>): Promise<StoreUnusable> => {
      const failure: unknown = await opening.then((driver) => driver.close()).catch((error: unknown) => error)
      if (failure instanceof StoreUnusable) return failure
      throw new Error("It was not refused", { cause: failure })
    }

    test("a wrong password is refused, and no error says it", async () => {
      const admin = connect(targetOf(server.url), { connectionsMax: 1 }, null)
      await admin.change("create user clerk identified by 'secret'")
      await admin.close()
      const wrong = server.url.replace("root@", "clerk:mistyped@")
      const refusal = await refusalOf(mysqlDriver({ url: wrong }))
      expect(refusal).toMatchObject({ kind: "denied", next: expect.stringContaining("password") })
      expect(JSON.stringify(refusal) + refusal.message).not.toContain("mistyped")
    })

    test("a user who may not make tables is refused, and may serve once they are there", async () => {
      const url = server.url.replace("root@", "clerk:secret@")
      expect((await refusalOf(mysqlDriver({ url, database: "granted" }))).kind).toBe("notWritable")
      await (await mysqlDriver({ url: server.url, database: "granted" })).close()
      const admin = connect(targetOf(server.url), { connectionsMax: 1 }, null)
      await admin.change("grant select, insert, update, delete on granted.* to clerk")
      await admin.close()
      const driver = await mysqlDriver({ url, database: "granted" })
      expect(await driver.counts()).toEqual([])
      await driver.close()
    })

    test("a server that gives a power failure less than every commit is used, and is not called durable", async () => {
      for (const [setting, durable] of [
        ["innodb-flush-log-at-trx-commit=2", false],
        ["log-bin=binary", false],
        ["innodb-flush-log-at-trx-commit=1", true],
      ] as const) {
        await server.stop("SIGTERM")
        await server.start(setting)
        const driver = await mysqlDriver({ url: server.url })
        expect([setting, driver.capabilities]).toEqual([setting, { name: "mysql", durable, shared: true }])
        // Also with a binary log, which wants to know what a statement does.
        await driver.enqueue([newRun(next++, { job: "logged", key: "k" })])
        await driver.close()
      }
    })

    test.each([
      ["max-allowed-packet=1M", "max_allowed_packet"],
      ["log-bin=binary --binlog-format=STATEMENT", "binlog_format"],
    ])("a server with %s is refused, and the setting named", async (settings, name) => {
      await server.stop("SIGTERM")
      await server.start(...settings.split(" --"))
      const refusal = await refusalOf(mysqlDriver({ url: server.url, database: "fresh" }))
      expect(refusal).toMatchObject({
        reason: expect.stringContaining(name),
        next: expect.stringContaining(name),
      })
    })
  },
)

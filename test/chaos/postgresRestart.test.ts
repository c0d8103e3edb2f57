// The server goes away in the middle of work, once in order and once as in a crash, and comes back: no acknowledged row
// is lost, none is done twice, and the same driver goes on by itself.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { postgresDriver } from "../../adapters/store-sql/postgres.ts"
import { newRun } from "../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { cannotStart, type OwnServer, startServer } from "../adapters/store-sql/postgres/ownServer.ts"

/** How long the engine may have to wait for a store that is back. */
const backMillis = 5000

describe.skipIf(cannotStart !== null)(
  `a restart of PostgreSQL${cannotStart === null ? "" : ` (${cannotStart})`}`,
  () => {
    let server: OwnServer
    let driver: StoreDriver
    beforeAll(async () => {
      server = await startServer()
      driver = await postgresDriver({ url: server.url() })
    })
    afterAll(async () => {
      await driver.close()
      server.remove()
    })

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
    test.each(["fast", "immediate"] as const)(
      "%s: the driver goes on, and nothing is lost or doubled",
      async (mode) => {
        const job = `restart-${mode}`
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
            // Some by the one statement, and some in a transaction of several.
            const runs = Array.from({ length: 5 }, () => newRun(next++, { job }))
            if (next % 2 === 0) runs.push(newRun(next++, { job, needs: [runs[0]!.id] }))
            await insist(() => counting(() => driver.enqueue(runs)))
            enqueued.push(...runs.map(({ id }) => id))
          }
        }
        const node = { node: `n-${mode}`, queues: ["default"], jobs: [job], limit: 20, acknowledged: true }
        await driver.join({ id: node.node, host: "h", pid: 1, runtime: "r" }, 600_000)
        const worker = async (): Promise<void> => {
          while (!state.isOver || done.size < enqueued.length) {
            const claimed = await insist(() => driver.claim(node))
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
        server.stop(mode)
        while (state.troubles === 0) await new Promise((resolve) => setTimeout(resolve, 10))
        server.start()
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
      },
    )
  },
)

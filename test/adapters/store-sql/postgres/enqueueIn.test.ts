// Runs that are stored in a transaction of the application, with postgres-js and with Drizzle: rolled back they never
// were, committed they run, at once, on whichever node there is.
import { sql } from "drizzle-orm"
import * as Schema from "effect/Schema"
import { drizzle } from "drizzle-orm/postgres-js"
import postgres from "postgres"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { enqueueIn, type OwnTransaction, postgresDriver } from "uhrwerk/postgres"
import { defineConfig, engine, job } from "uhrwerk"
import { newRun, runId } from "../../../../core/contract/Fixtures.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { dropSchemas, missing, schemaName, url } from "./server.ts"

const schema = schemaName()
const undo = new Error("undone")

describe.skipIf(missing !== null)(`a transaction of the application (${missing ?? "on the server"})`, () => {
  let store: StoreDriver
  let client: ReturnType<typeof postgres>

  beforeAll(async () => {
    store = await postgresDriver({ url, schema })
    client = postgres(url, { max: 2, onnotice: () => {} })
    await client.unsafe(`create table "${schema}".orders (id int primary key)`)
  })
  afterAll(async () => {
    await client?.end()
    await store?.close()
    await dropSchemas()
  })

  const begins: ReadonlyArray<
    readonly [string, (body: (tx: OwnTransaction) => Promise<void>) => Promise<unknown>]
  > = [
    ["postgres-js", (body) => client.begin(body)],
    ["Drizzle", (body) => drizzle(client).transaction(async (tx) => body(tx))],
  ]

  describe.each(begins)("of %s", (name, begin) => {
    const base = name === "Drizzle" ? 100 : 0
    const stored = (n: number) => store.get([runId(base + n)])

    test("committed, the run is there, due as it was asked for; before that, nobody sees it", async () => {
      await begin(async (tx) => {
        const runs = [
          newRun(base + 1, { input: '{"a":"\\"{},"}' }),
          newRun(base + 2, { delayMillis: 60_000, key: `k${base}` }),
        ]
        const answers = await enqueueIn(tx, runs, { schema })
        expect(answers.map(({ result, state }) => [result, state])).toEqual([
          ["created", "ready"],
          ["created", "scheduled"],
        ])
        expect(answers[1]?.dueAt).toBeGreaterThan(Date.now() + 50_000)
        expect(await stored(1)).toEqual([])
      })
      expect(await stored(1)).toMatchObject([{ state: "ready", input: '{"a":"\\"{},"}' }])
      expect(await stored(2)).toMatchObject([{ state: "scheduled", key: `k${base}` }])
      const counts = (await store.counts()).filter(({ state }) => state === "scheduled")
      expect(counts).toMatchObject([{ count: base === 0 ? 1 : 2 }])
    })

    test("asked again, by id or by key, it answers the run that is there", async () => {
      await begin(async (tx) => {
        const again = await enqueueIn(tx, [newRun(base + 1), newRun(base + 3, { key: `k${base}` })], {
          schema,
        })
        expect(again.map(({ id, result }) => [id, result])).toEqual([
          [runId(base + 1), "exists"],
          [runId(base + 2), "exists"],
        ])
      })
      expect(await stored(3)).toEqual([])
    })

    test("rolled back, the run never was, and its key is free", async () => {
      const rolledBack = begin(async (tx) => {
        await enqueueIn(tx, [newRun(base + 4, { key: `x${base}` })], { schema })
        throw undo
      })
      await expect(rolledBack).rejects.toBe(undo)
      expect(await stored(4)).toEqual([])
      expect(await store.enqueue([newRun(base + 5, { key: `x${base}` })])).toMatchObject([
        { result: "created" },
      ])
    })

    test("runs that need others are stored with them, and wait for them", async () => {
      await begin(async (tx) => {
        const answers = await enqueueIn(
          tx,
          [
            newRun(base + 6),
            newRun(base + 7, { needs: [runId(base + 6)] }),
            newRun(base + 8, { needs: [runId(base + 1)] }),
          ],
          { schema },
        )
        expect(answers.map(({ result, state }) => [result, state])).toEqual([
          ["created", "ready"],
          ["created", "blocked"],
          ["created", "blocked"],
        ])
        expect(await stored(6)).toEqual([])
      })
      expect(await stored(7)).toMatchObject([{ state: "blocked" }])
      const claim = { node: "n", queues: ["default"], jobs: [newRun(1).job], limit: 100, acknowledged: true }
      await store.join({ id: "n", host: "here", pid: 1, runtime: "test" }, 60_000)
      const claimed = await store.claim(claim)
      await store.settle(claimed.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null })))
      expect(await stored(7)).toMatchObject([{ state: "ready" }])
      expect(await stored(8)).toMatchObject([{ state: "ready" }])
    })

    test("a chain that is rolled back never was, and one with a need that is not stored is refused as a whole", async () => {
      const rolledBack = begin(async (tx) => {
        await enqueueIn(tx, [newRun(base + 9), newRun(base + 10, { needs: [runId(base + 9)] })], { schema })
        throw undo
      })
      await expect(rolledBack).rejects.toBe(undo)
      await begin(async (tx) => {
        const broken = [newRun(base + 9), newRun(base + 10, { needs: [runId(999)] })]
        await expect(enqueueIn(tx, broken, { schema })).rejects.toThrow(/is not stored/)
      })
      expect(await stored(9)).toEqual([])
      expect(await stored(10)).toEqual([])
    })
  })

  test("sendIn: a run is there with the order that it is for, or neither is", async () => {
    const own = schemaName()
    const seen: Array<number | string> = []
    const ship = job("ship", {
      input: Schema.Struct({ order: Schema.Number }),
      run: ({ order }) => void seen.push(order),
    })
    const pack = job("pack", { run: () => {} })
    const report = job("report", { needs: { pack }, run: () => void seen.push("report") })
    const running = await engine(
      defineConfig({
        jobs: [ship, pack, report],
        storage: `${url as "postgres://"}?schema=${own}`,
        poll: "1m",
      }),
    ).start()
    try {
      const database = drizzle(client)
      const order = (id: number, fails: boolean) =>
        database.transaction(async (tx) => {
          await tx.execute(sql`insert into ${sql.raw(`"${schema}"`)}.orders values (${id})`)
          const { created } = await running.sendIn(tx, ship, { order: id })
          expect(created).toBe(true)
          if (fails) throw undo
        })
      await expect(order(1, true)).rejects.toBe(undo)
      await order(2, false)
      // Polls are a minute apart: the commit itself has told the engine.
      await expect.poll(() => seen, { timeout: 15_000 }).toEqual([2])
      expect(await client.unsafe(`select id from "${schema}".orders`)).toEqual([{ id: 2 }])
      await database.transaction((tx) => running.sendIn(tx, report, undefined))
      await expect.poll(() => seen, { timeout: 15_000 }).toEqual([2, "report"])
      const connection = { prepare: () => ({ run: () => {}, get: () => {}, all: () => {} }) }
      expect(() => running.sendInSync(connection, ship, { order: 3 })).toThrow(/Use `sendIn` with PostgreSQL/)
    } finally {
      await running.stop()
    }
  })
})

test("a storage without transactions of others says what to do instead", async () => {
  const lone = job("lone", { run: () => {} })
  const running = await engine(defineConfig({ jobs: [lone], storage: "memory:" })).start()
  const never: OwnTransaction = { unsafe: () => Promise.reject(undo) }
  await expect(running.sendIn(never, lone, undefined)).rejects.toMatchObject({
    _tag: "InvalidInput",
    field: "storage",
    next: expect.stringContaining("after the commit"),
  })
  await running.stop()
})

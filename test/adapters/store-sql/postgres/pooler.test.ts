// A transaction pooler between nodes and server: found by an examination, named in a refusal, and no hindrance.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { engine, every, job } from "uhrwerk"
import { examinePostgres, postgresDriver } from "../../../../adapters/store-sql/postgres.ts"
import { noPooler, type Pooler, startPooler } from "./pooler.ts"
import { dropSchemas, schemaName } from "./server.ts"

describe.skipIf(noPooler !== null)(
  `PgBouncer in transaction mode${noPooler === null ? "" : ` (${noPooler})`}`,
  () => {
    let pooler: Pooler
    beforeAll(async () => void (pooler = await startPooler()))
    afterAll(async () => {
      await pooler?.stop()
      await dropSchemas()
    })

    test("is refused without prepare=false, which is said", async () => {
      const schema = schemaName()
      await expect(postgresDriver({ url: pooler.url, schema })).rejects.toMatchObject({
        _tag: "StoreUnusable",
        reason: expect.stringContaining("a pooler is between"),
        next: expect.stringContaining("prepare=false"),
      })
      const look = async (prepare: boolean) => {
        const { findings, store } = await examinePostgres({ url: pooler.url, schema, prepare })
        await store?.close()
        return findings.find(({ what }) => what === "pooler")
      }
      expect(await look(true)).toMatchObject({
        state: "fail",
        mend: expect.stringContaining("prepare=false"),
      })
      expect(await look(false)).toMatchObject({ state: "ok", found: expect.stringContaining("is between") })
    })

    test("two engines share schedules and runs over it", async () => {
      const storage = `${pooler.url as "postgres://"}?schema=${schemaName()}&prepare=false` as const
      const seen: Array<unknown> = []
      const tick = job("tick", {
        on: every("1s"),
        run: (_: void, { run }) => void seen.push(run.nominalAt?.getTime()),
      })
      const work = job("work", { run: (n: number) => n + 1 })
      const jobs = [tick, work]
      const one = await engine({ jobs, storage, poll: "200ms" }).start({ guard: false })
      const sent = await Promise.all(Array.from({ length: 20 }, (_, n) => work.send(n)))
      const two = await engine({ jobs, storage, poll: "200ms" }).start({ guard: false })
      expect(await Promise.all(sent.map(({ result }) => result({ timeout: "20s" })))).toEqual(
        Array.from({ length: 20 }, (_, n) => n + 1),
      )
      await expect.poll(() => seen.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
      await one.stop()
      await two.stop()
      expect(new Set(seen).size).toBe(seen.length)
    })
  },
)

// The pool of connections: each is used by one caller at a time, and one that was lost is never used again.
import { expect, test } from "vitest"
import { type Client, Pool, type PoolOptions } from "../../../../adapters/store-sql/postgres/Pool.ts"

/** A pool of clients that do nothing; `made` are all it ever had, with what makes each seem lost. */
const poolOf = (options: Partial<PoolOptions> = {}) => {
  const made: Array<Client & { readonly name: number; readonly lose: () => void; isEnded: boolean }> = []
  const limits = { connectionsMax: 2, idleMillis: 60_000, ageMillis: 60_000, waitingMax: 2, ...options }
  const pool = new Pool(limits, (onLost) => {
    const client = {
      name: made.length,
      lose: onLost,
      isEnded: false,
      unsafe: () => Promise.resolve(),
      end: () => Promise.resolve(void (client.isEnded = true)),
    }
    made.push(client)
    return client
  })
  return { pool, made }
}

/** Something that lasts until it is told to end. */
const lasting = () => {
  let end = (): void => {}
  const until = new Promise<void>((resolve) => (end = resolve))
  return { until, end }
}

test("a connection is used again, by one caller at a time", async () => {
  const { pool, made } = poolOf()
  const order: Array<string> = []
  const [first, second] = [lasting(), lasting()]
  const uses = [first.until, second.until, Promise.resolve()].map((until, index) =>
    pool.use(async ({ client }) => {
      order.push(`${index} on ${client.name}`)
      await until
    }),
  )
  await Promise.resolve()
  expect(order).toEqual(["0 on 0", "1 on 1"])
  second.end()
  await uses[2]
  expect(order).toEqual(["0 on 0", "1 on 1", "2 on 1"])
  first.end()
  await Promise.all(uses)
  expect(made).toHaveLength(2)
})

test("one that was lost is ended and replaced, also for those that wait", async () => {
  const { pool, made } = poolOf({ connectionsMax: 1 })
  const first = lasting()
  const using = pool.use(() => first.until)
  const next = pool.use(({ client }) => Promise.resolve(client.name))
  made[0]?.lose()
  first.end()
  await using
  expect(await next).toBe(1)
  expect(made.map(({ isEnded }) => isEnded)).toEqual([true, false])
})

test("one that was lost while it lay idle is not given out", async () => {
  const { pool, made } = poolOf()
  await pool.use(() => Promise.resolve())
  made[0]?.lose()
  expect(await pool.use(({ client }) => Promise.resolve(client.name))).toBe(1)
})

test("one that is old is not used again", async () => {
  const { pool } = poolOf({ ageMillis: -1 })
  const names = [0, 0].map(() => pool.use(({ client }) => Promise.resolve(client.name)))
  expect(await Promise.all(names)).toEqual([0, 1])
  expect(await pool.use(({ client }) => Promise.resolve(client.name))).toBe(2)
})

test("more callers than may wait are refused, and nothing was done for them", async () => {
  const { pool } = poolOf({ connectionsMax: 1, waitingMax: 1 })
  const first = lasting()
  const uses = [pool.use(() => first.until), pool.use(() => Promise.resolve())]
  await expect(pool.use(() => Promise.resolve())).rejects.toMatchObject({ outcomeUnknown: false })
  first.end()
  await Promise.all(uses)
})

test("a closed pool refuses those that wait, and all after them", async () => {
  const { pool, made } = poolOf({ connectionsMax: 1 })
  const first = lasting()
  const using = pool.use(() => first.until)
  const waiting = expect(pool.use(() => Promise.resolve())).rejects.toThrow("closed")
  await pool.close()
  await waiting
  await expect(pool.use(() => Promise.resolve())).rejects.toThrow("closed")
  first.end()
  await using
  expect(made[0]?.isEnded).toBe(true)
})

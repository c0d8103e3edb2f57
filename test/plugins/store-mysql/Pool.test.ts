// The pool alone, over connections that are made of nothing: who gets one, and what becomes of those that broke.
import { expect, test } from "vitest"
import { Pool, type Pooled } from "../../../plugins/store-mysql/Pool.ts"

class Fake implements Pooled {
  isAlive = true
  hasEnded = false
  destroy(): void {
    this.isAlive = false
  }
  end(): Promise<void> {
    this.hasEnded = true
    this.isAlive = false
    return Promise.resolve()
  }
}

const options = {
  connectionsMax: 2,
  idleMillis: 60_000,
  ageMillis: 60_000,
  waitingMax: 2,
  retryMillis: [20, 40],
} as const

const poolOf = (more: Partial<ConstructorParameters<typeof Pool>[0]> = {}, fail = { times: 0 }) => {
  const made: Array<Fake> = []
  const pool = new Pool<Fake>({ ...options, ...more }, async () => {
    if (fail.times-- > 0) throw new Error(`cannot connect ${fail.times}`)
    const fake = new Fake()
    made.push(fake)
    return fake
  })
  return { pool, made }
}

/** Holds a connection until it is let go. */
const hold = (pool: Pool<Fake>) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const used = pool.use(async (connection) => {
    await promise
    return connection
  })
  return { used, letGo: resolve }
}

test("callers share the connections there may be, in the order in which they asked, and too many are refused", async () => {
  const { pool, made } = poolOf()
  const held = [hold(pool), hold(pool)]
  const order: Array<string> = []
  const third = pool.use(async () => void order.push("third"))
  const fourth = pool.use(async () => void order.push("fourth"))
  await expect(pool.use(() => Promise.resolve())).rejects.toMatchObject({ outcomeUnknown: false })
  for (const { letGo } of held) letGo()
  await Promise.all([third, fourth, ...held.map(({ used }) => used)])
  expect(order).toEqual(["third", "fourth"])
  expect(made).toHaveLength(2)
  await pool.close()
  expect(made.every(({ hasEnded }) => hasEnded)).toBe(true)
})

test("one that broke is not given to anybody, in use or idle", async () => {
  const { pool, made } = poolOf({ connectionsMax: 1 })
  await pool.use(async (connection) => connection.destroy())
  const waiting = hold(pool)
  const next = pool.use(async (connection) => connection)
  waiting.letGo()
  expect(await waiting.used).toBe(made[1])
  expect(await next).toBe(made[1])
  made[1]?.destroy()
  pool.forget(made[1] as Fake)
  expect(await pool.use(async (connection) => connection)).toBe(made[2])
  await pool.close()
})

test("one that is too old is replaced, and one that lay idle too long is closed", async () => {
  const { pool, made } = poolOf({ ageMillis: -1 })
  await pool.use(() => Promise.resolve())
  await pool.use(() => Promise.resolve())
  expect(made.map(({ hasEnded }) => hasEnded)).toEqual([true, true])
  const idle = poolOf({ idleMillis: 1 })
  await idle.pool.use(() => Promise.resolve())
  while (idle.made[0]?.hasEnded === false) await new Promise((resolve) => setTimeout(resolve, 1))
  expect(await idle.pool.use(async (connection) => connection)).toBe(idle.made[1])
  await idle.pool.close()
})

test("after a failure to connect all hear of it at once, until it is time for the next try", async () => {
  const { pool, made } = poolOf({ retryMillis: [50, 50] }, { times: 1 })
  const first = await pool.use(() => Promise.resolve()).catch((error: unknown) => error)
  const second = await pool.use(() => Promise.resolve()).catch((error: unknown) => error)
  expect(second).toBe(first)
  expect(made).toHaveLength(0)
  for (;;) {
    const again = await pool.use(() => Promise.resolve("done")).catch((error: unknown) => error)
    if (again === "done") break
    expect(again).toBe(first)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  expect(made).toHaveLength(1)
  await pool.close()
})

test("a failure of the body frees the connection, and closing refuses whoever waits", async () => {
  const { pool } = poolOf({ connectionsMax: 1 })
  await expect(pool.use(() => Promise.reject(new Error("of the body")))).rejects.toThrow("of the body")
  const held = hold(pool)
  const waiting = pool.use(() => Promise.resolve())
  const closing = pool.close()
  await expect(waiting).rejects.toThrow("closed")
  await expect(pool.use(() => Promise.resolve())).rejects.toThrow("closed")
  held.letGo()
  await held.used
  await closing
})

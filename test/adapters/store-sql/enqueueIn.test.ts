// Runs that are stored in a transaction of the application on the store's file: with node:sqlite, with Drizzle, and on Bun
// with bun:sqlite. Rolled back they never were, committed they run, in this process or in another.
import { DatabaseSync } from "node:sqlite"
import { BetterSQLiteSession } from "drizzle-orm/better-sqlite3/session"
import { sql } from "drizzle-orm/sql"
import { BaseSQLiteDatabase, SQLiteSyncDialect } from "drizzle-orm/sqlite-core"
import * as Schema from "effect/Schema"
import { afterAll, describe, expect, test } from "vitest"
import { engine, job, type RunningEngine } from "uhrwerk"
import { enqueueIn, type OwnConnection, sqliteDriver } from "uhrwerk/sqlite"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { testFolder } from "./folder.ts"

const file = testFolder()
const undo = new Error("undone")
const isBun = process.versions["bun"] !== undefined

/** A connection with a synchronous transaction around `body`, and plain statements beside it. */
interface Client {
  readonly begin: (body: (transaction: OwnConnection) => void) => void
  readonly exec: (text: string) => void
  readonly close: () => void
}

const nodeClient = (path: string): Client => {
  const database = new DatabaseSync(path)
  return {
    exec: (text) => database.exec(text),
    close: () => database.close(),
    begin: (body) => {
      database.exec("begin immediate")
      try {
        body(database)
        database.exec("commit")
      } catch (error) {
        database.exec("rollback")
        throw error
      }
    },
  }
}

// What Drizzle's driver asks of a client, over node:sqlite, for which it has none.
const drizzleClient = (path: string): Client => {
  const database = new DatabaseSync(path)
  const client = {
    prepare: (text: string) => {
      const statement = database.prepare(text)
      return {
        run: statement.run.bind(statement),
        get: statement.get.bind(statement),
        all: statement.all.bind(statement),
      }
    },
    transaction: (body: (tx: unknown) => unknown) => {
      const run = (begin: string) => (tx: unknown) => {
        database.exec(begin)
        try {
          const value = body(tx)
          database.exec("commit")
          return value
        } catch (error) {
          database.exec("rollback")
          throw error
        }
      }
      return { deferred: run("begin"), immediate: run("begin immediate"), exclusive: run("begin exclusive") }
    },
  }
  const dialect = new SQLiteSyncDialect()
  const session = new BetterSQLiteSession(client, dialect, undefined)
  const drizzle = new BaseSQLiteDatabase("sync", dialect, session as never, undefined)
  return {
    exec: (text) => void drizzle.run(sql.raw(text)),
    close: () => database.close(),
    begin: (body) =>
      drizzle.transaction((tx) => body(tx as unknown as OwnConnection), { behavior: "immediate" }),
  }
}

// By a variable: nobody else has it, and a bundler would look for it.
const bunSqlite = "bun:sqlite"
const bunClient = async (path: string): Promise<Client> => {
  const { Database } = (await import(/* @vite-ignore */ bunSqlite)) as { Database: new (path: string) => any }
  const database = new Database(path)
  return {
    exec: (text) => database.exec(text),
    close: () => database.close(),
    begin: (body) => database.transaction(() => body(database)).immediate(),
  }
}

const clients: ReadonlyArray<readonly [string, (path: string) => Client | Promise<Client>]> = [
  ["node:sqlite", nodeClient],
  ["Drizzle", drizzleClient],
  ...(isBun ? ([["bun:sqlite", bunClient]] as const) : []),
]

describe.each(clients)("a transaction of the application > %s", (name, open) => {
  const path = file(`${name.replace(":", "-")}.db`)
  const store = sqliteDriver({ file: path, now: () => Date.now() })
  afterAll(() => store.close())
  const stored = async (n: number) => store.get([runId(n)])

  test("committed, runs are there as they were asked for, with those that they need", async () => {
    const client = await open(path)
    client.exec("create table orders (id integer primary key)")
    client.begin((tx) => {
      const answers = enqueueIn(tx, [
        newRun(1, { input: '{"a":"?"}' }),
        newRun(2, { delayMillis: 60_000, key: "k" }),
        newRun(3, { needs: [runId(1)] }),
      ])
      expect(answers.map(({ result, state }) => [result, state])).toEqual([
        ["created", "ready"],
        ["created", "scheduled"],
        ["created", "blocked"],
      ])
    })
    client.close()
    expect(await stored(1)).toMatchObject([{ state: "ready", input: '{"a":"?"}' }])
    expect(await stored(2)).toMatchObject([{ state: "scheduled", key: "k" }])
    expect((await store.counts()).map(({ state, count }) => `${state} ${count}`).toSorted()).toEqual([
      "blocked 1",
      "ready 1",
      "scheduled 1",
    ])
    const claim = { node: "n", queues: ["default"], jobs: [newRun(1).job], limit: 1, acknowledged: true }
    await store.join({ id: "n", host: "here", pid: 1, runtime: "test" }, 60_000)
    const [run] = await store.claim(claim)
    await store.settle([{ id: runId(1), token: run?.token ?? 0, kind: "succeeded", output: null }])
    expect(await stored(3)).toMatchObject([{ state: "ready" }])
  })

  test("asked again, by id or by key, it answers the run that is there", async () => {
    const client = await open(path)
    client.begin((tx) => {
      const again = enqueueIn(tx, [newRun(2), newRun(4, { key: "k" })])
      expect(again.map(({ id, result }) => [id, result])).toEqual([
        [runId(2), "exists"],
        [runId(2), "exists"],
      ])
    })
    client.close()
    expect(await stored(4)).toEqual([])
  })

  test("rolled back, neither the run nor what belongs to it ever was, and its key is free", async () => {
    const client = await open(path)
    const counts = await store.counts()
    const failing = () =>
      client.begin((tx) => {
        enqueueIn(tx, [newRun(5, { key: "free" }), newRun(6, { needs: [runId(5)] })])
        throw undo
      })
    expect(failing).toThrow(undo)
    expect(await stored(5)).toEqual([])
    expect(await stored(6)).toEqual([])
    expect(await store.counts()).toEqual(counts)
    client.begin((tx) =>
      expect(enqueueIn(tx, [newRun(7, { key: "free" })])).toMatchObject([{ result: "created" }]),
    )
    client.close()
  })

  test("a need that is not stored is refused, with the whole call, and the transaction can go on without it", async () => {
    const client = await open(path)
    client.begin((tx) => {
      expect(() => enqueueIn(tx, [newRun(9), newRun(8, { needs: [runId(999)] })])).toThrow(/is not stored/)
    })
    client.close()
    expect(await stored(8)).toEqual([])
    expect(await stored(9)).toEqual([])
  })
})

describe("a connection is refused", () => {
  const path = file("place.db")
  const store = sqliteDriver({ file: path, now: () => Date.now() })
  afterAll(() => store.close())

  test("without a transaction: nothing is stored by itself", async () => {
    const database = new DatabaseSync(path)
    expect(() => enqueueIn(database, [newRun(1)])).toThrow(/no transaction is open/)
    expect(await store.get([runId(1)])).toEqual([])
    // And none was left open.
    database.exec("begin; commit")
    database.close()
  })

  test("to another file, to one that is no store, and to one of another version", () => {
    const other = nodeClient(file("other.db"))
    other.begin((tx) => {
      expect(() => enqueueIn(tx, [newRun(1)], { file: path })).toThrow(
        /it is one to ".*other\.db", and the store is/,
      )
      expect(() => enqueueIn(tx, [newRun(1)])).toThrow(/is no store/)
    })
    other.close()
    const newer = file("newer.db")
    void sqliteDriver({ file: newer, now: () => 0 }).close()
    const client = nodeClient(newer)
    client.exec("pragma user_version = 999")
    client.begin((tx) => expect(() => enqueueIn(tx, [newRun(1)])).toThrow(/Upgrade uhrwerk/))
    client.exec("pragma user_version = 1")
    client.begin((tx) => expect(() => enqueueIn(tx, [newRun(1)])).toThrow(/a store of version 1/))
    client.close()
  })
})

describe("sendIn", () => {
  const path = file("engine.db")
  const seen: Array<unknown> = []
  const ship = job("ship", {
    input: Schema.Struct({ order: Schema.Number }),
    run: ({ order }) => void seen.push(order),
  })
  const pack = job("pack", { run: () => void seen.push("pack") })
  const report = job("report", { needs: { pack }, run: () => void seen.push("report") })
  const slow = job("slow", {
    input: {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: async (value: unknown) => ({ value: value as number }),
      },
    },
    run: () => {},
  })
  let running: RunningEngine
  const start = async () =>
    engine({ jobs: [ship, pack, report, slow], storage: `sqlite:${path}`, poll: "1m" }).start()

  test("a run is there with the order that it is for, or neither is; the commit is noticed at once", async () => {
    running = await start()
    const client = nodeClient(path)
    client.exec("create table orders (id integer primary key)")
    const order = (id: number, fails: boolean) =>
      client.begin((tx) => {
        client.exec(`insert into orders values (${id})`)
        expect(running.sendInSync(tx, ship, { order: id }).created).toBe(true)
        if (fails) throw undo
      })
    expect(() => order(1, true)).toThrow(undo)
    order(2, false)
    // Polls are a minute apart.
    await expect.poll(() => seen, { timeout: 15_000 }).toEqual([2])
    client.begin((tx) => {
      const late = running.sendInSync(tx, ship, { order: 3 }, { delay: "300ms", key: "once" })
      expect(running.sendInSync(tx, ship, { order: 4 }, { key: "once" })).toEqual({
        id: late.id,
        created: false,
      })
    })
    await expect.poll(() => seen, { timeout: 15_000 }).toEqual([2, 3])
    client.close()
  })

  test("a job that needs others is sent with them, and with await where a transaction may wait", async () => {
    const database = new DatabaseSync(path)
    database.exec("begin immediate")
    await running.sendIn(database, report, undefined)
    await running.sendIn(database, slow, 1)
    database.exec("commit")
    database.close()
    await expect.poll(() => seen.slice(2), { timeout: 15_000 }).toEqual(["pack", "report"])
  })

  test("what is wrong is thrown, so that the transaction is rolled back", async () => {
    const client = nodeClient(path)
    client.begin((tx) => {
      expect(() => running.sendInSync(tx, ship, { order: "two" } as never)).toThrow(
        /does not fit the job's schema/,
      )
      expect(() => running.sendInSync(tx, slow, 1)).toThrow(/answers later/)
    })
    const memory = new DatabaseSync(":memory:")
    memory.exec("begin")
    expect(() => running.sendInSync(memory, ship, { order: 1 })).toThrow(/a database in memory/)
    await running.stop()
    client.begin((tx) => expect(() => running.sendInSync(tx, ship, { order: 1 })).toThrow(/stopp/))
    client.close()
  })

  test("stored from another process' connection while no engine runs, it runs at the next start", async () => {
    const client = nodeClient(path)
    client.begin((tx) => void enqueueIn(tx, [newRun(1, { job: "ship", input: '{"order":9}' })]))
    client.close()
    running = await start()
    await expect.poll(() => seen.at(-1), { timeout: 15_000 }).toBe(9)
    await running.stop()
  })

  test("a storage without such transactions says what to do instead", async () => {
    const lone = job("lone", { run: () => {} })
    const memory = await engine({ jobs: [lone], storage: "memory:" }).start()
    expect(() => memory.sendInSync(new DatabaseSync(":memory:"), lone, undefined)).toThrow(/after the commit/)
    await memory.stop()
  })
})

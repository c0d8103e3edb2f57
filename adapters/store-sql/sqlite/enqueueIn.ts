// Enqueue in somebody else's transaction on the store's file: the run is there if that commits, and was never there if it
// rolls back. Synchronous, as such transactions are: nothing comes between their statements.
import { realpathSync } from "node:fs"
import { resolve } from "node:path"
import { type SQL, sql } from "drizzle-orm"
import { StoreUnusable } from "../../../core/domain/Errors.ts"
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import { refusal } from "../../../core/ports/StoreLimits.ts"
import { Definitions } from "../Definitions.ts"
import type { Row } from "../rows.ts"
import { runSync } from "../Sql.ts"
import { Work } from "../Work.ts"
import type { Database } from "./Database.ts"
import { makeEnqueue } from "./enqueue.ts"
import { migrations } from "./migrations.ts"
import { openSession } from "./Session.ts"
import { newerSchema } from "./unusable.ts"

/** A statement of a connection. */
interface OwnStatement {
  run(...parameters: Array<any>): unknown
  get(...parameters: Array<any>): unknown
  all(...parameters: Array<any>): unknown
}

/**
 * A connection with an open transaction: `DatabaseSync` of node:sqlite, `Database` of bun:sqlite or of better-sqlite3, or
 * the `tx` of Drizzle's `transaction` over one of these.
 */
export type OwnConnection =
  | { readonly prepare: (text: string) => OwnStatement }
  | { readonly run: (query: SQL) => unknown; readonly all: (query: SQL) => unknown }

/** Where the store is. */
export interface EnqueueInOptions {
  /** Its file; given, a connection to another one is refused. */
  readonly file?: string
  /** The store's clock, in epoch milliseconds; default the machine's. */
  readonly now?: () => number
}

/**
 * Stores runs, all or none, in the transaction that is open on `connection`; answers as `enqueue` does. Throws when none is
 * open, when the file is no store of this version, or as `enqueue` does. An engine sees the runs from the commit on, at its
 * next look.
 */
export const enqueueIn = (
  connection: OwnConnection,
  runs: ReadonlyArray<NewRun>,
  { file, now = () => Date.now() }: EnqueueInOptions = {},
): ReadonlyArray<Enqueued> => {
  // A call is never within another, as nothing here waits.
  current = { client: over(connection), now }
  try {
    checkPlace(current.client, file)
    checkOpen(current.client)
    return whole(current.client, () => (store ??= makeStore())(runs))
  } finally {
    current = undefined
  }
}

/** What is done on a connection. */
interface OwnClient {
  all(text: string, parameters: ReadonlyArray<unknown>): ReadonlyArray<Row>
  /** Answers how many rows were changed. */
  run(text: string, parameters: ReadonlyArray<unknown>): number
}

// All connections share one set of compiled statements, which costs some milliseconds to make: each runs on the connection
// of the call.
let current: { readonly client: OwnClient; readonly now: () => number } | undefined
let store: ((runs: ReadonlyArray<NewRun>) => ReadonlyArray<Enqueued>) | undefined

const used = (): NonNullable<typeof current> => {
  if (current === undefined) throw new Error("A statement runs outside of enqueueIn")
  return current
}

const makeStore = (): NonNullable<typeof store> => {
  const statementOf = (text: string) => ({
    run: (...parameters: ReadonlyArray<unknown>) => ({ changes: used().client.run(text, parameters) }),
    get: (...parameters: ReadonlyArray<unknown>) => used().client.all(text, parameters)[0],
    all: (...parameters: ReadonlyArray<unknown>) => used().client.all(text, parameters),
  })
  const database: Database = {
    file: "a connection of the application",
    prepare: (text) => statementOf(text) as unknown as ReturnType<Database["prepare"]>,
    transaction: (body) => body(),
    close: () => {},
  }
  const session = openSession(database, () => used().now())
  const { enqueue } = makeEnqueue({
    ...session,
    transaction: (body) => {
      session.tables.runs.begin()
      // Definitions are those of one file, and this may be another one each time.
      const work = new Work(session.tables, new Definitions())
      const value = body(work)
      runSync(work.finish())
      return value
    },
  })
  return enqueue
}

const over = (connection: OwnConnection): OwnClient => {
  if ("prepare" in connection) {
    const statements = statementsOf(connection)
    const prepared = (text: string): OwnStatement => {
      const known = statements.get(text) ?? connection.prepare(text)
      statements.set(text, known)
      return known
    }
    return {
      all: (text, parameters) => prepared(text).all(...parameters) as ReadonlyArray<Row>,
      run: (text, parameters) =>
        Number((prepared(text).run(...parameters) as { readonly changes: number | bigint }).changes),
    }
  }
  return {
    all: (text, parameters) => connection.all(query(text, parameters)) as ReadonlyArray<Row>,
    // What `run` answers differs between Drizzle's drivers.
    run: (text, parameters) => {
      connection.run(query(text, parameters))
      const [row] = connection.all(sql`select changes() as changes`) as ReadonlyArray<Row>
      return Number(row?.["changes"])
    },
  }
}

// As long as the connection itself lives.
const known = new WeakMap<object, Map<string, OwnStatement>>()
const statementsOf = (connection: object): Map<string, OwnStatement> => {
  const made = known.get(connection) ?? new Map<string, OwnStatement>()
  known.set(connection, made)
  return made
}

// A refusal may come behind runs that are stored already: all of them, or none.
const whole = <A>(client: OwnClient, body: () => A): A => {
  client.run("savepoint uhrwerk", [])
  try {
    const value = body()
    client.run("release uhrwerk", [])
    return value
  } catch (error) {
    client.run("rollback to uhrwerk", [])
    client.run("release uhrwerk", [])
    throw error
  }
}

// No text of ours has a "?" that stands for nothing.
const query = (text: string, parameters: ReadonlyArray<unknown>): SQL =>
  sql.join(
    text
      .split("?")
      .flatMap((part, place) =>
        place === 0 ? [sql.raw(part)] : [sql`${sql.param(parameters[place - 1])}`, sql.raw(part)],
      ),
  )

const checkPlace = (client: OwnClient, file: string | undefined): void => {
  const [main] = client.all("select file from pragma_database_list where name = 'main'", [])
  const place = String(main?.["file"] ?? "")
  if (file !== undefined && (place === "" || realpathSync(resolve(file)) !== realpathSync(place)))
    throw new StoreUnusable({
      kind: "notFound",
      field: "connection",
      reason: `it is one to ${place === "" ? "a database in memory" : `"${place}"`}, and the store is "${file}"`,
      next: "Open the transaction on the store's file: a transaction is of one database.",
    })
  const [version] = client.all("select user_version as version from pragma_user_version", [])
  const [table] = client.all("select name from sqlite_schema where name = 'run_counts'", [])
  const number = Number(version?.["version"])
  if (number > migrations.length) throw newerSchema(place, number, migrations.length)
  if (table === undefined || number < migrations.length)
    throw new StoreUnusable({
      kind: "notADatabase",
      field: "connection",
      reason: `"${place}" is ${table === undefined ? "no store" : `a store of version ${number}, and not ${migrations.length}`}`,
      next: "Start an engine on the file first: it makes the tables, or brings them up to date.",
    })
}

// SQLite does not tell whether a transaction is open; a second one does not begin within a first.
const checkOpen = (client: OwnClient): void => {
  try {
    client.run("begin", [])
  } catch (error) {
    if (/within a transaction/i.test(messageOf(error))) return
    throw error
  }
  client.run("rollback", [])
  throw refusal("connection: no transaction is open on it; begin one, and enqueue before it commits")
}

// Drizzle wraps what the database says.
const messageOf = (error: unknown): string => {
  const { message = "", cause } = error as { readonly message?: string; readonly cause?: unknown }
  return cause === undefined ? message : `${message}: ${messageOf(cause)}`
}

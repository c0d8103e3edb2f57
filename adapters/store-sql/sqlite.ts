// The SQLite store: one file, one engine, any number of tools beside it. Entry `uhrwerk/sqlite`.
// Promise: an acknowledged row is on the disk (WAL, synchronous=FULL) before the caller hears of it.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { StoreInUse, StoreUnusable } from "../../core/domain/Errors.ts"
import { layerDriver, type Store } from "../../core/ports/Store.ts"
import type { Examination } from "../../core/ports/Examination.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeClaim } from "./sqlite/claim.ts"
import { makeCredentials } from "./sqlite/credentials.ts"
import { type Database, type DatabaseOptions, openDatabase, versionOf } from "./sqlite/Database.ts"
import { makeEnqueue } from "./sqlite/enqueue.ts"
import { lockForEngine } from "./sqlite/engineLock.ts"
import { examine } from "./sqlite/examine.ts"
import { makeFire } from "./sqlite/fire.ts"
import { makeLedger } from "./sqlite/ledger.ts"
import { makeListing } from "./sqlite/listing.ts"
import { migrations } from "./sqlite/migrations.ts"
import { makeNodes } from "./sqlite/nodes.ts"
import { makeRecordTable } from "./sqlite/records.ts"
import { openSession } from "./sqlite/Session.ts"
import { unusable } from "./sqlite/unusable.ts"
import { makeDue } from "./sqlite/due.ts"
import { makeOperations } from "./operations.ts"
import { makeRecords } from "./records.ts"
import { runSync } from "./Sql.ts"

export { enqueueIn, type EnqueueInOptions, type OwnConnection } from "./sqlite/enqueueIn.ts"

/** How to open a SQLite store. */
export interface SqliteOptions extends DatabaseOptions {
  /**
   * `engine` (default) takes the file for itself and is refused while another engine has it; `tool` may read,
   * enqueue, cancel and replay beside an engine.
   */
  readonly role?: "engine" | "tool"
  /** The store's clock, in epoch milliseconds. */
  readonly now: () => number
}

/** Opens a file as a driver; throws `StoreUnusable` or `StoreInUse`. */
export const sqliteDriver = (options: SqliteOptions): StoreDriver => {
  let lock: { readonly release: () => void } | undefined
  let database: Database | undefined
  try {
    database = openDatabase(options, (sqlite) => {
      // A tool that changes the tables does so as an engine would: never under the hands of one of an older version.
      if (options.role !== "tool" || versionOf(sqlite) !== migrations.length)
        lock = lockForEngine(options.file, sqlite)
    })
    if (options.role === "tool") {
      lock?.release()
      lock = undefined
    }
    return driverOver(database, options, lock?.release)
  } catch (error) {
    lock?.release()
    database?.close()
    throw unusable(options.file, error)
  }
}

/**
 * Looks at a file without changing it, for people: what keeps an engine from working on it, and who does. It does not
 * throw: a file that cannot serve is a finding.
 */
export const examineSqlite = (options: SqliteOptions): Examination => {
  const { findings, usable } = examine(options.file, options.now())
  return { findings, store: usable ? sqliteDriver({ ...options, role: "tool", create: false }) : null }
}

/** The driver over a database that is open already; `release` is called when it is closed. */
export const driverOver = (
  database: Database,
  options: SqliteOptions,
  release: () => void = () => {},
): StoreDriver => {
  const session = openSession(database, options.now)
  const records = makeRecordTable(database)
  return {
    capabilities: {
      name: "sqlite",
      durable: options.file !== ":memory:" && options.durability !== "normal",
      shared: false,
    },
    now: options.now,
    close: () => {
      database.close()
      release()
    },
    ...makeOperations(session.run),
    ...makeEnqueue(session),
    ...makeClaim(session),
    ...makeListing(session),
    ...makeDue(session),
    ...makeFire(session),
    ...makeLedger(session),
    ...makeNodes(session),
    ...makeCredentials(session),
    ...makeRecords(
      (logic, kept) =>
        session.transaction((work) => runSync(logic({ records, now: () => work.now() })), kept),
      (logic) => runSync(logic({ records, now: session.now })),
    ),
  }
}

/** The store's services over a file, on the clock of the surrounding Effect program. */
export const layerSqlite = (
  options: Omit<SqliteOptions, "now">,
): Layer.Layer<Store, StoreUnusable | StoreInUse> =>
  layerDriver(
    Effect.flatMap(Clock.Clock, (clock) =>
      Effect.try({
        try: () => sqliteDriver({ ...options, now: () => clock.currentTimeMillisUnsafe() }),
        catch: (error) => error,
      }).pipe(
        Effect.catch((error) =>
          error instanceof StoreUnusable || error instanceof StoreInUse
            ? Effect.fail(error)
            : Effect.die(error),
        ),
      ),
    ),
  )

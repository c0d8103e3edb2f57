// The SQLite store: one file, one engine, any number of tools beside it. Entry `uhrwerk/sqlite`.
// Promise: an acknowledged row is on the disk (WAL, synchronous=FULL) before the caller hears of it.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { StoreInUse, StoreUnusable } from "../../core/domain/Errors.ts"
import { layerDriver, type Store } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeAdvance } from "./advance.ts"
import { makeClaim } from "./claim.ts"
import { type Database, type DatabaseOptions, openDatabase } from "./Database.ts"
import { makeEnqueue } from "./enqueue.ts"
import { lockForEngine } from "./engineLock.ts"
import { makeFire } from "./fire.ts"
import { makeFlows } from "./flows.ts"
import { makeLedger } from "./ledger.ts"
import { makeListing } from "./listing.ts"
import { makeNodes } from "./nodes.ts"
import { makeSchedules } from "./schedules.ts"
import { openSession } from "./Session.ts"
import { unusable } from "./unusable.ts"
import { makeUpkeep } from "./upkeep.ts"

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
      if (options.role !== "tool") lock = lockForEngine(options.file, sqlite)
    })
    return driverOver(database, options, lock?.release)
  } catch (error) {
    lock?.release()
    database?.close()
    throw unusable(options.file, error)
  }
}

/** The driver over a database that is open already; `release` is called when it is closed. */
export const driverOver = (
  database: Database,
  options: SqliteOptions,
  release: () => void = () => {},
): StoreDriver => {
  const session = openSession(database, options.now)
  const flows = makeAdvance(session)
  const enqueue = makeEnqueue(session)
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
    enqueue: enqueue.enqueue,
    ...makeClaim(session, flows),
    ...makeUpkeep(session, flows),
    ...makeListing(session),
    ...makeSchedules(session),
    ...makeFire(session, enqueue),
    ...makeFlows(session, flows),
    ...makeLedger(session),
    ...makeNodes(session),
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

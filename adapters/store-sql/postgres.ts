// The PostgreSQL store: one schema of a database, any number of engines and tools. Entry `uhrwerk/postgres`.
// Promise: an acknowledged row is committed; the server's clock decides what is due, so that nodes need not agree on
// the time. Works through a pooler that gives each transaction another connection (`prepare: false`).
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { StoreUnusable } from "../../core/domain/Errors.ts"
import { layerDriver, type Store } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeOperations } from "./operations.ts"
import { connect, type ConnectOptions } from "./postgres/connect.ts"
import type { Connection } from "./postgres/Connection.ts"
import { unusable } from "./postgres/failures.ts"
import { makeHot } from "./postgres/hot.ts"
import { makeListing } from "./postgres/listing.ts"
import { migrate, missingMigrations } from "./postgres/migrate.ts"
import { makeNodes } from "./postgres/nodes.ts"
import { makeSchedules } from "./postgres/schedules.ts"
import { checkSchema } from "./postgres/schemaName.ts"
import { openSession } from "./postgres/Session.ts"

export type { ConnectOptions } from "./postgres/connect.ts"
export { enqueueIn, type EnqueueInOptions, type OwnTransaction } from "./postgres/enqueueIn.ts"
export { layerPostgresNotifier, type NotifierOptions } from "./postgres/notifier.ts"
export { migrationText } from "./postgres/migrate.ts"

/** How to open a PostgreSQL store. */
export interface PostgresOptions extends ConnectOptions {
  /** The schema that all tables are in; made at the first start. Default `uhrwerk`. */
  readonly schema?: string
  /** The store's clock, in epoch milliseconds, in place of the server's: for tests. */
  readonly now?: () => number
}

/** Opens a store as a driver; rejects with `StoreUnusable`. */
export const postgresDriver = async (options: PostgresOptions): Promise<StoreDriver> => {
  const schema = checkSchema(options.schema ?? "uhrwerk")
  const target = targetOf(options.url)
  let connection: Connection | undefined
  try {
    connection = connect(options)
    await migrate(connection, target, schema)
    return driverOver(connection, schema, options.now)
  } catch (error) {
    await connection?.close()
    throw unusable(target, error)
  }
}

/** The SQL that opening this store would run, as text: empty when the schema is the newest. Rejects with `StoreUnusable`. */
export const migrationPlan = async (options: PostgresOptions): Promise<string> => {
  const schema = checkSchema(options.schema ?? "uhrwerk")
  const target = targetOf(options.url)
  const connection = connect({ ...options, connectionsMax: 1 })
  try {
    return await missingMigrations(connection, target, schema)
  } catch (error) {
    throw unusable(target, error)
  } finally {
    await connection.close()
  }
}

/** The driver over a connection to a schema that is migrated already; closing it closes the connection. */
export const driverOver = (connection: Connection, schema: string, now?: () => number): StoreDriver => {
  const session = openSession(connection, schema, now)
  return {
    capabilities: { name: "postgres", durable: true, shared: true },
    now: session.now,
    close: () => connection.close(),
    ...makeOperations(session.run),
    ...makeHot(session),
    ...makeListing(connection, session.tables),
    ...makeSchedules(connection, session.tables, session.given),
    ...makeNodes(connection, session.tables, session.given),
  }
}

/** The store's services over a server, on the server's clock unless `now` is given. */
export const layerPostgres = (options: PostgresOptions): Layer.Layer<Store, StoreUnusable> =>
  layerDriver(
    Effect.tryPromise({ try: () => postgresDriver(options), catch: (error) => error }).pipe(
      Effect.catch((error) => (error instanceof StoreUnusable ? Effect.fail(error) : Effect.die(error))),
    ),
  )

// What errors say of where: never the password.
const targetOf = (url: string): string => {
  const place = /^[a-z]+:\/\/(?:[^@/]*@)?([^?]*)/.exec(url)?.[1]
  return place === undefined || place === "" ? "postgres" : place
}

// The PostgreSQL store: one schema of a database, any number of engines and tools. Entry `uhrwerk/postgres`.
// Promise: an acknowledged row is committed; the server's clock decides what is due, so that nodes need not agree on
// the time. Works through a pooler that gives each transaction another connection (`prepare: false`).
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { StoreUnusable } from "../../core/domain/Errors.ts"
import { layerDriver, type Store } from "../../core/ports/Store.ts"
import { type Examination, fail } from "../../core/ports/Examination.ts"
import type { StoreCapabilities, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeOperations } from "./operations.ts"
import { makeRecords } from "./records.ts"
import { runAsync } from "./Sql.ts"
import { connect, type ConnectOptions } from "./postgres/connect.ts"
import type { Connection } from "./postgres/Connection.ts"
import { makeCredentials } from "./postgres/credentials.ts"
import { promiseOf, readDurability } from "./postgres/durability.ts"
import { examine } from "./postgres/examine.ts"
import { unusable } from "./postgres/failures.ts"
import { makeHot } from "./postgres/hot.ts"
import { makeListing } from "./postgres/listing.ts"
import { migrate, missingMigrations } from "./postgres/migrate.ts"
import { makeNodes } from "./postgres/nodes.ts"
import { compileRecords, recordTable } from "./postgres/records.ts"
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
    return driverOver(connection, schema, options.now, promiseOf(await readDurability(connection)))
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

/**
 * Looks at the server and the schema without changing anything, for people: what keeps an engine from working there, and
 * what may be lost or slow. It does not reject: a server that cannot be reached is a finding.
 */
export const examinePostgres = async (options: PostgresOptions): Promise<Examination> => {
  const target = targetOf(options.url)
  // What a pooler takes as well, so that one is found and not met.
  const connection = connect({
    ...options,
    prepare: false,
    connectionsMax: 2,
    applicationName: "uhrwerk doctor",
  })
  try {
    const schema = checkSchema(options.schema ?? "uhrwerk")
    const { prepare = true } = options
    const { findings, usable } = await examine(connection, {
      schema,
      target,
      prepare,
      isLocal: isLocal(target),
    })
    if (usable) return { findings, store: driverOver(connection, schema, options.now) }
    await connection.close()
    return { findings, store: null }
  } catch (error) {
    await connection.close()
    const refusal = unusable(target, error)
    const finding =
      refusal instanceof StoreUnusable
        ? fail("server", `${target}: ${refusal.reason}`, refusal.next)
        : fail("server", `${target}: ${String(refusal)}`, "Check the storage's address.")
    return { findings: [finding], store: null }
  }
}

/**
 * The driver over a connection to a schema that is migrated already; closing it closes the connection. `promise` is what
 * the server can keep; left out, it is taken for one that keeps all that it acknowledges.
 */
export const driverOver = (
  connection: Connection,
  schema: string,
  now?: () => number,
  promise: Pick<StoreCapabilities, "durable" | "cautions"> = { durable: true },
): StoreDriver => {
  const session = openSession(connection, schema, now)
  const records = compileRecords(session.tables)
  return {
    capabilities: { name: "postgres", shared: true, ...promise },
    now: session.now,
    close: () => connection.close(),
    ...makeOperations(session.run),
    ...makeHot(session),
    ...makeListing(connection, session.tables),
    ...makeSchedules(connection, session.tables, session.given),
    ...makeNodes(connection, schema, session.tables, session.given),
    ...makeCredentials(connection, session.tables, session.given),
    ...makeRecords(
      (logic) =>
        session.transaction((work, queryable) =>
          runAsync(logic({ records: recordTable(records, queryable), now: () => work.now() })),
        ),
      async (logic) => {
        const read = await session.now()
        return runAsync(logic({ records: recordTable(records, connection), now: () => read }))
      },
    ),
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

// By the address: a name that only this machine has, or a socket.
const isLocal = (target: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?(\/|$)/.test(target) || target.startsWith("/")

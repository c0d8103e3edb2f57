// The MySQL and MariaDB store: one database, any number of engines and tools. A plugin of its own, over the public entry
// `uhrwerk/sql`. Promise: an acknowledged row is committed; the server's clock decides what is due, so that nodes need
// not agree on the time. What a commit survives is a matter of the server's settings: see README.md.
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import {
  layerDriver,
  makeOperations,
  makeRecords,
  runAsync,
  type Store,
  type StoreDriver,
  StoreUnusable,
} from "uhrwerk/sql"
import { connect, type ConnectOptions } from "./connect.ts"
import type { Connection } from "./Connection.ts"
import { makeCredentials } from "./credentials.ts"
import { unusable } from "./failures.ts"
import { makeHot } from "./hot.ts"
import { makeListing } from "./listing.ts"
import { inspect, migrate, migrationText, type Server, versionOf } from "./migrate.ts"
import { makeNodes } from "./nodes.ts"
import { recordTable } from "./records.ts"
import { makeSchedules } from "./schedules.ts"
import { openSession } from "./Session.ts"
import { type Target, targetOf } from "./target.ts"

export type { ConnectOptions } from "./connect.ts"

/** How to open a MySQL or MariaDB store. */
export interface MysqlOptions extends ConnectOptions {
  /** `mysql://user:password@host:port/database`, or `mariadb://`; port 3306 and user `root` where it has none. */
  readonly url: string
  /** The database that all tables are in, its own; made at the first start. Default: that of `url`, or `uhrwerk`. */
  readonly database?: string
  /** The store's clock, in epoch milliseconds, in place of the server's: for tests. */
  readonly now?: () => number
}

/** Opens a store as a driver; rejects with `StoreUnusable`. */
export const mysqlDriver = async (options: MysqlOptions): Promise<StoreDriver> => {
  const target = targetOf(options.url, options.database)
  try {
    const server = await prepared(target, options)
    const connection = connect(target, options)
    return driverOver(connection, server.isDurable, options.now)
  } catch (error) {
    throw unusable(target.name, error)
  }
}

/** Checks the server, and brings the database to the newest version. */
const prepared = (target: Target, options: MysqlOptions): Promise<Server> =>
  alone(target, options, async (connection) => {
    const server = await inspect(connection, target)
    await migrate(connection, target, server)
    return server
  })

/** Uses one connection, which is in no database yet, and closes it. */
const alone = async <A>(
  target: Target,
  options: MysqlOptions,
  body: (connection: Connection) => Promise<A>,
): Promise<A> => {
  const connection = connect(target, { ...options, connectionsMax: 1 }, null)
  try {
    return await body(connection)
  } finally {
    await connection.close()
  }
}

/** The SQL that opening this store would run, as text: empty when its tables are the newest. Rejects with `StoreUnusable`. */
export const migrationPlan = async (options: MysqlOptions): Promise<string> => {
  const target = targetOf(options.url, options.database)
  try {
    return await alone(target, options, async (connection) =>
      migrationText(target.database, await inspect(connection, target), await versionOf(connection, target)),
    )
  } catch (error) {
    throw unusable(target.name, error)
  }
}

/** The driver over a connection to a database that is migrated already; closing it closes the connection. */
export const driverOver = (connection: Connection, isDurable: boolean, now?: () => number): StoreDriver => {
  const session = openSession(connection, now)
  return {
    capabilities: { name: "mysql", durable: isDurable, shared: true },
    now: session.now,
    close: () => connection.close(),
    ...makeOperations(session.run),
    ...makeHot(session),
    ...makeListing(connection),
    ...makeSchedules(connection, session.given),
    ...makeNodes(connection, session.given),
    ...makeCredentials(connection, session.given),
    ...makeRecords(
      (logic) =>
        session.transaction((work, queryable) =>
          runAsync(logic({ records: recordTable(queryable), now: () => work.now() })),
        ),
      async (logic) => {
        const read = await session.now()
        return runAsync(logic({ records: recordTable(connection), now: () => read }))
      },
    ),
  }
}

/** The store's services over a server, on the server's clock unless `now` is given. */
export const layerMysql = (options: MysqlOptions): Layer.Layer<Store, StoreUnusable> =>
  layerDriver(
    Effect.tryPromise({ try: () => mysqlDriver(options), catch: (error) => error }).pipe(
      Effect.catch((error) => (error instanceof StoreUnusable ? Effect.fail(error) : Effect.die(error))),
    ),
  )

/**
 * A storage of `defineConfig`: engines use it as a layer, and the `uhrwerk` commands open it beside them, as they find it in
 * the config file.
 */
export const mysqlStorage = (options: MysqlOptions) => ({
  name: "mysql",
  layer: layerMysql(options),
  open: () => mysqlDriver(options),
  plan: () => migrationPlan(options),
})

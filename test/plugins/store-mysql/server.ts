// Where the real server of the tests is, and databases of their own on it. Making the tables takes longer than most tests,
// emptying them does not: a database is used again.
import { connect } from "../../../plugins/store-mysql/connect.ts"
import type { Connection } from "../../../plugins/store-mysql/Connection.ts"
import { inspect, migrate } from "../../../plugins/store-mysql/migrate.ts"
import { driverOver } from "../../../plugins/store-mysql/mod.ts"
import { targetOf } from "../../../plugins/store-mysql/target.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"

/** Named by the environment, or the usual local one. The path of the address is not used. */
export const url = process.env["UHRWERK_TEST_MYSQL"] ?? "mysql://root@127.0.0.1:3306"

/** The place of a database on it. */
export const placeOf = (database: string) => targetOf(url, database)

const admin = (): Connection => connect(placeOf("none"), { connectMillis: 2000, connectionsMax: 1 }, null)

const look = async () => {
  const connection = admin()
  try {
    const server = await inspect(connection, placeOf("none"))
    return { missing: null, durable: server.isDurable, server }
  } catch (error) {
    if (process.env["UHRWERK_TEST_MYSQL"] !== undefined) throw error
    return {
      missing: `no MySQL at 127.0.0.1:3306 and none in UHRWERK_TEST_MYSQL: ${String(error)}`,
      durable: true,
      server: { isMariaDb: true, collation: "", isDurable: true },
    }
  } finally {
    await connection.close()
  }
}

/**
 * `missing`: why there is no real server to test with; `null` when there is one. A named one must be there. `durable`: as
 * it is set.
 */
export const { missing, durable, server } = await look()

let count = 0
const made = new Set<string>()

/** A name that nobody else uses. */
export const databaseName = (): string => {
  const name = `uhrwerk_test_${process.pid}_${Math.floor(Math.random() * 2 ** 32).toString(36)}_${count++}`
  made.add(name)
  return name
}

/** Removes the databases of this file. */
export const dropDatabases = async (): Promise<void> => {
  if (missing !== null || made.size === 0) return
  const connection = admin()
  for (const name of made) await connection.change(`drop database if exists \`${name}\``)
  made.clear()
  await connection.close()
}

const kept = new Set(["uhrwerk_migrations", "chains"])

/** Empties all tables that have rows, but not how far the database is migrated. */
export const empty = async (connection: Connection): Promise<void> => {
  const names = (await connection.read("show tables")).map((row) => String(Object.values(row)[0]))
  const tables = names.filter((name) => !kept.has(name))
  const filled = await connection.read(
    tables.map((name) => `(select '${name}' as name from \`${name}\` limit 1)`).join(" union all "),
  )
  await connection.transaction(async (queryable) => {
    for (const row of filled) await queryable.change(`delete from \`${String(row["name"])}\``)
  })
}

/** Makes the tables of a new database. */
export const makeDatabase = async (): Promise<string> => {
  const name = databaseName()
  const connection = admin()
  await migrate(connection, placeOf(name), server)
  await connection.close()
  return name
}

/** Opens empty stores, in databases that are used again once their store was closed. */
export const openStores = () => {
  const free: Array<Connection> = []
  const all: Array<Connection> = []
  return {
    open: async (now?: () => number): Promise<StoreDriver> => {
      let connection = free.pop()
      if (connection === undefined) {
        connection = connect(placeOf(await makeDatabase()), { connectionsMax: 2 })
        all.push(connection)
      } else await empty(connection)
      const own = connection
      return { ...driverOver(own, durable, now), close: () => void free.push(own) }
    },
    close: async (): Promise<void> => {
      for (const each of all) await each.close()
      await dropDatabases()
    },
  }
}

// Stores on schemas that are used again: making the tables takes longer than most tests, emptying them does not. Several
// may be open at a time, each on one of its own.
import { driverOver } from "../../../../adapters/store-sql/postgres.ts"
import type { Connection } from "../../../../adapters/store-sql/postgres/Connection.ts"
import { migrate } from "../../../../adapters/store-sql/postgres/migrate.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"

/** Empties all tables of a schema, but not how far it is migrated. */
export const empty = async (connection: Connection, schema: string): Promise<void> => {
  const tables = await connection.query(
    "select tablename as name from pg_tables where schemaname = $1 and tablename <> 'migrations'",
    [schema],
  )
  // Not `truncate`, which makes new files: there are a few rows in each, if any.
  await connection.script(tables.map(({ name }) => `delete from "${schema}"."${String(name)}";`).join("\n"))
}

/** Opens empty stores over one connection, in schemas named by `nameOf`; closing a store frees its schema. */
export const openStores = (connection: Connection, nameOf: () => string) => {
  const free: Array<string> = []
  return async (now?: () => number): Promise<StoreDriver> => {
    const known = free.pop()
    const schema = known ?? nameOf()
    if (known === undefined) await migrate(connection, "here", schema)
    else await empty(connection, schema)
    return { ...driverOver(connection, schema, now), close: () => void free.push(schema) }
  }
}

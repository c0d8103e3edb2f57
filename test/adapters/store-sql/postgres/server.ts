// Where the real server of the tests is, and schemas of their own on it.
import { connect } from "../../../../adapters/store-sql/postgres/connect.ts"
import type { Connection } from "../../../../adapters/store-sql/postgres/Connection.ts"

/** Named by the environment, or the usual local one. */
export const url = process.env["UHRWERK_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test"

/** Why there is no real server to test with; `null` when there is one. A named one must be there. */
export const missing = await (async (): Promise<string | null> => {
  if (process.env["UHRWERK_TEST_POSTGRES"] !== undefined) return null
  const connection = connect({ url, connectMillis: 2000, connectionsMax: 1 })
  try {
    await connection.query("select 1", [])
    return null
  } catch (error) {
    return `no PostgreSQL at 127.0.0.1:5432 and none in UHRWERK_TEST_POSTGRES: ${String(error)}`
  } finally {
    await connection.close()
  }
})()

let count = 0
const made = new Set<string>()

/** A name that nobody else uses. */
export const schemaName = (): string => {
  const random = Math.floor(Math.random() * 2 ** 40).toString(36)
  const name = `uhrwerk_test_${random}_${count++}`
  made.add(name)
  return name
}

/** Removes the schemas of this file. */
export const dropSchemas = async (): Promise<void> => {
  if (missing !== null || made.size === 0) return
  const connection: Connection = connect({ url, connectionsMax: 1 })
  for (const name of made) await connection.query(`drop schema if exists "${name}" cascade`, [])
  made.clear()
  await connection.close()
}

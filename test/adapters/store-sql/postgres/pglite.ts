// PGlite as a connection of the store: PostgreSQL in this process, one connection, nothing on the disk.
import { PGlite, type Transaction } from "@electric-sql/pglite"
import type {
  Connection,
  Parameter,
  Queryable,
  Row,
} from "../../../../adapters/store-sql/postgres/Connection.ts"
import { repeated } from "../../../../adapters/store-sql/postgres/connect.ts"

const int8 = 20
const options = { parsers: { [int8]: Number } }

const over = (database: PGlite | Transaction): Queryable => ({
  query: async (text, parameters) =>
    (await database.query<Row>(text, parameters as Array<Parameter>, options)).rows,
  script: async (text) => void (await database.exec(text)),
})

/** The database as a connection, which does not close it: starting one takes a second. */
export const pgliteConnection = (database: PGlite): Connection => {
  const whole = over(database)
  return {
    query: (text, parameters) => repeated(() => whole.query(text, parameters)),
    script: (text) => repeated(() => whole.script(text)),
    transaction: (body) => repeated(() => database.transaction((transaction) => body(over(transaction)))),
    close: () => Promise.resolve(),
  }
}

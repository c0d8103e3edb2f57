// Drizzle writes the SQL, once, when a store is opened; `node:sqlite` runs the prepared statement. Building a
// query each time costs 65-200 us of CPU, a prepared one 1-6 us, so nothing is built after the start.
import { is } from "drizzle-orm/entity"
import { drizzle } from "drizzle-orm/sqlite-proxy"
import { Param, Placeholder, type SQL, sql } from "drizzle-orm/sql"
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core"
import type { Cell, Row } from "../rows.ts"
import type { Database, Value } from "./Database.ts"

/** Drizzle's query builder, for its SQL only: it has no connection and runs nothing. */
export const build = drizzle(() => {
  throw new Error("This builder has no connection: compile its query with prepare()")
})

/** A value that is given at each call, by name. */
export const at = <A = unknown>(name: string): SQL<A> => sql`${sql.placeholder(name)}` as SQL<A>

/** Values by placeholder name. */
export type Values = Readonly<Record<string, Value>>

/** A prepared statement. */
export interface Statement {
  /** Executes it; answers how many rows were changed. */
  run(values?: Values): number
  get(values?: Values): Row | undefined
  all(values?: Values): ReadonlyArray<Row>
}

const dialect = new SQLiteSyncDialect()

/** Compiles and prepares a Drizzle query, or an `sql` text of one. */
export const prepare = (database: Database, query: { getSQL(): SQL } | SQL): Statement => {
  const { statement, bind } = compile(database, query)
  return {
    run: (values = {}) => Number(statement.run(...bind(values)).changes),
    get: (values = {}) => statement.get(...bind(values)) as Row | undefined,
    all: (values = {}) => statement.all(...bind(values)) as unknown as ReadonlyArray<Row>,
  }
}

const compile = (database: Database, query: { getSQL(): SQL } | SQL) => {
  const { sql: text, params } = dialect.sqlToQuery(query.getSQL())
  const statement = database.prepare(text)
  const slots = params.map((param) => {
    const value = is(param, Param) ? param.value : param
    return is(value, Placeholder) ? { name: value.name } : { constant: value as Value }
  })
  const bind = (values: Values): Array<Value> => {
    const bound: Array<Value> = []
    for (const slot of slots) {
      // A missing name would bind as NULL without a word.
      if (slot.name !== undefined && values[slot.name] === undefined)
        throw new Error(`No value for "${slot.name}"`)
      bound.push(slot.name === undefined ? slot.constant : (values[slot.name] as Value))
    }
    return bound
  }
  return { statement, bind }
}

/** A query whose rows are lists, in the order of its columns: half the cost of rows by name, where there are many. */
export const prepareScan = (
  database: Database,
  query: SQL,
): ((values: Values) => ReadonlyArray<ReadonlyArray<Cell>>) => {
  const { statement, bind } = compile(database, query)
  statement.setReturnArrays(true)
  return (values) => statement.all(...bind(values)) as unknown as ReadonlyArray<ReadonlyArray<Cell>>
}

/** A statement over rows of values: runs all rows, and answers how many rows of the database were changed. */
export type RowsStatement = (rows: ReadonlyArray<ReadonlyArray<Value>>) => number

// Per row, a statement of many costs two thirds of one of one row; more of them cost no less.
const rowsAtOnce = 50

/**
 * Compiles a statement that takes its rows as `values (...), (...)`; `query` is given that list. `row` is what one
 * row says: a `?` for each value that is given at each call, and constants.
 */
export const prepareRows = (
  database: Database,
  query: (values: SQL) => SQL,
  row: ReadonlyArray<string>,
): RowsStatement => {
  const statementOf = (rows: number) => {
    const values = Array.from({ length: rows }, () => `(${row.join(", ")})`).join(", ")
    return database.prepare(dialect.sqlToQuery(query(sql.raw(values))).sql)
  }
  const many = statementOf(rowsAtOnce)
  const one = statementOf(1)
  const args: Array<Value> = []
  return (rows) => {
    let changed = 0
    let from = 0
    for (; from + rowsAtOnce <= rows.length; from += rowsAtOnce) {
      args.length = 0
      for (let index = from; index < from + rowsAtOnce; index++) args.push(...(rows[index] as Array<Value>))
      changed += Number(many.run(...args).changes)
    }
    for (; from < rows.length; from++) changed += Number(one.run(...(rows[from] as Array<Value>)).changes)
    return changed
  }
}

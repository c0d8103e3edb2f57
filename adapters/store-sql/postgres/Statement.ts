// Texts of statements with named values, compiled once when a store is opened: Drizzle names tables and numbers the
// parameters. Rows of a batch are arrays, one a column, that the server unnests: one text for batches of any size, so
// that it is parsed and planned once a connection.
import { is } from "drizzle-orm/entity"
import { PgDialect } from "drizzle-orm/pg-core"
import { Param, Placeholder, type SQL, sql } from "drizzle-orm/sql"
import type { Parameter, Queryable, Row } from "./Connection.ts"

export { sql, type SQL }

/** Values by the names of placeholders. */
export type Values = Readonly<Record<string, Parameter>>

/** A compiled statement: run it where it is to run. */
export type Statement = (queryable: Queryable, values?: Values) => Promise<ReadonlyArray<Row>>

/** A value that is given at each call, by name, as this type. */
export const at = (name: string, type: string): SQL => sql`${sql.placeholder(name)}::${sql.raw(type)}`

const dialect = new PgDialect()

/** Compiles a statement. */
export const prepare = (query: SQL): Statement => {
  const { sql: text, params } = dialect.sqlToQuery(query)
  const names = params.map((param) => {
    const value = is(param, Param) ? param.value : param
    if (!is(value, Placeholder)) throw new Error("A value of a statement is given by name")
    return value.name
  })
  return (queryable, values = {}) =>
    queryable.query(
      text,
      names.map((name) => {
        const value = values[name]
        // A missing name would bind as NULL without a word.
        if (value === undefined) throw new Error(`No value for "${name}"`)
        return typeof value === "string" ? storable(value) : value
      }),
    )
}

/** The store's clock: what was given as `now`, or the server's own. Whole milliseconds, rounded down: never early. */
export const clock = sql`coalesce(${at("now", "bigint")}, floor(extract(epoch from clock_timestamp()) * 1000)::bigint)`

/** The columns of a batch and their types. */
export type Columns = Readonly<Record<string, "text" | "bigint" | "integer" | "smallint">>

/** A batch of rows with these columns, as a statement reads it. */
export interface Batch<C extends Columns> {
  /** `(id, job ...)` of the given rows, as a table named `given`, in their order (`place`, from 1). */
  readonly given: SQL
  /** The values of rows. */
  values(rows: ReadonlyArray<Readonly<Record<keyof C, Parameter>>>): Values
}

/** Makes a batch of columns; `prefix` tells the values of two batches in one statement apart. */
export const batch = <C extends Columns>(columns: C, prefix = ""): Batch<C> => {
  const names = Object.keys(columns)
  const arrays = names.map((name) => at(`${prefix}${name}[]`, `${columns[name]}[]`))
  const list = sql.raw(names.map((name) => `"${name}"`).join(", "))
  return {
    given: sql`unnest(${sql.join(arrays, sql`, `)}) with ordinality as given(${list}, place)`,
    values: (rows) =>
      Object.fromEntries(names.map((name) => [`${prefix}${name}[]`, literal(rows.map((row) => row[name]))])),
  }
}

/** A list of texts or numbers as an array literal. */
export const literal = (values: ReadonlyArray<Parameter | undefined>): string => {
  let text = "{"
  for (const value of values) {
    if (text.length > 1) text += ","
    if (value === null || value === undefined) text += "NULL"
    else if (typeof value === "number") text += value
    else text += quoted(value)
  }
  return `${text}}`
}

// The server takes every character but this one, and would refuse a whole batch for it, again and again.
const storable = (text: string): string => (text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text)

const quoted = (text: string): string =>
  /["\\]/.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : `"${text}"`

/** The constants of a list of texts, for conditions that a partial index has: it serves no parameter. */
export const texts = (values: ReadonlyArray<string>): SQL =>
  sql.raw(`(${values.map((value) => `'${value.replaceAll("'", "''")}'`).join(", ")})`)

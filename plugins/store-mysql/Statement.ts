// What statements are made of: the clock, batches of rows without arrays, and inserts cut so that each fits the server.
import type { Changed, Queryable, Value, Values } from "./Connection.ts"

/** The server's clock in epoch milliseconds, whatever zone it is in; rounded down: never early. */
export const clock = "timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)) div 1000"

/** The same at the row where it stands, and not at the start of the statement: after a wait for that row. */
export const clockAtRow = "timestampdiff(microsecond, '1970-01-01', sysdate(6)) div 1000"

/** What the store's clock is: `null` of what is given stands for the server's. */
export type Given = number | null

/** The store's clock. */
export const nowOf = async (queryable: Queryable, given: Given): Promise<number> =>
  given ?? ((await queryable.read(`select ${clock} as now`))[0]?.["now"] as number)

// A statement of a hundred rows costs as much as four of one row; larger ones gain little.
const rowsAtOnce = 100

/** Cuts a list into pieces. */
export const pieces = <A>(list: ReadonlyArray<A>, size = rowsAtOnce): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  )

/**
 * Runs a statement that reads rows as a table: `text` is given the table, with these columns, to be joined from (no
 * server has arrays, and MySQL and MariaDB write a list of rows differently; a union of selects is known to both).
 * Answers how many rows were met.
 */
export const withRows = async (
  queryable: Queryable,
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Value>>,
  text: (given: string) => string,
): Promise<number> => {
  let count = 0
  for (const some of pieces(rows))
    count += (await queryable.change(text(given(columns, some.length)), some.flat())).count
  return count
}

/** The text of such a table. */
export const given = (columns: ReadonlyArray<string>, count: number): string => {
  const first = columns.map((name) => `? as ${name}`).join(", ")
  const next = ` union all select ${columns.map(() => "?").join(", ")}`
  return `(select ${first}${next.repeat(count - 1)}) as given`
}

// Characters of one statement, each of which may become six bytes; a row has at most about as many more.
const textMax = 300_000
const insertMax = 500

/** Runs `insert into ... values ?` for rows, as few statements as fit; nothing for none. */
export const insertRows = async (
  queryable: Queryable,
  text: string,
  rows: ReadonlyArray<ReadonlyArray<Value>>,
): Promise<void> => {
  let some: Array<ReadonlyArray<Value>> = []
  let length = 0
  const write = (): Promise<Changed | void> =>
    some.length === 0 ? Promise.resolve() : queryable.change(text, [some])
  for (const row of rows) {
    const size = row.reduce<number>((sum, value) => sum + (typeof value === "string" ? value.length : 8), 0)
    if (some.length > 0 && (some.length === insertMax || length + size > textMax)) {
      await write()
      some = []
      length = 0
    }
    some.push(row)
    length += size
  }
  await write()
}

/** A condition with its values. */
export interface Condition {
  readonly text: string
  readonly values: Values
}

/** A flag as it is stored. */
export const bit = (value: boolean): number => (value ? 1 : 0)

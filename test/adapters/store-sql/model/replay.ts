// Runs sequences of operations on two stores that share one clock, and finds where the stores differ.
import { type Database, openDatabase } from "../../../../adapters/store-sql/sqlite/Database.ts"
import { driverOver } from "../../../../adapters/store-sql/sqlite.ts"
import { memoryDriver } from "../../../../adapters/store-memory/mod.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"
import { type Answer, call, difference, type Operation, visible } from "./operations.ts"

/** Where every sequence begins: 2026-01-01T00:00:00Z. */
export const startAt = Date.UTC(2026, 0, 1)

/** Both stores and their clock. */
export interface Pair {
  readonly memory: StoreDriver
  readonly sqlite: StoreDriver
  readonly clock: { millis: number }
}

/** How the stores differ, and after which operation. */
export interface Difference {
  /** The place of the operation, from 0; as many as there are: only what is visible at the end. */
  readonly place: number
  /** The first field that is not the same. */
  readonly path: string
  readonly memory: unknown
  readonly sqlite: unknown
}

/** Told of each operation with its answer. */
export type Watch = (operation: Operation, answer: Answer) => void

/**
 * Opens a pair that `fresh` empties for each sequence: the file's rows are deleted, table by table, because opening it
 * compiles a hundred statements. `doctor` may put another store in the place of SQLite's.
 */
export const openPair = (doctor: (store: StoreDriver) => StoreDriver = (store) => store) => {
  const clock = { millis: startAt }
  const now = (): number => clock.millis
  const database = openDatabase({ file: ":memory:" })
  const opened = driverOver(database, { file: ":memory:", now })
  const sqlite = doctor(opened)
  const wipe = wiping(database)
  return {
    fresh: (): Pair => {
      clock.millis = startAt
      wipe()
      return { memory: memoryDriver({ now }), sqlite, clock }
    },
    close: () => opened.close(),
  }
}

const wiping = (database: Database): (() => void) => {
  const tables = database.prepare("select name from sqlite_schema where type = 'table'").all()
  const statements = tables.map(({ name }) => database.prepare(`delete from "${String(name)}"`))
  return () => database.transaction(() => statements.forEach((statement) => statement.run()))
}

/** The same store, of which every operation waits until it was emptied. */
export const after = (ready: Promise<void>, store: StoreDriver): StoreDriver =>
  new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      return typeof value === "function"
        ? async (...args: ReadonlyArray<unknown>) => {
            await ready
            return (value as (...args: ReadonlyArray<unknown>) => unknown)(...args)
          }
        : value
    },
  })

/** Performs one operation on both; answers what memory said, or how they differ. */
export const step = async (
  pair: Pair,
  operation: Operation,
  place: number,
): Promise<{ readonly answer: Answer; readonly found: Difference | null }> => {
  pair.clock.millis += operation.moveMillis
  const before = operation.isRefused ? await both(pair, visible) : null
  const [memory, sqlite] = [await call(pair.memory, operation), await call(pair.sqlite, operation)]
  let found = compared(place, memory, sqlite)
  if (before !== null && found === null) {
    if (!("refused" in memory)) found = { place, path: " that nobody refuses it", memory, sqlite }
    const after = await both(pair, visible)
    found ??= compared(place, before.memory, after.memory) ?? compared(place, before.sqlite, after.sqlite)
  }
  return { answer: memory, found }
}

/** How what can be seen of them differs, after `place` operations. */
export const compareVisible = async (pair: Pair, place: number): Promise<Difference | null> => {
  const { memory, sqlite } = await both(pair, visible)
  return compared(place, memory, sqlite)
}

/** Performs a whole sequence; `everyTime` looks at all that is visible after each operation. */
export const replay = async (
  pair: Pair,
  operations: ReadonlyArray<Operation>,
  everyTime = false,
): Promise<Difference | null> => {
  for (const [place, operation] of operations.entries()) {
    const { found } = await step(pair, operation, place)
    if (found !== null) return found
    const seen = everyTime ? await compareVisible(pair, place) : null
    if (seen !== null) return seen
  }
  return compareVisible(pair, operations.length)
}

/** The fewest operations that still make a difference: each that is not needed is left out, until none is. */
export const shrink = async (
  fresh: () => Pair,
  operations: ReadonlyArray<Operation>,
): Promise<ReadonlyArray<Operation>> => {
  let kept = operations
  for (let isShorter = true; isShorter;) {
    isShorter = false
    for (let place = kept.length - 1; place >= 0; place--) {
      for (const instead of shorter(kept[place] as Operation)) {
        const after = kept.slice(place + 1)
        const before = kept.slice(0, place)
        const fewer =
          instead === null
            ? [...before, ...later(after, kept[place]?.moveMillis ?? 0)]
            : [...before, instead, ...after]
        if ((await replay(fresh(), fewer)) === null) continue
        kept = fewer
        isShorter = true
        break
      }
    }
  }
  return kept
}

// Without the operation; or with one row less in its batch.
const shorter = (operation: Operation): ReadonlyArray<Operation | null> => {
  const [rows, ...others] = operation.args
  if (!Array.isArray(rows) || rows.length < 2 || operation.isRefused) return [null]
  const batches = rows.map(
    (_, place) => rows.filter((_row, each) => each !== place) as ReadonlyArray<unknown>,
  )
  return [null, ...batches.map((batch) => ({ ...operation, args: [batch, ...others] }))]
}

// The clock moves as before, or later operations would come too early.
const later = ([first, ...rest]: ReadonlyArray<Operation>, millis: number): ReadonlyArray<Operation> =>
  first === undefined ? [] : [{ ...first, moveMillis: first.moveMillis + millis }, ...rest]

/** The difference in words that a person can act on. */
export const report = async (
  fresh: () => Pair,
  seed: number,
  operations: ReadonlyArray<Operation>,
): Promise<string> => {
  const first = await replay(fresh(), operations)
  const few = await shrink(fresh, operations)
  const found = (await replay(fresh(), few, true)) ?? first
  const name = (place: number | undefined): string => operations[place ?? 0]?.name ?? "the end"
  const lines = few.map(
    ({ name, args, moveMillis }, place) =>
      `  ${place}. ${moveMillis === 0 ? "" : `[${moveMillis} ms later] `}${name}(${args.map(text).join(", ")})`,
  )
  return [
    `The stores differ. Repeat it with SEED=${seed}`,
    `First seen at operation ${first?.place} of ${operations.length} (${name(first?.place)}), in ${first?.path}`,
    `The ${few.length} operations that are needed, from ${new Date(startAt).toISOString()} on:`,
    ...lines,
    `After ${found?.place} they differ in ${found?.path === "" ? "their answers" : found?.path}:`,
    `  memory: ${text(found?.memory)}`,
    `  sqlite: ${text(found?.sqlite)}`,
  ].join("\n")
}

const textMax = 3_000

const text = (value: unknown): string => {
  const written =
    value instanceof Error ? (value.stack ?? value.message) : (JSON.stringify(value) ?? "undefined")
  return written.length > textMax ? `${written.slice(0, textMax)}... (${written.length} characters)` : written
}

const both = async <A>(pair: Pair, look: (store: StoreDriver) => Promise<A>) => ({
  memory: await look(pair.memory),
  sqlite: await look(pair.sqlite),
})

const compared = (place: number, memory: unknown, sqlite: unknown): Difference | null => {
  const path = difference(memory, sqlite)
  if (path === null) return null
  // Only the part around the field: whole states are pages long.
  const around = path.split(".").slice(1, 3)
  const part = (value: unknown): unknown => around.reduce((at, key) => at?.[key as never] as unknown, value)
  const [a, b] = [part(memory), part(sqlite)]
  return { place, path, memory: a instanceof Object ? a : memory, sqlite: b instanceof Object ? b : sqlite }
}

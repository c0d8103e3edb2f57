// Enqueue in somebody else's transaction: the run is there if that commits, and was never there if it rolls back. Other
// nodes are told by the server, at the commit.
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import { checkBatch } from "../../../core/ports/StoreLimits.ts"
import { getTableColumns } from "drizzle-orm"
import { Definitions } from "../Definitions.ts"
import { storeRuns } from "../enqueue.ts"
import { runAsync } from "../Sql.ts"
import { Work } from "../Work.ts"
import type { Parameter, Queryable, Row } from "./Connection.ts"
import { makeEnqueue } from "./enqueue.ts"
import { compileFlows, flowTable } from "./FlowTable.ts"
import { payloadsOf } from "./hints.ts"
import { runTable } from "./RunTable.ts"
import { compileRuns } from "./runStatements.ts"
import { compileSchedules, scheduleTable } from "./ScheduleTable.ts"
import { checkSchema } from "./schemaName.ts"
import { tablesOf } from "./schema.ts"
import { clock as clockOf, prepare, type SQL, sql } from "./Statement.ts"

/** A transaction of the application: `sql` of postgres-js's `begin`, or `tx` of Drizzle's `transaction`. */
export type OwnTransaction =
  | { readonly unsafe: (text: string, parameters: Array<any>) => PromiseLike<unknown> }
  | { readonly execute: (query: SQL) => PromiseLike<unknown> }

/** Where the store is. */
export interface EnqueueInOptions {
  /** Its schema, which must be there: a store that is opened makes it. Default `uhrwerk`. */
  readonly schema?: string
}

/**
 * Stores runs in `transaction`, which must be one of the store's database; answers as `enqueue` does. Whoever sends the
 * same id or key in another open transaction waits for the end of this one, and so does what happens to stored runs that
 * these ones need. A failure is a failure of the transaction, which can only be rolled back then.
 */
export const enqueueIn = async (
  transaction: OwnTransaction,
  runs: ReadonlyArray<NewRun>,
  options: EnqueueInOptions = {},
): Promise<ReadonlyArray<Enqueued>> => {
  checkBatch("runs", runs)
  const schema = checkSchema(options.schema ?? "uhrwerk")
  const queryable = over(transaction)
  const { alone, chained } = storesOf(schema)
  const needy = runs.some(({ needs }) => needs.length > 0)
  const answers = await (needy ? chained(queryable, runs) : alone(queryable, runs, null))
  const created = answers.filter(({ result }) => result === "created")
  if (created.length === 0) return answers
  const dueAt = Math.min(...created.map((each) => (each.state === "ready" ? 0 : each.dueAt)))
  for (const payload of payloadsOf("a transaction", [{ kind: "runs", dueAt }]))
    await queryable.query("select pg_notify($1, $2)", [`${schema}_hints`, payload])
  return answers
}

const compile = (schema: string) => {
  const tables = tablesOf(schema)
  const statements = {
    runs: compileRuns(tables),
    flows: compileFlows(tables),
    schedules: compileSchedules(tables),
  }
  const readClock = prepare(sql`select ${clockOf} as now`)
  const chained = async (queryable: Queryable, runs: ReadonlyArray<NewRun>) => {
    const [row] = await readClock(queryable, { now: null })
    const clock = { given: null, now: row?.["now"] as number }
    const work = new Work(
      {
        now: () => clock.now,
        runs: runTable(statements.runs, queryable, clock),
        flows: flowTable(statements.flows, queryable),
        schedules: scheduleTable(statements.schedules, queryable),
      },
      new Definitions(),
    )
    // A refusal may come behind runs that are stored already: all of them, or none.
    await queryable.script("savepoint uhrwerk")
    try {
      const answers = await runAsync(storeRuns(work, runs))
      await runAsync(work.finish())
      await queryable.script("release savepoint uhrwerk")
      return answers
    } catch (error) {
      await queryable.script("rollback to savepoint uhrwerk")
      throw error
    }
  }
  return { alone: makeEnqueue(tables), chained }
}

// Compiled once a schema.
const known = new Map<string, ReturnType<typeof compile>>()
const storesOf = (schema: string): ReturnType<typeof compile> => {
  const made = known.get(schema) ?? compile(schema)
  known.set(schema, made)
  return made
}

const over = (transaction: OwnTransaction): Queryable => {
  const run = async (text: string, parameters: ReadonlyArray<Parameter>): Promise<ReadonlyArray<Row>> => {
    const answer =
      "unsafe" in transaction
        ? await transaction.unsafe(text, [...parameters])
        : await transaction.execute(query(text, parameters))
    const rows = Array.isArray(answer) ? answer : (answer as { readonly rows: ReadonlyArray<Row> }).rows
    return (rows as ReadonlyArray<Row>).map(readable)
  }
  return { query: run, script: async (text) => void (await run(text, [])) }
}

// Drizzle numbers the parameters itself, in this order.
const query = (text: string, parameters: ReadonlyArray<Parameter>): SQL =>
  sql.join(
    text
      .split(/\$(\d+)/)
      .map((part, place) =>
        place % 2 === 0 ? sql.raw(part) : sql`${sql.param(parameters[Number(part) - 1] ?? null)}`,
      ),
  )

// Clients that are not ours may give whole numbers of 64 bits as texts: in all of our columns that have some, and under two
// names that statements give. Ids of some tables are among them, and those of runs are never digits only.
const whole = new Set([
  "now",
  "place",
  ...Object.values(tablesOf("any")).flatMap((table) =>
    Object.values(getTableColumns(table))
      .filter((column) => column.getSQLType() === "bigint")
      .map(({ name }) => name),
  ),
])

const readable = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === "string" && whole.has(name) && /^-?\d+$/.test(value) ? Number(value) : value,
    ]),
  )

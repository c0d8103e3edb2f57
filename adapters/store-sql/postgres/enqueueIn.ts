// Enqueue in somebody else's transaction: the run is there if that commits, and was never there if it rolls back. Other
// nodes are told by the server, at the commit.
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import { checkBatch, refusal } from "../../../core/ports/StoreLimits.ts"
import type { Parameter, Queryable, Row } from "./Connection.ts"
import { makeEnqueue } from "./enqueue.ts"
import { payloadsOf } from "./hints.ts"
import { checkSchema } from "./schemaName.ts"
import { tablesOf } from "./schema.ts"
import { type SQL, sql } from "./Statement.ts"

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
 * Stores runs that need no others in `transaction`, which must be one of the store's database; answers as `enqueue` does.
 * Whoever sends the same id or key in another open transaction waits for the end of this one. A failure is a failure of
 * the transaction, which can only be rolled back then.
 */
export const enqueueIn = async (
  transaction: OwnTransaction,
  runs: ReadonlyArray<NewRun>,
  options: EnqueueInOptions = {},
): Promise<ReadonlyArray<Enqueued>> => {
  checkBatch("runs", runs)
  const needy = runs.find(({ needs }) => needs.length > 0)
  if (needy !== undefined) throw refusal(`runs: run "${needy.id}" needs others; enqueue it after the commit`)
  const schema = checkSchema(options.schema ?? "uhrwerk")
  const queryable = over(transaction)
  const answers = await enqueueOf(schema)(queryable, runs, null)
  const created = answers.filter(({ result }) => result === "created")
  if (created.length === 0) return answers
  const dueAt = Math.min(...created.map((each) => (each.state === "ready" ? 0 : each.dueAt)))
  for (const payload of payloadsOf("a transaction", [{ kind: "runs", dueAt }]))
    await queryable.query("select pg_notify($1, $2)", [`${schema}_hints`, payload])
  return answers
}

// Compiled once a schema.
const known = new Map<string, ReturnType<typeof makeEnqueue>>()
const enqueueOf = (schema: string): ReturnType<typeof makeEnqueue> => {
  const made = known.get(schema) ?? makeEnqueue(tablesOf(schema))
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

// Clients that are not ours may give whole numbers of 64 bits as texts.
const readable = (row: Row): Row => ({
  ...row,
  ...(row["due_at"] == null ? {} : { due_at: Number(row["due_at"]) }),
  ...(row["place"] == null ? {} : { place: Number(row["place"]) }),
})

// Connections of postgres-js: a pool for statements, opened as they are needed and again after a loss, so that a store
// outlives a restart of its server. Time-outs everywhere, so that nothing waits for ever.
import postgres from "postgres"
import type { Connection, Parameter, Queryable, Row } from "./Connection.ts"
import { isTransient, marked } from "./failures.ts"

/** How to reach a server. */
export interface ConnectOptions {
  /** `postgres://user:password@host:port/database`; what is not in it comes from `PGHOST`, `PGUSER` and the rest. */
  readonly url: string
  /** At most so many connections; default 10. */
  readonly connectionsMax?: number
  /**
   * `false`: no prepared statements and nothing that belongs to a session, for a pooler that gives each transaction
   * another one. The time-out of statements is then to be set on the server, for the role. Default `true`.
   */
  readonly prepare?: boolean
  /** What the server shows as the program's name; default `uhrwerk`. */
  readonly applicationName?: string
  /** How long to wait for a connection, in milliseconds; default 10,000. */
  readonly connectMillis?: number
  /** After how long the server gives a statement up, in milliseconds; default 30,000. */
  readonly statementMillis?: number
}

// Whole numbers of 64 bits: times and counts, far below what a number can hold.
const types = { int8: { to: 20, from: [20], parse: Number, serialize: String } }

/** What postgres-js takes beside what its types say. */
export type ClientOptions = postgres.Options<typeof types> & {
  readonly onnotify?: (channel: string, payload: string) => void
}

/** A client of postgres-js; `more` is what is special about its connections. */
export const clientOf = (options: ConnectOptions, more: ClientOptions) => {
  const { prepare = true, connectMillis = 10_000, statementMillis = 30_000 } = options
  return postgres(options.url, {
    prepare,
    // The array types of the server, which we do not need: lists go as literals.
    fetch_types: false,
    connect_timeout: connectMillis / 1000,
    idle_timeout: 60,
    max_lifetime: 60 * 60,
    backoff: (attempt: number) => Math.min(2 ** attempt / 20, 2),
    onnotice: () => {},
    types,
    connection: {
      application_name: options.applicationName ?? "uhrwerk",
      // A pooler refuses a connection that sets these.
      ...(prepare
        ? { statement_timeout: statementMillis, idle_in_transaction_session_timeout: statementMillis }
        : {}),
    },
    ...more,
  })
}

// Repeats of a transaction that lost a deadlock or a race, and the longest wait before the first of them.
const repeatMax = 8
const repeatMillis = 20

/** A pool of connections; none is opened before the first statement. */
export const connect = (options: ConnectOptions): Connection => {
  const { prepare = true } = options
  const client = clientOf(options, { max: options.connectionsMax ?? 10 })
  const over = (sql: postgres.Sql | postgres.TransactionSql): Queryable => ({
    query: (text, parameters) =>
      sql.unsafe(text, parameters as Array<Parameter>, { prepare }) as unknown as Promise<ReadonlyArray<Row>>,
    script: async (text) => void (await sql.unsafe(text)),
  })
  const pool = over(client)
  return {
    query: (text, parameters) => repeated(() => pool.query(text, parameters)),
    script: (text) => repeated(() => pool.script(text)),
    transaction: <A>(body: (transaction: Queryable) => Promise<A>) =>
      repeated(() => client.begin((sql) => body(over(sql))) as Promise<A>),
    close: () => client.end({ timeout: 5 }),
  }
}

/** Runs a statement or a transaction, and again when it was rolled back for no fault of its own. */
export const repeated = async <A>(run: () => Promise<A>): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isTransient(error) || attempt > repeatMax) throw marked(error)
      // At different times, or the same two would meet again.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * repeatMillis * 2 ** (attempt - 1)))
    }
  }
}

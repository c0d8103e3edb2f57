// Connections to a server: a pool for statements, opened as they are needed and anew after a loss, so that a store
// outlives a restart of its server. Time-outs everywhere, so that nothing waits for ever.
import postgres from "postgres"
import type { Connection, Parameter, Queryable } from "./Connection.ts"
import { isLast, isOfServer, isTransient, marked } from "./failures.ts"
import { Pool, type Slot } from "./Pool.ts"
import { encryptionOf } from "./tls.ts"

/** How to reach a server. */
export interface ConnectOptions {
  /**
   * `postgres://user:password@host:port/database`; what is not in it comes from `PGHOST`, `PGUSER` and the rest. It may end
   * in `?sslmode=` and `&sslrootcert=FILE`, as in libpq.
   */
  readonly url: string
  /** At most so many connections; default 10. */
  readonly connectionsMax?: number
  /**
   * `false`: no prepared statements and nothing that belongs to a session, for a pooler that gives each transaction
   * another connection. The time-out of statements is then to be set on the server, for the role. Default `true`.
   */
  readonly prepare?: boolean
  /** What the server shows as the program's name; default `uhrwerk`. */
  readonly applicationName?: string
  /** How long to wait for a connection, in milliseconds; default 10,000. */
  readonly connectMillis?: number
  /** After how long the server gives a statement up, in milliseconds; default 30,000. */
  readonly statementMillis?: number
}

const statementMillisDefault = 30_000
const connectMillisDefault = 10_000
// How much longer than the server may take an answer may be on its way, until the connection counts as dead.
const answerMillis = 5000
const poolLimits = { idleMillis: 60_000, ageMillis: 60 * 60_000, waitingMax: 10_000 }

// Whole numbers of 64 bits: times and counts, far below what a number can hold.
const types = { int8: { to: 20, from: [20], parse: Number, serialize: String } }

// A prepared statement keeps its plan, and a queue grows from nothing to a million in less time than the server takes to
// count it: a plan for an empty table would read all of it. So a table is read along its indexes, in their order. (What
// has no other way still reads and sorts all, and must not be compiled for being dear.)
const sessionSettings = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_mergejoin: "off",
  enable_sort: "off",
  jit: "off",
}

const timeouts = (millis: number) => ({
  statement_timeout: millis,
  idle_in_transaction_session_timeout: millis,
})

/** What a client hears of its one connection. */
export interface ClientEvents {
  readonly onclose: () => void
  /** postgres-js takes it, though its types do not say so. */
  readonly onnotify?: (channel: string, payload: string) => void
}

/**
 * A client of one connection, which is opened with its first statement and not closed for being idle or old. `settings`
 * are further ones of the session.
 */
export const clientOf = (
  options: ConnectOptions,
  events: ClientEvents,
  settings: Readonly<Record<string, string>> = {},
) => {
  const { prepare = true, connectMillis = connectMillisDefault } = options
  const { statementMillis = statementMillisDefault } = options
  const { url, ssl } = encryptionOf(options.url)
  return postgres(url, {
    ...(ssl === undefined ? {} : { ssl }),
    max: 1,
    prepare,
    // The array types of the server, which we do not need: lists go as literals.
    fetch_types: false,
    connect_timeout: connectMillis / 1000,
    max_lifetime: null,
    onnotice: () => {},
    types,
    connection: {
      application_name: options.applicationName ?? "uhrwerk",
      // A pooler refuses a connection that sets more.
      ...(prepare ? { ...sessionSettings, ...timeouts(statementMillis), ...settings } : {}),
    },
    ...events,
  })
}

type SlotOf = Slot<ReturnType<typeof clientOf>>

/** A pool of connections; none is opened before the first statement. */
export const connect = (options: ConnectOptions): Connection => {
  const { prepare = true, connectionsMax = 10, connectMillis = connectMillisDefault } = options
  const { statementMillis = statementMillisDefault } = options
  const pool = new Pool({ ...poolLimits, connectionsMax }, (onLost) => clientOf(options, { onclose: onLost }))

  /** Sends one statement on a connection that is there, and gives the connection up when no answer comes. */
  const send = async <A>(slot: SlotOf, text: string, run: () => Promise<A>): Promise<A> => {
    if (!slot.isAlive) throw lost(text)
    let late: ReturnType<typeof setTimeout> | undefined
    try {
      return await Promise.race([
        run(),
        new Promise<never>((_, reject) => {
          late = setTimeout(() => reject(lost(text)), connectMillis + statementMillis + answerMillis)
        }),
      ])
    } catch (error) {
      // Whatever is not an answer of the server leaves the connection in a state that nobody knows.
      if (!isOfServer(error) || isLast(error)) pool.discard(slot)
      throw error
    } finally {
      clearTimeout(late)
    }
  }
  const over = (slot: SlotOf): Queryable => ({
    query: (text, parameters) =>
      send(slot, text, () => slot.client.unsafe(text, parameters as Array<Parameter>, { prepare })),
    script: async (text) => void (await send(slot, text, () => slot.client.unsafe(text))),
  })

  const transaction = <A>(body: (transaction: Queryable) => Promise<A>): Promise<A> =>
    pool.use(async (slot) => {
      const queryable = over(slot)
      await queryable.script("begin")
      let value: A
      try {
        value = await body(queryable)
      } catch (error) {
        if (slot.isAlive) await queryable.script("rollback").catch(() => pool.discard(slot))
        throw error
      }
      await queryable.script("commit")
      return value
    })

  return {
    query: (text, parameters) => repeated(() => pool.use((slot) => over(slot).query(text, parameters))),
    script: (text) => repeated(() => pool.use((slot) => over(slot).script(text))),
    transaction: (body) => repeated(() => transaction(body)),
    close: () => pool.close(),
  }
}

const lost = (text: string): Error =>
  Object.assign(new Error(`The connection was lost: ${text.slice(0, 60)}`), { code: "CONNECTION_CLOSED" })

// Repeats of a transaction that lost a deadlock or a race, and the longest wait before the first of them.
const repeatMax = 8
const repeatMillis = 20

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

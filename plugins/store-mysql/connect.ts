// Connections to a server: a pool for statements, opened as they are needed and anew after a loss, so that a store
// outlives a restart of its server. Time-outs everywhere, so that nothing waits for ever; what lost a deadlock is repeated.
import mysql from "mysql2/promise"
import { refusal, type Row } from "uhrwerk/sql"
import type { Changed, Connection, Queryable, Values } from "./Connection.ts"
import { isLast, isOfServer, isTransient, lost, marked, neverSent } from "./failures.ts"
import { Pool, type Pooled } from "./Pool.ts"
import { Statements } from "./Statements.ts"
import type { Target } from "./target.ts"

/** How to reach a server; times in milliseconds. */
export interface ConnectOptions {
  /** At most so many connections; default 10. */
  readonly connectionsMax?: number
  /** How long to wait for a connection to be opened; default 10,000. */
  readonly connectMillis?: number
  /** After how long a statement is given up; default 30,000. */
  readonly statementMillis?: number
  /** How long a statement waits for rows that another transaction has; then that is tried again. Default 5,000. */
  readonly lockMillis?: number
  /** TLS, as mysql2 takes it: `{}` checks the server's certificate. Default: none. */
  readonly ssl?: mysql.SslOptions
}

const connectMillisDefault = 10_000
const statementMillisDefault = 30_000
const lockMillisDefault = 5000
// How much longer than the server may take an answer may be on its way, until the connection counts as dead.
const answerMillis = 5000
const idleMillis = 60_000
const poolLimits = {
  idleMillis,
  ageMillis: 60 * 60_000,
  waitingMax: 10_000,
  retryMillis: [50, 1000],
} as const

/** What a server is, as far as statements depend on it. */
export interface Flavour {
  readonly isMariaDb: boolean
  /** Compares texts by their bytes, trailing blanks included. */
  readonly collation: string
}

/** Of the text that `version()` answers. */
export const flavourOf = (version: string): Flavour => {
  const isMariaDb = /mariadb/i.test(version)
  return { isMariaDb, collation: isMariaDb ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin" }
}

/**
 * What every session is set to, whatever the server's defaults are. Read committed: what is read in order to be changed
 * is locked by name, and gaps between rows are not. A peer that vanishes within a transaction loses its locks in a while.
 */
const settings = ({ isMariaDb, collation }: Flavour, statementMillis: number, lockMillis: number) => {
  const seconds = (millis: number): number => Math.max(1, Math.ceil(millis / 1000))
  const wait = seconds(idleMillis + statementMillis)
  return [
    `set names utf8mb4 collate ${collation}`,
    "set session transaction isolation level read committed",
    `set sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
      autocommit = 1, sql_safe_updates = 0, sql_select_limit = default, group_concat_max_len = default,
      innodb_lock_wait_timeout = ${seconds(lockMillis)}, wait_timeout = ${wait}`,
    isMariaDb
      ? `set max_statement_time = ${statementMillis / 1000}, idle_transaction_timeout = ${seconds(statementMillis)},
          in_predicate_conversion_threshold = 0`
      : `set max_execution_time = ${statementMillis}`,
  ]
}

/** One connection; nothing is sent on it after it broke. */
class Link implements Pooled {
  isAlive = true
  private readonly client: mysql.Connection
  private readonly answerMax: number
  private readonly onLost: (link: Link) => void
  private packetMax = Number.POSITIVE_INFINITY
  private readonly open = new Set<(error: Error) => void>()

  constructor(client: mysql.Connection, answerMax: number, onLost: (link: Link) => void) {
    this.client = client
    this.answerMax = answerMax
    this.onLost = onLost
    client.on("error", () => this.destroy())
    client.on("end", () => this.destroy())
  }

  /** Sets the session up. `database` is `null` where there is none yet. */
  async begin(options: ConnectOptions, database: string | null): Promise<void> {
    const [row] = (await this.send(
      "select version() as version, @@max_allowed_packet as packet",
    )) as Array<Row>
    this.packetMax = Number(row?.["packet"])
    const { statementMillis = statementMillisDefault, lockMillis = lockMillisDefault } = options
    for (const text of settings(flavourOf(String(row?.["version"])), statementMillis, lockMillis))
      await this.send(text)
    if (database !== null) await this.send(`use \`${database}\``)
  }

  /** Sends one statement, and gives the connection up when no answer comes. */
  async send(text: string, values?: Values): Promise<unknown> {
    if (!this.isAlive) throw lost("The connection was lost before the statement")
    const statement =
      values === undefined ? text : mysql.format(text, values as Parameters<typeof mysql.format>[1])
    // The server would end the connection over it, and nobody would know why.
    if (statement.length * 3 > this.packetMax) checkPacket(statement, this.packetMax)
    let late: ReturnType<typeof setTimeout> | undefined
    let giveUp: ((error: Error) => void) | undefined
    try {
      const [answer] = await Promise.race([
        this.client.query(statement),
        new Promise<never>((_, reject) => {
          giveUp = reject
          this.open.add(reject)
          late = setTimeout(() => {
            reject(lost(`No answer came within ${this.answerMax} ms: ${text.slice(0, 60)}`))
          }, this.answerMax)
        }),
      ])
      return answer
    } catch (error) {
      // The driver puts the statement there, and whoever logs the error would log what runs are given.
      if (error instanceof Error && "sql" in error) delete error.sql
      // Whatever is not an answer of the server leaves the connection in a state that nobody knows.
      if (!isOfServer(error) || isLast(error)) this.destroy()
      throw error
    } finally {
      clearTimeout(late)
      if (giveUp !== undefined) this.open.delete(giveUp)
    }
  }

  async read(text: string, values?: Values): Promise<ReadonlyArray<Row>> {
    return (await this.send(text, values)) as ReadonlyArray<Row>
  }

  async change(text: string, values?: Values): Promise<Changed> {
    const { affectedRows, insertId } = (await this.send(text, values)) as mysql.ResultSetHeader
    return { count: affectedRows, id: insertId }
  }

  destroy(): void {
    if (!this.isAlive) return
    this.isAlive = false
    this.client.destroy()
    for (const reject of this.open) reject(lost("The connection was lost"))
    this.onLost(this)
  }

  async end(): Promise<void> {
    if (!this.isAlive) return
    this.isAlive = false
    const late = setTimeout(() => this.client.destroy(), endMillis)
    await this.client.end().catch(() => this.client.destroy())
    clearTimeout(late)
  }
}

// How long a connection may take to say goodbye.
const endMillis = 1000

const checkPacket = (statement: string, packetMax: number): void => {
  const bytes = new TextEncoder().encode(statement).length
  if (bytes >= packetMax)
    throw refusal(
      `statement: ${bytes} bytes are more than the server's max_allowed_packet of ${packetMax}; raise it, or store less at once`,
    )
}

/** Opens one connection, outside a pool or for it. */
const openLink = async (
  target: Target,
  options: ConnectOptions,
  database: string | null,
  onLost: (link: Link) => void,
): Promise<Link> => {
  const { connectMillis = connectMillisDefault, statementMillis = statementMillisDefault } = options
  const { host, port, user, password } = target
  try {
    const client = await mysql.createConnection({
      host,
      port,
      user,
      password,
      connectTimeout: connectMillis,
      charset: "UTF8MB4_BIN",
      multipleStatements: false,
      ...(options.ssl === undefined ? {} : { ssl: options.ssl }),
    })
    const link = new Link(client, statementMillis + answerMillis, onLost)
    try {
      await link.begin(options, database)
      return link
    } catch (error) {
      link.destroy()
      throw error
    }
  } catch (error) {
    throw neverSent(error)
  }
}

/** A pool of connections to the database of a target; none is opened before the first statement. */
export const connect = (
  target: Target,
  options: ConnectOptions,
  database: string | null = target.database,
): Connection => {
  const { connectionsMax = 10 } = options
  const pool: Pool<Link> = new Pool({ ...poolLimits, connectionsMax }, () =>
    openLink(target, options, database, (link) => pool.forget(link)),
  )

  const transaction = <A>(body: (transaction: Queryable) => Promise<A>): Promise<A> =>
    pool.use(async (link) => {
      await link.send("start transaction")
      const statements = new Statements(link)
      let value: A
      try {
        value = await body(statements)
        await statements.finish()
      } catch (error) {
        await statements.end()
        // Also after a wait for a lock, which takes back the statement alone.
        if (link.isAlive) await link.send("rollback").catch(() => link.destroy())
        throw marked(error)
      }
      await link.send("commit")
      return value
    })

  return {
    read: (text, values) => repeated(() => pool.use((link) => link.read(text, values).catch(told))),
    change: (text, values) => repeated(() => pool.use((link) => link.change(text, values).catch(told))),
    transaction: (body) => repeated(() => transaction(body)),
    close: () => pool.close(),
  }
}

const told = (error: unknown): never => {
  throw marked(error)
}

// Repeats of a transaction that lost a deadlock or a race, and the longest wait before the first of them.
const repeatMax = 8
const repeatMillis = 20

/** Runs a statement or a transaction, and again when it was rolled back for no fault of its own. */
const repeated = async <A>(run: () => Promise<A>): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isTransient(error) || attempt > repeatMax) throw error
      // At different times, or the same two would meet again.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * repeatMillis * 2 ** (attempt - 1)))
    }
  }
}

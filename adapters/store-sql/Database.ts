// One SQLite file through `node:sqlite`, which Bun, Deno and Node all have: opened with our pragmas, brought to
// the newest schema, and used from one synchronous writer, so nothing can interleave within a transaction.
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { StoreUnusable } from "../../core/domain/Errors.ts"
import { migrations } from "./migrations.ts"

/** How to open a file. */
export interface DatabaseOptions {
  /** A path, or `:memory:`. */
  readonly file: string
  /**
   * `full` (default): a commit is on the disk before it is acknowledged. `normal`: a power failure may take
   * back the last commits; a crash of the process does not.
   */
  readonly durability?: "full" | "normal"
  /** How long a statement waits for another process's transaction, in milliseconds; default 2,000. */
  readonly busyMillis?: number
  /** `false`: the file must exist. Default `true`. */
  readonly create?: boolean
}

/** An open file. */
export interface Database {
  readonly file: string
  prepare(sql: string): StatementSync
  /** Runs `body` in one write transaction: all of it, or, when it throws, none of it. */
  transaction<A>(body: () => A): A
  close(): void
}

/** Opens the file and migrates it; throws `StoreUnusable` when it cannot serve. */
export const openDatabase = (options: DatabaseOptions): Database => {
  const { file } = options
  let sqlite: DatabaseSync
  try {
    // An existing file is opened without creating one: a mistyped path must not leave an empty database behind.
    const path = options.create === false && file !== ":memory:" ? asUri(file) : file
    sqlite = new DatabaseSync(path, { timeout: options.busyMillis ?? 2000 })
  } catch (error) {
    throw unusable(file, error)
  }
  try {
    sqlite.exec("pragma journal_mode = wal")
    sqlite.exec(`pragma synchronous = ${options.durability ?? "full"}`)
    sqlite.exec("pragma foreign_keys = off")
    sqlite.exec("pragma temp_store = memory")
    sqlite.exec("pragma cache_size = -65536")
    migrate(sqlite, file)
  } catch (error) {
    sqlite.close()
    throw unusable(file, error)
  }
  const [begin, commit, rollback] = ["begin immediate", "commit", "rollback"].map((sql) =>
    sqlite.prepare(sql),
  )
  return {
    file,
    prepare: (sql) => sqlite.prepare(sql),
    transaction: (body) => {
      run(begin)
      try {
        const value = body()
        if (value instanceof Promise) throw new TypeError("A transaction's body must not be asynchronous")
        run(commit)
        return value
      } catch (error) {
        // Some failures (a full disk) have rolled back already, and then this one fails; the first one counts.
        try {
          run(rollback)
        } catch {}
        throw nothingDone(error)
      }
    },
    close: () => sqlite.close(),
  }
}

/** What a statement takes; booleans and dates are encoded before, as runtimes bind them differently. */
export type Value = SQLInputValue

const run = (statement: StatementSync | undefined): void => {
  statement?.run()
}

const asUri = (file: string): URL => {
  const url = new URL("file:///")
  url.pathname = file.startsWith("/") ? file : `${process.cwd()}/${file}`
  url.search = "?mode=rw"
  return url
}

// A rolled-back transaction has changed nothing: the caller may tell its own user so.
const nothingDone = (error: unknown): unknown =>
  error instanceof Error ? Object.assign(error, { outcomeUnknown: false }) : error

const migrate = (sqlite: DatabaseSync, file: string): void => {
  const version = (): number => Number(Object.values(sqlite.prepare("pragma user_version").get() ?? {})[0])
  if (version() === migrations.length) return
  sqlite.exec("begin immediate")
  try {
    // Read again under the lock: another process may have migrated meanwhile.
    const from = version()
    if (from > migrations.length) throw newerSchema(file, from)
    const foreign = sqlite.prepare("select name from sqlite_schema where type = 'table' limit 1").get()
    if (from === 0 && foreign !== undefined) throw foreignFile(file, String(foreign["name"]))
    for (const step of migrations.slice(from)) sqlite.exec(step)
    sqlite.exec(`pragma user_version = ${migrations.length}`)
    sqlite.exec("commit")
  } catch (error) {
    sqlite.exec("rollback")
    throw error
  }
}

const newerSchema = (file: string, version: number): StoreUnusable =>
  new StoreUnusable({
    kind: "newerSchema",
    field: `storage "${file}"`,
    reason: `the file has schema version ${version}, this program knows ${migrations.length}`,
    next: "Upgrade uhrwerk, or name another file.",
  })

const foreignFile = (file: string, table: string): StoreUnusable =>
  new StoreUnusable({
    kind: "notADatabase",
    field: `storage "${file}"`,
    reason: `the file is another program's database (it has a table "${table}")`,
    next: "Name another file; this one was not changed.",
  })

const unusable = (file: string, error: unknown): unknown => {
  if (error instanceof StoreUnusable) return error
  const message = error instanceof Error ? error.message : String(error)
  const field = `storage "${file}"`
  if (/not a database|malformed|file is encrypted/i.test(message)) {
    return new StoreUnusable({
      kind: "notADatabase",
      field,
      reason: `the file is not a usable SQLite database (${message})`,
      next: "Name another file, or restore this one from a backup; it was not changed.",
    })
  }
  if (/unable to open|readonly|read-only|permission|disk I\/O|no such file/i.test(message)) {
    return new StoreUnusable({
      kind: "notWritable",
      field,
      reason: `the file cannot be opened for writing (${message})`,
      next: "Check that the folder exists and that this user may write to it.",
    })
  }
  return error
}

// One SQLite file through `node:sqlite`, which Bun, Deno and Node all have: opened with our pragmas, brought to
// the newest schema, and used from one synchronous writer, so nothing can interleave within a transaction.
import { resolve } from "node:path"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { migrations } from "./migrations.ts"
import { foreignFile, newerSchema, unusable } from "./unusable.ts"
import { wantedJobsTable } from "./wantedJobs.ts"

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
  /**
   * Runs `body` in one write transaction: all of it, or, when it throws, none of it. A `repeatable` one does not
   * wait for the disk: a crash of the process keeps it, a power failure may take it back, as if it had not begun.
   */
  transaction<A>(body: () => A, repeatable?: boolean): A
  close(): void
}

/**
 * Opens the file and migrates it; throws `StoreUnusable` when it cannot serve. `lock` is called between: when the
 * file is known to be ours or empty, and before anything in it is changed.
 */
export const openDatabase = (
  options: DatabaseOptions,
  lock: (sqlite: DatabaseSync) => void = () => {},
): Database => {
  const { file } = options
  let sqlite: DatabaseSync
  try {
    // An existing file is opened without creating one: a mistyped path must not leave an empty database behind.
    const path = location(file, options.create === false ? "rw" : "rwc")
    sqlite = new DatabaseSync(path, { timeout: options.busyMillis ?? 2000 })
  } catch (error) {
    throw unusable(file, error)
  }
  try {
    checkOwner(sqlite, file)
    lock(sqlite)
    sqlite.exec("pragma journal_mode = wal")
    sqlite.exec(`pragma synchronous = ${options.durability ?? "full"}`)
    sqlite.exec("pragma foreign_keys = off")
    sqlite.exec("pragma temp_store = memory")
    sqlite.exec("pragma cache_size = -65536")
    migrate(sqlite, file)
    sqlite.exec(wantedJobsTable)
  } catch (error) {
    sqlite.close()
    throw unusable(file, error)
  }
  // Never within a transaction: SQLite would not take it there.
  let level = options.durability ?? "full"
  const setLevel = (wanted: typeof level): void => {
    if (wanted === level) return
    sqlite.exec(`pragma synchronous = ${wanted}`)
    level = wanted
  }
  const [begin, commit, rollback] = ["begin immediate", "commit", "rollback"].map((sql) =>
    sqlite.prepare(sql),
  )
  return {
    file,
    prepare: (sql) => sqlite.prepare(sql),
    transaction: (body, repeatable = false) => {
      setLevel(repeatable ? "normal" : (options.durability ?? "full"))
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

/** A file as SQLite opens it: always a URI, as in plain text it would take "file:" and "?" for parts of one. */
export const location = (file: string, mode: "rw" | "rwc"): URL | ":memory:" => {
  if (file === ":memory:") return file
  const url = pathToFileURL(resolve(file))
  url.search = `?mode=${mode}`
  return url
}

// A rolled-back transaction has changed nothing: the caller may tell its own user so.
const nothingDone = (error: unknown): unknown =>
  error instanceof Error ? Object.assign(error, { outcomeUnknown: false }) : error

/** The version of a file's schema; 0 for one that is empty, and for most that are another program's. */
export const versionOf = (sqlite: DatabaseSync): number =>
  Number(Object.values(sqlite.prepare("pragma user_version").get() ?? {})[0])

/**
 * Throws when the file is another program's, or of a newer version. Only reads: even the journal mode is written in the
 * file, and another program's must stay as it is.
 */
export const checkOwner = (sqlite: DatabaseSync, file: string): void => {
  const version = versionOf(sqlite)
  const tables = sqlite
    .prepare("select name from sqlite_schema where type = 'table' order by name")
    .all()
    .map(({ name }) => String(name))
  const [first] = tables
  const ours = ["run_counts", "runs", "schedules"].every((name) => tables.includes(name))
  // Many programs count their versions from 1, so the number alone does not tell whose file it is.
  if (first !== undefined && (version === 0 || !ours)) throw foreignFile(file, first)
  if (version > migrations.length) throw newerSchema(file, version, migrations.length)
}

const migrate = (sqlite: DatabaseSync, file: string): void => {
  if (versionOf(sqlite) === migrations.length) return
  sqlite.exec("begin immediate")
  try {
    // Again under the lock: another process may have migrated meanwhile.
    checkOwner(sqlite, file)
    for (const step of migrations.slice(versionOf(sqlite))) sqlite.exec(step)
    sqlite.exec(`pragma user_version = ${migrations.length}`)
    sqlite.exec("commit")
  } catch (error) {
    // A full disk has rolled back already.
    try {
      sqlite.exec("rollback")
    } catch {}
    throw error
  }
}

// Brings a database to the newest version, under a lock that lets one program migrate at a time. A server that is too
// old or set so that it loses rows, a database of a newer version or of another program is refused unchanged.
import type { Row } from "uhrwerk/sql"
import { type Flavour, flavourOf } from "./connect.ts"
import type { Connection, Queryable } from "./Connection.ts"
import { busyMigrating, foreignDatabase, newerSchema, tooOld, wrongSetting } from "./failures.ts"
import { migrations, tableOptions } from "./migrations.ts"
import type { Target } from "./target.ts"

/** The version that this program makes. */
export const newestVersion = migrations.length

// What a statement may take at least: a run with the largest input, and room.
const packetMin = 4 * 2 ** 20
// How long to wait for another program that migrates.
const lockSeconds = 20

/** What a server says of itself. */
export interface Server extends Flavour {
  /** Acknowledged rows outlive a power failure. */
  readonly isDurable: boolean
}

/** Looks at the server; throws `StoreUnusable` for one that will not do. */
export const inspect = async (connection: Queryable, { name }: Target): Promise<Server> => {
  const [row] =
    await connection.read(`select version() as version, @@max_allowed_packet as packet, @@log_bin as log,
    @@binlog_format as format, @@sync_binlog as sync, @@innodb_flush_log_at_trx_commit as flush`)
  const version = String(row?.["version"])
  const flavour = flavourOf(version)
  const oldest = flavour.isMariaDb ? [10, 6, 0] : [8, 0, 17]
  // MariaDB may say "5.5.5-" before its own version.
  const parts =
    /(\d+)\.(\d+)\.(\d+)/
      .exec(version.replace(/^5\.5\.5-/, ""))
      ?.slice(1)
      .map(Number) ?? []
  const place = oldest.findIndex((part, index) => part !== parts[index])
  if (place >= 0 && !((parts[place] ?? 0) > (oldest[place] as number)))
    throw tooOld(name, `${flavour.isMariaDb ? "MariaDB" : "MySQL"} ${version}`)
  if (Number(row?.["packet"]) < packetMin)
    throw wrongSetting(
      name,
      `max_allowed_packet is ${row?.["packet"]} bytes, and a run may need ${packetMin}`,
      "Set max_allowed_packet of the server to 16M or more.",
    )
  const logs = Number(row?.["log"]) === 1
  if (logs && row?.["format"] === "STATEMENT")
    throw wrongSetting(
      name,
      "binlog_format is STATEMENT, with which the server takes no write in read committed",
      "Set binlog_format of the server to ROW or MIXED.",
    )
  const isDurable = Number(row?.["flush"]) === 1 && (!logs || Number(row?.["sync"]) === 1)
  return { ...flavour, isDurable }
}

/** The SQL that brings a database from `version` (0: there is none) to the newest, for people who run it by hand. */
export const migrationText = (database: string, { collation }: Flavour, version = 0): string =>
  version === newestVersion
    ? ""
    : [
        ...(version === 0 ? [creating(database, collation)] : []),
        `use \`${database}\``,
        ...statementsFrom(version, collation),
      ]
        .map((text) => `${text};\n`)
        .join("")

const creating = (database: string, collation: string): string =>
  `create database if not exists \`${database}\` default character set utf8mb4 collate ${collation}`

const beginning = `create table if not exists uhrwerk_migrations (
  version int not null primary key,
  done_at timestamp not null default current_timestamp
)`

const statementsFrom = (version: number, collation: string): ReadonlyArray<string> => {
  const made = (text: string): string =>
    text.startsWith("create table") ? `${text} ${tableOptions.replace("{collation}", collation)}` : text
  const steps = migrations
    .slice(version)
    .flatMap((step, index) => [
      ...step.map(made),
      `insert ignore into uhrwerk_migrations (version) values (${version + index + 1})`,
    ])
  return version === 0 ? [made(beginning), ...steps] : steps
}

/** The version of a database, 0 when there is nothing of ours yet; throws `StoreUnusable`. */
export const versionOf = async (queryable: Queryable, { name, database }: Target): Promise<number> => {
  const names = (
    await queryable.read(
      "select table_name as name from information_schema.tables where table_schema = ? order by table_name",
      [database],
    )
  ).map((row: Row) => String(row["name"]))
  if (names[0] === undefined) return 0
  if (!names.includes("uhrwerk_migrations")) throw foreignDatabase(name, database, names[0])
  const [row] = await queryable.read(
    `select coalesce(max(version), 0) as version from \`${database}\`.uhrwerk_migrations`,
  )
  const version = Number(row?.["version"])
  if (version > newestVersion) throw newerSchema(name, database, version, newestVersion)
  return version
}

/**
 * Migrates a database over a connection that may use no database yet, and that is one alone: the lock belongs to it.
 * Throws `StoreUnusable`.
 */
export const migrate = async (connection: Connection, target: Target, server: Flavour): Promise<void> => {
  // Only reads, and mostly the end of it: a user who may not make tables can serve.
  if ((await versionOf(connection, target)) === newestVersion) return
  const lock = `uhrwerk.migrate.${target.database}`
  const [held] = await connection.read("select get_lock(?, ?) as held", [lock, lockSeconds])
  if (held?.["held"] !== 1) throw busyMigrating(target.name, lockSeconds)
  try {
    const version = await versionOf(connection, target)
    if (version === newestVersion) return
    if (version === 0) await connection.change(creating(target.database, server.collation))
    await connection.change(`use \`${target.database}\``)
    for (const text of statementsFrom(version, server.collation)) await connection.change(text)
  } finally {
    await connection.read("select release_lock(?) as held", [lock])
  }
}

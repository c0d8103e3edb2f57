// Brings a schema to the newest version: each step in a transaction of its own, under a lock that lets one program
// migrate at a time. A server that is too old, a schema of a newer version or of another program is refused unchanged.
import type { Connection, Queryable } from "./Connection.ts"
import { foreignSchema, newerSchema, tooOld } from "./failures.ts"
import { migrations } from "./migrations.ts"
import { checkSchema } from "./schemaName.ts"

/** The version that this program makes. */
export const newestVersion = migrations.length

/** The SQL that brings a schema from `version` (0: there is none) to the newest, for people who run it by hand. */
export const migrationText = (schema: string, version = 0): string =>
  Array.from({ length: newestVersion - version }, (_, index) => {
    const steps = [...(version + index === 0 ? [beginning] : []), ...statementsOf(version + index)]
    return `begin;\n${steps.map((text) => within(schema, text).trim()).join("\n")}\ncommit;\n`
  }).join("\n")

/** The SQL that this schema lacks; empty when it lacks nothing. Throws `StoreUnusable`. */
export const missingMigrations = async (
  connection: Connection,
  target: string,
  schema: string,
): Promise<string> => migrationText(schema, await versionOf(connection, target, schema))

/** Checks the server and the schema, and migrates it; throws `StoreUnusable`. `target` names the server in errors. */
export const migrate = async (connection: Connection, target: string, schema: string): Promise<void> => {
  const [server] = await connection.query(
    "select current_setting('server_version_num')::int as number, current_setting('server_version') as name",
    [],
  )
  if (Number(server?.["number"]) < 140_000) throw tooOld(target, String(server?.["name"]))
  // Only reads, and mostly the end of it: a user who may not make tables can serve.
  if ((await versionOf(connection, target, schema)) === newestVersion) return
  for (let done = false; !done;) {
    done = await connection.transaction(async (transaction) => {
      // One key for all schemas: a database is migrated rarely, and never for long.
      await transaction.query("select pg_advisory_xact_lock(7243392012)", [])
      const version = await versionOf(transaction, target, schema)
      if (version === newestVersion) return true
      if (version === 0) await transaction.script(within(schema, beginning))
      for (const text of statementsOf(version)) await transaction.script(within(schema, text))
      return version + 1 === newestVersion
    })
  }
}

const beginning = `create schema if not exists {schema};
create table {schema}.migrations (version integer primary key, done_at timestamptz not null default now());
`

const statementsOf = (version: number): ReadonlyArray<string> => [
  migrations[version] ?? "",
  `insert into {schema}.migrations (version) values (${version + 1});`,
]

const within = (schema: string, text: string): string =>
  text.replaceAll("{schema}", `"${checkSchema(schema)}"`)

/** The version of a schema, 0 when there is nothing of ours yet; throws `StoreUnusable` for a newer or foreign one. */
export const versionOf = async (queryable: Queryable, target: string, schema: string): Promise<number> => {
  const tables = await queryable.query(
    "select tablename as name from pg_catalog.pg_tables where schemaname = $1 order by tablename",
    [schema],
  )
  const names = tables.map(({ name }) => String(name))
  const [first] = names
  if (first === undefined) return 0
  if (!names.includes("migrations") || !names.includes("run_counts"))
    throw foreignSchema(target, schema, first)
  const [row] = await queryable.query(
    within(schema, "select coalesce(max(version), 0)::int as version from {schema}.migrations"),
    [],
  )
  const version = Number(row?.["version"])
  if (version > newestVersion) throw newerSchema(target, schema, version, newestVersion)
  return version
}

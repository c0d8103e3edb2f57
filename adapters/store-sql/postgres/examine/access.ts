// How a store reaches its server: through what, over which connections, and with which rights.
import { fail, type Finding, ok, warn } from "../../../../core/ports/Examination.ts"
import type { Examinee, Look } from "./Look.ts"
import { newestVersion } from "../migrate.ts"

// What one node opens at most: its pool, and one that listens.
const perNode = 11

/** The looks, each with the name that it has when it fails. */
export const accessFindings = (
  examinee: Examinee,
  version: number,
): ReadonlyArray<readonly [string, Look]> => [
  ["pooler", poolerLook(examinee)],
  ["encryption", encryptionLook(examinee)],
  ["connections", connectionsLook(examinee, version)],
  ["rights", rightsLook(examinee, version)],
]

const poolerLook =
  ({ prepare }: Examinee): Look =>
  async (queryable) => {
    const what = "pooler"
    const rows = await queryable.query("select pg_backend_pid() as pid", [])
    // A pooler says another process id at the start of a connection than that of the server's process behind it.
    const told = (rows as { readonly state?: { readonly pid?: number } }).state?.pid
    const isBetween = told !== undefined && Number(rows[0]?.["pid"]) !== told
    if (!isBetween)
      return [
        ok(what, prepare ? "none is between" : "none is between: prepare=false costs speed here, and hints"),
      ]
    return [
      prepare
        ? fail(
            what,
            "a transaction pooler is between, and prepared statements do not outlive a transaction there",
            "Put prepare=false behind the storage's address: postgres://...?prepare=false",
          )
        : ok(what, "a transaction pooler is between; nodes hear of each other by polls, each second"),
    ]
  }

const encryptionLook =
  ({ isLocal }: Examinee): Look =>
  async (queryable) => {
    const what = "encryption"
    const [row] = await queryable.query(
      "select ssl::int as ssl, version from pg_catalog.pg_stat_ssl where pid = pg_backend_pid()",
      [],
    )
    if (row?.["ssl"] === 1) return [ok(what, `the connection is encrypted (${String(row["version"])})`)]
    return [
      isLocal
        ? ok(what, "none, and the server is on this machine")
        : warn(
            what,
            "passwords and payloads cross the network as they are",
            "Put sslmode=verify-full behind the storage's address: postgres://...?sslmode=verify-full",
          ),
    ]
  }

const connectionsLook =
  ({ schema }: Examinee, version: number): Look =>
  async (queryable) => {
    const [row] = await queryable.query(
      `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
        (select count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend')::int as used,
        (select datconnlimit from pg_catalog.pg_database where datname = current_database()) as ofdatabase,
        (select rolconnlimit from pg_catalog.pg_roles where rolname = current_user) as ofuser`,
      [],
    )
    const nodes =
      version === newestVersion
        ? await queryable.query(
            `select count(*)::int as count from "${schema}".nodes
              where expires_at > extract(epoch from clock_timestamp()) * 1000`,
            [],
          )
        : []
    const live = Number(nodes[0]?.["count"] ?? 0)
    const limits = [row?.["most"], row?.["ofdatabase"], row?.["ofuser"]].map(Number)
    // -1: no limit of its own.
    const most = Math.min(...limits.filter((limit) => limit >= 0))
    const used = Number(row?.["used"])
    const found = `${used} of ${most} in use; ${live} live ${live === 1 ? "node" : "nodes"}, of at most ${perNode} each`
    return [
      live * perNode > most || most - used < perNode
        ? warn(
            "connections",
            `${found}: a node may find none`,
            "Raise max_connections (or the limit of the user or database), or put a pooler between, with prepare=false.",
          )
        : ok("connections", found),
    ]
  }

const rightsLook =
  ({ schema }: Examinee, version: number): Look =>
  async (queryable): Promise<ReadonlyArray<Finding>> => {
    const what = "rights"
    const [row] = await queryable.query(
      `select current_user as username, has_database_privilege(current_database(), 'create')::int as makes,
        (select string_agg(tablename, ', ' order by tablename) from pg_catalog.pg_tables where schemaname = $1
          and tablename <> 'migrations'
          and not (has_table_privilege(format('%I.%I', schemaname, tablename), 'select')
            and has_table_privilege(format('%I.%I', schemaname, tablename), 'insert')
            and has_table_privilege(format('%I.%I', schemaname, tablename), 'update')
            and has_table_privilege(format('%I.%I', schemaname, tablename), 'delete'))) as lacking`,
      [schema],
    )
    const user = `user "${String(row?.["username"])}"`
    const lacking = row?.["lacking"] ?? null
    if (lacking !== null)
      return [
        fail(
          what,
          `${user} may not read and write: ${String(lacking)}`,
          `Run as their owner: grant select, insert, update, delete on all tables in schema "${schema}" to "${String(row?.["username"])}"`,
        ),
      ]
    if (version === 0 && row?.["makes"] !== 1)
      return [
        fail(
          what,
          `${user} may not make a schema`,
          "Grant it CREATE on the database, or let a user who has it run uhrwerk migrate.",
        ),
      ]
    return [ok(what, `${user} may ${version === 0 ? "make the schema" : "read and write all tables"}`)]
  }

// Examines a PostgreSQL storage for `uhrwerk doctor`: whether an engine can work there, and what would slow it or lose
// what it acknowledged. Only reads, and each look is given up after ten seconds.
import { StoreUnusable } from "../../../core/domain/Errors.ts"
import { fail, type Finding, ok, warn } from "../../../core/ports/Examination.ts"
import { type Waiting, waitingFinding, waitingMax } from "../waiting.ts"
import type { Connection, Queryable, Row } from "./Connection.ts"
import { durabilityFindings, readDurability } from "./durability.ts"
import { accessFindings } from "./examine/access.ts"
import { upkeepFindings } from "./examine/upkeep.ts"
import type { Examinee, Look } from "./examine/Look.ts"
import { newestVersion, versionOf } from "./migrate.ts"

const lookMillis = 10_000

/** Looks at everything, and says whether a store can be made over the connection. */
export const examine = async (
  connection: Connection,
  examinee: Examinee,
): Promise<{ readonly findings: ReadonlyArray<Finding>; readonly usable: boolean }> => {
  const findings: Array<Finding> = []
  // Each in a transaction of its own: one that fails keeps no other from its answer.
  const look = async (what: string, run: Look): Promise<void> => {
    try {
      const found = await connection.transaction(async (queryable) => {
        await queryable.script(`set local statement_timeout = ${lookMillis}`)
        return run(queryable)
      })
      findings.push(...found)
    } catch (error) {
      findings.push(
        warn(
          what,
          `cannot be looked at: ${(error as Error).message}`,
          "Let a user look who may: grant it pg_monitor.",
        ),
      )
    }
  }
  const server = await serverOf(connection)
  findings.push(...serverFindings(server, examinee))
  await look("commits", async (queryable) =>
    durabilityFindings(await readDurability(queryable), String(server["username"])),
  )
  const version = await schemaFinding(connection, examinee)
  findings.push(version.finding)
  for (const [what, run] of accessFindings(examinee, version.version)) await look(what, run)
  for (const [what, run] of upkeepFindings(examinee.schema, version.version > 0)) await look(what, run)
  if (version.version === newestVersion)
    await look("due runs", async (queryable) => [waitingFinding(await waitingOf(queryable, examinee.schema))])
  return {
    findings,
    usable: version.version === newestVersion && !findings.some(({ state }) => state === "fail"),
  }
}

const serverOf = async (connection: Connection): Promise<Row> => {
  const rows = await connection.query(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
      pg_is_in_recovery()::int as standby, current_setting('transaction_read_only') as readonly,
      current_user as username`,
    [],
  )
  return rows[0] as Row
}

const serverFindings = (server: Row, { target }: Examinee): ReadonlyArray<Finding> => {
  const version = String(server["version"]).split(" ")[0]
  const found = `PostgreSQL ${version} answers at ${target}`
  return [
    Number(server["number"]) < 140_000
      ? fail(
          "server",
          `${found}, and 14 is the oldest that will do`,
          "Upgrade the server, or name another one.",
        )
      : ok("server", found),
    server["standby"] === 1
      ? fail(
          "role",
          "this server is a standby, which takes no writes",
          "Name the primary server in the storage's address.",
        )
      : server["readonly"] === "on"
        ? fail(
            "role",
            "transactions are read-only here",
            "Run `alter role ... reset default_transaction_read_only`, or name another server.",
          )
        : ok("role", "a primary, which takes writes"),
  ]
}

/** How far a schema of ours is; 0: it is not there. */
export const versionFinding = (schema: string, version: number, newest: number): Finding => {
  const what = "schema"
  if (version === newest) return ok(what, `"${schema}" has version ${version}, the newest`)
  return version === 0
    ? warn(
        what,
        `there is no "${schema}" yet`,
        "Make it: uhrwerk migrate, or start a node, which does the same.",
      )
    : fail(
        what,
        `"${schema}" has version ${version} of ${newest}`,
        "Bring it up to date: uhrwerk migrate (--plan prints the SQL)",
      )
}

const schemaFinding = async (
  connection: Connection,
  { target, schema }: Examinee,
): Promise<{ readonly version: number; readonly finding: Finding }> => {
  const what = "schema"
  try {
    const version = await versionOf(connection, target, schema)
    return { version, finding: versionFinding(schema, version, newestVersion) }
  } catch (error) {
    if (error instanceof StoreUnusable) return { version: 0, finding: fail(what, error.reason, error.next) }
    return {
      version: 0,
      finding: fail(
        what,
        `"${schema}" cannot be read: ${(error as Error).message}`,
        `Have its owner run \`grant usage on schema "${schema}" to USER\` and grant the tables in it.`,
      ),
    }
  }
}

const waitingOf = async (queryable: Queryable, schema: string): Promise<Waiting> => {
  const [row] = await queryable.query(
    `with clock as (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now),
    due as (select due_at from "${schema}".live, clock
      where state in ('ready', 'scheduled', 'retrying') and due_at < now - 5000 limit ${waitingMax})
    select (select count(*) from due)::int as count, (select now - min(due_at) from due, clock group by now) as longest,
      (select count(*) from "${schema}".nodes, clock where expires_at > now)::int as nodes`,
    [],
  )
  return {
    count: Number(row?.["count"]),
    longestMillis: Number(row?.["longest"] ?? 0),
    liveNodes: Number(row?.["nodes"]),
  }
}

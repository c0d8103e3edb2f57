// What keeps a server from clearing rows away that are no more: a claim then steps over them, and grows slower with each.
import { type Finding, ok, warn } from "../../../../core/ports/Examination.ts"
import { type Look, since } from "./Look.ts"

/** The looks, each with the name that it has when it fails. */
export const upkeepFindings = (
  schema: string,
  hasTables: boolean,
  oldSeconds = oldSecondsDefault,
): ReadonlyArray<readonly [string, Look]> => [
  ["old transactions", oldTransactions(oldSeconds)],
  ...(hasTables ? [["dead rows", deadRows(schema)] as const] : []),
]

// A claim is noticeably slower from about here on, with some thousand runs a second.
const oldSecondsDefault = 60

const oldTransactions =
  (oldSeconds: number): Look =>
  async (queryable) => {
    const what = "old transactions"
    const [[oldest], [prepared], [slot]] = [
      await queryable.query(
        `select pid, coalesce(application_name, '') as name, state,
          extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
        from pg_catalog.pg_stat_activity where pid <> pg_backend_pid() and xact_start is not null
          and datname = current_database() and (backend_xmin is not null or backend_xid is not null)
        order by xact_start limit 1`,
        [],
      ),
      await queryable.query(
        `select gid, extract(epoch from clock_timestamp() - prepared)::float8 as seconds
        from pg_catalog.pg_prepared_xacts where database = current_database() order by prepared limit 1`,
        [],
      ),
      await queryable.query(
        `select slot_name as name, age(xmin)::int as transactions from pg_catalog.pg_replication_slots
        where xmin is not null order by age(xmin) desc limit 1`,
        [],
      ),
    ]
    const findings: Array<Finding> = []
    if (Number(oldest?.["seconds"] ?? 0) > oldSeconds)
      findings.push(
        warn(
          what,
          `process ${oldest?.["pid"]} ("${oldest?.["name"]}", ${oldest?.["state"]}) has one open for ${since(oldest?.["seconds"])}: dead rows stay, and claims grow slower`,
          `End it, if it may be ended: select pg_terminate_backend(${oldest?.["pid"]})`,
        ),
      )
    if (Number(prepared?.["seconds"] ?? 0) > oldSeconds)
      findings.push(
        warn(
          what,
          `the prepared transaction "${prepared?.["gid"]}" is open for ${since(prepared?.["seconds"])}: dead rows stay, and claims grow slower`,
          `End it, by one of: commit prepared '${prepared?.["gid"]}', rollback prepared '${prepared?.["gid"]}'`,
        ),
      )
    if (Number(slot?.["transactions"] ?? 0) > slotTransactionsMax)
      findings.push(
        warn(
          what,
          `the replication slot "${slot?.["name"]}" holds back what ${slot?.["transactions"]} transactions left dead`,
          `Let its standby catch up, or drop it: select pg_drop_replication_slot('${slot?.["name"]}')`,
        ),
      )
    if (findings.length > 0) return findings
    return [
      ok(what, oldest === undefined ? "none is open" : `the oldest is open for ${since(oldest["seconds"])}`),
    ]
  }

// A slot says no time: some minutes of a busy store.
const slotTransactionsMax = 100_000

// Below this, dead rows are what lies between two rounds of autovacuum.
const deadMin = 20_000

const deadRows =
  (schema: string): Look =>
  async (queryable) => {
    const what = "dead rows"
    const rows = await queryable.query(
      `select relname as name, n_live_tup as live, n_dead_tup as dead, current_setting('autovacuum') as auto,
          extract(epoch from clock_timestamp() - greatest(last_autovacuum, last_vacuum))::float8 as seconds
        from pg_catalog.pg_stat_user_tables where schemaname = $1 order by n_dead_tup desc, relname`,
      [schema],
    )
    const [worst] = rows
    if (worst !== undefined && worst["auto"] !== "on")
      return [
        warn(
          what,
          "autovacuum is off: dead rows stay, and claims grow slower",
          "Run `alter system set autovacuum = on`, then `select pg_reload_conf()`.",
        ),
      ]
    if (worst === undefined || worst["dead"] === 0) return [ok(what, "none")]
    const cleared =
      worst["seconds"] == null ? "never cleared away" : `cleared away ${since(worst["seconds"])} ago`
    const found = `at most in "${worst["name"]}": ${worst["dead"]} beside ${worst["live"]} live, ${cleared}`
    const isBloated = Number(worst["dead"]) > deadMin && Number(worst["dead"]) > Number(worst["live"])
    return [
      isBloated
        ? warn(
            what,
            found,
            `Run: vacuum (analyze) "${schema}"."${worst["name"]}", and see "old transactions".`,
          )
        : ok(what, found),
    ]
  }

// Nodes and their leases. Several nodes share a store: one that joins ends no other. A node whose schema was migrated by a
// newer version is given no lease any more: its statements were not written for these tables.
import type { NodeRow, NodeWorkers } from "../../../core/ports/StoreDriver.ts"
import { checkWorkers } from "../../../core/ports/StoreLimits.ts"
import type { Connection, Row } from "./Connection.ts"
import { newerSchema } from "./failures.ts"
import { newestVersion, versionOf } from "./migrate.ts"
import type { Tables } from "./schema.ts"
import { at, clock, prepare, sql } from "./Statement.ts"

const decodeNode = (row: Row): NodeRow => ({
  id: row["id"] as string,
  startedAt: row["started_at"] as number,
  host: row["host"] as string,
  pid: row["pid"] as number,
  runtime: row["runtime"] as string,
  expiresAt: row["expires_at"] as number,
})

/** The part of a store that keeps nodes in `schema`; `now` answers `null` for the server's clock. */
export const makeNodes = (
  connection: Connection,
  schema: string,
  { nodes }: Tables,
  now: () => number | null,
) => {
  const isOurs = sql`not exists (select 1 from ${sql.raw(`"${schema}".migrations`)} where version > ${sql.raw(String(newestVersion))})`
  // Not what it says of its workers, which may be long.
  const columns = sql.raw("id, started_at, host, pid, runtime, expires_at")
  const lease = at("leaseMillis", "bigint")
  const join = prepare(sql`insert into ${nodes} (id, started_at, host, pid, runtime, expires_at)
    select ${at("id", "text")}, now, ${at("host", "text")}, ${at("pid", "bigint")}, ${at("runtime", "text")}, now + ${lease}
    from (select ${clock} as now) as clock where ${isOurs}
    on conflict (id) do update set started_at = excluded.started_at, host = excluded.host, pid = excluded.pid,
      runtime = excluded.runtime, expires_at = excluded.expires_at, workers = null
    returning ${columns}`)
  const renew = prepare(
    sql`update ${nodes} set expires_at = ${clock} + ${lease} where id = ${at("id", "text")} and ${isOurs} returning id`,
  )
  const leave = prepare(sql`delete from ${nodes} where id = ${at("id", "text")}`)
  const all = prepare(sql`select ${columns} from ${nodes} order by started_at, id`)
  const report = prepare(
    sql`update ${nodes} set workers = ${at("workers", "text")} where id = ${at("id", "text")} returning id`,
  )
  const reports = prepare(sql`select id, workers from ${nodes} where workers is not null order by id`)
  return {
    join: async (node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): Promise<NodeRow> => {
      const [row] = await join(connection, { ...node, leaseMillis, now: now() })
      if (row !== undefined) return decodeNode(row)
      // Throws what opening the store would.
      const version = await versionOf(connection, schema, schema)
      throw newerSchema(schema, schema, version, newestVersion)
    },
    renew: async (id: string, leaseMillis: number): Promise<boolean> =>
      (await renew(connection, { id, leaseMillis, now: now() })).length > 0,
    leave: async (id: string): Promise<void> => void (await leave(connection, { id })),
    nodes: async (): Promise<ReadonlyArray<NodeRow>> => (await all(connection)).map(decodeNode),
    reportWorkers: async (id: string, workers: string): Promise<boolean> => {
      checkWorkers(workers)
      return (await report(connection, { id, workers })).length > 0
    },
    workers: async (): Promise<ReadonlyArray<NodeWorkers>> =>
      (await reports(connection)).map((row) => ({
        node: row["id"] as string,
        workers: row["workers"] as string,
      })),
  }
}

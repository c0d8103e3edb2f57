// Nodes and their leases. Several nodes share a store: one that joins ends no other.
import { checkWorkers, type NodeRow, type NodeWorkers, type Row } from "uhrwerk/sql"
import type { Connection } from "./Connection.ts"
import { clock, type Given, nowOf } from "./Statement.ts"

const decodeNode = (row: Row): NodeRow => ({
  id: row["id"] as string,
  startedAt: row["started_at"] as number,
  host: row["host"] as string,
  pid: row["pid"] as number,
  runtime: row["runtime"] as string,
  expiresAt: row["expires_at"] as number,
})

/** The part of a store that keeps nodes; `now` answers `null` for the server's clock. */
export const makeNodes = (connection: Connection, now: () => Given) => ({
  join: async (
    { id, host, pid, runtime }: Omit<NodeRow, "expiresAt" | "startedAt">,
    leaseMillis: number,
  ): Promise<NodeRow> => {
    const startedAt = await nowOf(connection, now())
    const expiresAt = startedAt + leaseMillis
    await connection.transaction(async (queryable) => {
      await queryable.change(
        `insert into nodes (id, started_at, host, pid, runtime, expires_at) values (?, ?, ?, ?, ?, ?)
          on duplicate key update started_at = values(started_at), host = values(host), pid = values(pid),
            runtime = values(runtime), expires_at = values(expires_at)`,
        [id, startedAt, host, pid, runtime, expiresAt],
      )
      await queryable.change("delete from node_workers where node = ?", [id])
    })
    return { id, host, pid, runtime, startedAt, expiresAt }
  },
  renew: async (id: string, leaseMillis: number): Promise<boolean> => {
    const given = now()
    const { count } = await connection.change(
      `update nodes set expires_at = ${given === null ? clock : "?"} + ? where id = ?`,
      [...(given === null ? [] : [given]), leaseMillis, id],
    )
    return count > 0
  },
  leave: async (id: string): Promise<void> =>
    void (await connection.change("delete from nodes where id = ?", [id])),
  nodes: async (): Promise<ReadonlyArray<NodeRow>> =>
    (await connection.read("select * from nodes order by started_at, id")).map(decodeNode),
  reportWorkers: async (id: string, workers: string): Promise<boolean> => {
    checkWorkers(workers)
    return connection.transaction(async (queryable) => {
      // Locked, so that it does not leave in between.
      const there = await queryable.read("select id from nodes where id = ? for update", [id])
      if (there.length === 0) return false
      await queryable.change(
        "insert into node_workers (node, workers) values (?, ?) on duplicate key update workers = values(workers)",
        [id, workers],
      )
      return true
    })
  },
  workers: async (): Promise<ReadonlyArray<NodeWorkers>> =>
    (await connection.read("select node, workers from node_workers order by node")).map((row) => ({
      node: row["node"] as string,
      workers: row["workers"] as string,
    })),
})

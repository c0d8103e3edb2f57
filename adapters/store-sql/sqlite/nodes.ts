// Nodes and their leases in the file. A file serves one engine at a time, so whoever joins ends all others.
import { asc, eq, sql } from "drizzle-orm"
import type { NodeRow, NodeWorkers } from "../../../core/ports/StoreDriver.ts"
import { checkWorkers } from "../../../core/ports/StoreLimits.ts"
import type { Session } from "./Session.ts"
import { nodes, nodeWorkers } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

/** The part of a store that keeps nodes. */
export const makeNodes = (session: Session) => {
  const { database, now } = session
  const clear = prepare(database, build.delete(nodes))
  const clearReports = prepare(database, build.delete(nodeWorkers))
  const insert = prepare(
    database,
    build.insert(nodes).values({
      id: at("id"),
      startedAt: at("startedAt"),
      host: at("host"),
      pid: at("pid"),
      runtime: at("runtime"),
      expiresAt: at("expiresAt"),
    } as unknown as typeof nodes.$inferInsert),
  )
  const renew = prepare(
    database,
    build
      .update(nodes)
      .set({ expiresAt: at<number>("expiresAt") })
      .where(eq(nodes.id, at("id"))),
  )
  const remove = prepare(database, build.delete(nodes).where(eq(nodes.id, at("id"))))
  const removeReport = prepare(database, build.delete(nodeWorkers).where(eq(nodeWorkers.node, at("id"))))
  const report = prepare(
    database,
    sql`insert into node_workers (node, workers) select id, ${at("workers")} from nodes where id = ${at("id")}
      on conflict (node) do update set workers = excluded.workers`,
  )
  const reports = prepare(database, build.select().from(nodeWorkers).orderBy(asc(nodeWorkers.node)))
  const all = prepare(database, build.select().from(nodes).orderBy(asc(nodes.startedAt)))

  return {
    join: (node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): NodeRow => {
      const row = { ...node, startedAt: now(), expiresAt: now() + leaseMillis }
      session.transaction(() => {
        clear.run()
        clearReports.run()
        insert.run(row)
      })
      return row
    },
    renew: (nodeId: string, leaseMillis: number): boolean =>
      session.transaction(() => renew.run({ id: nodeId, expiresAt: now() + leaseMillis }) > 0, {
        repeatable: true,
      }),
    leave: (nodeId: string): void => {
      session.transaction(() => {
        remove.run({ id: nodeId })
        removeReport.run({ id: nodeId })
      })
    },
    nodes: (): ReadonlyArray<NodeRow> =>
      all.all().map((row) => ({
        id: row["id"] as string,
        startedAt: row["started_at"] as number,
        host: row["host"] as string,
        pid: row["pid"] as number,
        runtime: row["runtime"] as string,
        expiresAt: row["expires_at"] as number,
      })),
    // Repeatable: after a power failure nobody is connected any more.
    reportWorkers: (nodeId: string, workers: string): boolean => {
      checkWorkers(workers)
      return session.transaction(() => report.run({ id: nodeId, workers }) > 0, { repeatable: true })
    },
    workers: (): ReadonlyArray<NodeWorkers> =>
      reports.all().map((row) => ({ node: row["node"] as string, workers: row["workers"] as string })),
  }
}

// Nodes and their leases in the file. A file serves one engine at a time, so whoever joins ends all others.
import { asc, eq } from "drizzle-orm"
import type { NodeRow } from "../../../core/ports/StoreDriver.ts"
import type { Session } from "./Session.ts"
import { nodes } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

/** The part of a store that keeps nodes. */
export const makeNodes = (session: Session) => {
  const { database, now } = session
  const clear = prepare(database, build.delete(nodes))
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
  const all = prepare(database, build.select().from(nodes).orderBy(asc(nodes.startedAt)))

  return {
    join: (node: Omit<NodeRow, "expiresAt" | "startedAt">, leaseMillis: number): NodeRow => {
      const row = { ...node, startedAt: now(), expiresAt: now() + leaseMillis }
      session.transaction(() => {
        clear.run()
        insert.run(row)
      })
      return row
    },
    renew: (nodeId: string, leaseMillis: number): boolean =>
      session.transaction(() => renew.run({ id: nodeId, expiresAt: now() + leaseMillis }) > 0, {
        repeatable: true,
      }),
    leave: (nodeId: string): void => {
      session.transaction(() => remove.run({ id: nodeId }))
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
  }
}

// Whether a reclaim would find anything: asked by every node every second or so, and nearly always in vain.
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, clock, prepare, sql } from "./Statement.ts"

/** Makes the look, one statement: a node whose lease has ended, or a run whose node has no lease, but for `self`. */
export const makeLeftBehind = ({ live, nodes }: Tables) => {
  const self = at("self", "text")
  const look = prepare(sql`with clock as materialized (select ${clock} as now)
    select (exists (select 1 from ${nodes} as n, clock where n.expires_at <= clock.now and n.id <> ${self})
      or exists (select 1 from ${live} as l where l.state = 'running' and l.node <> ${self}
        and not exists (select 1 from ${nodes} as n, clock where n.id = l.node and n.expires_at > clock.now)))::int
      as found`)
  return async (queryable: Queryable, node: string, now: number | null): Promise<boolean> =>
    (await look(queryable, { self: node, now }))[0]?.["found"] === 1
}

// Adopt: running runs that go to another node, one statement.
import type { Held } from "../../../core/ports/StoreDriver.ts"
import type { Queryable } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, batch, clock, prepare, sql } from "./Statement.ts"

/** Makes it. */
export const makeAdopt = ({ live, nodes }: Tables) => {
  const held = batch({ id: "text", token: "bigint" })
  const node = at("node", "text")
  // A node whose lease has ended takes nothing over: its call may have been on its way for long.
  const adopt = prepare(sql`with lease as materialized (select exists (select 1 from ${nodes}
      where id = ${node} and expires_at > ${clock}) as holds),
    held as materialized (
      select given.id, given.token, l.node
      from (select * from ${held.given} where (select holds from lease) order by id) as given cross join lateral (
        select * from ${live} as l where l.id = given.id limit 1 for update) as l
      where l.state = 'running' and l.token = given.token),
    moved as (update ${live} set node = ${node}
      where id = any(array(select id from held where node <> ${node})))
    select id, token from held`)

  return async (
    queryable: Queryable,
    to: string,
    runs: ReadonlyArray<Held>,
    now: number | null,
  ): Promise<ReadonlyArray<boolean>> => {
    const rows = await adopt(queryable, {
      ...held.values(runs.map(({ id, token }) => ({ id, token }))),
      node: to,
      now,
    })
    const holding = new Map(rows.map((row) => [row["id"], row["token"]]))
    return runs.map(({ id, token }) => holding.get(id) === token)
  }
}

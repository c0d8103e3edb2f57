// Adopt: running runs that go to another node, in one transaction that locks nothing but their rows.
import type { Held } from "uhrwerk/sql"
import { leaseHolds, leaseValues } from "./claim.ts"
import type { Queryable } from "./Connection.ts"
import type { Given } from "./Statement.ts"

/** Gives runs to a node whose lease holds; answers which are its own now. */
export const adopt = async (
  queryable: Queryable,
  node: string,
  runs: ReadonlyArray<Held>,
  given: Given,
): Promise<ReadonlyArray<boolean>> => {
  const rows = await queryable.read(
    `select id, token from live force index (primary) where id in (?) and state = 'running' order by id for update`,
    [runs.map(({ id }) => id)],
  )
  const tokens = new Map(rows.map((row) => [row["id"], row["token"]]))
  const holds = ({ id, token }: Held): boolean => tokens.get(id) === token
  const held = [...new Set(runs.filter(holds).map(({ id }) => id))]
  if (held.length === 0) return runs.map(() => false)
  // A call may be on its way, or wait for a row, for longer than the lease of its node.
  const { count } = await queryable.change(
    `update live force index (primary) set node = ? where id in (?) and ${leaseHolds(given)}`,
    [node, held, ...leaseValues(given, node)],
  )
  return runs.map((run) => count > 0 && holds(run))
}

// What steps brought forth, as their flow run, the steps behind them and people read it: from the rows of steps and
// of their runs together. All changes must have been written before.
import * as Result from "effect/Result"
import type { ErrorInfo } from "../../core/domain/Run.ts"
import { mapOutput } from "../../core/flow/Advance.ts"
import type { Plan } from "./Definitions.ts"
import type { Flow } from "./HeldFlows.ts"
import { type Sql, wait } from "./Sql.ts"
import type { FlowTable } from "./Tables.ts"

/** The output of a flow run whose steps have all ended well. */
export function* outputOf(
  table: FlowTable,
  { id, plan: { expansion, graph } }: Flow,
): Sql<Result.Result<string | null, ErrorInfo>> {
  if (expansion.kind === "map")
    return mapOutput((yield* wait(table.results(id, null))).map(({ output }) => output))
  const place = graph.places.get(expansion.definition.output ?? "")
  if (place === undefined) return Result.succeed(null)
  const [result] = yield* wait(table.results(id, [place]))
  return Result.succeed(result?.output ?? null)
}

/** The plan with all items of a list. */
export function* wholePlan(table: FlowTable, { id, plan }: Flow): Sql<Plan> {
  const { expansion, graph } = plan
  if (expansion.kind === "flow") return plan
  return { graph, expansion: { ...expansion, items: yield* wait(table.items(id)) } }
}

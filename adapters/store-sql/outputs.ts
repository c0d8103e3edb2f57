// What steps brought forth, as their flow run, the steps behind them and people read it: from the rows of steps and
// of their runs together.
import * as Result from "effect/Result"
import { type SQL, sql } from "drizzle-orm"
import type { ErrorInfo } from "../../core/domain/Run.ts"
import type { StepState } from "../../core/domain/Flow.ts"
import { mapOutput } from "../../core/flow/Advance.ts"
import type { Database } from "./Database.ts"
import type { Flow } from "./hands.ts"
import { at, prepare } from "./Statement.ts"

/** One step with what is known of its run. */
export interface StepResult {
  readonly step: number
  readonly state: StepState
  readonly runId: string | null
  readonly reason: string | null
  /** Of one that succeeded; others have none, whether by themselves or by hand. */
  readonly output: string | null
}

/** The part of a store that reads the results of steps; all changes must have been written before. */
export const makeOutputs = (database: Database) => {
  const resultsOf = (where: SQL) =>
    prepare(
      database,
      sql`select s.step, s.state, s.run_id, coalesce(s.reason, r.reason) as reason,
        coalesce(s.output, r.output) as output
        from steps as s left join runs as r on r.id = s.run_id
        where s.expansion_id = ${at("id")} ${where} order by s.step`,
    )
  const all = resultsOf(sql``)
  const some = resultsOf(sql`and s.step in (select value from json_each(${at("steps")}))`)
  const items = prepare(
    database,
    sql`select r.input from steps as s left join runs as r on r.id = s.run_id
      where s.expansion_id = ${at("id")} order by s.step`,
  )

  /** The steps that have a row; those of `places` only, if given. */
  const results = ({ id }: Flow, places?: ReadonlyArray<number>): ReadonlyArray<StepResult> =>
    (places === undefined ? all.all({ id }) : some.all({ id, steps: JSON.stringify(places) })).map((row) => ({
      step: row["step"] as number,
      state: row["state"] as StepState,
      runId: row["run_id"] as string | null,
      reason: row["reason"] as string | null,
      output: row["output"] as string | null,
    }))

  return {
    results,
    /** The inputs of a list's items: those of the runs that they all got. */
    items: ({ id }: Flow): ReadonlyArray<string | null> =>
      items.all({ id }).map((row) => row["input"] as string | null),
    /** The output of a flow run whose steps have all ended well. */
    ofFlow: (flow: Flow): Result.Result<string | null, ErrorInfo> => {
      const { expansion, graph } = flow.plan
      if (expansion.kind === "map") return mapOutput(results(flow).map(({ output }) => output))
      const place = graph.places.get(expansion.definition.output ?? "")
      return Result.succeed(place === undefined ? null : (results(flow, [place])[0]?.output ?? null))
    },
  }
}

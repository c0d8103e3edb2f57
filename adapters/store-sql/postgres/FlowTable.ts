// Runs of PostgreSQL that expanded, their steps and their definitions, as the shared logic asks for them within a
// transaction. Nothing is locked here: who changes a flow run has locked its chain, and with it all that is below it;
// who only reads one waits for nobody.
import type { StepState } from "../../../core/domain/Flow.ts"
import type { RunState } from "../../../core/domain/Run.ts"
import type { ExpansionRow, FlowTable, StepRow } from "../Tables.ts"
import type { Queryable, Row } from "./Connection.ts"
import type { Tables } from "./schema.ts"
import { at, batch, literal, prepare, type SQL, sql } from "./Statement.ts"

const totalRows = batch({ id: "bigint", run_id: "text", open: "integer", faults: "integer" })
const stepRows = batch({
  expansion_id: "bigint",
  step: "integer",
  state: "text",
  succeeded: "integer",
  failed: "integer",
  skipped: "integer",
  run_id: "text",
})

/** The table within one transaction. */
export const flowTable = (statements: FlowStatements, queryable: Queryable): FlowTable => ({
  expansions: async (runIds) =>
    (await statements.expansions(queryable, { ids: literal(runIds) })).map(decodeExpansion),
  insert: async ({ input, retryInMillis, ...row }) => {
    const values = { ...row, retryIn: retryInMillis, hasInput: input === undefined ? 0 : 1 }
    const [inserted] = await statements.insert(queryable, { ...values, input: input ?? null })
    return inserted?.["id"] as number
  },
  inputOf: async (id) => (await statements.inputOf(queryable, { id }))[0]?.["input"] as string | null,
  nextRound: async ({ id, round, retryInMillis, deadlineAt }) =>
    void (await statements.nextRound(queryable, { id, round, retryIn: retryInMillis, deadlineAt })),
  endDeadline: async (id) => void (await statements.endDeadline(queryable, { id })),
  setTotals: async (totals) =>
    void (await statements.setTotals(
      queryable,
      totalRows.values(totals.map(({ runId, ...total }) => ({ ...total, run_id: runId }))),
    )),
  forget: async (id) => {
    const [row] = await statements.forget(queryable, { id })
    return (row?.["definition_id"] ?? null) as number | null
  },
  overtime: async (now, limit) =>
    (await statements.overtime(queryable, { now, limit })).map((row) => row["run_id"] as string),

  steps: async (id, places) =>
    (places === null
      ? await statements.steps(queryable, { id })
      : await statements.someSteps(queryable, { id, places: literal(places) })
    ).map(decodeStep),
  putSteps: async (rows) =>
    void (await statements.putSteps(
      queryable,
      stepRows.values(rows.map(({ id, runId, ...row }) => ({ ...row, expansion_id: id, run_id: runId }))),
    )),
  dropSteps: async (id, places) =>
    void (await statements.dropSteps(queryable, { id, places: literal(places) })),
  copySteps: async (from, to) => void (await statements.copySteps(queryable, { from, to })),
  setWords: async (id, step, reason, output) =>
    void (await statements.setWords(queryable, { id, step, reason, output })),
  released: async (id) =>
    (await statements.released(queryable, { id })).map((row) => row["run_id"] as string),
  results: async (id, places) =>
    (places === null
      ? await statements.results(queryable, { id })
      : await statements.someResults(queryable, { id, places: literal(places) })
    ).map((row) => ({
      step: row["step"] as number,
      state: row["state"] as StepState,
      runId: row["run_id"] as string | null,
      reason: row["reason"] as string | null,
      output: row["output"] as string | null,
    })),
  items: async (id) =>
    (await statements.items(queryable, { id })).map((row) => row["input"] as string | null),
  stepRuns: async (ids) =>
    (await statements.stepRuns(queryable, { ids: literal(ids) })).map((row) => ({
      id: row["id"] as string,
      parentId: row["parent_id"] as string,
      step: row["step"] as number,
    })),

  definitionId: async (name, version) =>
    (await statements.definitionId(queryable, { name, version }))[0]?.["id"] as number | undefined,
  insertDefinition: async (name, version, definition) =>
    (await statements.insertDefinition(queryable, { name, version, definition }))[0]?.["id"] as number,
  definition: async (id) => (await statements.definition(queryable, { id }))[0]?.["definition"] as string,
  forgetDefinition: async (id) => void (await statements.forgetDefinition(queryable, { id })),
})

const decodeExpansion = (row: Row): ExpansionRow => ({
  id: row["id"] as number,
  runId: row["run_id"] as string,
  definitionId: row["definition_id"] as number | null,
  name: row["name"] as string | null,
  version: row["version"] as string | null,
  list: row["list"] as string | null,
  size: row["size"] as number,
  round: row["round"] as number,
  faults: row["faults"] as number,
  retryInMillis: row["retry_in"] as number | null,
  deadlineAt: row["deadline_at"] as number | null,
  hasInput: row["has_input"] === 1,
  run: {
    state: row["state"] as RunState,
    waitingFor: row["waiting_for"] as number,
    nominalAt: row["nominal_at"] as number | null,
    chainId: row["chain_id"] as string | null,
  },
})

const decodeStep = (row: Row): StepRow & { readonly step: number } => ({
  step: row["step"] as number,
  state: row["state"] as StepState,
  succeeded: row["succeeded"] as number,
  failed: row["failed"] as number,
  skipped: row["skipped"] as number,
  runId: row["run_id"] as string | null,
})

/** The statements of a store. */
export type FlowStatements = ReturnType<typeof compileFlows>

/** Compiles them. */
export const compileFlows = (tables: Tables) => {
  const { runs, live, ended, expansions, definitions, steps } = tables
  const id = at("id", "bigint")
  const ids = at("ids", "text[]")
  const places = at("places", "integer[]")
  const resultsOf = (which: SQL) =>
    prepare(sql`select s.step, s.state, s.run_id, coalesce(s.reason, e.reason) as reason,
        coalesce(s.output, e.output) as output
      from ${steps} as s left join lateral (select * from ${ended} as row where row.id = s.run_id limit 1) as e on true
      where s.expansion_id = ${id} ${which} order by s.step`)
  const stepsOf = (which: SQL) =>
    prepare(sql`select step, state, succeeded, failed, skipped, run_id from ${steps}
      where expansion_id = ${id} ${which} order by step`)
  return {
    expansions:
      prepare(sql`select x.id, x.run_id, x.definition_id, x.list, x.size, x.round, x.faults, x.retry_in,
        x.deadline_at, x.has_input, d.name, d.version, coalesce(l.state, e.state) as state,
        coalesce(l.waiting_for, e.waiting_for) as waiting_for, r.nominal_at, r.chain_id
      from ${expansions} as x cross join lateral (select * from ${runs} as asked where asked.id = x.run_id limit 1) as r
        left join ${definitions} as d on d.id = x.definition_id
        left join lateral (select * from ${live} as row where row.id = x.run_id limit 1) as l on true
        left join lateral (select * from ${ended} as row where row.id = x.run_id limit 1) as e on true
      where x.run_id = any(${ids})`),
    insert:
      prepare(sql`insert into ${expansions} (run_id, definition_id, list, size, round, faults, retry_in, deadline_at,
        has_input, input)
      values (${at("runId", "text")}, ${at("definitionId", "bigint")}, ${at("list", "text")}, ${at("size", "integer")}, 1, 0,
        ${at("retryIn", "bigint")}, ${at("deadlineAt", "bigint")}, ${at("hasInput", "smallint")}, ${at("input", "text")})
      returning id`),
    inputOf: prepare(sql`select input from ${expansions} where id = ${id}`),
    nextRound:
      prepare(sql`update ${expansions} set round = ${at("round", "integer")}, retry_in = ${at("retryIn", "bigint")},
      deadline_at = ${at("deadlineAt", "bigint")} where id = ${id}`),
    endDeadline: prepare(sql`update ${expansions} set deadline_at = null where id = ${id}`),
    setTotals: prepare(sql`with given as materialized (select given.* from ${totalRows.given}),
      counted as (update ${expansions} as x set faults = given.faults from given
        where x.id = given.id and given.faults is not null and x.id = any(array(select id from given)))
      update ${live} as l set waiting_for = given.open from given where l.id = given.run_id
        and l.id = any(array(select run_id from given))`),
    forget: prepare(sql`with gone as (delete from ${steps} where expansion_id = ${id})
      delete from ${expansions} where id = ${id} returning definition_id`),
    overtime: prepare(sql`select run_id from ${expansions} where deadline_at <= ${at("now", "bigint")}
      and deadline_at is not null order by deadline_at, id limit ${at("limit", "integer")}`),
    steps: stepsOf(sql``),
    someSteps: stepsOf(sql`and step = any(${places})`),
    putSteps:
      prepare(sql`insert into ${steps} (expansion_id, step, state, succeeded, failed, skipped, run_id, kept)
      select expansion_id, step, state, succeeded, failed, skipped, run_id, 0 from ${stepRows.given}
      on conflict (expansion_id, step) do update set state = excluded.state, succeeded = excluded.succeeded,
        failed = excluded.failed, skipped = excluded.skipped, run_id = excluded.run_id`),
    dropSteps: prepare(sql`delete from ${steps} where expansion_id = ${id} and step = any(${places})`),
    copySteps:
      prepare(sql`insert into ${steps} (expansion_id, step, state, succeeded, failed, skipped, run_id, kept,
        reason, output)
      select ${at("to", "bigint")}, step, case state when 'released' then 'failed' when 'blocked' then 'upstream_failed'
        else state end, succeeded, failed, skipped, run_id, (run_id is not null)::int, reason, output
      from ${steps} where expansion_id = ${at("from", "bigint")}`),
    setWords:
      prepare(sql`update ${steps} set reason = ${at("reason", "text")}, output = ${at("output", "text")}
      where expansion_id = ${id} and step = ${at("step", "integer")}`),
    released: prepare(
      sql`select run_id from ${steps} where expansion_id = ${id} and state = 'released' order by step`,
    ),
    results: resultsOf(sql``),
    someResults: resultsOf(sql`and s.step = any(${places})`),
    items: prepare(sql`select r.input from ${steps} as s
      left join lateral (select * from ${runs} as asked where asked.id = s.run_id limit 1) as r on true
      where s.expansion_id = ${id} order by s.step`),
    stepRuns:
      prepare(sql`select id, parent_id, step from ${runs} where id = any(${ids}) and parent_id is not null
      and step is not null`),
    definitionId: prepare(sql`select id from ${definitions} where name = ${at("name", "text")}
      and version = ${at("version", "text")}`),
    insertDefinition: prepare(sql`insert into ${definitions} (name, version, definition)
      values (${at("name", "text")}, ${at("version", "text")}, ${at("definition", "text")})
      on conflict (name, version) do update set name = excluded.name returning id`),
    definition: prepare(sql`select definition from ${definitions} where id = ${id}`),
    forgetDefinition: prepare(sql`delete from ${definitions} where id = ${id}
      and not exists (select 1 from ${expansions} where definition_id = ${id})`),
  }
}

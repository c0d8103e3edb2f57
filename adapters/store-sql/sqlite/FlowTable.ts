// Runs of a file that expanded, their steps and their definitions.
import { and, eq, type SQL, sql } from "drizzle-orm"
import type { StepState } from "../../../core/domain/Flow.ts"
import type { RunState } from "../../../core/domain/Run.ts"
import type { ExpansionRow, FlowTable, StepRow } from "../Tables.ts"
import type { Database } from "./Database.ts"
import { definitions } from "./schema.ts"
import type { Row } from "../rows.ts"
import { at, build, prepare, prepareRows } from "./Statement.ts"

/** Compiles the statements of an open file. */
export const makeFlowTable = (database: Database) => {
  const statements = compile(database)
  return {
    expansions: (runIds) => {
      const rows: Array<ExpansionRow> = []
      for (const runId of runIds) {
        const row = statements.expansion.get({ runId })
        if (row !== undefined) rows.push(decodeExpansion(runId, row))
      }
      return rows
    },
    insert: ({ input, retryInMillis, ...row }) => {
      const values = { ...row, retryIn: retryInMillis, hasInput: input === undefined ? 0 : 1 }
      return statements.insert.get({ ...values, input: input ?? null })?.["id"] as number
    },
    inputOf: (id) => statements.inputOf.get({ id })?.["input"] as string | null,
    nextRound: ({ id, round, retryInMillis, deadlineAt }) =>
      void statements.nextRound.run({ id, round, retryIn: retryInMillis, deadlineAt }),
    endDeadline: (id) => void statements.endDeadline.run({ id }),
    setTotals: (totals) => {
      statements.setWaiting(totals.map(({ runId, open }) => [runId, open]))
      for (const { id, faults } of totals) if (faults !== null) statements.setFaults.run({ id, faults })
    },
    forget: (id) => {
      statements.removeSteps.run({ id })
      return (statements.remove.get({ id })?.["definition_id"] ?? null) as number | null
    },
    overtime: (now, limit) => statements.overtime.all({ now, limit }).map((row) => row["run_id"] as string),

    steps: (id, places) => {
      if (places === null) return statements.steps.all({ id }).map(decodeStep)
      const rows: Array<StepRow> = []
      for (const step of places) {
        const row = statements.step.get({ id, step })
        if (row !== undefined) rows.push(decodeStep(row))
      }
      return rows
    },
    putSteps: (rows) =>
      void statements.putSteps(
        rows.map(({ id, step, state, succeeded, failed, skipped, runId }) => [
          id,
          step,
          state,
          succeeded,
          failed,
          skipped,
          runId,
        ]),
      ),
    dropSteps: (id, places) => void statements.dropSteps.run({ id, steps: JSON.stringify(places) }),
    copySteps: (from, to) => void statements.copySteps.run({ from, to }),
    setWords: (id, step, reason, output) => void statements.setWords.run({ id, step, reason, output }),
    released: (id) => statements.released.all({ id }).map((row) => row["run_id"] as string),
    results: (id, places) =>
      (places === null
        ? statements.results.all({ id })
        : statements.someResults.all({ id, steps: JSON.stringify(places) })
      ).map((row) => ({
        step: row["step"] as number,
        state: row["state"] as StepState,
        runId: row["run_id"] as string | null,
        reason: row["reason"] as string | null,
        output: row["output"] as string | null,
      })),
    items: (id) => statements.items.all({ id }).map((row) => row["input"] as string | null),
    stepRuns: (ids) =>
      statements.stepRuns.all({ ids: JSON.stringify(ids) }).map((row) => ({
        id: row["id"] as string,
        parentId: row["parent_id"] as string,
        step: row["step"] as number,
      })),

    definitionId: (name, version) =>
      statements.byVersion.get({ name, version })?.["id"] as number | undefined,
    insertDefinition: (name, version, definition) =>
      statements.insertDefinition.get({ name, version, definition })?.["id"] as number,
    definition: (id) => statements.definition.get({ id })?.["definition"] as string,
    forgetDefinition: (id) => void statements.forgetDefinition.run({ id }),
  } satisfies FlowTable
}

const decodeExpansion = (runId: string, row: Row): ExpansionRow => ({
  id: row["id"] as number,
  runId,
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

const decodeStep = (row: Row): StepRow => ({
  step: row["step"] as number,
  state: row["state"] as StepState,
  succeeded: row["succeeded"] as number,
  failed: row["failed"] as number,
  skipped: row["skipped"] as number,
  runId: row["run_id"] as string | null,
})

const compile = (database: Database) => {
  const resultsOf = (where: SQL) =>
    prepare(
      database,
      sql`select s.step, s.state, s.run_id, coalesce(s.reason, r.reason) as reason,
        coalesce(s.output, r.output) as output
        from steps as s left join runs as r on r.id = s.run_id
        where s.expansion_id = ${at("id")} ${where} order by s.step`,
    )
  return {
    expansion: prepare(
      database,
      sql`select e.id, e.definition_id, e.list, e.size, e.round, e.faults, e.retry_in, e.deadline_at, e.has_input,
        d.name, d.version, r.state, r.waiting_for, r.nominal_at, r.chain_id
        from expansions as e join runs as r on r.id = e.run_id left join definitions as d on d.id = e.definition_id
        where e.run_id = ${at("runId")}`,
    ),
    insert: prepare(
      database,
      sql`insert into expansions (run_id, definition_id, list, size, round, faults, retry_in, deadline_at, has_input,
        input)
        values (${at("runId")}, ${at("definitionId")}, ${at("list")}, ${at("size")}, 1, 0, ${at("retryIn")},
        ${at("deadlineAt")}, ${at("hasInput")}, ${at("input")}) returning id`,
    ),
    inputOf: prepare(database, sql`select input from expansions where id = ${at("id")}`),
    nextRound: prepare(
      database,
      sql`update expansions set round = ${at("round")}, retry_in = ${at("retryIn")}, deadline_at = ${at("deadlineAt")}
        where id = ${at("id")}`,
    ),
    endDeadline: prepare(database, sql`update expansions set deadline_at = null where id = ${at("id")}`),
    setWaiting: prepareRows(
      database,
      (values) =>
        sql`update runs set waiting_for = v.column2 from (values ${values}) as v where runs.id = v.column1`,
      ["?", "?"],
    ),
    setFaults: prepare(database, sql`update expansions set faults = ${at("faults")} where id = ${at("id")}`),
    removeSteps: prepare(database, sql`delete from steps where expansion_id = ${at("id")}`),
    remove: prepare(database, sql`delete from expansions where id = ${at("id")} returning definition_id`),
    // Of those that end together, the outer ones first: they call off those within, which expanded later.
    overtime: prepare(
      database,
      sql`select run_id from expansions indexed by expansions_deadline
        where deadline_at <= ${at("now")} and deadline_at is not null
        order by deadline_at, id limit ${at("limit")}`,
    ),
    step: prepare(
      database,
      sql`select step, state, succeeded, failed, skipped, run_id from steps
        where expansion_id = ${at("id")} and step = ${at("step")}`,
    ),
    steps: prepare(
      database,
      sql`select step, state, succeeded, failed, skipped, run_id from steps
        where expansion_id = ${at("id")} order by step`,
    ),
    putSteps: prepareRows(
      database,
      (values) => sql`insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept)
        values ${values} on conflict (expansion_id, step) do update set state = excluded.state,
        succeeded = excluded.succeeded, failed = excluded.failed, skipped = excluded.skipped, run_id = excluded.run_id`,
      [...Array.from({ length: 7 }, () => "?"), "0"],
    ),
    dropSteps: prepare(
      database,
      sql`delete from steps where expansion_id = ${at("id")}
        and step in (select value from json_each(${at("steps")}))`,
    ),
    copySteps: prepare(
      database,
      sql`insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept, reason, output)
        select ${at("to")}, step, case state when 'released' then 'failed' when 'blocked' then 'upstream_failed'
        else state end, succeeded, failed, skipped, run_id, run_id is not null, reason, output
        from steps where expansion_id = ${at("from")}`,
    ),
    setWords: prepare(
      database,
      sql`update steps set reason = ${at("reason")}, output = ${at("output")}
        where expansion_id = ${at("id")} and step = ${at("step")}`,
    ),
    released: prepare(
      database,
      sql`select run_id from steps where expansion_id = ${at("id")} and state = 'released'`,
    ),
    results: resultsOf(sql``),
    someResults: resultsOf(sql`and s.step in (select value from json_each(${at("steps")}))`),
    items: prepare(
      database,
      sql`select r.input from steps as s left join runs as r on r.id = s.run_id
        where s.expansion_id = ${at("id")} order by s.step`,
    ),
    stepRuns: prepare(
      database,
      sql`select id, parent_id, step from runs where id in (select value from json_each(${at("ids")}))
        and parent_id is not null and step is not null`,
    ),
    byVersion: prepare(
      database,
      build
        .select({ id: definitions.id })
        .from(definitions)
        .where(and(eq(definitions.name, at("name")), eq(definitions.version, at("version")))),
    ),
    insertDefinition: prepare(
      database,
      sql`insert into definitions (name, version, definition) values (${at("name")}, ${at("version")},
        ${at("definition")}) returning id`,
    ),
    definition: prepare(
      database,
      build
        .select({ definition: definitions.definition })
        .from(definitions)
        .where(eq(definitions.id, at("id"))),
    ),
    forgetDefinition: prepare(
      database,
      sql`delete from definitions where id = ${at("id")}
        and not exists (select 1 from expansions where definition_id = ${at("id")} and definition_id is not null)`,
    ),
  }
}

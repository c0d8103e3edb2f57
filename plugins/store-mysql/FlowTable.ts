// Runs of MySQL that expanded, their steps and their definitions, as the shared logic asks for them within a transaction.
// Nothing is locked here: who changes a flow run has locked its chain, and with it all that is below it; who only reads
// one waits for nobody.
import type { ExpansionRow, FlowTable, Row, RunState, StepResult, StepRow, StepState } from "uhrwerk/sql"
import type { Queryable, Values } from "./Connection.ts"
import { bit, insertRows, withRows } from "./Statement.ts"

/** The table within one transaction. */
export const flowTable = (queryable: Queryable): FlowTable => ({
  expansions: async (runIds) =>
    (
      await queryable.read(
        `select x.id, x.run_id, x.definition_id, x.list, x.size, x.round, x.faults, x.retry_in, x.deadline_at,
          x.has_input, d.name, d.version, coalesce(l.state, e.state) as state,
          coalesce(l.waiting_for, e.waiting_for) as waiting_for, r.nominal_at, r.chain_id
        from expansions as x force index (expansions_run) straight_join runs as r on r.id = x.run_id
          left join definitions as d on d.id = x.definition_id
          left join live as l on l.id = x.run_id left join ended as e on e.id = x.run_id
        where x.run_id in (?)`,
        [runIds],
      )
    ).map(decodeExpansion),
  insert: async (row) =>
    (
      await queryable.change(
        `insert into expansions (run_id, definition_id, list, size, round, faults, retry_in, deadline_at, has_input,
          input) values (?, ?, ?, ?, 1, 0, ?, ?, ?, ?)`,
        [
          row.runId,
          row.definitionId,
          row.list,
          row.size,
          row.retryInMillis,
          row.deadlineAt,
          bit(row.input !== undefined),
          row.input ?? null,
        ],
      )
    ).id,
  inputOf: async (id) =>
    (await queryable.read("select input from expansions where id = ?", [id]))[0]?.["input"] as string | null,
  nextRound: async ({ id, round, retryInMillis, deadlineAt }) =>
    void (await queryable.change(
      "update expansions set round = ?, retry_in = ?, deadline_at = ? where id = ?",
      [round, retryInMillis, deadlineAt, id],
    )),
  endDeadline: async (id) =>
    void (await queryable.change("update expansions set deadline_at = null where id = ?", [id])),
  setTotals: async (totals) => {
    const counted = totals.filter(({ faults }) => faults !== null)
    await withRows(
      queryable,
      ["id", "faults"],
      counted.map(({ id, faults }) => [id, faults]),
      (given) =>
        `update ${given} straight_join expansions as x on x.id = given.id set x.faults = given.faults`,
    )
    await withRows(
      queryable,
      ["id", "open"],
      totals.map(({ runId, open }) => [runId, open]),
      (given) => `update ${given} straight_join live as l on l.id = given.id set l.waiting_for = given.open`,
    )
  },
  forget: async (id) => {
    const [row] = await queryable.read("select definition_id from expansions where id = ? for update", [id])
    await queryable.change("delete from steps where expansion_id = ?", [id])
    await queryable.change("delete from expansions where id = ?", [id])
    return (row?.["definition_id"] ?? null) as number | null
  },
  overtime: async (now, limit) =>
    (
      await queryable.read(
        `select run_id from expansions force index (expansions_deadline) where deadline_at <= ?
          order by deadline_at, id limit ?`,
        [now, limit],
      )
    ).map((row) => row["run_id"] as string),

  steps: async (id, places) =>
    (
      await ofSteps(queryable, "step, state, succeeded, failed, skipped, run_id from steps as s", id, places)
    ).map(decodeStep),
  putSteps: (rows) =>
    insertRows(
      queryable,
      `insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept) values ?
        on duplicate key update state = values(state), succeeded = values(succeeded), failed = values(failed),
          skipped = values(skipped), run_id = values(run_id)`,
      rows.map((row) => [row.id, row.step, row.state, row.succeeded, row.failed, row.skipped, row.runId, 0]),
    ),
  dropSteps: async (id, places) =>
    void (await queryable.change("delete from steps where expansion_id = ? and step in (?)", [id, places])),
  copySteps: async (from, to) =>
    void (await queryable.change(
      `insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept, reason, output)
        select ?, step, case state when 'released' then 'failed' when 'blocked' then 'upstream_failed' else state end,
          succeeded, failed, skipped, run_id, run_id is not null, reason, output
        from steps as s where expansion_id = ?`,
      [to, from],
    )),
  setWords: async (id, step, reason, output) =>
    void (await queryable.change(
      "update steps set reason = ?, output = ? where expansion_id = ? and step = ?",
      [reason, output, id, step],
    )),
  released: async (id) =>
    (
      await queryable.read(
        "select run_id from steps where expansion_id = ? and state = 'released' order by step",
        [id],
      )
    ).map((row) => row["run_id"] as string),
  results: async (id, places) =>
    (
      await ofSteps(
        queryable,
        `s.step, s.state, s.run_id, coalesce(s.reason, e.reason) as reason, coalesce(s.output, e.output) as output
          from steps as s left join ended as e on e.id = s.run_id`,
        id,
        places,
      )
    ).map((row): StepResult => ({
      step: row["step"] as number,
      state: row["state"] as StepState,
      runId: row["run_id"] as string | null,
      reason: row["reason"] as string | null,
      output: row["output"] as string | null,
    })),
  items: async (id) =>
    (
      await ofSteps(queryable, "r.input from steps as s left join runs as r on r.id = s.run_id", id, null)
    ).map((row) => row["input"] as string | null),
  stepRuns: async (ids) =>
    (
      await queryable.read(
        "select id, parent_id, step from runs where id in (?) and parent_id is not null and step is not null",
        [ids],
      )
    ).map((row) => ({
      id: row["id"] as string,
      parentId: row["parent_id"] as string,
      step: row["step"] as number,
    })),

  definitionId: async (name, version) =>
    (await queryable.read("select id from definitions where name = ? and version = ?", [name, version]))[0]?.[
      "id"
    ] as number | undefined,
  insertDefinition: async (name, version, definition) =>
    (
      await queryable.change(
        `insert into definitions (name, version, definition) values (?, ?, ?)
          on duplicate key update id = last_insert_id(definitions.id)`,
        [name, version, definition],
      )
    ).id,
  definition: async (id) =>
    (await queryable.read("select definition from definitions where id = ?", [id]))[0]?.[
      "definition"
    ] as string,
  forgetDefinition: async (id) =>
    void (await queryable.change(
      "delete from definitions where id = ? and not exists (select 1 from expansions where definition_id = ?)",
      [id, id],
    )),
})

/** Reads of the steps of an expansion, all or some, in their order. */
const ofSteps = (
  queryable: Queryable,
  what: string,
  id: number,
  places: ReadonlyArray<number> | null,
): Promise<ReadonlyArray<Row>> => {
  const [which, values]: [string, Values] = places === null ? ["", [id]] : ["and s.step in (?)", [id, places]]
  return queryable.read(`select ${what} where s.expansion_id = ? ${which} order by s.step`, values)
}

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

const decodeStep = (row: Row): StepRow => ({
  step: row["step"] as number,
  state: row["state"] as StepState,
  succeeded: row["succeeded"] as number,
  failed: row["failed"] as number,
  skipped: row["skipped"] as number,
  runId: row["run_id"] as string | null,
})

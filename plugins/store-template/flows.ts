// Runs that expanded into steps, their steps, and the definitions that these run by.
import type { ExpansionRow, FlowReads, FlowTable, StepResult } from "uhrwerk/sql"
import type { Database } from "./Database.ts"
import { type ExpansionStored, pair, type Rows, type StepStored } from "./rows.ts"

/** Makes the table of an open database. */
export const makeFlows = (database: Database, rows: Rows): FlowTable & FlowReads => {
  const change = (id: number, fields: Partial<ExpansionStored>): void =>
    rows.expansions.some([String(id)]).forEach((row) => rows.expansions.put({ ...row, ...fields }))
  const stepsOf = (id: number): Array<StepStored> => rows.steps.where((row) => row.id === id)

  return {
    // Index: `runId`, unique.
    expansions: (runIds) =>
      rows.expansions.where(({ runId }) => runIds.includes(runId)).flatMap((row) => expansion(rows, row)),
    insert: (expansion) => {
      const id = database.nextId()
      rows.expansions.put({ ...expansion, id, round: 1, faults: 0 })
      return id
    },
    inputOf: (id) => rows.expansions.get(String(id))?.input ?? null,
    nextRound: ({ id, round, retryInMillis, deadlineAt }) => change(id, { round, retryInMillis, deadlineAt }),
    endDeadline: (id) => change(id, { deadlineAt: null }),
    setTotals: (totals) => {
      for (const { id, runId, open, faults } of totals) {
        for (const { run, settledToken } of rows.runs.some([runId]))
          rows.runs.put({ run: { ...run, waitingFor: open }, settledToken })
        if (faults !== null) change(id, { faults })
      }
    },
    forget: (id) => {
      const definitionId = rows.expansions.get(String(id))?.definitionId ?? null
      for (const { step } of stepsOf(id)) rows.steps.remove(pair(id, step))
      rows.expansions.remove(String(id))
      return definitionId
    },
    // Index: `deadlineAt` of those that have one. Of one deadline, the lower id expanded first.
    overtime: (now, limit) =>
      rows.expansions
        .where(({ deadlineAt }) => deadlineAt !== null && deadlineAt <= now)
        .sort((a, b) => Number(a.deadlineAt) - Number(b.deadlineAt) || a.id - b.id)
        .slice(0, limit)
        .map(({ runId }) => runId),
    deadlines: (from, until, limit) => {
      const set = rows.expansions.where(({ deadlineAt }) => deadlineAt !== null)
      const instants = new Set(set.map(({ deadlineAt }) => Number(deadlineAt)))
      return [...instants]
        .filter((at) => at > from && at <= until)
        .sort((a, b) => a - b)
        .slice(0, limit)
    },

    steps: (id, places) =>
      places === null ? stepsOf(id) : rows.steps.some(places.map((step) => pair(id, step))),
    putSteps: (steps) => {
      for (const row of steps) {
        const { isKept = false, reason = null, output = null } = rows.steps.get(pair(row.id, row.step)) ?? {}
        rows.steps.put({ ...row, isKept, reason, output })
      }
    },
    dropSteps: (id, places) => places.forEach((step) => rows.steps.remove(pair(id, step))),
    copySteps: (from, to) =>
      stepsOf(from).forEach((row) => rows.steps.put({ ...ended(row), id: to, isKept: row.runId !== null })),
    setWords: (id, step, reason, output) =>
      rows.steps.some([pair(id, step)]).forEach((row) => rows.steps.put({ ...row, reason, output })),
    released: (id) => stepsOf(id).flatMap(({ state, runId }) => (state === "released" ? (runId ?? []) : [])),
    results: (id, places) =>
      stepsOf(id)
        .filter(({ step }) => places === null || places.includes(step))
        .sort((a, b) => a.step - b.step)
        .map((row) => result(rows, row)),
    items: (id) =>
      stepsOf(id)
        .sort((a, b) => a.step - b.step)
        .map(({ runId }) => rows.runs.get(runId ?? "")?.run.input ?? null),
    stepRuns: (ids) =>
      rows.runs
        .some(ids)
        .flatMap(({ run: { id, parentId, step } }) =>
          parentId === null || step === null ? [] : [{ id, parentId, step }],
        ),

    // Index: name and version, unique.
    definitionId: (name, version) =>
      rows.definitions.where((row) => row.name === name && row.version === version)[0]?.id,
    insertDefinition: (name, version, definition) => {
      const id = database.nextId()
      rows.definitions.put({ id, name, version, definition })
      return id
    },
    definition: (id) => rows.definitions.get(String(id))?.definition ?? "",
    forgetDefinition: (id) => {
      const isUsed = rows.expansions.where(({ definitionId }) => definitionId === id).length > 0
      if (!isUsed) rows.definitions.remove(String(id))
    },
  }
}

/** An expansion with what is read of its run and its definition; nothing when its run is gone. */
const expansion = (rows: Rows, { input, ...row }: ExpansionStored): ReadonlyArray<ExpansionRow> => {
  const { name = null, version = null } = rows.definitions.get(String(row.definitionId)) ?? {}
  return rows.runs
    .some([row.runId])
    .map(({ run }) => ({ ...row, name, version, hasInput: input !== undefined, run }))
}

/** A step of a run that has ended, as it reads from then on: what was not done counts as failed, or was not reached. */
const ended = (row: StepStored): StepStored => ({
  ...row,
  state: row.state === "released" ? "failed" : row.state === "blocked" ? "upstream_failed" : row.state,
})

/** A step with what is known of its run; what somebody said by hand stands in front of that. */
const result = (rows: Rows, { step, state, runId, reason, output }: StepStored): StepResult => {
  const run = rows.runs.get(runId ?? "")?.run
  return { step, state, runId, reason: reason ?? run?.reason ?? null, output: output ?? run?.output ?? null }
}

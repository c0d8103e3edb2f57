// The tables and what a row of each holds: your schema. The key of a row is what its table is looked up by most.
import type {
  Attempt,
  CalendarRow,
  CountChange,
  CredentialRow,
  DeadLetter,
  Dependent,
  NewExpansion,
  NodeRow,
  NodeWorkers,
  Occurrence,
  RecordRow,
  RunRow,
  ScheduleStored,
  StepRow,
} from "uhrwerk/sql"
import type { Database } from "./Database.ts"

/** An attempt; `seq` is the order in which they were made. */
export interface AttemptStored extends Attempt {
  readonly seq: number
}

/** A run that expanded into steps; `definitionId` is of `definitions`. */
export interface ExpansionStored extends NewExpansion {
  readonly id: number
  readonly round: number
  readonly faults: number
}

/** A step of an expansion. */
export interface StepStored extends StepRow {
  readonly id: number
  /** Its run belongs to the flow run of which this one is a re-run, and stays as long as this row. */
  readonly isKept: boolean
  /** What somebody said who ended it by hand. */
  readonly reason: string | null
  readonly output: string | null
}

/** A flow as its runs keep it, once for each name and version. */
export interface DefinitionStored {
  readonly id: number
  readonly name: string
  readonly version: string
  readonly definition: string
}

/** The text of a trigger, once for all decisions about its instants. */
export interface TriggerStored {
  readonly id: number
  readonly text: string
  /** When a schedule took it or left it. */
  readonly usedAt: number
}

/** A decided instant; unique by schedule and `at`. */
export interface OccurrenceStored extends Omit<Occurrence, "trigger"> {
  readonly seq: number
  readonly triggerId: number
}

/** The key of a row that has two. */
export const pair = (first: string | number, second: string | number): string =>
  JSON.stringify([first, second])

/** Makes all tables, empty. */
export const makeRows = (database: Database) => ({
  runs: database.table<RunRow>("runs", ({ run }) => run.id),
  dependents: database.table<Dependent>("dependents", ({ needId, runId }) => pair(needId, runId)),
  attempts: database.table<AttemptStored>("attempts", ({ seq }) => String(seq)),
  letters: database.table<DeadLetter>("letters", ({ runId }) => runId),
  counts: database.table<CountChange>("counts", ({ job, state }) => pair(job, state)),
  expansions: database.table<ExpansionStored>("expansions", ({ id }) => String(id)),
  steps: database.table<StepStored>("steps", ({ id, step }) => pair(id, step)),
  definitions: database.table<DefinitionStored>("definitions", ({ id }) => String(id)),
  schedules: database.table<ScheduleStored>("schedules", ({ id }) => id),
  triggers: database.table<TriggerStored>("triggers", ({ id }) => String(id)),
  occurrences: database.table<OccurrenceStored>("occurrences", ({ seq }) => String(seq)),
  calendars: database.table<CalendarRow>("calendars", ({ name }) => name),
  nodes: database.table<NodeRow>("nodes", ({ id }) => id),
  // Apart from the nodes: a lease is renewed often, and what a node says of its workers may be long.
  nodeWorkers: database.table<NodeWorkers>("nodeWorkers", ({ node }) => node),
  credentials: database.table<CredentialRow>("credentials", ({ id }) => id),
  records: database.table<RecordRow>("records", ({ kind, id }) => pair(kind, id)),
})

/** The tables of an open store. */
export type Rows = ReturnType<typeof makeRows>

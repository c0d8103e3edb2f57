// The steps of one expanded run within one transaction: a row is read when it is asked for, and all that were changed
// are written together, so that a join whose needs end in one batch is one write. A step without a row is blocked, and
// none of its needs has ended: what was not reached yet costs nothing.
import { sql } from "drizzle-orm"
import type { NeedCounts, StepEnd, StepState } from "../../core/domain/Flow.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { FlowRows } from "../../core/flow/Advance.ts"
import { degree } from "../../core/flow/Edges.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import type { Progress } from "../../core/flow/Progress.ts"
import type { Database, Value } from "./Database.ts"
import { at, prepare, prepareRows, type Row } from "./Statement.ts"

/** What the row of a step says. */
export interface StepRow extends Omit<NeedCounts, "needs"> {
  readonly state: StepState
  /** Its latest run. */
  readonly runId: string | null
}

const fresh: StepRow = { state: "blocked", succeeded: 0, failed: 0, skipped: 0, runId: null }

/** The statements over steps, compiled once for a session. */
export type StepStatements = ReturnType<typeof prepareSteps>

/** Compiles them. */
export const prepareSteps = (database: Database) => ({
  one: prepare(
    database,
    sql`select state, succeeded, failed, skipped, run_id from steps
      where expansion_id = ${at("expansionId")} and step = ${at("step")}`,
  ),
  all: prepare(
    database,
    sql`select step, state, succeeded, failed, skipped, run_id from steps
      where expansion_id = ${at("expansionId")} order by step`,
  ),
  put: prepareRows(
    database,
    (values) => sql`insert into steps (expansion_id, step, state, succeeded, failed, skipped, run_id, kept)
      values ${values} on conflict (expansion_id, step) do update set state = excluded.state,
      succeeded = excluded.succeeded, failed = excluded.failed, skipped = excluded.skipped, run_id = excluded.run_id`,
    [...Array.from({ length: 7 }, () => "?"), "0"],
  ),
  drop: prepare(
    database,
    sql`delete from steps where expansion_id = ${at("expansionId")}
      and step in (select value from json_each(${at("steps")}))`,
  ),
})

const decode = (row: Row): StepRow => ({
  state: row["state"] as StepState,
  succeeded: row["succeeded"] as number,
  failed: row["failed"] as number,
  skipped: row["skipped"] as number,
  runId: row["run_id"] as string | null,
})

/** The rows of one expanded run; `startRun` makes the run of a step. */
export class StepRows implements FlowRows {
  private readonly statements: StepStatements
  private readonly expansionId: number
  private readonly graph: Graph
  private readonly startRun: (step: number) => Run
  private readonly rows = new Map<number, StepRow>()
  private readonly changed = new Set<number>()
  private started: Array<Run> = []
  /** Whether all rows there are have been read. */
  private whole = false

  constructor(
    statements: StepStatements,
    expansionId: number,
    graph: Graph,
    startRun: (step: number) => Run,
  ) {
    this.statements = statements
    this.expansionId = expansionId
    this.graph = graph
    this.startRun = startRun
  }

  /** Says that there are no rows yet. */
  begin(): void {
    this.whole = true
  }

  get(step: number): StepRow {
    const known = this.rows.get(step)
    if (known !== undefined || this.whole) return known ?? fresh
    const row = this.statements.one.get({ expansionId: this.expansionId, step })
    const found = row === undefined ? fresh : decode(row)
    this.rows.set(step, found)
    return found
  }

  /** The states of all steps, by their places. */
  states(): Array<StepState> {
    if (!this.whole) {
      for (const row of this.statements.all.all({ expansionId: this.expansionId })) {
        const step = row["step"] as number
        if (!this.rows.has(step)) this.rows.set(step, decode(row))
      }
      this.whole = true
    }
    return Array.from({ length: this.graph.size }, (_, step) => this.get(step).state)
  }

  /** Starts the steps of `reset` anew, all others stand as `progress` says. `states` must have been asked for before. */
  restart(reset: ReadonlyArray<number>, progress: Progress): void {
    this.statements.drop.run({ expansionId: this.expansionId, steps: JSON.stringify(reset) })
    for (const step of reset) this.rows.delete(step)
    for (const [step, state] of progress.states.entries()) {
      if (state !== "blocked") {
        const row = this.get(step)
        if (state !== row.state) this.set(step, { ...row, state })
        continue
      }
      const counts = progress.counts(step)
      if (counts.succeeded + counts.failed + counts.skipped > 0) this.write(step, counts, state)
    }
  }

  read(step: number): NeedCounts | null {
    const row = this.get(step)
    if (row.state !== "blocked") return null
    const { succeeded, failed, skipped } = row
    return { needs: degree(this.graph.needs, step), succeeded, failed, skipped }
  }

  write(step: number, { succeeded, failed, skipped }: NeedCounts, state: StepState): void {
    this.set(step, { ...this.get(step), succeeded, failed, skipped, state })
  }

  end(step: number, end: StepEnd): void {
    this.set(step, { ...this.get(step), state: end })
  }

  start(step: number): void {
    const run = this.startRun(step)
    this.started.push(run)
    this.set(step, { ...this.get(step), runId: run.id })
  }

  /** What is to be written, once. */
  take(): { readonly steps: ReadonlyArray<ReadonlyArray<Value>>; readonly runs: ReadonlyArray<Run> } {
    const steps = [...this.changed].map((step) => {
      const { state, succeeded, failed, skipped, runId } = this.get(step)
      return [this.expansionId, step, state, succeeded, failed, skipped, runId]
    })
    const runs = this.started
    this.changed.clear()
    this.started = []
    return { steps, runs }
  }

  private set(step: number, row: StepRow): void {
    this.rows.set(step, row)
    this.changed.add(step)
  }
}

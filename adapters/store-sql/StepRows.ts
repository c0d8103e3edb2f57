// The steps of one expanded run within one transaction: rows are loaded before the flow looks at them, and all that
// were changed are written together, so that a join whose needs end in one batch is one write. A step without a row is
// blocked, and none of its needs has ended: what was not reached yet costs nothing.
import type { NeedCounts, StepEnd, StepState } from "../../core/domain/Flow.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { FlowRows } from "../../core/flow/Advance.ts"
import { degree } from "../../core/flow/Edges.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import type { Progress } from "../../core/flow/Progress.ts"
import { nothing, type Sql, wait } from "./Sql.ts"
import type { FlowTable, StepRow } from "./Tables.ts"

const fresh = (step: number): StepRow => ({
  step,
  state: "blocked",
  succeeded: 0,
  failed: 0,
  skipped: 0,
  runId: null,
})

/** The rows of one expanded run; `startRun` makes the run of a step. */
export class StepRows implements FlowRows {
  private readonly table: FlowTable
  private readonly id: number
  private readonly graph: Graph
  private readonly startRun: (step: number) => Run
  private readonly rows = new Map<number, StepRow>()
  private readonly changed = new Set<number>()
  private started: Array<Run> = []
  /** Whether all rows there are have been read. */
  private isWhole = false

  constructor(table: FlowTable, id: number, graph: Graph, startRun: (step: number) => Run) {
    this.table = table
    this.id = id
    this.graph = graph
    this.startRun = startRun
  }

  /** Says that there are no rows yet. */
  begin(): void {
    this.isWhole = true
  }

  /** Reads these steps, and one more if it is given, which are then at hand. */
  load(places: ArrayLike<number> & Iterable<number>, first?: number): Sql<void> {
    if (this.isWhole) return nothing
    const missing: Array<number> = []
    if (first !== undefined && !this.rows.has(first)) missing.push(first)
    for (const step of places) if (!this.rows.has(step)) missing.push(step)
    return missing.length === 0 ? nothing : this.readSome(missing)
  }

  private *readSome(missing: ReadonlyArray<number>): Sql<void> {
    const found = yield* wait(this.table.steps(this.id, missing))
    for (const row of found) this.rows.set(row.step, row)
    if (found.length === missing.length) return
    for (const step of missing) if (!this.rows.has(step)) this.rows.set(step, fresh(step))
  }

  /** A step that was loaded. */
  get(step: number): StepRow {
    const row = this.rows.get(step) ?? (this.isWhole ? fresh(step) : undefined)
    if (row === undefined) throw new Error(`Step ${step} was not loaded`)
    return row
  }

  /** The states of all steps, by their places; all are loaded then. */
  *states(): Sql<Array<StepState>> {
    if (!this.isWhole) {
      for (const row of yield* wait(this.table.steps(this.id, null)))
        if (!this.rows.has(row.step)) this.rows.set(row.step, row)
      this.isWhole = true
    }
    return Array.from({ length: this.graph.size }, (_, step) => this.get(step).state)
  }

  /** Starts the steps of `reset` anew, all others stand as `progress` says. All must be loaded. */
  *restart(reset: ReadonlyArray<number>, progress: Progress): Sql<void> {
    if (reset.length > 0) yield* wait(this.table.dropSteps(this.id, reset))
    for (const step of reset) this.rows.delete(step)
    for (const [step, state] of progress.states.entries()) {
      if (state !== "blocked") {
        const row = this.get(step)
        if (state !== row.state) this.set({ ...row, state })
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
    const { runId } = this.get(step)
    this.set({ step, state, succeeded, failed, skipped, runId })
  }

  end(step: number, end: StepEnd): void {
    this.set({ ...this.get(step), state: end })
  }

  start(step: number): void {
    const run = this.startRun(step)
    this.started.push(run)
    this.set({ ...this.get(step), runId: run.id })
  }

  /** What is to be written, once. */
  take(): {
    readonly steps: Parameters<FlowTable["putSteps"]>[0]
    readonly runs: ReadonlyArray<Run>
  } {
    const steps = []
    for (const step of this.changed) {
      const { state, succeeded, failed, skipped, runId } = this.get(step)
      steps.push({ id: this.id, step, state, succeeded, failed, skipped, runId })
    }
    const runs = this.started
    this.changed.clear()
    this.started = []
    return { steps, runs }
  }

  private set(row: StepRow): void {
    this.rows.set(row.step, row)
    this.changed.add(row.step)
  }
}

// How runs come in: first everything is decided, then stored, so that a batch that is refused leaves nothing.
import { isFinal, type NewRun, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { refusal } from "../../core/ports/StoreLimits.ts"
import { endedReason } from "./follow.ts"
import type { RunTable } from "./RunTable.ts"

/** What new runs come to, decided one after the other; the table stays as it is. */
export class EnqueuePlan {
  readonly #table: RunTable
  readonly #now: number
  readonly #created = new Map<string, Run>()
  readonly #keyed = new Map<string, Map<string, Run>>()
  readonly #ended = new Set<string>()

  constructor(table: RunTable, now: number) {
    this.#table = table
    this.#now = now
  }

  /** The rows to insert, in order. */
  get created(): Iterable<Run> {
    return this.#created.values()
  }

  /** Decides one more; throws when it needs a run that is not there. */
  add(run: NewRun): Enqueued {
    const { id, job, key } = run
    const there = this.#find(id) ?? (key === null ? undefined : this.#keyHolder(job, key))
    if (there !== undefined) return { id: there.id, result: "exists", state: there.state, dueAt: there.dueAt }
    const first = this.#firstRow(run)
    this.#created.set(id, first)
    if (key !== null && !isFinal(first.state)) {
      const keys = this.#keyed.get(job)
      if (keys === undefined) this.#keyed.set(job, new Map([[key, first]]))
      else keys.set(key, first)
    }
    return { id, result: "created", state: first.state, dueAt: first.dueAt }
  }

  /** From here on this run will have been cancelled, and what waits for it skipped. */
  cancel(id: string): void {
    const found = this.#find(id)
    if (found === undefined || isFinal(found.state)) return
    const ended = new Set([id])
    for (const each of ended) {
      this.#ended.add(each)
      for (const { run } of this.#table.entries.get(each)?.dependents ?? [])
        if (Transition.needFailed(run, "", this.#now) !== null) ended.add(run.id)
      for (const run of this.#created.values()) if (run.needs.includes(each)) ended.add(run.id)
    }
  }

  #find(id: string): Run | undefined {
    const run = this.#created.get(id) ?? this.#table.entries.get(id)?.run
    if (run === undefined || !this.#ended.has(id)) return run
    return Transition.cancelled(run, "", this.#now) ?? run
  }

  #keyHolder(job: string, key: string): Run | undefined {
    const holder = this.#keyed.get(job)?.get(key) ?? this.#table.keyHolder(job, key)
    return holder === undefined || this.#ended.has(holder.id) ? undefined : holder
  }

  #firstRow(run: NewRun): Run {
    let waitingFor = 0
    let failed: Run | null = null
    for (const id of new Set(run.needs)) {
      const need = this.#find(id)
      if (need === undefined) throw refusal(`needs: run "${run.id}" needs "${id}", which is not stored`)
      if (need.state !== "succeeded") waitingFor++
      if (need.state !== "succeeded" && isFinal(need.state)) failed ??= need
    }
    // The caller keeps its list, so the row needs one of its own.
    const first = Transition.enqueued({ ...run, needs: [...run.needs] }, waitingFor, this.#now)
    return failed === null ? first : (Transition.needFailed(first, endedReason(failed), this.#now) ?? first)
  }
}

/** Stores new runs, all or none. */
export const enqueueAll = (
  table: RunTable,
  runs: ReadonlyArray<NewRun>,
  now: number,
): ReadonlyArray<Enqueued> => {
  const plan = new EnqueuePlan(table, now)
  const answers = runs.map((run) => plan.add(run))
  for (const run of plan.created) table.insert(run)
  return answers
}

// How runs come in: first everything is decided, then stored, so that a batch that is refused leaves nothing.
import { isFinal, type NewRun, type Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { refusal } from "../../core/ports/StoreLimits.ts"
import { endedReason } from "./follow.ts"
import type { RunTable } from "./RunTable.ts"

/** What a batch comes to: an answer for each run, and the rows to insert, in order. */
export interface EnqueuePlan {
  readonly answers: ReadonlyArray<Enqueued>
  readonly created: ReadonlyArray<Run>
}

/** Decides a batch and changes nothing; throws when a need is unknown. */
export const planEnqueue = (table: RunTable, runs: ReadonlyArray<NewRun>, now: number): EnqueuePlan => {
  const created = new Map<string, Run>()
  const keyed = new Map<string, Map<string, Run>>()
  const find = (id: string): Run | undefined => created.get(id) ?? table.entries.get(id)?.run

  const answers = runs.map((run): Enqueued => {
    const { id, job, key } = run
    const there =
      find(id) ?? (key === null ? undefined : (keyed.get(job)?.get(key) ?? table.keyHolder(job, key)))
    if (there !== undefined) return { id: there.id, result: "exists", state: there.state, dueAt: there.dueAt }
    const first = firstRow(run, find, now)
    created.set(id, first)
    if (key !== null && !isFinal(first.state)) {
      const keys = keyed.get(job)
      if (keys === undefined) keyed.set(job, new Map([[key, first]]))
      else keys.set(key, first)
    }
    return { id, result: "created", state: first.state, dueAt: first.dueAt }
  })
  return { answers, created: [...created.values()] }
}

const firstRow = (run: NewRun, find: (id: string) => Run | undefined, now: number): Run => {
  let waitingFor = 0
  let failed: Run | null = null
  for (const id of new Set(run.needs)) {
    const need = find(id)
    if (need === undefined) throw refusal(`needs: run "${run.id}" needs "${id}", which is not stored`)
    if (need.state !== "succeeded") waitingFor++
    if (need.state !== "succeeded" && isFinal(need.state)) failed ??= need
  }
  // The caller keeps its list, so the row needs one of its own.
  const first = Transition.enqueued({ ...run, needs: [...run.needs] }, waitingFor, now)
  return failed === null ? first : (Transition.needFailed(first, endedReason(failed), now) ?? first)
}

// A new run, idempotent by id and by key. Runs that need nothing are stored by each database in its fastest way.
import { isFinal, type NewRun } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { refusal } from "../../core/ports/StoreLimits.ts"
import { type Sql, wait } from "./Sql.ts"
import { endedReason, type Work } from "./Work.ts"

/** Stores runs, those that are needed first. What waits for another is locked before anything is looked at. */
export function* storeRuns(work: Work, runs: ReadonlyArray<NewRun>): Sql<ReadonlyArray<Enqueued>> {
  const needs = [...new Set(runs.flatMap((each) => each.needs))]
  if (needs.length > 0) yield* wait(work.tables.runs.lock(needs))
  const answers: Array<Enqueued> = []
  for (const each of runs) answers.push(yield* storeRun(work, each))
  return answers
}

/** Stores a run, or says which one is there; throws a refusal when a run that it needs is not. */
export function* storeRun(work: Work, run: NewRun): Sql<Enqueued> {
  const now = work.now()
  // Before its needs are looked at: of a run that is there they may be pruned.
  const there = run.needs.length === 0 ? undefined : yield* known(work, run)
  if (there !== undefined) return there
  const needIds = [...new Set(run.needs)]
  if (needIds.length > 1) yield* work.load(needIds)
  const needs = []
  for (const id of needIds) {
    const need = (yield* work.find(id))?.run
    if (need === undefined) throw refusal(`needs: run "${run.id}" needs "${id}", which is not stored`)
    needs.push(need)
  }
  const open = needs.filter((need) => need.state !== "succeeded")
  const row = Transition.enqueued(run, open.length, now)
  if (!(yield* work.insert(row))) return yield* existing(work, run)
  const broken = open.find((need) => isFinal(need.state))
  if (broken === undefined) {
    yield* work.addDependents(run.id, needIds)
    return { id: run.id, result: "created", state: row.state, dueAt: row.dueAt }
  }
  const skipped = Transition.needFailed(row, endedReason(broken), now)
  if (skipped !== null) yield* work.save(row, skipped, 0, null)
  return { id: run.id, result: "created", state: "skipped", dueAt: row.dueAt }
}

/** What is there in place of a run that was refused. */
export function* existing(work: Work, run: NewRun): Sql<Enqueued> {
  const there = yield* known(work, run)
  if (there !== undefined) return there
  throw new Error(`Run "${run.id}" was refused by the database, and no run of its key is open`)
}

/** The run that is there already under this id, or holds this key. */
function* known(work: Work, run: NewRun): Sql<Enqueued | undefined> {
  const same = (yield* work.find(run.id))?.run
  if (same !== undefined) return { id: same.id, result: "exists", state: same.state, dueAt: same.dueAt }
  if (run.key === null) return undefined
  yield* work.flush()
  const holder = yield* wait(work.tables.runs.openOf(run.job, run.key))
  if (holder === undefined) return undefined
  // A table may answer with more of the run than it was asked for.
  return { id: holder.id, result: "exists", state: holder.state, dueAt: holder.dueAt }
}

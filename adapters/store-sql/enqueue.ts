// Enqueue: new runs into the file, idempotent by id and by key.
import { sql } from "drizzle-orm"
import { finalStates, type NewRun, runStates } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { checkBatch, refusal } from "../../core/ports/StoreLimits.ts"
import type { Session } from "./Session.ts"
import { at, prepare } from "./Statement.ts"

const openStates = runStates.filter((state) => !(finalStates as ReadonlyArray<string>).includes(state))

/** The part of a store that takes new runs; `store` is for use within a transaction of the caller's. */
export const makeEnqueue = (session: Session) => {
  // The states are written out and the index named: a partial index serves no parameter, and without it a key in use
  // would be looked for in all the history of its job.
  const open = sql.raw(openStates.map((state) => `'${state}'`).join(", "))
  const byKey = prepare(
    session.database,
    sql`select id, state, due_at from runs indexed by runs_key
      where job = ${at("job")} and key = ${at("key")} and key is not null and state in (${open}) limit 1`,
  )

  const store = (run: NewRun): Enqueued => {
    const now = session.now()
    // Before its needs are looked at: of a run that is there they may be pruned.
    const there = run.needs.length === 0 ? undefined : known(run)
    if (there !== undefined) return there
    const needs = [...new Set(run.needs)].map((id) => {
      const need = session.find(id)?.run
      if (need === undefined) throw refusal(`needs: run "${run.id}" needs "${id}", which is not stored`)
      return need
    })
    const open = needs.filter((need) => need.state !== "succeeded")
    const row = Transition.enqueued(run, open.length, now)
    if (!session.insert(row)) {
      const taken = known(run)
      if (taken !== undefined) return taken
      throw new Error(`Run "${run.id}" was refused by the file, and no run of its key is open`)
    }
    const broken = open.find((need) => !openStates.includes(need.state))
    for (const need of broken === undefined ? needs : []) {
      session.addDependent(need.id, run.id)
    }
    if (broken !== undefined) {
      const reason = `"${broken.job}" (run ${broken.id}) ended ${broken.state}`
      const skipped = Transition.needFailed(row, reason, now)
      if (skipped !== null) session.save(row, skipped, 0, null)
      return { id: run.id, result: "created", state: "skipped", dueAt: row.dueAt }
    }
    return { id: run.id, result: "created", state: row.state, dueAt: row.dueAt }
  }

  /** The run that is there already under this id, or holds this key. */
  const known = (run: NewRun): Enqueued | undefined => {
    const same = session.find(run.id)?.run
    if (same !== undefined) return { id: same.id, result: "exists", state: same.state, dueAt: same.dueAt }
    const row = run.key === null ? undefined : byKey.get({ job: run.job, key: run.key })
    return row === undefined
      ? undefined
      : {
          id: row["id"] as string,
          result: "exists",
          state: row["state"] as Enqueued["state"],
          dueAt: row["due_at"] as number,
        }
  }

  return {
    store,
    enqueue: (newRuns: ReadonlyArray<NewRun>): ReadonlyArray<Enqueued> => {
      checkBatch("runs", newRuns)
      return session.transaction(() => newRuns.map(store))
    },
  }
}

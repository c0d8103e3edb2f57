// What happens to runs beside their happy path: reclaim, cancel, dead letters, prune.
import { and, desc, eq, isNull, lt, type SQL, sql } from "drizzle-orm"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { ErrorInfo, Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Cancelled, Reclaimed, Replayed } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, pageMax, refusal } from "../../core/ports/StoreLimits.ts"
import type { Flows } from "./advance.ts"
import { decodeDeadLetter } from "./rows.ts"
import type { Session } from "./Session.ts"
import { deadLetters, runs } from "./schema.ts"
import { at, build, prepare } from "./Statement.ts"

// Rows of the ledger that one prune removes.
const occurrencesMax = 10_000

/** The part of a store that mends, ends and removes runs. */
export const makeUpkeep = (session: Session, flows: Flows) => {
  const { database, now } = session
  const orphans = prepare(
    database,
    sql`select id from runs indexed by runs_running where state = 'running' and node <> ${at("self")}
      and not exists (select 1 from nodes where nodes.id = runs.node and nodes.expires_at > ${at("now")})
      order by id limit ${at("limit")}`,
  )
  const forgetNodes = prepare(
    database,
    sql`delete from nodes where expires_at <= ${at("now")} and id <> ${at("self")}
      and not exists (select 1 from runs indexed by runs_running where state = 'running' and runs.node = nodes.id)`,
  )
  const letter = prepare(
    database,
    build
      .select()
      .from(deadLetters)
      .where(eq(deadLetters.runId, at("id"))),
  )
  const markReplayed = prepare(
    database,
    build
      .update(deadLetters)
      .set({ replayedBy: at<string>("newId") })
      .where(eq(deadLetters.runId, at("id"))),
  )
  const dropLetter = prepare(database, build.delete(deadLetters).where(eq(deadLetters.runId, at("id"))))
  const letterPage = (where: SQL | undefined) =>
    prepare(
      database,
      build
        .select()
        .from(deadLetters)
        .where(where)
        .orderBy(desc(deadLetters.runId))
        .limit(at<number>("limit") as never),
    )
  const open = isNull(deadLetters.replayedBy)
  const older = lt(deadLetters.runId, at("before"))
  const pages = {
    all: letterPage(and(open, older)),
    ofJob: letterPage(and(open, older, eq(deadLetters.job, at("job")))),
  }
  // Rows are in the order of their making: behind the first younger one nothing is old enough, and the scan ends.
  const young = prepare(
    database,
    sql`select seq from runs where created_at >= ${at("before")} order by seq limit 1`,
  )
  const prunable = prepare(
    database,
    sql`select seq, id, job, state, (select id from expansions where run_id = runs.id) as expansion_id from runs
      where seq < ${at("young")} and ended_at < ${at("before")}
      and not exists (select 1 from dead_letters where run_id = runs.id and replayed_by is null)
      and not exists (select 1 from schedules where schedules.id = runs.schedule_id and last_run_id = runs.id)
      and not exists (select 1 from dependents where dependents.need_id = runs.id)
      and (parent_id is null or not exists (select 1 from expansions where expansions.run_id = runs.parent_id)
        and not exists (select 1 from steps indexed by steps_kept where steps.run_id = runs.id and kept = 1))
      order by seq limit ${at("limit")}`,
  )
  const forget = [
    prepare(database, build.delete(runs).where(eq(runs.id, at("id")))),
    prepare(database, sql`delete from attempts where run_id = ${at("id")}`),
    dropLetter,
  ]
  // No instant is decided before it comes, so the index on instants leads to all that were decided long ago.
  const forgetOccurrences = prepare(
    database,
    sql`delete from occurrences where seq in (
      select seq from occurrences indexed by occurrences_at
      where at < ${at("before")} and decided_at < ${at("before")} and (run_id is null
      or not exists (select 1 from runs where runs.id = occurrences.run_id)) limit ${at("limit")})`,
  )
  // Rows that it named were decided before it was left, so those that are left of them have runs that are there.
  const forgetTriggers = prepare(
    database,
    sql`delete from triggers where used_at < ${at("before")}
      and not exists (select 1 from schedules where schedules.trigger_id = triggers.id)
      and id not in (select trigger_id from occurrences indexed by occurrences_at
        where at < ${at("before")} and trigger_id is not null)`,
  )

  const reclaimOne = (id: string): Reclaimed | null => {
    // The end of one may have cancelled another.
    const found = session.find(id)
    if (found === undefined) return null
    const { run, settledToken } = found
    const error: ErrorInfo = {
      name: "LeaseLost",
      message: `Node "${run.node}" was lost while it carried the run`,
      kind: "lost",
    }
    const after = Transition.lost(run, error, now())
    if (after === null) return null
    // An attempt that was given back leaves no row, or the next one would carry the same number.
    session.save(run, after, settledToken, after.state === "ready" ? null : error)
    return { id: run.id, job: run.job, state: after.state, node: run.node ?? "", attempt: run.attempt }
  }

  const replayOne = (runId: string, newId: string): Replayed => {
    const row = letter.get({ id: runId })
    if (row === undefined) return { runId, newRunId: null, result: "unknown" }
    const replayedBy = row["replayed_by"]
    if (replayedBy !== null) return { runId, newRunId: replayedBy as string, result: "exists" }
    const dead = session.find(runId)?.run
    if (dead === undefined) return { runId, newRunId: null, result: "unknown" }
    const run = Transition.replay(dead, newId, now())
    if (!session.insert(run)) throw refusal(`newIds: run "${newId}" is there already`)
    markReplayed.run({ id: runId, newId })
    return { runId, newRunId: newId, result: "created" }
  }

  return {
    reclaim: (self: string, limit: number): ReadonlyArray<Reclaimed> => {
      checkLimit(limit, batchMax)
      return session.transaction(() => {
        const taken = orphans.all({ self, now: now(), limit }).flatMap((row) => {
          const reclaimed = reclaimOne(row["id"] as string)
          return reclaimed === null ? [] : [reclaimed]
        })
        forgetNodes.run({ now: now(), self })
        return taken
      })
    },
    cancel: (ids: ReadonlyArray<string>, reason: string): ReadonlyArray<Cancelled> => {
      checkBatch("ids", ids)
      return session.transaction(() =>
        ids.map((id): Cancelled => {
          const found = session.find(id)
          if (found === undefined) return { id, result: "unknown" }
          const after = Transition.cancelled(found.run, reason, now())
          if (after === null) return { id, result: "final" }
          session.save(found.run, after, found.settledToken, null)
          return { id, result: "cancelled" }
        }),
      )
    },
    deadLetters: (filter: {
      readonly job?: string
      readonly before?: string
      readonly limit: number
    }): ReadonlyArray<DeadLetter> => {
      checkLimit(filter.limit, pageMax)
      // Every id sorts below this one.
      const values = { before: filter.before ?? "\u{10ffff}", limit: filter.limit }
      const rows =
        filter.job === undefined ? pages.all.all(values) : pages.ofJob.all({ ...values, job: filter.job })
      return rows.map(decodeDeadLetter)
    },
    replay: (runIds: ReadonlyArray<string>, newIds: ReadonlyArray<string>): ReadonlyArray<Replayed> => {
      checkBatch("runIds", runIds)
      if (newIds.length !== runIds.length)
        throw refusal(`newIds: ${newIds.length} ids for ${runIds.length} runs`)
      return session.transaction(() => runIds.map((id, index) => replayOne(id, newIds[index] as string)))
    },
    drop: (runIds: ReadonlyArray<string>): number => {
      checkBatch("runIds", runIds)
      return session.transaction(() => runIds.reduce((dropped, id) => dropped + dropLetter.run({ id }), 0))
    },
    prune: (before: number, limit: number): number => {
      checkLimit(limit, batchMax)
      return session.transaction(() => {
        const end = young.get({ before })?.["seq"] ?? Number.MAX_SAFE_INTEGER
        let count = 0
        let flowCount: number
        do {
          flowCount = 0
          for (const row of prunable.all({ before, young: end, limit: limit - count })) {
            for (const statement of forget) statement.run({ id: row["id"] as string })
            session.count(row["job"] as string, row["state"] as Run["state"], null)
            count++
            if (row["expansion_id"] === null) continue
            flows.forget(row["expansion_id"] as number)
            flowCount++
          }
          // The runs of steps can go when their flow run has gone.
        } while (flowCount > 0 && count < limit)
        const forgotten = forgetOccurrences.run({ before, limit: occurrencesMax })
        if (forgotten < occurrencesMax) forgetTriggers.run({ before })
        return count
      })
    },
  }
}

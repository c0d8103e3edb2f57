// Claim, start and settle: the three steps of a run's happy path, each one prepared statement a run or a batch.
import { and, eq, sql } from "drizzle-orm"
import type { Settled, Settlement } from "../../core/domain/Outcome.ts"
import type { Run, RunState } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Claim, Held } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit } from "./limits.ts"
import { decodeRun } from "./rows.ts"
import type { Session } from "./Session.ts"
import { runs } from "./schema.ts"
import { at, build, prepare, type Row } from "./Statement.ts"

/** The part of a store that moves runs from due to ended. */
export const makeClaim = (session: Session) => {
  const { database, now } = session

  const promoteFrom = (state: RunState, index: string) =>
    prepare(
      database,
      build
        .update(runs)
        .set({ state: "ready" })
        .where(
          sql`${runs.seq} in (select seq from runs indexed by ${sql.raw(index)}
            where state = ${sql.raw(`'${state}'`)} and due_at <= ${at("now")} order by due_at limit ${at("limit")})`,
        )
        .returning({ job: runs.job }),
    )
  const promotions = [
    { from: "scheduled" as const, statement: promoteFrom("scheduled", "runs_scheduled") },
    { from: "retrying" as const, statement: promoteFrom("retrying", "runs_retrying") },
  ]
  const overdue = prepare(
    database,
    sql`select * from runs indexed by runs_expiring where expires_at <= ${at("now")} and expires_at is not null
      and state in ('scheduled', 'ready', 'retrying') limit ${at("limit")}`,
  )
  const claimFrom = prepare(
    database,
    build
      .update(runs)
      .set({
        state: "running",
        node: at<string>("node"),
        token: sql`${runs.token} + 1`,
        attempt: sql`${runs.attempt} + 1`,
        startedAt: at<number>("now"),
        startAcknowledged: at<number>("acknowledged"),
      })
      .where(
        sql`${runs.seq} in (select seq from runs indexed by runs_ready where state = 'ready'
          and queue = ${at("queue")} and due_at <= ${at("now")} and attempt < attempt_max
          and job in (select value from json_each(${at("jobs")}))
          order by priority desc, due_at, seq limit ${at("limit")})`,
      )
      .returning(),
  )
  const succeed = prepare(
    database,
    build
      .update(runs)
      .set({
        state: "succeeded",
        settledToken: sql`${runs.token}`,
        node: null,
        endedAt: at<number>("now"),
        output: at<string>("output"),
        error: null,
      })
      .where(and(eq(runs.id, at("id")), eq(runs.state, sql.raw("'running'")), eq(runs.token, at("token"))))
      .returning({ job: runs.job, chainId: runs.chainId, dueAt: runs.dueAt }),
  )
  const waiting = (state: string, index: string) =>
    sql`select due_at from runs indexed by ${sql.raw(index)} where state = ${sql.raw(`'${state}'`)}
      and due_at > ${at("from")} and due_at <= ${at("until")} group by due_at order by due_at limit ${at("limit")}`
  const due = prepare(
    database,
    sql`select due_at from (select * from (${waiting("scheduled", "runs_scheduled")})
      union select * from (${waiting("retrying", "runs_retrying")})) order by due_at limit ${at("limit")}`,
  )
  const carried = prepare(
    database,
    sql`select * from runs indexed by runs_running where state = 'running' and node = ${at("node")} limit ${at("limit")}`,
  )

  const promote = (limit: number): number => {
    let promoted = 0
    for (const row of overdue.all({ now: now(), limit })) {
      const run = decodeRun(row)
      const after = Transition.expired(run, now())
      if (after !== null) session.save(run, after, row["settled_token"] as number, null)
    }
    for (const { from, statement } of promotions) {
      for (const { job } of statement.all({ now: now(), limit })) {
        session.count(job as string, from, "ready")
        promoted++
      }
    }
    return promoted
  }

  const claim = (wish: Claim): ReadonlyArray<Run> => {
    checkLimit("limit", wish.limit, batchMax)
    const jobs = JSON.stringify(wish.jobs)
    return session.transaction(() => {
      promote(batchMax)
      const rows: Array<Row> = []
      for (const queue of wish.queues) {
        const limit = wish.limit - rows.length
        if (limit === 0) break
        const acknowledged = wish.acknowledged ? 1 : 0
        rows.push(...claimFrom.all({ node: wish.node, now: now(), acknowledged, queue, jobs, limit }))
      }
      // RETURNING has no order of its own.
      rows.sort(
        (a, b) =>
          (b["priority"] as number) - (a["priority"] as number) ||
          (a["due_at"] as number) - (b["due_at"] as number) ||
          (a["seq"] as number) - (b["seq"] as number),
      )
      for (const row of rows) session.count(row["job"] as string, "ready", "running")
      return rows.map(decodeRun)
    })
  }

  const settleOne = (settlement: Settlement): Settled => {
    const { id, token } = settlement
    if (settlement.kind === "succeeded") {
      const row = succeed.get({ id, token, output: settlement.output, now: now() })
      if (row !== undefined) {
        session.count(row["job"] as string, "running", "succeeded")
        // Only a run of a chain can have dependents.
        if (row["chain_id"] !== null) session.endNeeds(id, row["job"] as string, "succeeded")
        return { id, result: "settled", state: "succeeded", dueAt: row["due_at"] as number }
      }
    }
    const found = session.find(id)
    if (found === undefined) return { id, result: "stale", state: null, dueAt: null }
    const { run } = found
    const after = settlement.kind === "succeeded" ? null : transition(run, settlement)
    if (after !== null) {
      session.save(run, after, token, settlement.kind === "failed" ? settlement.error : null)
      return { id, result: "settled", state: after.state, dueAt: after.dueAt }
    }
    const result = found.settledToken === token ? "settled" : "stale"
    return { id, result, state: run.state, dueAt: run.dueAt }
  }

  const transition = (run: Run, settlement: Exclude<Settlement, { kind: "succeeded" }>): Run | null => {
    switch (settlement.kind) {
      case "failed":
        return Transition.failed(run, settlement.token, settlement.error, settlement.retryInMillis, now())
      case "snoozed":
        return Transition.snoozed(run, settlement.token, settlement.delayMillis, now())
      case "released":
        return Transition.released(run, settlement.token)
    }
  }

  return {
    claim,
    promote: (limit: number): number => {
      checkLimit("limit", limit, batchMax)
      return session.transaction(() => promote(limit))
    },
    started: (held: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
      checkBatch("runs", held)
      return session.transaction(() =>
        held.map(({ id, token }) => {
          const found = session.find(id)
          const after = found && Transition.startAcknowledged(found.run, token)
          if (!found || !after) return false
          session.save(found.run, after, found.settledToken, null)
          return true
        }),
      )
    },
    settle: (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Settled> => {
      checkBatch("settlements", settlements)
      return session.transaction(() => settlements.map(settleOne))
    },
    carried: (node: string, limit: number): ReadonlyArray<Run> => {
      checkLimit("limit", limit, batchMax)
      return carried.all({ node, limit }).map(decodeRun)
    },
    dueWithin: (from: number, until: number, limit: number): ReadonlyArray<number> => {
      checkLimit("limit", limit, 100_000)
      return due.all({ from, until, limit }).map((row) => row["due_at"] as number)
    },
  }
}

// Claim, start and settle: the three steps of a run's happy path, each one prepared statement a run or a batch.
import { and, eq, sql } from "drizzle-orm"
import type { Settled, Settlement } from "../../core/domain/Outcome.ts"
import type { Run, RunState } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Claim, Held } from "../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, windowMax } from "../../core/ports/StoreLimits.ts"
import { decodeEnded, decodeRun } from "./rows.ts"
import type { Expanding, Flows } from "./advance.ts"
import type { Session } from "./Session.ts"
import { runs } from "./schema.ts"
import { at, build, prepare, type Row } from "./Statement.ts"
import { makeWantedJobs } from "./wantedJobs.ts"

// Settlements that change nothing but the run itself.
type Transiting = Exclude<Settlement, Expanding | { kind: "succeeded" }>

// When a run that waits for its time is due; of no meaning for others.
const dueOf = ({ state, dueAt }: Run): number | null =>
  state === "scheduled" || state === "ready" || state === "retrying" ? dueAt : null

const firstToClaim = (a: Row, b: Row): number =>
  (b["priority"] as number) - (a["priority"] as number) ||
  (a["due_at"] as number) - (b["due_at"] as number) ||
  ((a["id"] as string) < (b["id"] as string) ? -1 : 1)

/** The part of a store that moves runs from due to ended; `flows` takes those that expand. */
export const makeClaim = (session: Session, flows: Flows) => {
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
    sql`select id from runs indexed by runs_expiring where expires_at <= ${at("now")} and expires_at is not null
      and state in ('scheduled', 'ready', 'retrying') limit ${at("limit")}`,
  )
  // Of those that end together, the outer ones first: they call off those within, which expanded later.
  const overtime = prepare(
    database,
    sql`select run_id from expansions indexed by expansions_deadline
      where deadline_at <= ${at("now")} and deadline_at is not null order by deadline_at, id limit ${at("limit")}`,
  )
  const takeWanted = makeWantedJobs(database)
  // What a node may have of one queue, in the order of the index.
  const wanted = sql`from runs indexed by runs_ready where state = 'ready'
    and queue = ${at("queue")} and due_at <= ${at("now")} and attempt < attempt_max
    and (expires_at is null or expires_at > ${at("now")})
    and job in (select job from wanted_jobs) order by priority desc, due_at, id limit ${at("limit")}`
  const firstOf = prepare(database, sql`select id, queue, priority, due_at ${wanted}`)
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
        startAcknowledged: sql<number>`${at("acknowledged")} and not (select expands from wanted_jobs where job = ${runs.job})`,
      })
      .where(sql`${runs.seq} in (select seq ${wanted})`)
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
      .returning({ job: runs.job, needs: runs.needs, parentId: runs.parentId, step: runs.step }),
  )
  const waiting = (state: string, index: string) =>
    sql`select due_at from runs indexed by ${sql.raw(index)} where state = ${sql.raw(`'${state}'`)}
      and due_at > ${at("from")} and due_at <= ${at("until")} group by due_at order by due_at limit ${at("limit")}`
  const due = prepare(
    database,
    sql`select due_at from (select * from (${waiting("scheduled", "runs_scheduled")})
      union select * from (${waiting("retrying", "runs_retrying")})
      union select * from (select deadline_at from expansions indexed by expansions_deadline
        where deadline_at > ${at("from")} and deadline_at <= ${at("until")} and deadline_at is not null
        group by deadline_at order by deadline_at limit ${at("limit")}))
      order by due_at limit ${at("limit")}`,
  )
  const carried = prepare(
    database,
    sql`select * from runs indexed by runs_running where state = 'running' and node = ${at("node")} limit ${at("limit")}`,
  )

  /** Ends what is overdue, at most `limit`. */
  const expire = (limit: number): number => {
    let expired = 0
    // The end of one may end another: each is looked at when its turn comes.
    for (const { id } of overdue.all({ now: now(), limit })) {
      const found = session.find(id as string)
      const after = found === undefined ? null : Transition.expired(found.run, now())
      if (found === undefined || after === null) continue
      session.save(found.run, after, found.settledToken, null)
      expired++
    }
    return expired
  }

  /** Ends the rounds of flow runs that are over their deadline, at most `limit`. */
  const timeOut = (limit: number): number => {
    const late = overtime.all({ now: now(), limit })
    const ended = late.filter(({ run_id }) => flows.timeOut(run_id as string)).length
    session.flush()
    return ended
  }

  /** Makes ready what is due, at most `limit`. */
  const makeReady = (limit: number): number => {
    let left = limit
    for (const { from, statement } of promotions) {
      if (left === 0) break
      const promoted = statement.all({ now: now(), limit: left })
      for (const { job } of promoted) session.count(job as string, from, "ready")
      left -= promoted.length
    }
    return limit - left
  }

  // What has come too late goes first: the steps of a flow run that is over its deadline must not start; a run that is
  // due and overdue must expire, and so must a flow run that has just been told to try again.
  const promote = (limit: number): number =>
    [timeOut, expire, makeReady].reduce((done, change) => done + (done < limit ? change(limit - done) : 0), 0)

  /** How many runs each queue gives, so that together they are the first of all. */
  const shares = ({ queues, limit }: Claim): Iterable<readonly [queue: string, limit: number]> => {
    const [only, ...others] = new Set(queues)
    if (only === undefined) return []
    if (others.length === 0) return [[only, limit]]
    const firsts = [only, ...others].flatMap((queue) => firstOf.all({ queue, now: now(), limit }))
    const counts = new Map<string, number>()
    for (const { queue } of firsts.sort(firstToClaim).slice(0, limit))
      counts.set(queue as string, (counts.get(queue as string) ?? 0) + 1)
    return counts
  }

  const claim = (wish: Claim): ReadonlyArray<Run> => {
    checkLimit(wish.limit, batchMax)
    takeWanted(wish)
    // Repeatable: if the power fails before the outcome is written, the run is ready again and starts anew.
    return session.transaction(() => {
      while (timeOut(batchMax) === batchMax);
      expire(batchMax)
      makeReady(batchMax)
      const rows: Array<Row> = []
      const acknowledged = wish.acknowledged ? 1 : 0
      for (const [queue, limit] of shares(wish))
        rows.push(...claimFrom.all({ node: wish.node, now: now(), acknowledged, queue, limit }))
      // RETURNING has no order of its own.
      rows.sort(firstToClaim)
      for (const row of rows) session.count(row["job"] as string, "ready", "running")
      return rows.map(decodeRun)
    }, true)
  }

  const settleOne = (settlement: Settlement): Settled => {
    const { id, token } = settlement
    if (settlement.kind === "succeeded") {
      const row = succeed.get({ id, token, output: settlement.output, now: now() })
      if (row !== undefined) {
        session.count(row["job"] as string, "running", "succeeded")
        session.ended(decodeEnded(id, row))
        return { id, result: "settled", state: "succeeded", dueAt: null }
      }
    }
    const found = session.find(id)
    if (found === undefined) return { id, result: "stale", state: null, dueAt: null }
    const { run, settledToken } = found
    if (settlement.kind === "expanded" && flows.expand(run, settlement)) {
      // It may have ended at once.
      const expanded = session.find(id)?.run ?? run
      return { id, result: "settled", state: expanded.state, dueAt: dueOf(expanded) }
    }
    const after =
      settlement.kind === "succeeded" || settlement.kind === "expanded" ? null : transition(run, settlement)
    if (after !== null) {
      session.save(run, after, token, settlement.kind === "failed" ? settlement.error : null)
      return { id, result: "settled", state: after.state, dueAt: dueOf(after) }
    }
    // The answer to the first writing may have been lost: the same token gets what became of it.
    const repeated = token > 0 && settledToken === token && run.token === token && run.state !== "running"
    return { id, result: repeated ? "settled" : "stale", state: run.state, dueAt: dueOf(run) }
  }

  const transition = (run: Run, settlement: Transiting): Run | null => {
    switch (settlement.kind) {
      case "failed":
        return Transition.failed(run, settlement.token, settlement.error, settlement.retryInMillis, now())
      case "snoozed":
        return Transition.snoozed(run, settlement.token, settlement.delayMillis, now())
      case "released":
        return Transition.released(run, settlement.token)
      case "declined":
        return Transition.declined(run, settlement.token, settlement.reason, now())
    }
  }

  return {
    claim,
    promote: (limit: number): number => {
      checkLimit(limit, batchMax)
      return session.transaction(() => promote(limit), true)
    },
    started: (held: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
      checkBatch("runs", held)
      return session.transaction(
        () =>
          held.map(({ id, token }) => {
            const found = session.find(id)
            const after = found && Transition.startAcknowledged(found.run, token)
            if (!found || !after) return false
            if (!found.run.startAcknowledged) session.save(found.run, after, found.settledToken, null)
            return true
          }),
        true,
      )
    },
    settle: (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Settled> => {
      checkBatch("settlements", settlements)
      return session.transaction(() => settlements.map(settleOne))
    },
    carried: (node: string, limit: number): ReadonlyArray<Run> => {
      checkLimit(limit, batchMax)
      return carried.all({ node, limit }).map(decodeRun)
    },
    dueWithin: (from: number, until: number, limit: number): ReadonlyArray<number> => {
      checkLimit(limit, windowMax)
      return due.all({ from, until, limit }).map((row) => row["due_at"] as number)
    },
  }
}

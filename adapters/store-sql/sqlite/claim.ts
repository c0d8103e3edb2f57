// Claim, start and settle: the three steps of a run's happy path, each one prepared statement a run or a batch.
import { and, eq, gt, sql } from "drizzle-orm"
import type { Settled, Settlement } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { Claim, Held } from "../../../core/ports/StoreDriver.ts"
import { batchMax, checkBatch, checkLimit, windowMax } from "../../../core/ports/StoreLimits.ts"
import { settleOne } from "../settle.ts"
import { runSync } from "../Sql.ts"
import { adoptRuns, startRuns } from "../start.ts"
import { promoteAll } from "../upkeep.ts"
import type { Work } from "../Work.ts"
import { decodeEnded, decodeRun } from "../rows.ts"
import type { Session } from "./Session.ts"
import { nodes, runs } from "./schema.ts"
import type { Row } from "../rows.ts"
import { at, build, prepare } from "./Statement.ts"
import { makeWantedJobs } from "./wantedJobs.ts"

const firstToClaim = (a: Row, b: Row): number =>
  (b["priority"] as number) - (a["priority"] as number) ||
  (a["due_at"] as number) - (b["due_at"] as number) ||
  ((a["id"] as string) < (b["id"] as string) ? -1 : 1)

/** The part of a store that moves runs from due to ended. */
export const makeClaim = ({ database, now, tables, transaction, run }: Session) => {
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
  const lease = prepare(
    database,
    build
      .select({ id: nodes.id })
      .from(nodes)
      .where(and(eq(nodes.id, at("node")), gt(nodes.expiresAt, at("now")))),
  )
  const carried = prepare(
    database,
    sql`select * from runs indexed by runs_running where state = 'running' and node = ${at("node")}
      and id > ${at("after")} order by id limit ${at("limit")}`,
  )

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
    // Repeatable where the claim is the start: if the power fails before the outcome is written, the run is ready again
    // and starts anew. What a worker is sent lives on there: its token must not be given again, to somebody else.
    return transaction(
      (work) => {
        runSync(promoteAll(work, batchMax))
        if (lease.get({ node: wish.node, now: now() }) === undefined) return []
        const rows: Array<Row> = []
        const acknowledged = wish.acknowledged ? 1 : 0
        for (const [queue, limit] of shares(wish))
          rows.push(...claimFrom.all({ node: wish.node, now: now(), acknowledged, queue, limit }))
        // RETURNING has no order of its own.
        rows.sort(firstToClaim)
        for (const row of rows) work.count(row["job"] as string, "ready", "running")
        return rows.map(decodeRun)
      },
      { repeatable: wish.acknowledged },
    )
  }

  /** A plain success is one statement; whatever else there is goes the way of all databases. */
  const settle = (work: Work, settlement: Settlement): Settled => {
    const { id, token } = settlement
    // What an earlier one of the batch has changed may not be in the file yet.
    if (settlement.kind !== "succeeded" || work.known(id) !== undefined)
      return runSync(settleOne(work, settlement))
    const row = succeed.get({ id, token, output: settlement.output, now: now() })
    if (row === undefined) return runSync(settleOne(work, settlement))
    work.count(row["job"] as string, "running", "succeeded")
    if (row["parent_id"] !== null || row["needs"] !== null || tables.runs.isWaitedFor())
      runSync(work.ended(decodeEnded(id, row)))
    return { id, result: "settled", state: "succeeded", dueAt: null }
  }

  return {
    claim,
    started: (held: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
      checkBatch("runs", held)
      return run((work) => startRuns(work, held), { repeatable: true })
    },
    adopt: (node: string, held: ReadonlyArray<Held>): ReadonlyArray<boolean> => {
      checkBatch("runs", held)
      return transaction((work) =>
        lease.get({ node, now: now() }) === undefined
          ? held.map(() => false)
          : runSync(adoptRuns(work, node, held)),
      )
    },
    settle: (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Settled> => {
      checkBatch("settlements", settlements)
      return transaction((work) => settlements.map((each) => settle(work, each)))
    },
    carried: (node: string, limit: number, after = ""): ReadonlyArray<Run> => {
      checkLimit(limit, batchMax)
      return carried.all({ node, limit, after }).map(decodeRun)
    },
    dueWithin: (from: number, until: number, limit: number): ReadonlyArray<number> => {
      checkLimit(limit, windowMax)
      return due.all({ from, until, limit }).map((row) => row["due_at"] as number)
    },
  }
}

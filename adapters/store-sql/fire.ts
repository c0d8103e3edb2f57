// Steps of schedules: the decision about an instant, its run and the cursor move in one transaction. Of a minute that
// many schedules share, all steps together cost three statements a chunk; what is special goes one by one.
import { and, eq, sql } from "drizzle-orm"
import * as Transition from "../../core/domain/Transition.ts"
import { type Fill, type Filled, type Fire, replacedReason } from "../../core/ports/StoreDriver.ts"
import { checkFills, checkFires } from "../../core/ports/StoreLimits.ts"
import type { makeEnqueue } from "./enqueue.ts"
import { occurrences, schedules } from "./schema.ts"
import type { Session } from "./Session.ts"
import { at, build, prepare, prepareRows } from "./Statement.ts"

type Decision = Fire["occurrences"][number]

// Of which a batch is worth its own statements.
const togetherMin = 10

/** The part of a store that moves schedules; `enqueue` stores runs within a transaction of ours. */
export const makeFire = (session: Session, enqueue: ReturnType<typeof makeEnqueue>) => {
  const { database, now } = session
  const byId = prepare(
    database,
    build
      .select()
      .from(schedules)
      .where(eq(schedules.id, at("id"))),
  )
  const decided = prepare(
    database,
    build
      .select()
      .from(occurrences)
      .where(and(eq(occurrences.scheduleId, at("scheduleId")), eq(occurrences.at, at("at")))),
  )
  const move = prepareRows(
    database,
    (values) => sql`update schedules set version = version + 1, cursor = v.column3, next_at = v.column4,
      waits_until = v.column5, run_count = run_count + v.column6, last_run_id = coalesce(v.column7, last_run_id),
      zone_data = v.column8
      from (values ${values}) as v where schedules.id = v.column1 and schedules.version = v.column2`,
    Array.from({ length: 8 }, () => "?"),
  )
  const decide = prepareRows(
    database,
    (
      values,
    ) => sql`insert into occurrences (schedule_id, at, last_at, count, run_id, reason, decided_at, nominal_at,
      zone_data, trigger_id)
      select v.*, s.trigger_id from (values ${values}) as v cross join schedules as s on s.id = v.column1
      where true on conflict do nothing`,
    Array.from({ length: 9 }, () => "?"),
  )
  const fill = prepare(
    database,
    build
      .update(occurrences)
      .set({
        runId: at<string>("runId"),
        reason: null,
        decidedAt: at<number>("decidedAt"),
        lastAt: sql`${occurrences.at}`,
      })
      .where(eq(occurrences.seq, at("seq"))),
  )
  // Rows of several instants lie apart, so only the last that begins at or before this one can hold it. Instants of
  // it that were counted out before have rows of their own, which may lie between.
  const countOut = prepare(
    database,
    sql`update occurrences set count = count - 1, at = iif(at = ${at("at")}, at + 1, at) where seq = (
      select seq from (select seq, last_at from occurrences
        where schedule_id = ${at("scheduleId")} and at <= ${at("at")} and count > 1 order by at desc limit 1)
      where last_at >= ${at("at")})`,
  )

  const moveRow = (fire: Fire) => [
    fire.scheduleId,
    fire.version,
    fire.cursor,
    fire.nextAt,
    fire.waitsUntil,
    fire.occurrences.filter(({ runId }) => runId !== null).length,
    fire.lastRunId,
    fire.zoneData,
  ]
  const decisionRow = (scheduleId: string, row: Decision, zoneData: string | null, decidedAt: number) => [
    scheduleId,
    row.at,
    row.lastAt,
    row.count,
    row.runId,
    row.reason,
    decidedAt,
    row.nominalAt,
    zoneData,
  ]

  /** One step, checked before anything is written. */
  const fireOne = (fire: Fire): "fired" | "conflict" => {
    const row = byId.get({ id: fire.scheduleId })
    if (row === undefined || row["version"] !== fire.version) return "conflict"
    const instants = new Set(fire.occurrences.map((each) => each.at))
    if (instants.size < fire.occurrences.length) return "conflict"
    for (const instant of instants)
      if (decided.get({ scheduleId: fire.scheduleId, at: instant }) !== undefined) return "conflict"
    move([moveRow(fire)])
    decide(fire.occurrences.map((each) => decisionRow(fire.scheduleId, each, fire.zoneData, now())))
    if (fire.cancelRunId !== null) replace(fire.cancelRunId)
    fire.runs.forEach(enqueue.store)
    return "fired"
  }

  const replace = (id: string): void => {
    const found = session.find(id)
    const after = found === undefined ? null : Transition.cancelled(found.run, replacedReason, now())
    if (found !== undefined && after !== null) session.save(found.run, after, found.settledToken, null)
  }

  /** Steps that need no look at anything; throws when one of them is a conflict after all. */
  const fireTogether = (fires: ReadonlyArray<Fire>): void => {
    if (move(fires.map(moveRow)) < fires.length) throw notAlike
    const decidedAt = now()
    const rows = fires.flatMap(({ scheduleId, zoneData, occurrences }) =>
      occurrences.map((each) => decisionRow(scheduleId, each, zoneData, decidedAt)),
    )
    if (decide(rows) < rows.length) throw notAlike
    const runs = fires.flatMap((fire) => fire.runs.map((run) => Transition.enqueued(run, 0, decidedAt)))
    if (!session.insertAll(runs)) throw notAlike
  }

  const fillOne = ({ scheduleId, at: instant, runs }: Fill): Filled => {
    const schedule = byId.get({ id: scheduleId })
    if (schedule === undefined) return { at: instant, runId: null, result: "unknown" }
    const row = decided.get({ scheduleId, at: instant })
    const there = (row?.["run_id"] ?? null) as string | null
    if (there !== null) return { at: instant, runId: there, result: "exists" }
    runs.forEach(enqueue.store)
    const runId = runs[runs.length - 1]?.id ?? null
    // A row of one instant may stand for several of the pattern, which calendars held until then.
    if (row !== undefined && (row["count"] === 1 || row["last_at"] === instant)) {
      fill.run({ seq: row["seq"] as number, runId, decidedAt: now() })
      return { at: instant, runId, result: "created" }
    }
    countOut.run({ scheduleId, at: instant })
    const own = { at: instant, lastAt: instant, count: 1, runId, reason: null, nominalAt: null }
    decide([decisionRow(scheduleId, own, schedule["zone_data"] as string | null, now())])
    return { at: instant, runId, result: "created" }
  }

  return {
    fire: (fires: ReadonlyArray<Fire>): ReadonlyArray<"fired" | "conflict"> => {
      checkFires(fires)
      // A schedule with a step that must be looked at has all of them looked at, in their order.
      const special = new Set(fires.filter((fire) => !isPlain(fire)).map(({ scheduleId }) => scheduleId))
      const isAlike = ({ scheduleId }: Fire): boolean => !special.has(scheduleId)
      const alike = fires.filter(isAlike)
      try {
        return session.transaction(() => {
          if (alike.length < togetherMin) return fires.map(fireOne)
          fireTogether(alike)
          return fires.map((fire) => (isAlike(fire) ? "fired" : fireOne(fire)))
        })
      } catch (error) {
        if (error !== notAlike) throw error
        return session.transaction(() => fires.map(fireOne))
      }
    },
    backfill: (fills: ReadonlyArray<Fill>): ReadonlyArray<Filled> => {
      checkFills(fills)
      return session.transaction(() => fills.map(fillOne))
    },
  }
}

// Thrown inside a transaction to take back what it did, and caught right outside.
const notAlike = new Error("A step of the batch must be looked at by itself")

const isPlain = ({ cancelRunId, runs }: Fire): boolean =>
  cancelRunId === null && runs.every(({ needs, key }) => needs.length === 0 && key === null)

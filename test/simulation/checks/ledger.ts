// I2: no occurrence is lost, doubled, early, silent or unexplained. A model of the ledger follows each call to the
// store; when the storm is over, what is due has to be decided in time (I10).
import type { DueSchedule, Occurrence, PutSchedule, ScheduleRow } from "../../../core/domain/Schedule.ts"
import type { Fill, Filled, Fire } from "../../../core/ports/StoreDriver.ts"
import type { Call } from "../Ground.ts"
import type { Schedules } from "../Schedules.ts"
import type { Check, Scene } from "./Check.ts"
import { LedgerModel } from "./ledgerModel.ts"

// What was under way when the storm ended has come to its end.
const calmMillis = 5000
// Beyond one poll, for the way to the store.
const noticeMillis = 2000

/** The check; `isUp` tells whether a node could decide. */
export const ledgerCheck = (
  { watch, ground, swarm, world }: Scene,
  { asked, calendars }: Schedules,
  isUp: () => boolean,
): Check => {
  const model = new LedgerModel({
    calendars,
    asked,
    violated: (invariant, what) => watch.violated(invariant, what),
    counted: (_what, count) => {
      watch.counters.occurrences += count
    },
  })
  /** Since when each version of a schedule is due. */
  let dueSince = new Map<string, number>()

  const checkNotice = (): void => {
    const now = world.elapsed
    const since = new Map<string, number>()
    if (isUp() && now > swarm.activeMillis + calmMillis) {
      for (const name of model.due(ground.now())) {
        const first = dueSince.get(name) ?? now
        since.set(name, first)
        if (now - first > swarm.pollMillis + noticeMillis)
          watch.violated("I10", `${name} is due for ${now - first} ms, and nobody decides`)
      }
    }
    dueSince = since
  }

  return {
    saw: (call, answer) => {
      tell(call, answer, (what) => watch.tell("ledger", what))
      model.saw(call, answer)
    },
    tick: checkNotice,
    end: () =>
      model.compare(ground.driver.schedules() as ReadonlyArray<ScheduleRow>, (scheduleId) => {
        const all: Array<Occurrence> = []
        for (let before = Infinity; ;) {
          const page = ground.driver.occurrences({
            scheduleId,
            before,
            limit: 200,
          }) as ReadonlyArray<Occurrence>
          all.push(...page)
          const last = page[page.length - 1]
          if (last === undefined || page.length < 200) return all
          before = last.at
        }
      }),
  }
}

/** One line for each step of a schedule. */
const tell = ({ operation, args, now }: Call, answer: unknown, line: (what: () => string) => void): void => {
  const [first] = args
  if (operation === "putSchedules")
    for (const { id, job, trigger, overlap, catchUp, cursor, nextAt } of first as ReadonlyArray<PutSchedule>)
      line(
        () =>
          `put ${id}: ${job} ${JSON.stringify({ trigger, overlap, catchUp })} from ${clock(cursor)} next ${clock(nextAt)}`,
      )
  if (operation === "deleteSchedules" || operation === "pauseSchedule")
    line(() => `${operation} ${JSON.stringify(args)}`)
  if (operation === "dueSchedules" && answer !== undefined)
    for (const { id, version, lastRunAlive } of answer as ReadonlyArray<DueSchedule>)
      line(
        () =>
          `${id} version ${version} is due at ${clock(now)}, last run ${lastRunAlive ? "alive" : "ended"}`,
      )
  if (operation === "backfill" && answer !== undefined)
    for (const [place, { scheduleId, at }] of (first as ReadonlyArray<Fill>).entries())
      line(() => `fill ${scheduleId} at ${clock(at)}: ${(answer as ReadonlyArray<Filled>)[place]?.result}`)
  if (operation !== "fire" || answer === undefined) return
  for (const [place, { scheduleId, version, cursor, nextAt, waitsUntil, occurrences }] of (
    first as ReadonlyArray<Fire>
  ).entries())
    line(() => {
      const rows = occurrences.map(
        ({ at, lastAt, count, runId, reason }) =>
          `${clock(at)}${lastAt > at ? `-${clock(lastAt)}` : ""}${count > 1 ? ` (${count})` : ""} ${reason ?? runId}`,
      )
      return `fire ${scheduleId} version ${version} at ${clock(now)} up to ${clock(cursor)} next ${clock(nextAt)} waits ${clock(waitsUntil)}: ${rows.join(", ")}: ${(answer as ReadonlyArray<string>)[place]}`
    })
}

/** The time of a day, in UTC. */
const clock = (at: number | null): string =>
  at === null ? "-" : Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : String(at)

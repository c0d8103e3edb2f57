// What it costs to plan very many schedules that are due at one minute: the engine of the SDK over a SQLite file, on
// a clock that is set to that minute when all is ready. No handler of theirs runs: the engine's only slot is taken by
// a run that waits, so what is measured ends where the runs are stored, ready. That each schedule has one occurrence
// and one run is checked in the file afterwards.
import { DatabaseSync } from "node:sqlite"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import { engine, job, type RunningEngine } from "../../apps/sdk/mod.ts"
import { movedClock } from "../common/clock.ts"
import { sleep, startMeter, within } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { type Turns, watchTurns } from "../common/turns.ts"
import type { Options } from "./options.ts"

/** What planning took. */
export interface Planning {
  readonly schedules: number
  /** CPU time of the process, all its threads, from the instant until all runs are stored. */
  readonly cpuMillis: number
  readonly cpuMicrosEach: number
  readonly wallMillis: number
  /** In that time: the p99 and the longest turn of the event loop. */
  readonly eventLoop: Turns
  /** Schedules that have one occurrence with a run, and that run: all of them, or something is wrong. */
  readonly exact: number
  /** Runs and occurrences of theirs in the file. */
  readonly runs: number
  readonly occurrences: number
  /** Runs that were started: none. */
  readonly started: number
}

const dueAt = Date.UTC(2026, 2, 2, 9)
const hour = 3_600_000
// As written by different people: all of them mean this Monday's 09:00.
const texts = ["0 9 * * *", "0 9 * * 1-5", "0 9,21 * * *", "0 */3 * * *"] as const
const limitMillis = 900_000
const batch = 1000
// How often the bench looks whether all is done: a look is one row of the counts.
const lookMillis = 20
const name = "bench.tick"

/** Plans `options.planned` schedules in a new file. */
export const measurePlanning = async (
  file: string,
  options: Options,
  progress: (text: string) => void,
  troubles: Array<string>,
): Promise<Planning> => {
  const schedules = options.planned
  progress(`planning of ${schedules} schedules: storing them`)
  // The host's clock, moved: to one hour before the instant, and then to the instant.
  const clock = movedClock(dueAt - hour)
  storeSchedules(file, schedules, clock.now)

  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const hold = job("bench.hold", {
    run: () => {
      held.resolve()
      return release.promise
    },
  })
  let started = 0
  const tick = job(name, { run: () => void started++ })
  const app = await engine({
    jobs: [hold, tick],
    storage: `sqlite:${file}`,
    worker: { concurrency: 1 },
  }).start({
    context: clock.context,
    guard: false,
    onEvent: (event) => {
      if (event.kind === "trouble") troubles.push(`${event.doing}: ${event.error}`)
      else if (event.kind === "leaseLost") troubles.push(event.kind)
    },
  })
  try {
    await hold.send()
    await within(limitMillis, "The start of the run that holds the slot", held.promise)
    // What the start left to do is done.
    await sleep(500)
    progress(`planning of ${schedules} schedules: the minute has come`)
    const stopWatching = watchTurns()
    clock.moveTo(dueAt)
    const meter = startMeter()
    // Resuming what is not paused changes nothing, but tells the planner to look now and not at its next poll: idle
    // moments in between would thin out the turns of the loop that count.
    await app.pauseSchedule(idOf(0), false)
    await within(limitMillis, `Planning of ${schedules} schedules`, planned(app, schedules))
    const { cpuMillis, wallMillis } = meter()
    const eventLoop = stopWatching()
    const stopped = app.stop({ grace: 0 })
    await sleep(50)
    release.resolve()
    await stopped
    return {
      schedules,
      cpuMillis: rounded(cpuMillis),
      cpuMicrosEach: rounded((cpuMillis * 1000) / schedules),
      wallMillis: rounded(wallMillis),
      eventLoop,
      ...exactness(file),
      started,
    }
  } finally {
    release.resolve()
    await app.stop({ grace: 0 })
  }
}

const planned = async (app: RunningEngine, schedules: number): Promise<void> => {
  for (;;) {
    const counts = await app.counts()
    const runs = counts.reduce((sum, { job: of, count }) => (of === name ? sum + count : sum), 0)
    if (runs >= schedules) return
    await sleep(lookMillis)
  }
}

const idOf = (n: number): string => `tick ${String(n).padStart(7, "0")}`

/** As a program would that makes schedules while it runs: they are not the config's, so its start leaves them alone. */
const storeSchedules = (file: string, schedules: number, now: () => number): void => {
  const driver = sqliteDriver({ file, now })
  for (let from = 0; from < schedules; from += batch)
    void driver.putSchedules(
      Array.from({ length: Math.min(batch, schedules - from) }, (_, index) => ({
        id: idOf(from + index),
        job: name,
        trigger: { kind: "cron", expression: texts[(from + index) % texts.length] as string, zone: "UTC" },
        input: null,
        overlap: "skip",
        fromConfig: false,
        cursor: now() - 1,
        nextAt: dueAt,
        zoneData: null,
        createdAt: 0,
      })),
    )
  void driver.close()
}

/** Counts in the file, and not by what the engine said. */
const exactness = (file: string): Pick<Planning, "exact" | "runs" | "occurrences"> => {
  const sqlite = new DatabaseSync(file, { readOnly: true })
  try {
    const count = (text: string): number => Number(sqlite.prepare(text).get()?.["count"])
    const of = `where job = '${name}'`
    return {
      runs: count(`select count(*) as count from runs ${of}`),
      occurrences: count("select count(*) as count from occurrences"),
      exact: count(
        `select count(*) as count from
          (select schedule_id, max(run_id) as run_id from occurrences where at = ${dueAt} and last_at = ${dueAt}
            and count = 1 and reason is null group by schedule_id having count(*) = 1) as o
          join (select schedule_id, max(id) as id from runs ${of} and nominal_at = ${dueAt}
            group by schedule_id having count(*) = 1) as r on r.schedule_id = o.schedule_id and r.id = o.run_id
          join schedules as s on s.id = o.schedule_id`,
      ),
    }
  } finally {
    sqlite.close()
  }
}

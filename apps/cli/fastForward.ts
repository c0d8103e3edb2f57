// `uhrwerk dev --fast-forward SPAN`: what a config will do, before it does it. The real engine runs over it on a
// virtual clock, from now on, with a store in memory: nothing is written, and no handler runs unless it is asked for.
import * as Result from "effect/Result"
import type { Run } from "../../core/domain/Run.ts"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import { parseSpan } from "../../core/domain/TimeSpan.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { checkConfig, type Config } from "../sdk/config.ts"
import { isFlow } from "../sdk/flow.ts"
import { job as define } from "../sdk/job.ts"
import { testEngine } from "../sdk/testing.ts"
import { isOnWorkers } from "../sdk/work.ts"
import { type CronPreview, cronPreview } from "../sdk/cronPreview.ts"
import { UsageError } from "./errors.ts"
import { dateOf, paint, plain, printRows, utcOf } from "./format.ts"
import { loadConfig } from "./loadConfig.ts"
import { type Command, countOf } from "./open.ts"

const stepMillis = 3_600_000
/** Starts after which it ends early: a job every 10 ms has three billion a year. */
const startsMax = 2_000_000
const linesMax = 100_000
/** How long handlers may take in all, on the clock on the wall. */
const realMax = "1d"

interface Line {
  readonly at: number
  readonly local: string
  readonly job: string
  readonly attempt: number
  readonly notes: ReadonlyArray<string>
}

interface Start {
  readonly run: Run
  readonly at: number
}

interface Total {
  readonly job: string
  starts: number
  first: Start | null
  last: Start | null
  readonly skipped: Map<string, number>
}

/** The command; `dev` hands over to it. */
export const fastForward: Command = {
  usage: "dev --fast-forward SPAN [CONFIG] [--run-handlers] [--limit LINES]",
  about: "what a project will start, on a virtual clock",
  run: async (args, flags) => {
    const span = Result.getOrThrow(parseSpan("--fast-forward", flags["fast-forward"], 1))
    const limit = countOf("--limit", flags.limit, 200, linesMax)
    const isTable = flags.output === undefined || flags.output === "table"
    if (!isTable && flags.output !== "json" && flags.output !== "ndjson") {
      throw new UsageError(`--output ${flags.output} is none of table, json, ndjson`)
    }
    const runHandlers = flags["run-handlers"] === true
    const config = withSlots(await loadConfig(args[0]))
    const { schedules } = await checkConfig({ ...config, storage: "memory:" })
    const from = Date.now()
    const width = widthOf(schedules)
    const localOf = await localTimes(schedules)
    const names = config.jobs.map(({ name }) => name)
    const tell = watch(schedules, names, (start, count) => {
      // A line costs more than the start itself, so only those that are shown are made.
      if (count > limit) return
      const line = lineOf(start, localOf)
      if (isTable) printLine(line, width)
      else lines.push(line)
    })
    const lines: Array<Line> = []
    // Whoever reads has seen enough (`| head`).
    process.stdout.on("error", () => process.exit(0))
    console.error(
      `From ${dateOf(from)} to ${dateOf(from + span)}, on a virtual clock. ${
        runHandlers
          ? "Handlers are run, and whatever they do outside happens."
          : "No handler is run: each run ends at once, so overlaps and failures do not show."
      }`,
    )
    const engine = await testEngine(withoutHandlers(config, runHandlers), {
      startAt: from,
      keepEvents: false,
      onEvent: tell.hear,
    })
    let gone = 0
    while (gone < span && tell.starts() < startsMax) {
      const step = Math.min(stepMillis, span - gone)
      await engine.advance(step, { realMax })
      gone += step
    }
    const more = tell.starts() - limit
    if (isTable && more > 0) console.log(`+${more} more`)
    else if (more > 0) console.error(`+${more} more: --limit N, at most ${linesMax}`)
    if (gone < span)
      console.error(`Ended early, at ${dateOf(from + gone)}: ${tell.starts()} starts are enough.`)
    if (isTable) {
      console.log("")
      printTotals(tell.totals, localOf)
    } else printRows(flags, lines.map(rowOf), {})
    await engine.stop({ grace: 0 })
    return 0
  },
}

// A project whose workers do the work starts as much as one that does it itself.
const withSlots = (config: Config): Config =>
  config.worker?.concurrency === 0 ? { ...config, worker: {} } : config

/** The same jobs, whose runs end as soon as they start; with `runHandlers` only those of jobs that are left to workers. */
const withoutHandlers = (config: Config, runHandlers: boolean): Config => ({
  ...config,
  storage: "memory:",
  jobs: config.jobs.map((member) => {
    const { name, options } = member
    if (runHandlers && (isFlow(member) || !isOnWorkers(member.options.run))) return member
    return define<any, any>(name, { ...options, run: () => {} })
  }),
})

/** Hears the engine, keeps the totals, and tells of each start. */
const watch = (
  schedules: ReadonlyArray<NewSchedule>,
  jobs: ReadonlyArray<string>,
  each: (start: Start, count: number) => void,
) => {
  const byId = new Map(schedules.map((schedule) => [schedule.id, schedule]))
  const totals = new Map<string, Total>(jobs.map((job) => [job, totalOf(job)]))
  let starts = 0
  const hear = (event: EngineEvent): void => {
    if (event.kind === "trouble") console.error(plain(`Cannot ${event.doing}: ${event.error}`, 500))
    if (event.kind === "occurrence") {
      const skipped = totals.get(byId.get(event.scheduleId)?.job ?? "")?.skipped
      skipped?.set(event.reason, (skipped.get(event.reason) ?? 0) + event.count)
    }
    if (event.kind !== "started") return
    starts++
    const start = { run: event.run, at: event.at }
    // A step of a flow is counted once it has started: without handlers a flow has none.
    const total = totals.get(event.run.job) ?? totalOf(event.run.job)
    totals.set(total.job, total)
    total.starts++
    total.first ??= start
    total.last = start
    each(start, starts)
  }
  return { hear, totals, starts: () => starts }
}

const totalOf = (job: string): Total => ({ job, starts: 0, first: null, last: null, skipped: new Map() })

/** Times on the clocks that the schedule means; those of this machine for all that means none. */
const localTimes = async (schedules: ReadonlyArray<NewSchedule>) => {
  const crons = new Map<string, CronPreview>()
  for (const { id, trigger } of schedules)
    if (trigger.kind === "cron") crons.set(id, await cronPreview(trigger))
  return ({ run, at }: Start): { readonly local: string; readonly notes: ReadonlyArray<string> } => {
    const cron = run.scheduleId === null ? undefined : crons.get(run.scheduleId)
    if (cron === undefined || run.nominalAt === null) return { local: dateOf(at), notes: [] }
    const [shown] = cron.next(run.nominalAt - 1, 1)
    return { local: cron.local(at), notes: shown?.notes ?? [] }
  }
}

/** Wide enough for each zone of the config. */
const widthOf = (schedules: ReadonlyArray<NewSchedule>): number =>
  Math.max(
    dateOf(Date.now()).length,
    ...schedules.map(({ trigger }) => (trigger.kind === "cron" ? cronWidth + trigger.zone.length : 0)),
  )
const cronWidth = "Sun 2027-03-28 03:00:00 +02:00 ".length

type LocalOf = Awaited<ReturnType<typeof localTimes>>

const lineOf = (start: Start, localOf: LocalOf): Line => ({
  at: start.at,
  job: start.run.job,
  attempt: start.run.attempt,
  ...localOf(start),
})

const printLine = ({ local, job, attempt, notes }: Line, width: number): void => {
  const again = attempt > 1 ? `, attempt ${attempt}` : ""
  const note = notes.length === 0 ? "" : `  ${paint("yellow", notes.join("; "))}`
  console.log(`${paint("grey", local.padEnd(width))}  ${paint("bold", plain(job))}${again}${note}`)
}

const printTotals = (totals: ReadonlyMap<string, Total>, localOf: LocalOf): void =>
  printRows({}, [...totals.values()], {
    job: (row: Total) => row.job,
    starts: (row: Total) => String(row.starts),
    first: (row: Total) => (row.first === null ? "-" : localOf(row.first).local),
    last: (row: Total) => (row.last === null ? "-" : localOf(row.last).local),
    skipped: (row: Total) =>
      [...row.skipped].map(([reason, count]) => `${count} ${reason}`).join(", ") || "-",
  })

const rowOf = ({ at, ...line }: Line) => ({ at: utcOf(at), ...line })

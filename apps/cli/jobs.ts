// `uhrwerk job list`, `schedule list`, `occurrence list`: what there is, when it starts next, and what became of it.
import type { Occurrence, ScheduleRow, Trigger } from "../../core/domain/Schedule.ts"
import type { RunState } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { type FlowNames, flowNames } from "./flowNames.ts"
import { dateOf, isTable, printRows, spanOf } from "./format.ts"
import { jobRun } from "./jobRun.ts"
import { type Command, type Flags, limitOf, none, storeCommand } from "./open.ts"

/** A job or a flow, and how many of its runs are in which state. */
export interface JobLine {
  readonly job: string
  readonly kind: "job" | "flow"
  readonly schedules: ReadonlyArray<ScheduleRow>
  readonly counts: Readonly<Partial<Record<RunState, number>>>
}

/** All jobs and flows of the store and the config, by name; the steps of flows are left out and counted. */
export const jobLines = async (
  store: StoreDriver,
  flags: Flags,
): Promise<FlowNames & { readonly lines: ReadonlyArray<JobLine>; readonly stepJobCount: number }> => {
  const counts = await store.counts()
  const schedules = await store.schedules()
  const known = new Set([...counts, ...schedules].map(({ job }) => job))
  const found = await flowNames(store, known, flags)
  const { names } = found
  const lines = new Map(names.map((job) => [job, emptyLine(job, found.flows.has(job) ? "flow" : "job")]))
  for (const { job, state, count } of counts) {
    const line = lines.get(job)
    if (line !== undefined) line.counts[state] = count
  }
  for (const schedule of schedules) lines.get(schedule.job)?.schedules.push(schedule)
  return {
    ...found,
    stepJobCount: [...known].filter((job) => found.stepJobs.has(job)).length,
    lines: [...lines.values()],
  }
}

const emptyLine = (job: string, kind: JobLine["kind"]) => {
  const counts: Partial<Record<RunState, number>> = {}
  const schedules: Array<ScheduleRow> = []
  return { job, kind, schedules, counts }
}

/** A column: how many runs are in one of these states. */
export const totalOf =
  (...states: ReadonlyArray<RunState>) =>
  ({ counts }: JobLine): string =>
    String(states.reduce((sum, state) => sum + (counts[state] ?? 0), 0))

/** The commands by their words. */
export const jobCommands: Readonly<Record<string, Command>> = {
  "job list": storeCommand(
    "job list",
    "jobs and flows with their schedules and counts",
    async (store, args, flags) => {
      none(args)
      const { lines, stepJobCount } = await jobLines(store, flags)
      printRows(flags, lines, {
        job: (row: JobLine) => `${row.job}${row.kind === "flow" ? " (flow)" : ""}`,
        starts: (row: JobLine) =>
          row.schedules.map(({ trigger }) => triggerText(trigger)).join("; ") || "when sent",
        next: (row: JobLine) => dateOf(least(row.schedules)),
        // A blocked flow run is at work: its steps are.
        waiting: (row: JobLine) =>
          totalOf(
            "scheduled",
            "ready",
            "retrying",
            ...(row.kind === "flow" ? [] : ["blocked" as const]),
          )(row),
        running: (row: JobLine) =>
          totalOf("running", ...(row.kind === "flow" ? ["blocked" as const] : []))(row),
        succeeded: totalOf("succeeded"),
        dead: totalOf("dead"),
        other: totalOf("cancelled", "skipped", "expired"),
      })
      if (stepJobCount > 0 && isTable(flags))
        console.error(`${stepJobCount} more are steps of flows: uhrwerk flow list`)
    },
  ),
  "job run": jobRun,
  "schedule list": storeCommand(
    "schedule list",
    "schedules and their next instants",
    async (store, args, flags) => {
      none(args)
      printRows(flags, await store.schedules(), {
        id: (row: ScheduleRow) => row.id,
        job: (row: ScheduleRow) => row.job,
        starts: (row: ScheduleRow) => triggerText(row.trigger),
        next: (row: ScheduleRow) =>
          row.pausedAt === null
            ? row.waitsUntil === null
              ? dateOf(row.nextAt)
              : "after its run"
            : `paused ${dateOf(row.pausedAt)}${row.pausedNote === null ? "" : `: ${row.pausedNote}`}`,
        overlap: (row: ScheduleRow) => row.overlap,
      })
    },
  ),
  "occurrence list": storeCommand(
    "occurrence list [--schedule ID] [--limit N]",
    "what became of each instant",
    async (store, args, flags) => {
      none(args)
      const limit = limitOf(flags)
      const rows = await store.occurrences({
        limit,
        ...(flags.schedule === undefined ? {} : { scheduleId: flags.schedule }),
      })
      printRows(flags, rows, {
        at: (row: Occurrence) => dateOf(row.at),
        schedule: (row: Occurrence) => row.scheduleId,
        became: (row: Occurrence) =>
          row.runId ?? `${row.reason}${row.count > 1 ? ` (${row.count} instants)` : ""}`,
        late: (row: Occurrence) => spanOf(Math.max(0, row.decidedAt - row.at)),
        // What the schedule said at that time, which may not be what it says now.
        by: (row: Occurrence) =>
          [
            row.trigger === null ? "-" : triggerText(JSON.parse(row.trigger) as Trigger),
            ...(row.nominalAt === null ? [] : [`for ${dateOf(row.nominalAt)}`]),
            ...(row.zoneData === null ? [] : [`zone data ${row.zoneData.split(" ")[0]}`]),
          ].join(", "),
      })
    },
  ),
}

/** The next instant of all that are not paused. */
export const least = (schedules: ReadonlyArray<ScheduleRow>): number | null =>
  schedules.reduce<number | null>(
    (found, { nextAt, pausedAt }) =>
      nextAt === null || pausedAt !== null ? found : Math.min(found ?? nextAt, nextAt),
    null,
  )

/** A trigger in words. */
export const triggerText = (trigger: Trigger): string => {
  switch (trigger.kind) {
    case "cron":
      return `cron ${trigger.expression} ${trigger.zone}${trigger.dialect === undefined ? "" : ` (${trigger.dialect})`}`
    case "every":
      return `every ${exactly(trigger.periodMillis)}`
    case "after":
      return `${exactly(trigger.delayMillis)} after its end`
    case "at":
      return `once, ${dateOf(trigger.at)}`
  }
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const

// As it is written in a config: `1h30m`.
const exactly = (millis: number): string => {
  let rest = millis
  const parts = units.map(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? "" : `${count}${unit}`
  })
  return parts.join("") || "0ms"
}

// `uhrwerk job list`, `schedule list`, `occurrence list`: what there is, when it starts next, and what became of it.
import type { Occurrence, ScheduleRow, Trigger } from "../../core/domain/Schedule.ts"
import { dateOf, printRows, spanOf } from "./format.ts"
import { type Command, limitOf, none, storeCommand } from "./open.ts"

interface JobLine {
  readonly job: string
  readonly schedules: ReadonlyArray<ScheduleRow>
  readonly counts: Readonly<Record<string, number>>
}

/** The commands by their words. */
export const jobCommands: Readonly<Record<string, Command>> = {
  "job list": storeCommand("job list", "jobs with their schedules and counts", async (store, args, flags) => {
    none(args)
    const lines = new Map<string, JobLine>()
    const line = (job: string): JobLine => {
      const known = lines.get(job) ?? { job, schedules: [], counts: {} }
      lines.set(job, known)
      return known
    }
    for (const { job, state, count } of await store.counts()) {
      const known = line(job)
      lines.set(job, { ...known, counts: { ...known.counts, [state]: count } })
    }
    for (const schedule of await store.schedules()) {
      const known = line(schedule.job)
      lines.set(schedule.job, { ...known, schedules: [...known.schedules, schedule] })
    }
    const of =
      (...states: ReadonlyArray<string>) =>
      (row: JobLine) =>
        String(states.reduce((sum, state) => sum + (row.counts[state] ?? 0), 0))
    printRows(
      flags,
      [...lines.values()].sort((a, b) => (a.job < b.job ? -1 : 1)),
      {
        job: (row: JobLine) => row.job,
        starts: (row: JobLine) =>
          row.schedules.map(({ trigger }) => triggerText(trigger)).join("; ") || "when sent",
        next: (row: JobLine) => dateOf(least(row.schedules)),
        waiting: of("blocked", "scheduled", "ready", "retrying"),
        running: of("running"),
        succeeded: of("succeeded"),
        dead: of("dead"),
        other: of("cancelled", "skipped", "expired"),
      },
    )
  }),
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

const least = (schedules: ReadonlyArray<ScheduleRow>): number | null =>
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

// `uhrwerk schedule show | pause | resume`: one schedule with what comes and what came, and whether it starts anything.
import type { Occurrence, ScheduleRow } from "../../core/domain/Schedule.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import * as Result from "effect/Result"
import { makeTriggerParser } from "../../core/trigger/Dialects.ts"
import type { ParsedTrigger } from "../../core/trigger/Slots.ts"
import { makeParseTrigger } from "../../core/trigger/Triggers.ts"
import { loadDialects } from "../sdk/dialects.ts"
import { cronPreview } from "../sdk/cronPreview.ts"
import { bookOf, nextInstants } from "../sdk/schedulePreview.ts"
import { explainRun } from "./explain.ts"
import { dateOf, fromNow, plain, printFields, printRows, spanOf, utcOf } from "./format.ts"
import { triggerText } from "./jobs.ts"
import { UsageError } from "./errors.ts"
import { type Command, type Flags, notFound, only, storeCommand } from "./open.ts"

const nextShown = 5
const occurrencesShown = 10

/** The commands by their words. */
export const scheduleCommands: Readonly<Record<string, Command>> = {
  "schedule show": storeCommand(
    "schedule show ID",
    "a schedule: what comes, what came, its last run",
    async (store, args, flags) => show(store, await find(store, only(args, "schedule's id")), flags),
  ),
  "schedule pause": storeCommand(
    "schedule pause ID [--note TEXT]",
    "start nothing more; instants of the pause are not caught up",
    async (store, args, flags) => setPaused(store, only(args, "schedule's id"), true, flags.note),
  ),
  "schedule resume": storeCommand("schedule resume ID", "go on from now", async (store, args) =>
    setPaused(store, only(args, "schedule's id"), false),
  ),
}

const noteMax = 512

const find = async (store: StoreDriver, id: string): Promise<ScheduleRow> => {
  const row = (await store.schedules()).find((each) => each.id === id)
  if (row === undefined) throw notFound("schedule", id)
  return row
}

const setPaused = async (store: StoreDriver, id: string, paused: boolean, note?: string): Promise<void> => {
  if (note !== undefined && note.length > noteMax)
    throw new UsageError(`--note has ${note.length} characters, which is more than ${noteMax}`)
  const { pausedAt } = await find(store, id)
  const isSo = (pausedAt !== null) === paused
  if (!isSo && !(await store.pauseSchedule(id, paused, note ?? null))) throw notFound("schedule", id)
  const after = await find(store, id)
  const since = after.pausedAt === null ? "" : ` since ${dateOf(after.pausedAt)}`
  console.error(
    isSo
      ? `Schedule ${plain(id)} was ${paused ? `paused already,${since}` : "not paused"}.`
      : paused
        ? `Schedule ${plain(id)} is paused; runs that it started before go on. Resume it: uhrwerk schedule resume ${plain(id)}`
        : `Schedule ${plain(id)} goes on; an engine on this store notices within a second.`,
  )
  console.log(`${plain(id)} ${after.pausedAt === null ? "active" : "paused"}`)
}

const show = async (store: StoreDriver, row: ScheduleRow, flags: Flags): Promise<void> => {
  const now = await store.now()
  const [last] = row.lastRunId === null ? [] : await store.get([row.lastRunId])
  const occurrences = await store.occurrences({ scheduleId: row.id, limit: occurrencesShown })
  const cron = row.trigger.kind === "cron" ? await cronPreview(row.trigger) : undefined
  const dialects = await loadDialects([row.trigger.kind === "cron" ? row.trigger.dialect : undefined])
  const trigger = Result.getOrThrow(makeParseTrigger(makeTriggerParser(dialects), await bookOf(store))(row))
  const next = nextInstants(row, trigger, cron, nextShown)
  if (flags.output !== undefined && flags.output !== "table") {
    const instants = next.map(({ at, notes }) => ({ at: utcOf(at), notes }))
    printRows(flags, [{ ...row, next: instants, lastRun: last ?? null, occurrences }], {})
    return
  }
  printFields({
    id: row.id,
    job: row.job,
    starts: triggerText(row.trigger),
    ...(cron === undefined
      ? {}
      : { "in words": cron.words, zone: row.trigger.kind === "cron" ? row.trigger.zone : "" }),
    ...placementFields(trigger),
    ...(row.zoneData === null ? {} : { "zone data": row.zoneData }),
    overlap: row.overlap,
    state:
      row.pausedAt === null
        ? "active"
        : `paused since ${dateOf(row.pausedAt)}${row.pausedNote === null ? "" : `: ${row.pausedNote}`}`,
    decided: `all instants up to ${dateOf(row.cursor)}`,
    "last run":
      last === undefined
        ? row.lastRunId === null
          ? "none yet"
          : `${row.lastRunId}, removed since`
        : `${last.id} ${last.state}`,
    ...(last === undefined ? {} : { why: (await explainRun(store, last, flags)).why }),
  })
  console.log(`\nNext:${next.length === 0 ? ` ${nothing(row)}` : ""}`)
  for (const { at, local, notes } of next) {
    const note = notes.length === 0 ? "" : `  ${notes.join("; ")}`
    console.log(`  ${local} (${fromNow(at, now)})${note}`)
  }
  console.log(`\nLast:${occurrences.length === 0 ? " nothing yet" : ""}`)
  if (occurrences.length > 0) printRows({}, occurrences, occurrenceColumns)
}

const placementFields = ({ place }: ParsedTrigger): Readonly<Record<string, string>> => {
  if (place === undefined) return {}
  const { only, except, closed, offsetMillis } = place
  const fates = {
    skip: "left out",
    hold: "held until it opens",
    next: "moved to the next open day",
    previous: "moved to the previous open day",
  }
  return {
    ...(only === null ? {} : { only: `in calendar ${plain(only.name)}` }),
    ...(except === null ? {} : { except: `in calendar ${plain(except.name)}` }),
    ...(only === null && except === null ? {} : { closed: fates[closed] }),
    ...(offsetMillis === 0 ? {} : { jitter: `each start ${spanOf(offsetMillis)} later` }),
  }
}

const occurrenceColumns = {
  at: (row: Occurrence) => dateOf(row.at),
  became: (row: Occurrence) => row.runId ?? `${row.reason}${row.count > 1 ? ` (${row.count} instants)` : ""}`,
  late: (row: Occurrence) => spanOf(Math.max(0, row.decidedAt - row.at)),
}

const nothing = ({ pausedAt, trigger }: ScheduleRow): string =>
  pausedAt !== null
    ? "nothing while it is paused"
    : trigger.kind === "after"
      ? "when its last run has ended"
      : "nothing comes any more"

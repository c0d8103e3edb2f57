// `uhrwerk calendar list | show`: the calendars that schedules name, whether each is open now, and when that changes.
import type { ScheduleRow } from "../../core/domain/Schedule.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import type { CalendarSet } from "../../core/trigger/CalendarSet.ts"
import { isOpen, nextChange } from "../../core/trigger/InstantSet.ts"
import { localText } from "../../core/trigger/Preview.ts"
import { fromNow, plain, printFields, printRows, utcOf } from "./format.ts"
import { type Command, type Flags, none, notFound, only, storeCommand } from "./open.ts"
import { bookOf } from "../sdk/schedulePreview.ts"

const changesShown = 6

interface Change {
  readonly at: number
  readonly opens: boolean
}

/** The commands by their words. */
export const calendarCommands: Readonly<Record<string, Command>> = {
  "calendar list": storeCommand(
    "calendar list",
    "calendars, and whether each is open now",
    async (store, args, flags) => {
      none(args)
      const [book, schedules, now] = [await bookOf(store), await store.schedules(), await store.now()]
      printRows(
        flags,
        [...book.values()].map((each) => lineOf(each, schedules, now)),
        {
          name: (row: Line) => row.name,
          zone: (row: Line) => row.zone,
          now: (row: Line) => (row.open ? "open" : "closed"),
          until: (row: Line) => row.until ?? "for ten years at least",
          schedules: (row: Line) => row.schedules.join(", ") || "-",
        },
      )
    },
  ),
  "calendar show": storeCommand(
    "calendar show NAME",
    "a calendar: its rule, and when it opens and closes next",
    async (store, args, flags) => show(store, only(args, "calendar's name"), flags),
  ),
}

interface Line {
  readonly name: string
  readonly zone: string
  readonly open: boolean
  readonly until: string | null
  readonly schedules: ReadonlyArray<string>
}

const lineOf = (each: CalendarSet, schedules: ReadonlyArray<ScheduleRow>, now: number): Line => {
  const [change] = changesOf(each, now, 1)
  return {
    name: each.name,
    zone: each.clock.name,
    open: isOpen(each.set, now),
    until: change === undefined ? null : localText(each.clock, change.at),
    schedules: schedules
      .filter(({ trigger }) => trigger.only === each.name || trigger.except === each.name)
      .map(({ id }) => id),
  }
}

const changesOf = ({ set }: CalendarSet, from: number, count: number): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  let at = nextChange(set, from)
  while (at !== null && changes.length < count) {
    changes.push({ at, opens: isOpen(set, at) })
    at = nextChange(set, at)
  }
  return changes
}

const show = async (store: StoreDriver, name: string, flags: Flags): Promise<void> => {
  const each = (await bookOf(store)).get(name)
  const row = (await store.calendars()).find((calendar) => calendar.name === name)
  if (each === undefined || row === undefined) throw notFound("calendar", name)
  const now = await store.now()
  const line = lineOf(each, await store.schedules(), now)
  const changes = changesOf(each, now, changesShown)
  if (flags.output !== undefined && flags.output !== "table") {
    const texts = changes.map(({ at, opens }) => ({ at: utcOf(at), opens }))
    printRows(flags, [{ ...line, definition: JSON.parse(row.definition) as unknown, changes: texts }], {})
    return
  }
  printFields({
    name: line.name,
    zone: line.zone,
    now: line.open ? "open" : "closed",
    schedules: line.schedules.join(", ") || "none",
    rule: plain(JSON.stringify((JSON.parse(row.definition) as { readonly rule: unknown }).rule), 500),
  })
  console.log(
    `\nNext:${changes.length === 0 ? ` ${line.open ? "open" : "closed"} for ten years at least` : ""}`,
  )
  for (const { at, opens } of changes)
    console.log(
      `  ${opens ? "opens " : "closes"} ${localText(each.clock, at)} ${line.zone} (${fromNow(at, now)})`,
    )
}

// What calendars and jitter will do to a schedule, for people: its next starts, each with a note on what moved it and
// on what was left out before it. Beside `Preview.ts`, which knows clock changes; notes are read off the same
// timeline that the planner walks, so they cannot say otherwise. Pure; bounded by the number of instants asked for.
import * as Result from "effect/Result"
import type { OccurrenceReason } from "../domain/Schedule.ts"
import { parseCronTrigger } from "./CronFields.ts"
import { type Place, reasonOf } from "./Placement.ts"
import { localText, preview, type PreviewInstant, previewMax } from "./Preview.ts"
import { type ParsedTrigger, slotsOf, type Timeline } from "./Slots.ts"

/** A trigger that calendars or jitter place. */
export type PlacedTrigger = Exclude<ParsedTrigger, { kind: "after" }> & { readonly place: Place }

/** The next `count` starts after `afterMillis`, at most `previewMax`, as the schedule that stands there sees them. */
export const previewPlaced = (
  trigger: PlacedTrigger,
  row: { readonly createdAt: number; readonly cursor: number },
  afterMillis: number,
  count: number,
): ReadonlyArray<PreviewInstant> => {
  const slots = slotsOf(trigger, row)
  const found: Array<PreviewInstant> = []
  let from = afterMillis
  while (found.length < Math.min(count, previewMax)) {
    const at = slots.after(from)
    if (at === null) break
    found.push({ at, local: localText(trigger.place.clock, at), notes: notesOf(trigger, slots, from, at) })
    from = at
  }
  return found
}

const notesOf = (
  trigger: PlacedTrigger,
  slots: Timeline,
  from: number,
  at: number,
): ReadonlyArray<string> => {
  const { place } = trigger
  const { nominalAt, count } = slots.nominalOf(at)
  const placedAt = at - place.offsetMillis
  const notes = [...leftOutNotes(place, slots, from, at)]
  notes.push(...clockNotes(trigger, nominalAt))
  if (nominalAt !== placedAt || count > 1) {
    const others = count > 1 ? `, for ${count} instants` : ""
    if (place.closed === "hold") {
      // One that comes just when the window opens was not held itself.
      const why = reasonOf(place, nominalAt) ?? reasonOf(place, placedAt - 1)
      notes.push(`held ${why === "blackout" ? "by " : ""}${closedBy(place, why)} until then${others}`)
    } else if (nominalAt === placedAt) notes.push(`stands also for instants of closed days${others}`)
    else {
      const day = localText(place.clock, nominalAt).slice(0, dayLength)
      notes.push(`moved from ${day}, which is ${where(place, reasonOf(place, nominalAt))}${others}`)
    }
  }
  if (place.offsetMillis > 0) notes.push(`${place.offsetMillis / 1000} s later by jitter`)
  return notes
}

// What clock changes do is known in the house's own dialect only.
const clockNotes = (trigger: PlacedTrigger, at: number): ReadonlyArray<string> => {
  if (trigger.kind !== "cron" || trigger.dialect !== undefined) return []
  const cron = Result.getOrUndefined(parseCronTrigger(trigger))
  return cron === undefined ? [] : (preview(cron, at - 1, 1)[0]?.notes ?? [])
}

const leftOutNotes = (place: Place, slots: Timeline, from: number, at: number): ReadonlyArray<string> =>
  slots.leftOut.flatMap(({ reason, slots: closed }) => {
    const first = closed.after(from, at)
    const last = closed.upTo(at, from)
    if (first === null || first > at || last === null || last <= from) return []
    const textOf = (instant: number) => localText(place.clock, instant - place.offsetMillis)
    const what =
      first === last ? textOf(first) : `${closed.count(first, last)} instants from ${textOf(first)}`
    return [`left out: ${what}, ${where(place, reason)}`]
  })

const where = (place: Place, reason: OccurrenceReason | null): string =>
  `${reason === "blackout" ? "in " : ""}${closedBy(place, reason)}`

const closedBy = ({ only, except }: Place, reason: OccurrenceReason | null): string =>
  reason === "blackout" ? `blackout "${except?.name ?? ""}"` : `outside calendar "${only?.name ?? ""}"`

// "Sun 2027-03-28"
const dayLength = 14

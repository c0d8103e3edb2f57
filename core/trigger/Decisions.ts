// Rows for decided instants, before they have runs: one each, but for those of a long absence, which share one.
// `Occurrences.ts` decides what becomes of which, and these are the words it does it in.
import type { Occurrence, OccurrenceReason } from "../domain/Schedule.ts"
import type { Slots } from "./Slots.ts"

/** Instants without a run that get a row each; older ones of the same step share a row that counts them. */
export const rowsMax = 400

/** A decided instant, before it has a run. */
export type Decision = Pick<Occurrence, "at" | "lastAt" | "count"> & {
  /** The newest instant of the pattern that it stands for; `null`: the same as `at`. */
  readonly nominalAt: number | null
  /** `null`: it gets a run. */
  readonly reason: OccurrenceReason | null
  /** Of a row for many: the instants among which it counts. */
  readonly among?: Slots
}

/** The row of an instant that has no pattern behind it. */
export const alone = (at: number, reason: OccurrenceReason | null): Decision => ({
  at,
  lastAt: at,
  count: 1,
  nominalAt: null,
  reason,
})

/** The row of one instant. */
export const one = (slots: Slots, at: number, reason: OccurrenceReason | null): Decision => {
  const { nominalAt, count } = slots.nominalOf(at)
  return { at, lastAt: at, count, nominalAt: nominalAt === at ? null : nominalAt, reason }
}

/** The newest instants, at most `max` and none before `first` or `oldest`, in their order. */
export const newestOf = (
  slots: Slots,
  range: { readonly first: number; readonly newest: number; readonly oldest: number; readonly max: number },
): ReadonlyArray<number> => {
  const found: Array<number> = []
  let at: number | null = range.newest
  while (at !== null && at >= range.first && at >= range.oldest && found.length < range.max) {
    found.push(at)
    at = slots.upTo(at - 1, range.first)
  }
  return found.reverse()
}

/** Rows for the instants from `first` to `last` that get no run: bounded, however many there are. */
export const without = (
  slots: Slots,
  first: number,
  last: number | null,
  reason: OccurrenceReason,
  max = rowsMax,
): ReadonlyArray<Decision> => {
  const rows: Array<Decision> = []
  let at = last
  while (at !== null && at >= first && rows.length < max) {
    rows.push(one(slots, at, reason))
    at = slots.upTo(at - 1, first)
  }
  if (at !== null && at >= first) {
    const count = slots.count(first, at)
    rows.push({ at: first, lastAt: at, count, nominalAt: null, reason, among: slots })
  }
  return rows.reverse()
}

/** What a row for many counts and where it begins and ends without those of its instants that have a row already. */
export const withoutRows = (
  { at: first, lastAt: last, count }: Pick<Decision, "at" | "lastAt" | "count">,
  slots: Slots,
  hasRow: ReadonlySet<number>,
): Pick<Decision, "at" | "lastAt" | "count" | "nominalAt"> | null => {
  let left = count
  for (const each of hasRow)
    if (each >= first && each <= last && slots.upTo(each, each) === each) left -= slots.nominalOf(each).count
  if (left === count) return { at: first, lastAt: last, count, nominalAt: null }
  let at: number | null = first
  while (at !== null && at <= last && hasRow.has(at)) at = slots.after(at, last)
  if (at === null || at > last) return null
  let lastAt = last
  while (lastAt > at && hasRow.has(lastAt)) lastAt = slots.upTo(lastAt - 1, at) ?? at
  if (lastAt > at) return { at, lastAt, count: left, nominalAt: null }
  const { nominalAt } = slots.nominalOf(at)
  return { at, lastAt, count: left, nominalAt: nominalAt === at ? null : nominalAt }
}

// One item of a cron field's list becomes bits of a draft, or a fault that shows the place and the way out.
// The lower half of `CronFields.ts`, which cuts the text into fields and items. Pure; rules R2-R7 and R9.
import { yearMax, yearMin } from "./Civil.ts"

/** What a field may hold. */
export interface Field {
  readonly name: "second" | "minute" | "hour" | "day" | "month" | "weekday" | "year"
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
  /** The unit of the fixed rate that replaces a step no cron can keep. */
  readonly unit?: "s" | "m" | "h" | "d"
}
const months = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
export const second: Field = { name: "second", min: 0, max: 59, names: [], unit: "s" }
export const minute: Field = { name: "minute", min: 0, max: 59, names: [], unit: "m" }
export const hour: Field = { name: "hour", min: 0, max: 23, names: [], unit: "h" }
export const day: Field = { name: "day", min: 1, max: 31, names: [], unit: "d" }
export const month: Field = { name: "month", min: 1, max: 12, names: months }
export const weekday: Field = { name: "weekday", min: 0, max: 7, names: weekdays, unit: "d" }
export const year: Field = { name: "year", min: yearMin, max: yearMax, names: [] }

/** The bits that the items of a text have set so far. */
export interface Draft {
  readonly bits: Record<Field["name"], number[]>
  readonly nth: number[]
  nearest: number
  lastDay: boolean
  lastWorkday: boolean
}
/** Where, why, and what to do next; the field's name is added where the field is known. */
export type Fault = readonly [position: number | undefined, reason: string, next: string]

/** One item of a field's list, at offset `at`: sets its bits in the draft. */
export const readItem = (field: Field, item: string, at: number, draft: Draft): Fault | undefined => {
  if (item === "") return [at, "a value is missing", "Remove the extra sign, or write the value"]
  if (field === day && /[LW]/i.test(item)) return readDayLetter(item, at, draft)
  if (field === weekday && /#|^(\d*|[A-Z]{3})L$/i.test(item)) return readWeekdayLetter(item, at, draft)
  const [base = "", stepText, tooMuch] = item.split("/")
  if (tooMuch !== undefined) return [at, `${quote(item)} has two steps`, `Keep one: ${base}/${stepText}`]
  if (base === "") return [at, `${quote(item)} is a step of nothing`, `Write *${item}`]
  const starred = base === "*" || base === "?"
  if (base === "?" && field !== day && field !== weekday) {
    return [at, '"?" is for the day and weekday fields only', "Write * instead"]
  }
  const [from = "", to, third] = base.split("-")
  if (from === "" || to === "" || third !== undefined) {
    return [at, `${quote(base)} is not a range`, "Write first-last, for example 1-5"]
  }
  const first = starred ? field.min : readValue(field, from, at)
  if (typeof first !== "number") return first
  const end = to === undefined ? undefined : readValue(field, to, at + from.length + 1)
  if (end !== undefined && typeof end !== "number") return end
  const endsOnSunday = field === weekday && to?.toUpperCase() === "SUN"
  const last = endsOnSunday ? 7 : (end ?? (starred || stepText !== undefined ? field.max : first))
  const step = stepText === undefined ? 1 : /^\d+$/.test(stepText) ? Number(stepText) : NaN
  const stepAt = at + base.length + 1
  if (Number.isNaN(step)) return [stepAt, `${quote(stepText ?? "")} is not a step`, `Write it like ${base}/2`]
  if (step < 1) return [stepAt, "a step must be 1 or more", `Write ${base} without a step`]
  if (first > last)
    return [at, `the range ${quote(base)} runs downwards`, upwards(field, base, step, first, last)]
  if (stepText !== undefined && step > last - first) {
    const distance = `the distance from ${first} to ${last}`
    return [
      stepAt,
      `the step ${stepText} is larger than ${last - first}, ${distance}`,
      rate(field, step, first, last),
    ]
  }
  const words = draft.bits[field.name]
  for (let value = first; value <= last; value += step) {
    // R3: both numbers of Sunday share a bit.
    const bit = field === weekday ? value % 7 : field === year ? value - yearMin : value
    words[bit >> 5] = (words[bit >> 5] ?? 0) | (1 << (bit & 31))
  }
  return undefined
}

const readValue = (field: Field, text: string, at: number): number | Fault => {
  const upper = text.toUpperCase()
  const named = upper === "" ? -1 : field.names.indexOf(upper)
  if (named >= 0) return named
  const names = field === month ? " or JAN-DEC" : field === weekday ? " or SUN-SAT" : ""
  const allowed = `Write ${field.min}-${field.max}${names}`
  if (/^\d+$/.test(text)) {
    const value = Number(text)
    if (value >= field.min && value <= field.max) return value
    return [at, `${quote(text)} is not between ${field.min} and ${field.max}`, allowed]
  }
  const reason = `${quote(text)} is not a ${field.name}`
  if (text.startsWith("+")) return [at, reason, "Leave + away: it stands only before the whole weekday field"]
  const short = upper.slice(0, 3)
  return [at, reason, short.length === 3 && field.names.includes(short) ? `Write ${short}` : allowed]
}

const readDayLetter = (item: string, at: number, draft: Draft): Fault | undefined => {
  const upper = item.toUpperCase()
  if (!/^(L|LW|\d+W)$/.test(upper)) {
    const next = /\d-\d+W/.test(upper) ? "Give each day its own W, for example 1W,15W" : "Write L, LW or 15W"
    return [at, `${quote(item)} is not a day`, next]
  }
  if (item !== upper) return [at, `${quote(item)} is not in capitals`, `Write ${upper}`]
  if (item === "L") draft.lastDay = true
  else if (item === "LW") draft.lastWorkday = true
  else {
    const value = readValue(day, item.slice(0, -1), at)
    if (typeof value !== "number") return value
    draft.nearest |= 1 << value
  }
  return undefined
}

const readWeekdayLetter = (item: string, at: number, draft: Draft): Fault | undefined => {
  const [, name = "", hash, nth = ""] = /^([^#]+?)(#?)([1-5L])$/i.exec(item) ?? []
  if (name === "")
    return [at, `${quote(item)} is not a weekday of the month`, "Write 5#1 to 5#5, or 5L for the last"]
  const value = readValue(weekday, name, at)
  if (typeof value !== "number") return value
  // Only `nL` goes without `#`: SUNL and the like would read as a longer name, which R2 refuses.
  if (nth === "l" || (hash === "" && !/^\d/.test(name))) {
    return [at, `${quote(item)} is not a weekday of the month`, `Write ${name.toUpperCase()}#L`]
  }
  const index = nth === "L" ? 5 : Number(nth) - 1
  draft.nth[index] = (draft.nth[index] ?? 0) | (1 << (value % 7))
  return undefined
}

/** R4: the list that says what the writer of a range over the end of the field meant. */
const upwards = (field: Field, base: string, step: number, first: number, last: number): string => {
  if (field === year) return `Write ${last}-${first}`
  const bottom = field === weekday ? 1 : field.min
  const size = field.max - bottom + 1
  const label = (value: number): string => (/[a-z]/i.test(base) ? (field.names[value] ?? "") : String(value))
  const span = (a: number, b: number): string[] =>
    a > b ? [] : [a === b ? label(a) : `${label(a)}-${label(b)}`]
  if (step === 1) return `Write ${[...span(first, field.max), ...span(bottom, last)].join(",")}`
  const values: string[] = []
  for (let value = first; value <= last + size; value += step) {
    values.push(label(value > field.max ? value - size : value))
  }
  return `Write ${values.join(",")}`
}

/** R5: what to write instead of a step that is too large. */
const rate = (field: Field, step: number, first: number, last: number): string => {
  if (field.unit !== undefined && step > field.max - field.min && step < 10_000) {
    return `Use a fixed rate: every("${step}${field.unit}")`
  }
  return first === last ? `Write ${first} without a step` : `Write a step from 1 to ${last - first}`
}

/** A text in quotation marks, cut where it would fill the screen. */
export const quote = (text: string): string => `"${text.length > 40 ? `${text.slice(0, 40)}...` : text}"`

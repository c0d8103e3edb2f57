// A cron text becomes bitsets, or a refusal that shows the place and what to write instead.
// First station of `trigger/`: a text is parsed once, when it is saved (R14); `Cron.ts` only walks the bits.
// Pure and bounded: texts over 1024 characters are not read. R-numbers: rules in `shared/cases/README.md`.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../domain/Errors.ts"
import { type Cron, yearMax, yearMin } from "./Cron.ts"

export type { Cron } from "./Cron.ts"

/** Longest cron text, in characters (R1). */
export const textLengthMax = 1024

interface Field {
  readonly name: "second" | "minute" | "hour" | "day" | "month" | "weekday" | "year"
  readonly min: number
  readonly max: number
  readonly names: readonly string[]
  /** The unit of the fixed rate that replaces a step no cron can keep. */
  readonly unit?: "s" | "m" | "h" | "d"
}
const months = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
const second: Field = { name: "second", min: 0, max: 59, names: [], unit: "s" }
const minute: Field = { name: "minute", min: 0, max: 59, names: [], unit: "m" }
const hour: Field = { name: "hour", min: 0, max: 23, names: [], unit: "h" }
const day: Field = { name: "day", min: 1, max: 31, names: [], unit: "d" }
const month: Field = { name: "month", min: 1, max: 12, names: months }
const weekday: Field = { name: "weekday", min: 0, max: 7, names: weekdays, unit: "d" }
const year: Field = { name: "year", min: yearMin, max: yearMax, names: [] }
const five = [minute, hour, day, month, weekday]

const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
])

interface Draft {
  readonly bits: Record<Field["name"], number[]>
  readonly nth: number[]
  nearest: number
  lastDay: boolean
  lastWorkday: boolean
}
/** Where, why, and what to do next; the field's name is added where the field is known. */
type Fault = readonly [position: number | undefined, reason: string, next: string]

/**
 * Reads five fields (minute hour day month weekday), six (second first) or seven (year last), or a nickname.
 * Fails with the field `cron`, `cron.<field>` or `zone`; `position` is an offset in the text, counted from 0,
 * and absent when there is no text to point at. Only the zones "UTC" and "Etc/UTC" are known yet (R14).
 * Rules R1-R10. The name SUN as the end of a range is 7, so SUN-SUN is the whole week.
 */
export const parseCron = (
  text: unknown,
  options?: { readonly zone?: string },
): Result.Result<Cron, InvalidSchedule> => {
  const zoneFault = checkZone(options?.zone === undefined ? "UTC" : options.zone)
  if (zoneFault !== undefined) return refuse("zone", zoneFault)
  if (typeof text !== "string") {
    const got = text === null ? "null" : `of type ${typeof text}`
    return refuse("cron", [undefined, `a cron text must be a string, this is ${got}`, example])
  }
  const textFault = checkText(text)
  if (textFault !== undefined) return refuse("cron", textFault)
  const parts = [...(nicknames.get(text.trim()) ?? text).matchAll(/[^ \t]+/g)]
  const countFault = checkCount(text, parts)
  if (countFault !== undefined) return refuse("cron", countFault)
  const layout = parts.length === 5 ? five : parts.length === 6 ? [second, ...five] : [second, ...five, year]

  const draft = emptyDraft()
  if (parts.length === 5) draft.bits.second[0] = 1
  let dayRule: Cron["dayRule"] = "or"
  for (const [index, field] of layout.entries()) {
    let body = parts[index]?.[0] ?? ""
    let at = parts[index]?.index ?? 0
    if ((field === day || field === weekday) && /^[*?]/.test(body)) dayRule = "and"
    if (field === weekday && body.startsWith("+")) {
      dayRule = "and"
      body = body.slice(1)
      at += 1
    }
    for (const item of body.split(",")) {
      const fault = readItem(field, item, at, draft)
      if (fault !== undefined) return refuse(`cron.${field.name}`, fault)
      at += item.length + 1
    }
  }
  return Result.succeed(freeze(text, draft, dayRule, parts.length === 7))
}

const refuse = (field: string, [position, reason, next]: Fault): Result.Result<never, InvalidSchedule> =>
  Result.fail(new InvalidSchedule({ field, reason, next, ...(position === undefined ? {} : { position }) }))

const emptyDraft = (): Draft => {
  const year = [0, 0, 0, 0, 0, 0, 0, 0]
  const bits = { second: [0, 0], minute: [0, 0], hour: [0], day: [0], month: [0], weekday: [0], year }
  return { bits, nth: [0, 0, 0, 0, 0, 0], nearest: 0, lastDay: false, lastWorkday: false }
}

const freeze = (text: string, draft: Draft, dayRule: Cron["dayRule"], hasYear: boolean): Cron => {
  const { bits } = draft
  return Object.freeze({
    text,
    zone: "UTC",
    seconds: Object.freeze([bits.second[0] ?? 0, bits.second[1] ?? 0] as const),
    minutes: Object.freeze([bits.minute[0] ?? 0, bits.minute[1] ?? 0] as const),
    hours: bits.hour[0] ?? 0,
    days: bits.day[0] ?? 0,
    months: bits.month[0] ?? 0,
    weekdays: bits.weekday[0] ?? 0,
    years: hasYear ? Object.freeze(bits.year) : null,
    lastDay: draft.lastDay,
    lastWorkday: draft.lastWorkday,
    nearestWorkdays: draft.nearest,
    nthWeekdays: Object.freeze(draft.nth),
    dayRule,
  })
}

/** One item of a field's list, at offset `at`: sets its bits in the draft. */
const readItem = (field: Field, item: string, at: number, draft: Draft): Fault | undefined => {
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

const example = 'Write minute hour day month weekday, for example "0 9 * * 1-5"'

const quote = (text: string): string => `"${text.length > 40 ? `${text.slice(0, 40)}...` : text}"`

const checkZone = (zone: unknown): Fault | undefined => {
  if (zone === "UTC" || zone === "Etc/UTC") return undefined
  const next = 'Leave the zone away or write "UTC", and give the times in UTC'
  if (typeof zone !== "string") return [undefined, "a zone must be a string", next]
  if (zone.trim() === "") return [undefined, "the zone is empty", next]
  return [undefined, `zones other than UTC are not supported yet, this one is ${quote(zone)}`, next]
}

const checkText = (text: string): Fault | undefined => {
  if (text.length > textLengthMax) {
    const reason = `the text has ${text.length} characters, more than ${textLengthMax}`
    return [textLengthMax, reason, "Shorten its lists with ranges and steps"]
  }
  const at = text.search(/[^\t -~]/)
  if (at < 0) return undefined
  const code = (text.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, "0")
  return [
    at,
    `the character U+${code} is not allowed`,
    "Use ASCII letters, digits and * , - / with blanks or tabs",
  ]
}

const checkCount = (text: string, parts: readonly RegExpExecArray[]): Fault | undefined => {
  const name = text.trim()
  const at = text.indexOf(name)
  if (name === "") return [0, "the text is empty", example]
  if (name === "@reboot") return [at, "@reboot names no time", "Enqueue the job where your program starts"]
  if (name.startsWith("@") && !nicknames.has(name)) {
    const every = /^@every[ \t]+(\d+[smh])$/.exec(name)?.[1]
    const next =
      every === undefined ? `Write one of ${[...nicknames.keys()].join(" ")}` : `Use every("${every}")`
    return [at, `${quote(name)} is not a known nickname`, next]
  }
  if (parts.length >= 5 && parts.length <= 7) return undefined
  const reason = `a cron text has 5, 6 or 7 fields, this one has ${parts.length}`
  return [parts[7]?.index ?? text.trimEnd().length, reason, example]
}

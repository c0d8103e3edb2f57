// A cron text becomes bitsets, or a refusal that shows the place and what to write instead.
// First station of `trigger/`: a text is parsed once, when it is saved (R14); `Cron.ts` only walks the bits.
// Pure and bounded: texts over 1024 characters are not read. R-numbers: rules in `shared/cases/README.md`.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../domain/Errors.ts"
import type { Ambiguous, Gap } from "../domain/Schedule.ts"
import type { CronTrigger } from "../ports/CronDialect.ts"
import type { Cron } from "./Cron.ts"
import {
  day,
  type Draft,
  type Fault,
  type Field,
  hour,
  minute,
  month,
  quote,
  readItem,
  second,
  weekday,
  year,
} from "./CronItem.ts"
import type { Pattern } from "./WallTimes.ts"
import type { Zone } from "./Zone.ts"
import { parseZone } from "./ZoneName.ts"

export type { Cron } from "./Cron.ts"

/** Longest cron text, in characters (R1). */
export const textLengthMax = 1024

/** How a cron text is read. */
export interface CronOptions {
  /** IANA name; "UTC" when absent. */
  readonly zone?: string
  /** `after` when absent (R11b). */
  readonly gap?: Gap
  /** `auto` when absent (R11c, R11d). */
  readonly ambiguous?: Ambiguous
}

const gaps: readonly Gap[] = ["after", "before", "skip"]
const passes: readonly Ambiguous[] = ["auto", "first", "last", "both"]
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

/**
 * Reads five fields (minute hour day month weekday), six (second first) or seven (year last), or a nickname.
 * Fails with the field `cron`, `cron.<field>`, `zone`, `gap` or `ambiguous`; `position` is an offset in the text,
 * counted from 0, and absent when there is no text to point at.
 * Rules R1-R11 and R14. The name SUN as the end of a range is 7, so SUN-SUN is the whole week.
 */
export const parseCron = (text: unknown, options: CronOptions = {}): Result.Result<Cron, InvalidSchedule> => {
  const { zone = "UTC", gap = "after", ambiguous = "auto" } = options
  const clock = parseZone(zone)
  if (Result.isFailure(clock)) return refuse("zone", clock.failure)
  if (!gaps.includes(gap)) return refuse("gap", notOneOf(gaps))
  if (!passes.includes(ambiguous)) return refuse("ambiguous", notOneOf(passes))
  if (typeof text !== "string") {
    const got = text === null ? "null" : `of type ${typeof text}`
    return refuse("cron", [undefined, `a cron text must be a string, this is ${got}`, example])
  }
  const textFault = checkText(text)
  if (textFault !== undefined) return refuse("cron", textFault)
  const parts = [...(nicknames.get(text.trim()) ?? text).matchAll(/[^ \t]+/g)]
  const countFault = checkCount(text, parts)
  if (countFault !== undefined) return refuse("cron", countFault)
  const layout: readonly Field[] =
    parts.length === 5 ? five : parts.length === 6 ? [second, ...five] : [second, ...five, year]

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
  const clockFields = parts.slice(0, parts.length === 5 ? 2 : 3)
  const wild = clockFields.some(([field]) => field.startsWith("*"))
  return Result.succeed(
    Object.freeze({
      text,
      zone,
      clock: clock.success,
      wild,
      gap: wild ? ("skip" as const) : gap,
      ambiguous: ambiguous === "auto" ? (wild ? ("both" as const) : ("first" as const)) : ambiguous,
      dayRule,
      ...sets(draft, parts.length === 7),
    }),
  )
}

/** Reads what a stored trigger says. */
export const parseCronTrigger = (
  trigger: CronTrigger,
  find?: (name: string) => Zone | undefined,
): Result.Result<Cron, InvalidSchedule> =>
  Result.map(parseCron(trigger.expression, trigger), (cron) => {
    const clock = find?.(trigger.zone)
    return clock === undefined ? cron : Object.freeze({ ...cron, clock })
  })

const refuse = (field: string, [position, reason, next]: Fault): Result.Result<never, InvalidSchedule> =>
  Result.fail(new InvalidSchedule({ field, reason, next, ...(position === undefined ? {} : { position }) }))

const emptyDraft = (): Draft => {
  const year = [0, 0, 0, 0, 0, 0, 0, 0]
  const bits = { second: [0, 0], minute: [0, 0], hour: [0], day: [0], month: [0], weekday: [0], year }
  return { bits, nth: [0, 0, 0, 0, 0, 0], nearest: 0, lastDay: false, lastWorkday: false }
}

// Most texts say nothing about seconds, and have no `d#k`.
const secondZero = Object.freeze([1, 0] as const)
const noNth = Object.freeze([0, 0, 0, 0, 0, 0])

const sets = ({ bits, ...draft }: Draft, hasYear: boolean): Omit<Pattern, "dayRule"> => ({
  seconds: bits.second[0] === 1 && bits.second[1] === 0 ? secondZero : pair(bits.second),
  minutes: pair(bits.minute),
  hours: bits.hour[0] ?? 0,
  days: bits.day[0] ?? 0,
  months: bits.month[0] ?? 0,
  weekdays: bits.weekday[0] ?? 0,
  years: hasYear ? Object.freeze(bits.year) : null,
  lastDay: draft.lastDay,
  lastWorkday: draft.lastWorkday,
  nearestWorkdays: draft.nearest,
  nthWeekdays: draft.nth.every((set) => set === 0) ? noNth : Object.freeze(draft.nth),
})

const pair = (words: readonly number[]): readonly [number, number] =>
  Object.freeze([words[0] ?? 0, words[1] ?? 0] as const)

const notOneOf = (values: readonly string[]): Fault => [
  undefined,
  `this is not one of ${values.join(", ")}`,
  `Write ${values.map((value) => `"${value}"`).join(" or ")}`,
]

const example = 'Write minute hour day month weekday, for example "0 9 * * 1-5"'

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

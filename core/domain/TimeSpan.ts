// How people write spans of time: `"5m"`, `"1h30m"`, or a number of milliseconds.
import * as Result from "effect/Result"
import { InvalidInput } from "./Errors.ts"

type Unit = "ms" | "s" | "m" | "h" | "d" | "w"
type Part = `${number}${Unit}`

/** Milliseconds, or text of up to three parts such as `"30s"`, `"1h30m"`, `"1d12h30m"`. */
export type TimeSpan = number | Part | `${Part}${Part}` | `${Part}${Part}${Part}`

const unitMillis: Readonly<Record<Unit, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** The longest span: 100 years of 365.25 days, in milliseconds. */
export const spanMaxMillis = 3_155_760_000_000

const example = 'Write milliseconds or a text such as "500ms", "30s", "5m", "1h30m", "2d".'

/**
 * The span in whole milliseconds, rounded up so that nothing is early. Refused, naming `field`: NaN, infinite or
 * negative numbers, other text, and spans above 100 years. `min` is the least that is allowed, default 0.
 */
export const parseSpan = (field: string, span: unknown, min = 0): Result.Result<number, InvalidInput> => {
  const refuse = (reason: string) => Result.fail(new InvalidInput({ field, reason, next: example }))
  const millis = typeof span === "number" ? span : typeof span === "string" ? textMillis(span) : undefined
  if (millis === undefined) return refuse(`${quote(span)} is not a time span`)
  if (!Number.isFinite(millis)) return refuse(`${millis} is not a finite number`)
  if (millis < min) return refuse(`${quote(span)} is less than the ${min} ms allowed here`)
  if (millis > spanMaxMillis) return refuse(`${quote(span)} is more than 100 years`)
  return Result.succeed(Math.ceil(millis))
}

const part = /(\d+(?:\.\d+)?)(ms|[smhdw])/y

const textMillis = (text: string): number | undefined => {
  let millis = 0
  part.lastIndex = 0
  if (text.length === 0 || text.length > 64) return undefined
  while (part.lastIndex < text.length) {
    const match = part.exec(text)
    if (match === null) return undefined
    millis += Number(match[1]) * unitMillis[match[2] as Unit]
  }
  // 0.07 h is a little more than 252 s in binary numbers, and would be rounded up to a millisecond more.
  return Number(millis.toFixed(6))
}

/**
 * The instant in epoch milliseconds: of a Date, a number, or an ISO 8601 text with a zone. Refused, naming
 * `field`: invalid dates, text without a zone, and instants beyond the range of a Date.
 */
export const parseInstant = (field: string, instant: unknown): Result.Result<number, InvalidInput> => {
  const next = 'Give a Date, epoch milliseconds, or ISO 8601 text with a zone such as "2027-01-31T09:00:00Z".'
  const refuse = (reason: string) => Result.fail(new InvalidInput({ field, reason, next }))
  const millis =
    typeof instant === "number"
      ? instant
      : instant instanceof Date
        ? instant.getTime()
        : typeof instant === "string"
          ? zonedMillis(instant)
          : undefined
  if (millis === undefined) return refuse(`${quote(instant)} is not an instant`)
  if (!Number.isFinite(millis) || Math.abs(millis) > 8.64e15)
    return refuse(`${quote(instant)} is not a valid date`)
  return Result.succeed(Math.ceil(millis))
}

// Text without a zone means another instant on each host.
const zoned = /^([+-]?\d{4,6})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/

const zonedMillis = (text: string): number | undefined => {
  const match = zoned.exec(text)
  if (match === null) return undefined
  // All runtimes read February 30 as March 2.
  const isDay = Number(match[3]) <= monthLength(Number(match[1]), Number(match[2]))
  return isDay ? Date.parse(text) : Number.NaN
}

const monthLength = (year: number, month: number): number => {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
}

/** A value as a person recognises it in an error text, at most 60 characters. */
export const quote = (value: unknown): string => {
  if (typeof value === "string") return quoteText(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString()
  return typeof value === "number" || value === null || value === undefined
    ? String(value)
    : `${typeof value === "object" ? "an" : "a"} ${typeof value}`
}

const quoteText = (text: string): string => {
  for (let length = 56; ; length--) {
    const quoted = JSON.stringify(text.length > length ? `${text.slice(0, length)}…` : text)
    // Escapes make it longer.
    if (quoted.length <= 60) return quoted
  }
}

/** A span as people say it: `8 ms`, `1.2 s`, `3 min`, `2 h`, `4 d`. */
export const spanOf = (millis: number): string => {
  if (millis < 1) return `${millis.toFixed(1)} ms`
  if (Math.round(millis) < 1000) return `${Math.round(millis)} ms`
  if (millis < 120_000) return `${(millis / 1000).toFixed(1)} s`
  if (millis < 7_200_000) return `${Math.round(millis / 60_000)} min`
  return millis < 172_800_000 ? `${Math.round(millis / 3_600_000)} h` : `${Math.round(millis / 86_400_000)} d`
}

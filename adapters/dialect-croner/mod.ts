// The entry `uhrwerk/croner`: cron texts as croner reads them, for people who bring theirs and must keep every
// instant. The same small interface as `core/trigger/Cron.ts`, in croner's own semantics: fields, `L` and `W`, AND
// and OR, clock changes. Croner's objects weigh some 80 KB each, so a schedule is its text, and a few are kept.
import { Cron as Croner } from "croner"
import * as Result from "effect/Result"
import { InvalidSchedule } from "../../core/domain/Errors.ts"
import type { CronDialect } from "../../core/ports/CronDialect.ts"
import { betweenMax } from "../../core/trigger/Cron.ts"
import { wallEnd, wallMin } from "../../core/trigger/WallTimes.ts"
import { parseZone } from "../../core/trigger/ZoneName.ts"

/**
 * The dialect that schedules name as "croner". Croner has rules of its own for clock changes, so `gap` and `ambiguous`
 * are refused. Its answers take some 50 us each, so counting what was missed stops at 1,000: then it is "at least".
 */
export const cronerDialect: CronDialect = {
  parse: ({ expression, zone, gap, ambiguous }) => {
    if (gap !== undefined) return refuseRule("gap")
    if (ambiguous !== undefined) return refuseRule("ambiguous")
    return Result.map(parseCroner(expression, { zone }), (schedule) => ({
      after: (instant) => nextAfter(schedule, instant),
      upTo: (instant) => previousBefore(schedule, instant + 1),
      count: (first, last) => between(schedule, first - 1, last, countMax).length,
    }))
  },
}

const countMax = 1000

const refuseRule = (field: string): Result.Result<never, InvalidSchedule> =>
  Result.fail(
    new InvalidSchedule({
      field,
      reason: "croner's dialect has its own rule for clock changes",
      next: "Leave it out, or leave out the dialect",
    }),
  )

/** A text that croner has accepted, and its zone: plain data, made by `parseCroner`. */
export interface CronerSchedule {
  readonly text: string
  readonly zone: string
}

/** Croner objects that are kept, the least used goes first: 20 MB at most. */
export const keptMax = 256

/** Longest text, in characters: croner itself knows no limit. */
const textLengthMax = 1024

/**
 * Reads what croner reads, but for its dates that run once (use `at`). Fails with the field `cron`, with croner's own
 * words as the reason, or `zone`. The zone is "UTC" when absent, never the host's.
 */
export const parseCroner = (
  text: unknown,
  { zone = "UTC" }: { readonly zone?: string } = {},
): Result.Result<CronerSchedule, InvalidSchedule> => {
  const known = parseZone(zone)
  if (Result.isFailure(known)) {
    const [, reason, next] = known.failure
    return Result.fail(new InvalidSchedule({ field: "zone", reason, next }))
  }
  if (typeof text !== "string") return refuse("a cron text must be a string")
  if (text.length > textLengthMax) return refuse(`the text has more than ${textLengthMax} characters`)
  const schedule = Object.freeze({ text, zone })
  try {
    if (cronerOf(schedule).getPattern() === undefined) return refuse("the text is a date, not a pattern")
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
  return Result.succeed(schedule)
}

const refuse = (reason: string): Result.Result<never, InvalidSchedule> =>
  Result.fail(
    new InvalidSchedule({
      field: "cron",
      reason,
      next: 'Write a pattern of croner, for example "0 9 * * 1-5"',
    }),
  )

/** First occurrence strictly after `afterMillis`; null when there is none, or the reference is outside the years 1 to 2199. */
export const nextAfter = (schedule: CronerSchedule, afterMillis: number): number | null =>
  afterMillis >= wallMin * 1000 && afterMillis < wallEnd * 1000
    ? (cronerOf(schedule).nextRun(new Date(afterMillis))?.getTime() ?? null)
    : null

/** Last occurrence strictly before `beforeMillis`; null in the same cases. */
export const previousBefore = (schedule: CronerSchedule, beforeMillis: number): number | null =>
  beforeMillis > wallMin * 1000 && beforeMillis <= wallEnd * 1000
    ? (cronerOf(schedule).previousRuns(1, new Date(beforeMillis))[0]?.getTime() ?? null)
    : null

/** Occurrences after `fromMillis` up to and including `toMillis`, at most `limit` and never more than 10 000. */
export const between = (
  schedule: CronerSchedule,
  fromMillis: number,
  toMillis: number,
  limit: number,
): Array<number> => {
  const found: Array<number> = []
  const most = Math.min(limit, betweenMax)
  let at = nextAfter(schedule, fromMillis)
  while (at !== null && at <= toMillis && found.length < most) {
    found.push(at)
    at = nextAfter(schedule, at)
  }
  return found
}

/** Whether `millis` is an occurrence, to the millisecond. */
export const matches = (schedule: CronerSchedule, millis: number): boolean =>
  nextAfter(schedule, millis - 1) === millis

// A Map keeps the order of insertion: what is used goes to the end, what is at the front goes.
const kept = new Map<string, Croner>()

const cronerOf = ({ text, zone }: CronerSchedule): Croner => {
  const key = `${zone} ${text}`
  const known = kept.get(key)
  if (known !== undefined) kept.delete(key)
  const croner = known ?? new Croner(text, { timezone: zone, paused: true })
  kept.set(key, croner)
  const [oldest] = kept.keys()
  if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest)
  return croner
}

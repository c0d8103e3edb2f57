// The three sides that are compared: ours, croner and cron-parser, each asked in the way in which it is fastest.
// A walk answers one instant after the other, each the reference of the next, of a schedule that is parsed before.
import { Cron as Croner } from "croner"
import { CronExpressionParser } from "cron-parser"
import * as Result from "effect/Result"
import { between, nextAfter, previousBefore } from "../../core/trigger/Cron.ts"
import { type Cron, parseCron } from "../../core/trigger/CronFields.ts"

/** The names of the sides, as the report has them. */
export const sideNames = ["ours", "croner", "cronParser"] as const

/** One of the sides. */
export type SideName = (typeof sideNames)[number]

/** The operations that all sides have. */
export const walkNames = ["next", "previous", "between"] as const

/** One of the operations. */
export type WalkName = (typeof walkNames)[number]

/** Answers `count` instants from a reference on, in epoch milliseconds. */
export type Walk = (from: number, count: number) => ReadonlyArray<number>

/** A parsed schedule: `next` and `previous` answer one instant a call, `between` all in one. */
export type Walks = Readonly<Record<WalkName, Walk>>

/** What a side makes of a text. */
export type Parse = (text: string, zone: string) => unknown

const ours = (text: string, zone: string): Cron => Result.getOrThrow(parseCron(text, { zone }))
const croner = (text: string, zone: string): Croner => new Croner(text, { timezone: zone, paused: true })
const cronParser = (text: string, zone: string) => CronExpressionParser.parse(text, { tz: zone })

/** How each side reads a text. */
export const parsers: Readonly<Record<SideName, Parse>> = { ours, croner, cronParser }

/** How each side walks. */
export const walksOf: Readonly<Record<SideName, (text: string, zone: string) => Walks>> = {
  ours: (text, zone) => {
    const cron = ours(text, zone)
    return {
      next: steps((at) => nextAfter(cron, at)),
      previous: steps((at) => previousBefore(cron, at)),
      between: (from, count) => between(cron, from, Infinity, count),
    }
  },
  croner: (text, zone) => {
    const cron = croner(text, zone)
    return {
      next: steps((at) => cron.nextRun(new Date(at))?.getTime() ?? null),
      previous: steps((at) => cron.previousRuns(1, new Date(at))[0]?.getTime() ?? null),
      between: (from, count) => cron.nextRuns(count, new Date(from)).map((date) => date.getTime()),
    }
  },
  cronParser: (text, zone) => {
    const cron = cronParser(text, zone)
    return {
      // It keeps its place itself, which is cheaper than to tell it the reference each time.
      next: (from, count) => {
        cron.reset(new Date(from))
        return steps(() => cron.next().getTime())(from, count)
      },
      previous: (from, count) => {
        cron.reset(new Date(from))
        return steps(() => cron.prev().getTime())(from, count)
      },
      between: (from, count) => {
        cron.reset(new Date(from))
        return cron.take(count).map((date) => date.getTime())
      },
    }
  },
}

const steps =
  (step: (at: number) => number | null): Walk =>
  (from, count) => {
    const found: Array<number> = []
    let at: number | null = from
    while (found.length < count) {
      at = step(at)
      if (at === null) throw new Error(`There are only ${found.length} instants`)
      found.push(at)
    }
    return found
  }

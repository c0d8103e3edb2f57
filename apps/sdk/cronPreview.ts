// What a cron schedule will do, whatever dialect its text was written for: its instants on the clocks of its zone. What
// clock changes do to one is known in the house's own dialect only.
import * as Result from "effect/Result"
import type { CronTrigger } from "../../core/ports/CronDialect.ts"
import { parseCronTrigger } from "../../core/trigger/CronFields.ts"
import { describe } from "../../core/trigger/Describe.ts"
import { parsePattern } from "../../core/trigger/Dialects.ts"
import { localText, preview, type PreviewInstant } from "../../core/trigger/Preview.ts"
import { parseZone } from "../../core/trigger/ZoneName.ts"
import { loadDialects } from "./dialects.ts"

/** A cron schedule for people. */
export interface CronPreview {
  /** The text in words, or whose reading of it holds. */
  readonly words: string
  /** An instant as its zone's clocks show it, with the zone. */
  readonly local: (at: number) => string
  /** The next instants, at most 1,000. */
  readonly next: (afterMillis: number, count: number) => ReadonlyArray<PreviewInstant>
}

/** Reads a stored trigger; throws `InvalidSchedule` when it cannot. */
export const cronPreview = async (trigger: CronTrigger): Promise<CronPreview> => {
  const { zone, dialect } = trigger
  const clock = Result.getOrThrow(parseZone(zone))
  const local = (at: number): string => `${localText(clock, at)} ${zone}`
  if (dialect === undefined) {
    const cron = Result.getOrThrow(parseCronTrigger(trigger))
    return { words: describe(cron), local, next: (after, count) => preview(cron, after, count) }
  }
  const slots = Result.getOrThrow(parsePattern(trigger, await loadDialects([dialect])))
  return {
    words: `as ${dialect} reads it`,
    local,
    next: (afterMillis, count) => {
      const found: Array<PreviewInstant> = []
      let at = slots.after(afterMillis)
      while (at !== null && found.length < count) {
        found.push({ at, local: localText(clock, at), notes: [] })
        at = slots.after(at)
      }
      return found
    },
  }
}

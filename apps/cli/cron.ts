// `uhrwerk cron ...`: what an expression means, when it runs next, and where it is wrong. Needs no store.
import * as Result from "effect/Result"
import { InvalidSchedule } from "../../core/domain/Errors.ts"
import type { Ambiguous, Gap } from "../../core/domain/Schedule.ts"
import { parseInstant } from "../../core/domain/TimeSpan.ts"
import { type Cron, nextAfter, previousBefore } from "../../core/trigger/Cron.ts"
import { parseCron } from "../../core/trigger/CronFields.ts"
import { describe, fieldWords } from "../../core/trigger/Describe.ts"
import {
  localText,
  nextChange,
  nextTouched,
  preview,
  type PreviewInstant,
  previewMax,
} from "../../core/trigger/Preview.ts"
import { exitCodes, UsageError } from "./errors.ts"
import { fromNow, printRows, utcOf } from "./format.ts"
import { type Command, countOf, type Flags, once } from "./open.ts"
import { plainLines } from "./text.ts"

/** A command over an expression; one that cannot be read is shown with its fault. */
const cronCommand = (
  usage: string,
  about: string,
  run: (cron: Cron, flags: Flags) => number | void,
): Command => ({
  usage: `${usage} EXPR [--tz ZONE] [--gap after|skip|before] [--ambiguous first|last|both]`,
  about,
  run: async (args, flags) => {
    const [text, ...more] = args
    if (text === undefined) throw new UsageError('This command takes one expression, such as "0 9 * * 1-5"')
    if (more.length > 0) throw new UsageError('Put the expression in quotes, such as "0 9 * * 1-5"')
    const { tz, gap, ambiguous } = flags
    const read = parseCron(text, {
      ...(tz === undefined ? {} : { zone: tz }),
      ...(gap === undefined ? {} : { gap: gap as Gap }),
      ...(ambiguous === undefined ? {} : { ambiguous: ambiguous as Ambiguous }),
    })
    if (Result.isFailure(read)) return refuse(text, read.failure, flags)
    return run(read.success, flags) ?? exitCodes.ok
  },
})

/** The commands by their words. */
export const cronCommands: Readonly<Record<string, Command>> = {
  "cron explain": cronCommand("cron explain", "an expression in words, with notes", (cron, flags) => {
    const now = Date.now()
    const [next] = preview(cron, now, 1)
    const change = nextChange(cron.clock, now)
    const touched = nextTouched(cron, now)
    const notes = [
      ...(next === undefined ? [ended(cron, now).reason] : []),
      ...(touched === null ? [] : touched.notes.map((note) => `${touched.local}: ${note}`)),
    ]
    const written = cron.text.trim().split(/[ \t]+/)
    const words = fieldWords(cron)
    if (flags.output !== undefined && flags.output !== "table") {
      const fields = Object.fromEntries(words)
      const row = { expression: cron.text, zone: cron.zone, words: describe(cron), fields }
      const clocks = change === null ? null : { at: utcOf(change.at), words: change.words }
      printRows(flags, [{ ...row, next: next === undefined ? null : rowOf(cron, next), clocks, notes }], {})
      return
    }
    console.log(`${describe(cron)}\n`)
    // A nickname has no fields of its own, and a text of five has no second.
    const shift = written.length > 5 && words[0]?.[0] !== "second" ? 1 : 0
    const texts = words.map((_, index) => (written.length < 5 ? "" : (written[index + shift] ?? "")))
    const lines = words.map(([field, meaning], index) => [field, texts[index] ?? "", meaning] as const)
    const width = Math.max(...texts.map((each) => each.length)) + (written.length < 5 ? 0 : 2)
    for (const [field, text, meaning] of lines)
      console.log(`${field.padEnd(labelWidth)}${text.padEnd(width)}${meaning}`)
    console.log("")
    console.log(`${"next".padEnd(labelWidth)}${next === undefined ? "never" : soon(cron, next, now)}`)
    const clocks = change === null ? "never change" : `change next on ${change.words}`
    console.log(`${"clocks".padEnd(labelWidth)}${clocks}`)
    for (const note of notes) console.log(`${"note".padEnd(labelWidth)}${note}`)
  }),
  "cron next": {
    ...cronCommand("cron next", "when an expression runs next", (cron, flags) => {
      const now = Date.now()
      const said = once("--from", flags.from)
      const from = said === undefined ? now : Result.getOrThrow(parseInstant("--from", said))
      const rows = preview(cron, from, countOf("--n", flags.n, 10, previewMax))
      const isTable = flags.output === undefined || flags.output === "table"
      printRows(flags, isTable ? rows : rows.map((row) => rowOf(cron, row)), {
        local: (row: PreviewInstant) => `${row.local} ${cron.zone}`,
        utc: (row: PreviewInstant) => utcOf(row.at),
        relative: (row: PreviewInstant) => fromNow(row.at, now),
        note: (row: PreviewInstant) => row.notes.join("; "),
      })
      if (rows.length === 0) console.error(`Nothing after that: ${ended(cron, from).reason}.`)
    }),
    usage:
      "cron next EXPR [--tz ZONE] [--gap after|skip|before] [--ambiguous first|last|both] [--n 10] [--from ISO]",
  },
  "cron check": cronCommand(
    "cron check",
    "whether an expression is right: exit code 0 or 2",
    (cron, flags) => {
      const now = Date.now()
      if (nextAfter(cron, now) === null) return refuse(cron.text, ended(cron, now), flags)
      if (flags.output === undefined || flags.output === "table")
        return console.log(`Right: ${describe(cron)}`)
      printRows(flags, [{ ok: true, expression: cron.text, zone: cron.zone, words: describe(cron) }], {})
    },
  ),
}

const labelWidth = "weekday  ".length

const soon = (cron: Cron, { at, local }: PreviewInstant, now: number): string =>
  `${local} ${cron.zone} (${fromNow(at, now)})`

const rowOf = (cron: Cron, { at, local, notes }: PreviewInstant) => ({
  at: utcOf(at),
  local,
  zone: cron.zone,
  notes,
})

/** Why nothing comes any more. */
const ended = (cron: Cron, after: number): InvalidSchedule => {
  const last = previousBefore(cron, after + 1)
  return new InvalidSchedule({
    field: "cron",
    reason:
      last === null
        ? "it never runs: no date up to the end of 2199 matches"
        : `it does not run again: its last time was ${localText(cron.clock, last)}`,
    next: last === null ? "Check day, month and weekday together" : "Check the year field",
  })
}

/** Shows the text with a mark under the place, what is wrong there and what to do. */
const refuse = (text: string, fault: InvalidSchedule, flags: Flags): number => {
  const { field, reason, next, position } = fault
  if (flags.output !== undefined && flags.output !== "table") {
    printRows(flags, [{ ok: false, field, position: position ?? null, reason, next }], {})
    return exitCodes.usage
  }
  if (position !== undefined) for (const line of marked(text, position)) console.error(line)
  console.error(plainLines(`${field}: ${reason}\n${next}`))
  return exitCodes.usage
}

const shownBefore = 60
const shownMax = 100

/** The text, or a part of a long one, and a mark under the place. */
const marked = (text: string, position: number): readonly [string, string] => {
  const start = text.length <= shownMax ? 0 : Math.max(0, position - shownBefore)
  const clean = (part: string): string => plainLines(part.replaceAll("\n", " "))
  const before = clean(text.slice(start, position))
  const shown = clean(text.slice(start, start + shownMax))
  const [open, close] = [start > 0 ? "…" : "", start + shownMax < text.length ? "…" : ""]
  // Letters outside the basic plane are two units and one place.
  return [`  ${open}${shown}${close}`, `  ${" ".repeat(open.length + Array.from(before).length)}^`]
}

// How things look in a terminal: times with their zone, durations, tables that fit, colours where wanted.
import { spanOf } from "../../core/domain/TimeSpan.ts"
import { UsageError } from "./errors.ts"
import type { Flags } from "./open.ts"
import { plain } from "./text.ts"

export { plain, spanOf }

const timeFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  timeZoneName: "short",
})
const dayFormat = new Intl.DateTimeFormat("sv-SE", { year: "numeric", month: "2-digit", day: "2-digit" })

/** Local time of day with its zone: `14:03:05.012 CET`. */
export const timeOf = (millis: number): string => timeFormat.format(millis)

/** Local date and time with its zone; `-` for none. */
export const dateOf = (millis: number | null): string =>
  millis === null ? "-" : `${dayFormat.format(millis)} ${timeFormat.format(millis)}`

/** An instant as ISO 8601 in UTC, without a fraction where there is none. */
export const utcOf = (millis: number): string => new Date(millis).toISOString().replace(".000Z", "Z")

/** How far an instant is from now: `in 3 min`, `2 h ago`. */
export const fromNow = (millis: number, now: number): string =>
  millis >= now ? `in ${spanOf(millis - now)}` : `${spanOf(now - millis)} ago`

const colours = { red: 31, green: 32, yellow: 33, blue: 34, grey: 90, bold: 1 } as const

/** Colours a text when stdout is a terminal and NO_COLOR is not set. */
export const paint = (colour: keyof typeof colours, text: string): string =>
  process.stdout.isTTY && !process.env["NO_COLOR"] ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text

// JSON leaves some of them as they are, and reads the escapes as the same text.
/** JSON that steers no terminal. */
export const jsonOf = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(
    /[^\n -~\u00a0-\u{10ffff}]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  )

/** Prints rows as `--output` says: an aligned table, JSON, or a line of JSON each. */
export const printRows = (
  flags: Flags,
  rows: ReadonlyArray<object>,
  columns: Readonly<Record<string, (row: never) => string>>,
): void => {
  const format = flags.output ?? "table"
  if (format === "json") return console.log(jsonOf(rows, 2))
  if (format === "ndjson") {
    for (const row of rows) console.log(jsonOf(row))
    return
  }
  if (format !== "table") throw new UsageError(`--output ${format} is none of table, json, ndjson`)
  const names = Object.keys(columns)
  const cells = rows.map((row) => names.map((name) => plain(columns[name]?.(row as never) ?? "", 80)))
  const widths = names.map((name, column) =>
    Math.max(name.length, ...cells.map((line) => (line[column] ?? "").length)),
  )
  const lines = fitted(widths, process.stdout.isTTY ? process.stdout.columns : undefined)
  const print = (line: ReadonlyArray<string>): void =>
    lines.forEach((of, index) => {
      const text = of
        .map((column) => (line[column] ?? "").padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()
      if (index === 0 || text !== "") console.log(`${index === 0 ? "" : indent}${text}`)
    })
  print(names.map((name) => name.toUpperCase()))
  cells.forEach(print)
}

const indent = "      "

/** Which columns stand together in a line of so many columns of text: what does not fit goes on in the next one. */
const fitted = (widths: ReadonlyArray<number>, most = Infinity): ReadonlyArray<ReadonlyArray<number>> => {
  const lines: Array<Array<number>> = [[]]
  let used = 0
  for (const [column, width] of widths.entries()) {
    const line = lines[lines.length - 1] as Array<number>
    if (line.length > 0 && used + 2 + width > most) {
      lines.push([column])
      used = indent.length + width
    } else {
      used += (line.length > 0 ? 2 : 0) + width
      line.push(column)
    }
  }
  return lines
}

/** Whether a person reads it. */
export const isTable = ({ output }: Flags): boolean => output === undefined || output === "table"

/** Prints what a command has done: a line, or the row as `--output` says. */
export const printAnswer = (flags: Flags, row: object, line: string): void =>
  isTable(flags) ? console.log(line) : printRows(flags, [row], {})

/** Prints one thing, field by field. */
export const printFields = (fields: Readonly<Record<string, string>>): void => {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields))
    console.log(`${name.padEnd(width)}  ${plain(value, Number.POSITIVE_INFINITY)}`)
}

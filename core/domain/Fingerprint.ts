// What errors have in common: the same failure says another number, id or name each time, and a person wants to see it as
// one. A pure function of an error's name and message.
import { fingerprint } from "./Ids.ts"
import type { ErrorInfo } from "./Run.ts"

/** A kind of error. */
export interface ErrorPattern {
  /** 16 hex digits: the same for errors that differ in details only, on every runtime. */
  readonly fingerprint: string
  /** What they share, `Name: message`, with `#` and `"…"` in place of details; at most 500 characters. */
  readonly pattern: string
}

const textMax = 2048
const patternMax = 500
const digits = 16

// In this order: what is in quotes is one detail, whatever it is made of; an id is one, though it has numbers in it.
const details: ReadonlyArray<readonly [what: RegExp, by: string]> = [
  [/"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\\n])*`|[“„][^”“\n]*[”“]/g, '"…"'],
  // An apostrophe within a word quotes nothing.
  [/(?<!\w)'(?:\\.|[^'\\\n])*'(?!\w)/g, '"…"'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "#"],
  [/\b0x[0-9a-f]+\b/gi, "#"],
  [/\b[0-9a-f]{8,}\b/gi, "#"],
  // An id of letters and digits: it is long, and changes between them more than once.
  [/\b(?=\w{8,})(?:[a-z_]+\d+){2,}\w*|\b(?=\w{8,})(?:\d+[a-z_]+){2,}\w*/gi, "#"],
  [/\d+(?:[.,:]\d+)*/g, "#"],
  [/\s+/g, " "],
]

/** The kind of an error. Numbers, ids, hexadecimal digits and quoted texts of its message do not count. */
export const errorPattern = ({ name, message }: Pick<ErrorInfo, "name" | "message">): ErrorPattern => {
  let shared = message.slice(0, textMax)
  for (const [what, by] of details) shared = shared.replace(what, by)
  const pattern = `${name}: ${shared.trim()}`
  return { fingerprint: fingerprint(pattern).slice(0, digits), pattern: pattern.slice(0, patternMax) }
}

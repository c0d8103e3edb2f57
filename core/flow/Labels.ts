// Ids and states as a person reads them in a drawing. An id may be any text, so whatever is not plainly readable is
// quoted and escaped: two ids never look the same unless they are cut, and none can steer a terminal.
import type { StepState } from "../domain/Flow.ts"
import type { RunState } from "../domain/Run.ts"
import type { Graph } from "./Graph.ts"

/** Whatever state is known of a step: that of its rule, or that of its run. */
export type DrawState = StepState | RunState

/** One ASCII character for each state. */
export const marks: Readonly<Record<DrawState, string>> = {
  blocked: ".",
  scheduled: "o",
  ready: "o",
  released: "o",
  running: ">",
  retrying: "~",
  succeeded: "+",
  failed: "x",
  dead: "x",
  upstream_failed: "!",
  skipped: "-",
  cancelled: "/",
  expired: "/",
}

/** Longest label of one step, in columns. */
export const labelMax = 80

/** An id, at most `max` columns wide. */
export const labelOf = (id: string, max = labelMax): string => {
  // Cut before it is looked at: an id has no limit.
  const text = id.slice(0, 2 * labelMax)
  return clip(plain.test(text) ? text : quoted(text), Math.min(max, labelMax), id.length > text.length)
}

/** What is special about a step, such as `all_done, may fail`; empty for most. */
export const notesOf = (graph: Graph, step: number): string => {
  const rule = graph.rules[step]
  const notes = rule === undefined || rule === "all_success" ? [] : [rule]
  return [...notes, ...(graph.allowFailure[step] === true ? ["may fail"] : [])].join(", ")
}

const plain = /^[\p{L}\p{N}_.:/@-](?:[\p{L}\p{M}\p{N}_.:/@ -]*[\p{L}\p{M}\p{N}_.:/@-])?$/u

const quoted = (text: string): string =>
  JSON.stringify(text).replace(
    // Controls, marks without a width, what turns the direction of text, and blanks that look like others.
    /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )

/** Columns that a text takes in a terminal. */
export const widthOf = (text: string): number => {
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const charWidth = (char: string): number =>
  char <= "~" ? 1 : /\p{M}/u.test(char) ? 0 : wide.test(char) ? 2 : 1

/** A text, cut to `max` columns with dots at its end; `isCut`: it was longer before. */
export const clip = (text: string, max: number, isCut = false): string => {
  let kept = ""
  let width = 0
  let dotted: string | undefined
  for (const char of text) {
    const next = width + charWidth(char)
    if (dotted === undefined && next > max - 3) dotted = `${kept}...`
    // Marks without a width have no end of their own.
    if (next > max || kept.length > 4 * max) return dotted ?? `${kept}...`
    kept += char
    width = next
  }
  return isCut ? (dotted ?? `${kept}...`) : kept
}

// How deep a JSON text nests, found before it is parsed: no parser of any runtime meets a text that it could fail
// over, and none builds a million arrays to throw them away.

const quoteUnit = 0x22
const backslashUnit = 0x5c

/**
 * Whether arrays and objects of a JSON text nest deeper than `max`. Linear, without recursion; ends at the first
 * bracket that is too deep. Of a text that is no JSON the answer is of no use, and harmless.
 */
export const nestsDeeper = (json: string, max: number): boolean => {
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at)
    if (unit === quoteUnit) {
      at = endOfString(json, at)
      // No end: the parser will say so.
      if (at < 0) return false
    } else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > max) return true
    } else if (unit === 0x7d || unit === 0x5d) depth--
  }
  return false
}

/** Where the string that begins at `from` ends; -1: nowhere. */
const endOfString = (json: string, from: number): number => {
  // Most of a frame is in its strings, and `indexOf` is the fastest way over them.
  for (let end = json.indexOf('"', from + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let before = end - 1
    while (json.charCodeAt(before) === backslashUnit) before--
    // An even number of backslashes before a quote escape one another, not the quote.
    if ((end - before) % 2 === 1) return end
  }
  return -1
}

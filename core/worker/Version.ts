// Versions of workers' code, as far as rules compare them. Pure; never throws, whatever the text.

/** A version that was read: its numeric parts, and what marks it as one before the release, if anything does. */
export interface Version {
  readonly numbers: ReadonlyArray<number>
  readonly before: ReadonlyArray<string>
}

/**
 * Reads `2`, `2.1`, `v2.1.0`, `2.1.0-rc.1`, `2.1.0+build`: parts of digits with dots between them, then after a hyphen
 * what comes before the release, then after a plus what does not count. `null` for all else. Parts are exact up to 2^53.
 */
export const readVersion = (text: string): Version | null => {
  const plus = text.indexOf("+")
  const counted = plus === -1 ? text : text.slice(0, plus)
  const hyphen = counted.indexOf("-")
  const release = hyphen === -1 ? counted : counted.slice(0, hyphen)
  const parts = (/^[vV]/.test(release) ? release.slice(1) : release).split(".")
  if (!parts.every(isDigits)) return null
  const before = hyphen === -1 ? [] : counted.slice(hyphen + 1).split(".")
  return before.includes("") ? null : { numbers: parts.map(Number), before }
}

/**
 * Below 0, 0 or above 0, as `a` comes before `b`, equals it, or comes after it: part by part as numbers, a missing part as 0,
 * so that 2.1 is 2.1.0 and 2.10 comes after it. Equal so far, what is marked comes before what is not, and marks go by
 * the rule of Semantic Versioning: numbers as numbers and before texts, texts by their characters, fewer before more.
 */
export const compareVersions = (a: Version, b: Version): number => {
  for (let part = 0; part < Math.max(a.numbers.length, b.numbers.length); part++) {
    const order = compare(a.numbers[part] ?? 0, b.numbers[part] ?? 0)
    if (order !== 0) return order
  }
  if (a.before.length === 0 || b.before.length === 0) return compare(b.before.length, a.before.length)
  for (let mark = 0; mark < Math.min(a.before.length, b.before.length); mark++) {
    const order = compareMarks(a.before[mark] as string, b.before[mark] as string)
    if (order !== 0) return order
  }
  return compare(a.before.length, b.before.length)
}

const compareMarks = (a: string, b: string): number => {
  const [isNumber, isOtherNumber] = [isDigits(a), isDigits(b)]
  if (isNumber && isOtherNumber) return compare(Number(a), Number(b))
  return isNumber === isOtherNumber ? compare(a, b) : isNumber ? -1 : 1
}

const compare = <A extends number | string>(a: A, b: A): number => (a < b ? -1 : a > b ? 1 : 0)

const isDigits = (text: string): boolean => /^[0-9]+$/.test(text)

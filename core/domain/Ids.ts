// Ids of runs: UUIDv7 (RFC 9562), so that they sort by the time they were made, across processes to the
// millisecond and within one process strictly.

/** A source of ids; each call gives a greater one. */
export type IdSource = () => string

const hex: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0"),
)

/**
 * Makes ids of a clock (epoch milliseconds) and a source of random 32-bit integers. Within a millisecond, and
 * while the clock steps back, a 42-bit counter grows, from a random start, so order holds all the same.
 */
export const makeIds = (now: () => number, randomInt32: () => number): IdSource => {
  let millis = 0
  let high = 0
  let low = 0
  return () => {
    const current = Math.floor(now())
    if (current > millis) {
      millis = current
      // The top bit of the counter starts as 0, which leaves room for 2^41 ids in one millisecond.
      high = randomInt32() & 0x7ff
      low = randomInt32() & 0x3fffffff
    } else if (++low > 0x3fffffff) {
      low = 0
      if (++high > 0xfff) {
        high = 0
        millis++
      }
    }
    const random = randomInt32()
    return (
      byte(millis / 2 ** 40) +
      byte(millis / 2 ** 32) +
      byte(millis / 2 ** 24) +
      byte(millis / 2 ** 16) +
      "-" +
      byte(millis / 2 ** 8) +
      byte(millis) +
      "-" +
      byte(0x70 | (high >>> 8)) +
      byte(high) +
      "-" +
      byte(0x80 | (low >>> 24)) +
      byte(low >>> 16) +
      "-" +
      byte(low >>> 8) +
      byte(low) +
      byte(random >>> 24) +
      byte(random >>> 16) +
      byte(random >>> 8) +
      byte(random)
    )
  }
}

const byte = (value: number): string => hex[Math.floor(value) & 0xff] as string

/**
 * The id of a step's run: always the same for the same run, step and round, so that releasing a step twice makes one
 * run. Of the time that `parentId` was made; then the step, so that of steps that are released together the first one
 * starts first; then 58 bits of a hash in the place of random ones.
 */
export const stepRunId = (parentId: string, step: number, round: number): string => {
  const text = `${parentId}/${step}/${round}`
  const digits = fingerprint(text)
  // 16 bits: the 12 before the variant, its 2, and 2 of the digit after it, whose other 2 are the hash's.
  const place = Math.min(step, 0xffff)
  const variant = "89ab"[(place >>> 2) & 3] as string
  const mixed = hex[((place & 3) << 6) | (Number.parseInt(digits.slice(0, 2), 16) & 0x3f)] as string
  const before = (place >>> 4).toString(16).padStart(3, "0")
  return `${parentId.slice(0, 13)}-7${before}-${variant}${mixed}${digits.slice(2, 3)}-${digits.slice(4, 16)}`
}

/** 96 bits of a hash of a text, as 24 hex digits: the same on every runtime, and no secret. */
export const fingerprint = (text: string): string =>
  [0x811c9dc5, 0x9e3779b9, 0x85ebca6b]
    .map((seed) => hashOf(text, seed).toString(16).padStart(8, "0"))
    .join("")

/** Mixes a text to 32 bits: two multiplications a character, then every bit of the sum reaches every other. */
const hashOf = (text: string, seed: number): number => {
  let hash = seed
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x21f0aaad)
  hash = Math.imul(hash ^ (hash >>> 15), 0x735a2d97)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** When an id was made, in epoch milliseconds; NaN for what is no UUIDv7. */
export const madeAt = (id: string): number =>
  isRunId(id) ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) : Number.NaN

const millisMax = 2 ** 48 - 1
const timePart = (millis: number): string => {
  const digits = Math.min(Math.max(Math.floor(millis), 0), millisMax)
    .toString(16)
    .padStart(12, "0")
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

/** The lowest id that can be made at an instant, in epoch milliseconds; 0 to 2^48 - 1, another one counts as the nearest. */
export const lowestId = (millis: number): string => `${timePart(millis)}-7000-8000-000000000000`

/** The highest one. */
export const highestId = (millis: number): string => `${timePart(millis)}-7fff-bfff-ffffffffffff`

/** Whether a text is a run's id. */
export const isRunId = (id: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)

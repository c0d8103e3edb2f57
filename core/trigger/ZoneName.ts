// Which names a zone may have, and what to write instead of one that it may not (R14).
// `CronFields.ts` asks when a schedule is saved. What is accepted must not depend on the runtime (R15), so names
// that only some of them take, such as "PST" or "+02:00", are refused on all.
import * as Result from "effect/Result"
import type { Fault } from "./CronItem.ts"
import { quote } from "./CronItem.ts"
import { type Zone, zoneOf } from "./Zone.ts"

/** Longest name that is looked at; IANA's own longest has 32 characters. */
const nameMax = 64
/** Names that some hosts know beside IANA's; what people mean by the common ones. */
const foreign = new RegExp(
  "^(act|aet|agt|art|ast|bet|bst|cat|cnt|cst|ctt|eat|ect|iet|ist|jst|mit|net|nst|plt|pnt|prt|pst|sst|vst" +
    "|systemv/.*|us/pacific-new|factory|etc/unknown)$",
)
const meant: Readonly<Record<string, string>> = {
  z: "UTC",
  pst: "America/Los_Angeles",
  pdt: "America/Los_Angeles",
  mdt: "America/Denver",
  cst: "America/Chicago",
  cdt: "America/Chicago",
  edt: "America/New_York",
  bst: "Europe/London",
  cest: "Europe/Berlin",
  eest: "Europe/Helsinki",
  ist: "Asia/Kolkata",
  jst: "Asia/Tokyo",
  aest: "Australia/Sydney",
}

/** The zone of an IANA name, in any case. The fault names up to three names that look like the given one. */
export const parseZone = (name: unknown): Result.Result<Zone, Fault> => {
  if (typeof name !== "string") return Result.fail([undefined, "a zone must be a string", example])
  if (name.trim() === "") return Result.fail([undefined, "the zone is empty", example])
  const key = name.trim().toLowerCase()
  const isName = name.length <= nameMax && /^[a-z][a-z0-9_+/-]*$/i.test(name) && !foreign.test(key)
  const zone = isName ? zoneOf(name) : undefined
  if (zone !== undefined) return Result.succeed(zone)
  return Result.fail([undefined, `the zone ${quote(name)} is not known`, advice(key)])
}

const example = 'Write an IANA name such as "Europe/Berlin", or "UTC"'

const advice = (key: string): string => {
  const offset = /^(?:utc|gmt|etc\/gmt)?([+-])0?(\d{1,2})(?::?00)?$/.exec(key)
  const hours = Number(offset?.[2])
  // POSIX counts westwards, so the sign turns round.
  if (offset !== null && !key.startsWith("etc/") && hours >= 1 && hours <= 12) {
    const [west, side] = offset[1] === "-" ? ["+", "behind"] : ["-", "ahead of"]
    return `Write "Etc/GMT${west}${hours}" for ${hours} hours ${side} UTC, or the name of a place`
  }
  const names = [meant[key] ?? nearest(key)].flat()
  return names.length === 0 ? example : `Write ${names.map((name) => `"${name}"`).join(" or ")}`
}

/** Known names at the smallest distance from `key`, by the whole or by the place alone; none when all are far. */
const nearest = (key: string): string[] => {
  if (key.length > nameMax) return []
  const text = key.replace(/\s+/g, "_")
  const place = text.slice(text.lastIndexOf("/") + 1)
  let closest = 1 + Math.min(3, Math.floor(place.length / 3))
  let found: string[] = []
  for (const name of Intl.supportedValuesOf("timeZone")) {
    const known = name.toLowerCase()
    const whole = distance(text, known)
    const away = Math.min(
      whole,
      distance(place, known.slice(known.lastIndexOf("/") + 1)) + (whole > 0 ? 0.5 : 0),
    )
    if (away > closest) continue
    if (away < closest) found = []
    closest = away
    if (found.length < 3) found.push(name)
  }
  return found
}

/** Levenshtein's: the fewest letters to add, remove or change. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

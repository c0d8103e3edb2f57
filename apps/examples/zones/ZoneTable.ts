// What is made of the zones: decimal positions, the offset from UTC at one instant, and sums. Pure functions.
import { parsePosition, type Position, type Zone } from "./ZoneFile.ts"

/** A zone that is ready to be shown. */
export interface PlacedZone extends Position {
  readonly name: string
  readonly countries: ReadonlyArray<string>
  /** Such as `+02:00`; `null`: this runtime does not know the zone, as the file may be newer. */
  readonly offset: string | null
}

/** All zones, and how many there are of what, most first. */
export interface ZoneTable {
  /** The instant of the offsets, in ISO 8601. */
  readonly at: string
  readonly zones: ReadonlyArray<PlacedZone>
  readonly perContinent: ReadonlyArray<Sum>
  readonly perCountry: ReadonlyArray<Sum>
  readonly perOffset: ReadonlyArray<Sum>
}

export type Sum = readonly [name: string, zones: number]

/** Builds the table for an instant. */
export const zoneTable = (zones: ReadonlyArray<Zone>, at: Date): ZoneTable => {
  const placed = zones.map(({ name, countries, position }): PlacedZone => {
    const place = parsePosition(position)
    if (place === null) throw new Error(`Zone "${name}" has no valid position: "${position}"`)
    return { name, countries, ...place, offset: utcOffset(name, at) }
  })
  return {
    at: at.toISOString(),
    zones: placed,
    perContinent: sums(placed.map(({ name }) => continentOf(name))),
    perCountry: sums(placed.flatMap(({ countries }) => countries)),
    perOffset: sums(placed.map(({ offset }) => offset ?? "unknown")),
  }
}

/** The continent or ocean of a zone: the first part of its name. */
export const continentOf = (name: string): string => name.slice(0, name.indexOf("/"))

/** A zone's offset from UTC at an instant, such as `-03:30`; `null` when this runtime does not know the zone. */
export const utcOffset = (zone: string, at: Date): string | null => {
  let parts: ReadonlyArray<Intl.DateTimeFormatPart>
  try {
    parts = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" }).formatToParts(at)
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
  const text = parts.find(({ type }) => type === "timeZoneName")?.value ?? ""
  return text === "GMT" ? "+00:00" : text.replace("GMT", "")
}

const sums = (names: ReadonlyArray<string>): Array<Sum> => {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1))
}

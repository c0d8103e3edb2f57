// The format of the IANA file `zone1970.tab`: a line for each time zone, with tabs between countries, position,
// name and an optional comment. Pure functions; what is wrong is refused with file and line.

/** A time zone as the file has it. */
export interface Zone {
  readonly name: string
  /** ISO 3166 codes, the most populous country first. */
  readonly countries: ReadonlyArray<string>
  /** ISO 6709, such as `+5230+01322`. */
  readonly position: string
}

/** Decimal degrees, north and east positive, to four places (about 10 m). */
export interface Position {
  readonly latitude: number
  readonly longitude: number
}

/** A line that does not fit the format. */
export class CorruptLine extends Error {
  override readonly name = "CorruptLine"
  readonly file: string
  /** Counted from 1. */
  readonly line: number

  constructor(file: string, line: number, reason: string) {
    super(`${file}:${line}: ${reason}`)
    this.file = file
    this.line = line
  }
}

/** All zones of a file in its order; throws `CorruptLine` for the first line that is wrong. */
export const parseZones = (file: string, text: string): Array<Zone> => {
  const zones = new Map<string, Zone>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === "" || line.startsWith("#")) continue
    const zone = parseZone(line)
    if (typeof zone === "string") throw new CorruptLine(file, index + 1, zone)
    if (zones.has(zone.name)) throw new CorruptLine(file, index + 1, `zone "${zone.name}" is there twice`)
    zones.set(zone.name, zone)
  }
  return [...zones.values()]
}

/** The zone of a line, or what is wrong with it. */
const parseZone = (line: string): Zone | string => {
  const columns = line.split("\t")
  const [codes = "", position = "", name = ""] = columns
  if (columns.length < 3 || columns.length > 4) return `${columns.length} columns instead of 3 or 4`
  if (!/^[A-Z]{2}(,[A-Z]{2})*$/.test(codes)) return `"${codes}" is not a list of country codes`
  if (parsePosition(position) === null) return `"${position}" is not a position in ISO 6709`
  if (!/^[A-Z]\w+(\/[\w+-]+)+$/.test(name)) return `"${name}" is not the name of a zone`
  return { name, countries: codes.split(","), position }
}

const iso6709 = /^([+-])(\d{2})(\d{2})(\d{2})?([+-])(\d{3})(\d{2})(\d{2})?$/

/** Reads `±DDMM±DDDMM` or `±DDMMSS±DDDMMSS`; `null`: it is neither, or not a place on Earth. */
export const parsePosition = (text: string): Position | null => {
  const match = iso6709.exec(text)
  if (match === null || (match[4] === undefined) !== (match[8] === undefined)) return null
  const latitude = degrees(match.slice(1, 5), 90)
  const longitude = degrees(match.slice(5, 9), 180)
  return latitude === null || longitude === null ? null : { latitude, longitude }
}

const degrees = ([sign, ...numbers]: ReadonlyArray<string | undefined>, max: number): number | null => {
  const [whole = 0, minutes = 0, seconds = 0] = numbers.map((each) => Number(each ?? 0))
  const value = whole + minutes / 60 + seconds / 3600
  if (minutes > 59 || seconds > 59 || value > max) return null
  // Adding zero turns -0 into 0.
  return Math.round((sign === "-" ? -value : value) * 10_000) / 10_000 + 0
}

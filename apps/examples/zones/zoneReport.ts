// The table of zones as a Markdown page. Pure.
import { continentOf, type PlacedZone, type Sum, type ZoneTable } from "./ZoneTable.ts"

// Countries that the page lists; the table has all.
const countriesMax = 10

/** The page, in full. */
export const zoneReport = (table: ZoneTable): string => {
  const { zones, perContinent, perCountry, perOffset } = table
  const countryName = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" })
  const countries = perCountry
    .slice(0, countriesMax)
    .map(([code, count]): Sum => [countryName.of(code) ?? code, count])
  return [
    "# Time zones of the world",
    "",
    `${zones.length} zones in ${perCountry.length} countries and territories, with ${perOffset.length} offsets` +
      ` from UTC at ${table.at}.`,
    "Source: `zone1970.tab` of the IANA Time Zone Database, which is in the public domain.",
    "",
    ...section("By continent or ocean", "Continent or ocean", perContinent),
    ...section(`The ${countries.length} countries with most zones`, "Country", countries),
    ...section(
      "By offset from UTC",
      "Offset",
      [...perOffset].sort(([a], [b]) => hours(a) - hours(b)),
    ),
    "## All zones",
    "",
    ...zoneRows(zones),
    "",
  ].join("\n")
}

/** The page of one continent or ocean. */
export const continentPage = ({ zones, at }: ZoneTable, continent: string): string => {
  const own = zones.filter(({ name }) => continentOf(name) === continent)
  return [`# Time zones: ${continent}`, "", `${own.length} zones at ${at}.`, "", ...zoneRows(own), ""].join(
    "\n",
  )
}

const zoneRows = (zones: ReadonlyArray<PlacedZone>): Array<string> => [
  "| Zone | Countries | Latitude | Longitude | Offset |",
  "| --- | --- | ---: | ---: | ---: |",
  ...zones.map(
    ({ name, countries, latitude, longitude, offset }) =>
      `| ${name} | ${countries.join(", ")} | ${latitude.toFixed(4)} | ${longitude.toFixed(4)} | ${offset ?? "unknown"} |`,
  ),
]

const section = (title: string, column: string, sums: ReadonlyArray<Sum>): Array<string> => [
  `## ${title}`,
  "",
  `| ${column} | Zones |`,
  "| --- | ---: |",
  ...sums.map(([name, count]) => `| ${name} | ${count} |`),
  "",
]

// West to east, "unknown" last.
const hours = (offset: string): number => {
  const [, sign, hour, minute] = /^([+-])(\d\d):(\d\d)/.exec(offset) ?? []
  if (sign === undefined) return Infinity
  return (sign === "-" ? -1 : 1) * (Number(hour) + Number(minute) / 60)
}

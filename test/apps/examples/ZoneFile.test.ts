// The example's own functions: the format of the zone file, positions, offsets and the page.
import { readFile } from "node:fs/promises"
import { describe, expect, test } from "vitest"
import { dataFile } from "../../../apps/examples/files.ts"
import { CorruptLine, parsePosition, parseZones } from "../../../apps/examples/zones/ZoneFile.ts"
import { utcOffset, zoneTable } from "../../../apps/examples/zones/ZoneTable.ts"
import { zoneReport } from "../../../apps/examples/zones/zoneReport.ts"

const berlin = "DE,DK\t+5230+01322\tEurope/Berlin\tmost of Germany"
const newYork = "US\t+404251-0740023\tAmerica/New_York"

describe("examples > positions", () => {
  test.each([
    ["+5230+01322", 52.5, 13.3667],
    ["-3436-05827", -34.6, -58.45],
    ["+404251-0740023", 40.7142, -74.0064],
    ["-690022+0393524", -69.0061, 39.59],
    ["+0000-00000", 0, 0],
    ["-000000+1800000", 0, 180],
    ["+9000+18000", 90, 180],
  ])("%s", (text, latitude, longitude) => {
    expect(parsePosition(text)).toEqual({ latitude, longitude })
  })

  test.each([
    ["", "nothing"],
    ["+5230+0132", "a longitude of four digits"],
    ["+5230+0132200", "seconds on one side only"],
    ["5230+01322", "no sign"],
    ["+5260+01322", "60 minutes"],
    ["+523060+0132200", "60 seconds"],
    ["+9001+00000", "beyond the pole"],
    ["+0000+18001", "beyond the date line"],
    [" +5230+01322", "a blank"],
  ])("%j is refused: %s", (text) => {
    expect(parsePosition(text)).toBeNull()
  })
})

describe("examples > the zone file", () => {
  test("comments and empty lines are passed over, both line ends are read", () => {
    expect(parseZones("a.tab", `# x\r\n${berlin}\r\n\n${newYork}\n`)).toEqual([
      { name: "Europe/Berlin", countries: ["DE", "DK"], position: "+5230+01322" },
      { name: "America/New_York", countries: ["US"], position: "+404251-0740023" },
    ])
  })

  test.each([
    ["DE +5230+01322 Europe/Berlin", "1 columns instead of 3 or 4"],
    [`${berlin}\tx`, "5 columns instead of 3 or 4"],
    ["de\t+5230+01322\tEurope/Berlin", '"de" is not a list of country codes'],
    ["DE,\t+5230+01322\tEurope/Berlin", '"DE," is not a list of country codes'],
    ["DE\t+5230+0132\tEurope/Berlin", '"+5230+0132" is not a position in ISO 6709'],
    ["DE\t+5230+01322\tBerlin", '"Berlin" is not the name of a zone'],
    ["DE\t+5230+01322\tEurope/", '"Europe/" is not the name of a zone'],
    [newYork, 'zone "America/New_York" is there twice'],
  ])("%j is refused with file and line", (line, reason) => {
    const parse = () => parseZones("a.tab", `# x\n${newYork}\n${line}\n`)
    expect(parse).toThrow(CorruptLine)
    expect(parse).toThrow(`a.tab:3: ${reason}`)
  })
})

test("examples > the damaged file is whole once line 9 is mended, as the README says", async () => {
  const text = await readFile(dataFile("zones-damaged.tab"), "utf8")
  expect(() => parseZones("a.tab", text)).toThrow("a.tab:9:")
  expect(parseZones("a.tab", text.replace("+5230+0132\t", "+5230+01322\t"))).toHaveLength(12)
})

describe("examples > the table and its page", () => {
  test("offsets follow the season, and an unknown zone has none", () => {
    const summer = new Date("2026-07-01T00:00:00Z")
    const winter = new Date("2026-01-01T00:00:00Z")
    expect(utcOffset("Europe/Berlin", summer)).toBe("+02:00")
    expect(utcOffset("Europe/Berlin", winter)).toBe("+01:00")
    expect(utcOffset("Africa/Abidjan", summer)).toBe("+00:00")
    expect(utcOffset("America/St_Johns", winter)).toBe("-03:30")
    expect(utcOffset("Europe/Atlantis", winter)).toBeNull()
  })

  test("sums come most first, and the page has a row for each zone", () => {
    const atlantis = "GR\t+3600+02500\tEurope/Atlantis"
    const zones = parseZones("a.tab", [newYork, berlin, atlantis].join("\n"))
    const table = zoneTable(zones, new Date("2026-07-01T00:00:00Z"))
    expect(table.perContinent).toEqual([
      ["Europe", 2],
      ["America", 1],
    ])
    expect(table.perCountry.map(([code]) => code)).toEqual(["DE", "DK", "GR", "US"])
    const page = zoneReport(table)
    expect(page).toContain("3 zones in 4 countries and territories, with 3 offsets from UTC at 2026-07-01")
    expect(page).toContain("| Europe/Berlin | DE, DK | 52.5000 | 13.3667 | +02:00 |")
    expect(page).toContain("| Europe/Atlantis | GR | 36.0000 | 25.0000 | unknown |")
    expect(page.indexOf("| -04:00 | 1 |")).toBeLessThan(page.indexOf("| +02:00 | 1 |"))
  })
})

// The table of a zone against the clock that Intl prints, and what its fingerprint stands for.
import { describe, expect, test } from "vitest"
import { spanAt, type Zone, zoneDataVersion, zoneFingerprint, zoneOf } from "../../../core/trigger/Zone.ts"
import { int, seeded, zones40 } from "./samples.ts"

const zone = (name: string): Zone => zoneOf(name) ?? expect.unreachable(`${name} is not known`)
const utc = (text: string): number => Date.parse(text) / 1000

describe("spanAt", () => {
  test("gives the offset that the wall clock shows, in any order of questions", () => {
    const random = seeded(5)
    for (const name of zones40) {
      const format = new Intl.DateTimeFormat("en-US", {
        timeZone: name,
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      })
      for (let round = 0; round < 60; round += 1) {
        const second = int(random, utc("1850-01-01T00:00:00Z"), utc("2150-01-01T00:00:00Z"))
        const [month, day, year, hours, minutes, seconds] = format
          .format(second * 1000)
          .split(/\D+/)
          .map(Number)
        const wall = Date.UTC(year ?? 0, (month ?? 0) - 1, day, hours, minutes, seconds) / 1000
        const span = spanAt(zone(name), second)
        expect(span.offset, `${name} at ${second}`).toBe(wall - second)
        expect(span.start <= second && second < span.end).toBe(true)
      }
    }
  })

  test("finds a change to the second, and both sides know of it", () => {
    const berlin = zone("Europe/Berlin")
    const change = utc("2026-03-29T01:00:00Z")
    expect(spanAt(berlin, change - 1)).toMatchObject({ end: change, offset: 3600, shiftOut: 3600 })
    expect(spanAt(berlin, change)).toMatchObject({ start: change, offset: 7200, shiftIn: 3600 })
  })

  test("knows offsets with seconds, skipped days, and years from 1 to 2199", () => {
    expect(spanAt(zone("Africa/Monrovia"), utc("1970-06-01T00:00:00Z")).offset).toBe(-2670)
    expect(spanAt(zone("Pacific/Apia"), utc("2011-12-30T10:00:00Z")).shiftIn).toBe(86_400)
    expect(spanAt(zone("Europe/Berlin"), utc("0001-06-01T00:00:00Z")).offset).toBe(3208)
    expect(spanAt(zone("Europe/Berlin"), utc("2199-06-01T00:00:00Z")).offset).toBe(7200)
  })

  test("asks Intl no more once it has answered", () => {
    const kathmandu = zone("Asia/Kathmandu")
    const seconds = Array.from({ length: 50 }, (_, index) => utc("2031-01-01T00:00:00Z") + index * 500_000)
    const spans = seconds.map((second) => spanAt(kathmandu, second))
    for (const [index, second] of seconds.entries()) expect(spanAt(kathmandu, second)).toBe(spans[index])
  })
})

describe("zoneOf", () => {
  test("gives one object for a name in any case, and none for a name that is unknown", () => {
    expect(zoneOf("europe/BERLIN")).toBe(zoneOf("Europe/Berlin"))
    for (const name of ["Mars/Phobos", "", "Europe/Berlin ", "UTC+25"]) expect(zoneOf(name)).toBeUndefined()
  })
})

describe("zoneFingerprint", () => {
  const now = Date.parse("2026-11-30T00:00:00Z")

  test("is the same through a year and for equal rules, and differs with the rules", () => {
    const print = (name: string, at = now): string => zoneFingerprint(zone(name), at)
    expect(print("Europe/Berlin")).toMatch(/^[0-9a-f]{8}$/)
    expect(print("Europe/Berlin", Date.parse("2026-02-01T00:00:00Z"))).toBe(print("Europe/Berlin"))
    expect(print("Europe/Berlin")).toBe(print("Europe/Vienna"))
    const others = [
      "Europe/London",
      "Europe/Helsinki",
      "America/New_York",
      "UTC",
      "Asia/Tokyo",
      "Africa/Lagos",
    ]
    expect(new Set([...others, "Europe/Berlin"].map((name) => print(name))).size).toBe(7)
    expect(print("Europe/Berlin", Date.parse("2027-06-01T00:00:00Z"))).not.toBe(print("Europe/Berlin"))
  })

  test("tells two releases of the zone data apart", () => {
    const rules = (changedAt: number): Zone => ({
      name: "Test/Zone",
      pieces: new Map(
        [...Array(400).keys()].map((index) => [
          index - 100,
          [
            { start: -Infinity, end: changedAt, offset: 3600, shiftIn: 0, shiftOut: 3600 },
            { start: changedAt, end: Infinity, offset: 7200, shiftIn: 3600, shiftOut: 0 },
          ],
        ]),
      ),
      last: { start: NaN, end: NaN, offset: 0, shiftIn: 0, shiftOut: 0 },
    })
    const one = zoneFingerprint(rules(utc("2027-03-28T01:00:00Z")), now)
    expect(zoneFingerprint(rules(utc("2027-03-28T01:00:00Z")), now)).toBe(one)
    expect(zoneFingerprint(rules(utc("2027-04-04T01:00:00Z")), now)).not.toBe(one)
  })
})

test("the release of the zone data is what the runtime tells, or null", () => {
  expect(zoneDataVersion({ tz: "2026c" })).toBe("2026c")
  expect(zoneDataVersion({ node: "24.0.0" })).toBeNull()
})

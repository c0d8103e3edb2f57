// Cron in zones against a witness that shares nothing with it: the wall clock of every minute (or second) around
// every clock change, as this runtime's own Intl prints it, and the rules R11a-R11e as they are written.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { Ambiguous, Gap } from "../../../core/domain/Schedule.ts"
import { between, matches, nextAfter, previousBefore } from "../../../core/trigger/Cron.ts"
import { type Cron, type CronOptions, parseCron } from "../../../core/trigger/CronFields.ts"
import { checkProperties } from "../../cases/checkCases.ts"
import { int, type Random, sample, seeded, zones40 } from "./samples.ts"

const hour = 3600
const day = 24 * hour
const cronOf = (text: string, options: CronOptions): Cron => Result.getOrThrow(parseCron(text, options))
const iso = (second: number): string => new Date(second * 1000).toISOString()
const isoList = (text: string, options: CronOptions, from: string, count: number): string[] =>
  between(cronOf(text, options), Date.parse(from), Infinity, count).map((at) => iso(at / 1000))

/** Seconds that the wall clock of a zone shows, as if it were UTC. */
const wallClock = (zone: string): ((second: number) => number) => {
  const number = "numeric"
  const fields = {
    year: number,
    month: number,
    day: number,
    hour: number,
    minute: number,
    second: number,
  } as const
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", ...fields })
  return (second) => {
    const [month, date, year, hours, minutes, seconds] = format
      .format(second * 1000)
      .split(/\D+/)
      .map(Number)
    return Date.UTC(year ?? 0, (month ?? 0) - 1, date, hours, minutes, seconds) / 1000
  }
}

/** First seconds of a new offset, in order. */
const changesOf = (wall: (second: number) => number, from: number, to: number): number[] => {
  const found: number[] = []
  const offset = (second: number): number => wall(second) - second
  let low = from
  for (let high = from + day; high <= to; high += day) {
    if (offset(low) !== offset(high)) {
      let [a, b] = [low, high]
      while (b - a > 1) {
        const middle = Math.floor((a + b) / 2)
        if (offset(middle) === offset(a)) a = middle
        else b = middle
      }
      found.push(b)
    }
    low = high
  }
  return found
}

interface Named {
  readonly text: string
  readonly wild: boolean
  readonly names: (wall: number) => boolean
}

/** A text whose hours lie about the change, with its predicate. */
const near = (random: Random, around: number): Named => {
  const at = new Date(around * 1000).getUTCHours()
  const minuteKind = int(random, 0, 4)
  const first = int(random, 0, 58)
  const last = int(random, first + 1, 59)
  const step = int(random, 1, 30)
  const [minute, minutes]: [string, (value: number) => boolean] =
    minuteKind === 0
      ? ["*", () => true]
      : minuteKind === 1
        ? [`*/${step}`, (value) => value % step === 0]
        : minuteKind === 2
          ? [`${first}-${last}`, (value) => value >= first && value <= last]
          : [`${first},${last}`, (value) => value === first || value === last]
  const hourKind = int(random, 0, 4)
  const near = (at + int(random, -2, 1) + 24) % 24
  const until = Math.min(23, near + int(random, 0, 3))
  const [hours, inHours]: [string, (value: number) => boolean] =
    hourKind === 0
      ? ["*", () => true]
      : hourKind === 1
        ? ["*/2", (value) => value % 2 === 0]
        : [`${near}-${until}`, (value) => value >= near && value <= until]
  const weekday = new Date((around + int(random, -1, 1) * day) * 1000).getUTCDay()
  const anyDay = random() < 0.6
  return {
    text: `${minute} ${hours} * * ${anyDay ? "*" : weekday}`,
    wild: minute.startsWith("*") || hours.startsWith("*"),
    names: (wall) => {
      const date = new Date(wall * 1000)
      if (date.getUTCSeconds() !== 0 || !(anyDay || date.getUTCDay() === weekday)) return false
      return minutes(date.getUTCMinutes()) && inHours(date.getUTCHours())
    },
  }
}

/** The rules, word by word, over the ticks of a wall clock: `walls[i]` is shown at `start + i * step`. */
const byTheRules = (
  { wild, names }: Named,
  walls: readonly number[],
  start: number,
  step: number,
  gap: Gap,
  ambiguous: Ambiguous,
): number[] => {
  const found = new Set<number>()
  const firstShown = new Map<number, number>()
  const lastShown = new Map<number, number>()
  for (const [index, wall] of walls.entries()) {
    if (!firstShown.has(wall)) firstShown.set(wall, index)
    lastShown.set(wall, index)
  }
  const pass = ambiguous === "auto" ? (wild ? "both" : "first") : ambiguous
  const back = Math.max(
    0,
    ...walls.map((wall, index) => (index === 0 ? 0 : (walls[index - 1] ?? 0) + step - wall)),
  )
  for (const [index, wall] of walls.entries()) {
    const at = start + index * step
    const before = walls[index - 1]
    if (
      before !== undefined &&
      wall - before > step &&
      wall - before - step <= 3 * hour &&
      !wild &&
      gap !== "skip"
    ) {
      for (let missing = before + step; missing < wall; missing += step) {
        if (!names(missing)) continue
        if (gap === "after") found.add(at)
        else found.add(at - step - (((before % 60) + 60) % 60))
      }
    }
    if (!names(wall)) continue
    const counts =
      back > 3 * hour ||
      pass === "both" ||
      (pass === "first" ? firstShown.get(wall) === index : lastShown.get(wall) === index)
    if (counts) found.add(at)
  }
  return [...found].toSorted((a, b) => a - b)
}

/** Compares all occurrences in a window about each change; answers how many changes and occurrences there were. */
const compare = (zone: string, from: string, to: string, seed: number, texts: number) => {
  const random = seeded(seed)
  const wall = wallClock(zone)
  const sum = { changes: 0, occurrences: 0 }
  for (const change of changesOf(wall, Date.parse(from) / 1000, Date.parse(to) / 1000)) {
    const shift = wall(change) - wall(change - 1) - 1
    const [low, high] = [change - 4 * hour, change + 4 * hour]
    const step = [wall(low) - low, wall(high) - high, change].every((figure) => figure % 60 === 0) ? 60 : 1
    const walls: number[] = []
    for (let at = low; at <= high; at += step) walls.push(wall(at))
    for (let round = 0; round < texts; round += 1) {
      const named = near(random, wall(change) - (random() < 0.5 ? Math.max(0, shift) : 0))
      const gap = (["after", "after", "before", "skip"] as const)[int(random, 0, 3)] ?? "after"
      const ambiguous = (["auto", "auto", "first", "last", "both"] as const)[int(random, 0, 4)] ?? "auto"
      const cron = cronOf(named.text, { zone, gap, ambiguous })
      const expected = byTheRules(named, walls, low, step, gap, ambiguous)
      const what = `"${named.text}" in ${zone} about ${iso(change)}, gap ${gap}, ambiguous ${ambiguous}`
      const forwards = between(cron, low * 1000 - 1, high * 1000, 10_000).map((at) => at / 1000)
      if (forwards.join() !== expected.join()) expect(forwards.map(iso), what).toEqual(expected.map(iso))
      const backwards: number[] = []
      let at = previousBefore(cron, high * 1000 + 1)
      for (; at !== null && at >= low * 1000; at = previousBefore(cron, at)) backwards.push(at / 1000)
      if (backwards.toReversed().join() !== expected.join())
        expect(backwards.toReversed().map(iso), `${what}, backwards`).toEqual(expected.map(iso))
      const set = new Set(expected)
      for (let second = low; second <= high; second += step) {
        if (matches(cron, second * 1000) !== set.has(second))
          expect.unreachable(`${what}: matches ${iso(second)}`)
      }
      sum.occurrences += expected.length
    }
    sum.changes += 1
  }
  return sum
}

describe("occurrences about clock changes are those of the rules", () => {
  test("in 40 zones, about every change of ten years", () => {
    const sums = zones40.map((zone, index) =>
      compare(zone, "2016-01-01T00:00:00Z", "2026-01-01T00:00:00Z", index, 4),
    )
    const total = (pick: (sum: (typeof sums)[number]) => number): number =>
      sums.reduce((all, sum) => all + pick(sum), 0)
    expect(total((sum) => sum.changes)).toBeGreaterThan(450)
    expect(total((sum) => sum.occurrences)).toBeGreaterThan(20_000)
  }, 60_000)

  test.each([
    ["a skipped day", "Pacific/Apia", "2011-01-01", "2012-12-31"],
    ["another skipped day", "Pacific/Kwajalein", "1993-01-01", "1994-01-01"],
    ["a repeated day", "America/Juneau", "1867-01-01", "1868-01-01"],
    ["offsets with seconds", "Africa/Monrovia", "1971-06-01", "1972-12-31"],
    ["local mean time", "Europe/Berlin", "1893-01-01", "1894-01-01"],
    ["four days of summer", "Africa/Freetown", "1939-06-01", "1939-12-31"],
    ["double summer time", "Europe/London", "1940-01-01", "1948-01-01"],
    ["changes by 20 and 40 minutes", "Africa/Accra", "1920-01-01", "1943-01-01"],
    ["a half hour for good", "America/Caracas", "2007-01-01", "2017-01-01"],
    ["a change just inside a piece of the table", "America/Santiago", "1973-01-01", "1973-12-31"],
    ["repeated times on both sides of a piece's start", "America/Los_Angeles", "2185-06-01", "2185-12-31"],
    ["a gap that begins between two minutes", "America/Phoenix", "1883-11-01", "1883-12-01"],
    ["another one", "Asia/Hong_Kong", "1904-10-01", "1904-12-01"],
    ["the far future", "Asia/Gaza", "2038-01-01", "2044-01-01"],
  ])("with %s: %s from %s to %s", (_what, zone, from, to) => {
    compare(zone, `${from}T00:00:00Z`, `${to}T00:00:00Z`, 4711, 12)
  })
})

describe("the properties of the house rules, in zones", () => {
  test("hold for 20,000 random texts, zones and ways to meet clock changes", () => {
    const random = seeded(20_261_201)
    let occurrences = 0
    for (let round = 0; round < 20_000; round += 1) {
      const zone = zones40[int(random, 0, zones40.length - 1)] ?? ""
      const gap = (["after", "before", "skip"] as const)[int(random, 0, 2)] ?? "after"
      const ambiguous = (["auto", "first", "last", "both"] as const)[int(random, 0, 3)] ?? "auto"
      const { text } = sample(random, int(random, 5, 7))
      const cron = cronOf(text, { zone, gap, ambiguous })
      const from = int(random, Date.parse("2005-01-01T00:00:00Z"), Date.parse("2035-01-01T00:00:00Z"))
      const list = between(cron, from, Infinity, 5)
      occurrences += list.length
      const problem = checkProperties(cron, from, list)
      if (problem !== undefined)
        expect.unreachable(`"${text}" in ${zone}, ${gap}, ${ambiguous}: ${JSON.stringify(problem)}`)
    }
    expect(occurrences).toBeGreaterThan(50_000)
  }, 60_000)

  test("hold near the changes, where few random instants lie", () => {
    const random = seeded(77)
    for (const zone of zones40) {
      const changes = changesOf(
        wallClock(zone),
        Date.parse("2010-01-01") / 1000,
        Date.parse("2014-01-01") / 1000,
      )
      for (const change of changes) {
        const { text } = near(random, change + int(random, -2, 2) * hour)
        const cron = cronOf(text, { zone })
        const from = (change - int(random, 0, 4 * hour)) * 1000 + int(random, 0, 999)
        expect(
          checkProperties(cron, from, between(cron, from, Infinity, 12)),
          `"${text}" in ${zone}`,
        ).toBeUndefined()
      }
    }
  })
})

describe("nextAfter in a zone", () => {
  test("reaches the last second of 2199 on the zone's own clock, and nothing after it", () => {
    for (const [zone, last] of [
      ["Asia/Tokyo", "2199-12-31T14:59:59.000Z"],
      ["America/Los_Angeles", "2200-01-01T07:59:59.000Z"],
    ] as const) {
      const cron = cronOf("59 59 23 31 12 * *", { zone })
      const at = Date.parse(last)
      expect(nextAfter(cron, at - 1)).toBe(at)
      expect(matches(cron, at)).toBe(true)
      expect(previousBefore(cron, at + 1)).toBe(at)
      expect(nextAfter(cron, at)).toBeNull()
      expect(nextAfter(cronOf("* * * * *", { zone }), at)).toBeNull()
    }
  })

  test("knows within 50 ms that a date never comes, and finds one that is 173 years away", () => {
    const never = cronOf("0 0 30 2 *", { zone: "America/New_York" })
    const far = cronOf("0 0 12 1 7 * 2199", { zone: "America/New_York" })
    const start = performance.now()
    expect(nextAfter(never, Date.parse("2026-01-01T00:00:00Z"))).toBeNull()
    expect(previousBefore(never, Date.parse("2026-01-01T00:00:00Z"))).toBeNull()
    expect(nextAfter(far, Date.parse("2026-01-01T00:00:00Z"))).toBe(Date.parse("2199-07-01T16:00:00Z"))
    expect(performance.now() - start).toBeLessThan(150)
  })
})

describe("skipped and repeated times", () => {
  const newYork = "America/New_York"
  const spring = "2026-03-08T05:00:00Z"
  const autumn = "2026-11-01T04:30:00Z"

  test.each<[Gap, string]>([
    ["after", "2026-03-08T07:00:00.000Z"],
    ["before", "2026-03-08T06:59:00.000Z"],
    ["skip", "2026-03-09T06:30:00.000Z"],
  ])("a fixed time that is skipped, with gap %s", (gap, first) => {
    expect(isoList("30 2 * * *", { zone: newYork, gap }, spring, 1)).toEqual([first])
    expect(isoList("*/30 2 * * *", { zone: newYork, gap }, spring, 1)).toEqual(["2026-03-09T06:00:00.000Z"])
  })

  test("before a gap is the last second for a text with seconds, and one run with an ordinary time there", () => {
    expect(isoList("15,45 30 2 * * *", { zone: newYork, gap: "before" }, spring, 1)).toEqual([
      "2026-03-08T06:59:59.000Z",
    ])
    expect(isoList("30,59 1,2 * * *", { zone: newYork, gap: "before" }, spring, 3)).toEqual([
      "2026-03-08T06:30:00.000Z",
      "2026-03-08T06:59:00.000Z",
      "2026-03-09T05:30:00.000Z",
    ])
  })

  test.each<[Ambiguous, string[], string[]]>([
    ["auto", ["05:30"], ["05:30", "06:30"]],
    ["first", ["05:30"], ["05:30"]],
    ["last", ["06:30"], ["06:30"]],
    ["both", ["05:30", "06:30"], ["05:30", "06:30"]],
  ])("a time that comes twice, with ambiguous %s", (ambiguous, fixed, wild) => {
    const listed = (text: string): string[] =>
      between(
        cronOf(text, { zone: newYork, ambiguous }),
        Date.parse(autumn),
        Date.parse("2026-11-01T07:00:00Z"),
        9,
      ).map((at) => iso(at / 1000).slice(11, 16))
    expect(listed("30 1 * * *")).toEqual(fixed)
    expect(listed("30 */1 * * *")).toEqual(wild)
  })
})

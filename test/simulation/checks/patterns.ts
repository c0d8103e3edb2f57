// Which instants a schedule has, by brute force: a cron expression is asked minute by minute and second by second on
// clocks whose changes stand in a table here, calendars second by second. Shares nothing with core/trigger, which it
// is to be compared with, and knows no more than what the simulation's schedules are made of.
import type { Calendar } from "../../../core/domain/Calendar.ts"
import type { OccurrenceReason, Trigger } from "../../../core/domain/Schedule.ts"

const minute = 60_000
const hour = 3_600_000
const day = 24 * hour

/** Where the tables of clock changes end: who is asked about later instants does not know. */
export const knownUntil = Date.UTC(2026, 0, 1)

/** Clock changes of 2024 and 2025, by hand: from when on, and how far ahead of UTC, in milliseconds. */
const zones: Readonly<Record<string, ReadonlyArray<readonly [from: number, offset: number]>>> = {
  UTC: [[-Infinity, 0]],
  "Asia/Kolkata": [[-Infinity, 5.5 * hour]],
  "America/New_York": [
    [-Infinity, -5 * hour],
    [Date.UTC(2024, 2, 10, 7), -4 * hour],
    [Date.UTC(2024, 10, 3, 6), -5 * hour],
    [Date.UTC(2025, 2, 9, 7), -4 * hour],
    [Date.UTC(2025, 10, 2, 6), -5 * hour],
  ],
  "Europe/Berlin": [
    [-Infinity, hour],
    [Date.UTC(2024, 2, 31, 1), 2 * hour],
    [Date.UTC(2024, 9, 27, 1), hour],
    [Date.UTC(2025, 2, 30, 1), 2 * hour],
    [Date.UTC(2025, 9, 26, 1), hour],
  ],
  "Australia/Lord_Howe": [
    [-Infinity, 11 * hour],
    [Date.UTC(2024, 3, 6, 15), 10.5 * hour],
    [Date.UTC(2024, 9, 5, 15, 30), 11 * hour],
    [Date.UTC(2025, 3, 5, 15), 10.5 * hour],
    [Date.UTC(2025, 9, 4, 15, 30), 11 * hour],
  ],
}

const changesOf = (zone: string): ReadonlyArray<readonly [from: number, offset: number]> => {
  const changes = zones[zone]
  if (changes === undefined) throw new Error(`There is no table of clock changes in ${zone}`)
  return changes
}

/** How far clocks of the zone are ahead of UTC, in milliseconds. */
export const offsetAt = (zone: string, at: number): number => {
  let found = 0
  for (const [from, offset] of changesOf(zone)) if (at >= from) found = offset
  return found
}

/** The instant of a wall time: the end of the gap where clocks skip it, the first time where it comes twice. */
const instantOf = (zone: string, wall: number): number => {
  for (const [place, [from, offset]] of changesOf(zone).entries()) {
    const until = changesOf(zone)[place + 1]?.[0] ?? Infinity
    const at = wall - offset
    if (at < until) return Math.max(at, from)
  }
  return wall
}

/** A cron text taken apart. */
interface Fields {
  readonly seconds: ReadonlySet<number>
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  readonly bothDays: boolean
  readonly isWild: boolean
}

const valuesOf = (text: string, min: number, max: number): ReadonlySet<number> => {
  const values = new Set<number>()
  for (const item of text.split(",")) {
    const [range = "*", step = "1"] = item.split("/")
    const [first = "", last = first] = range === "*" ? [String(min), String(max)] : range.split("-")
    const end = item.includes("/") && !range.includes("-") ? max : Number(last)
    for (let value = Number(first); value <= end; value += Number(step)) values.add(value)
  }
  return values
}

const fieldsOf = (expression: string): Fields => {
  const texts = expression.split(" ")
  const hasSeconds = texts.length === 6
  const [second = "", mins = "", hrs = "", days = "", months = "", weekdays = ""] = hasSeconds
    ? texts
    : ["0", ...texts]
  return {
    seconds: valuesOf(second, 0, 59),
    minutes: valuesOf(mins, 0, 59),
    hours: valuesOf(hrs, 0, 23),
    days: valuesOf(days, 1, 31),
    months: valuesOf(months, 1, 12),
    weekdays: new Set([...valuesOf(weekdays, 0, 7)].map((value) => value % 7)),
    bothDays: days.startsWith("*") || weekdays.startsWith("*"),
    isWild: [mins, hrs, ...(hasSeconds ? [second] : [])].some((text) => text.startsWith("*")),
  }
}

const isDay = (fields: Fields, wall: number): boolean => {
  const date = new Date(wall)
  if (!fields.months.has(date.getUTCMonth() + 1)) return false
  const inMonth = fields.days.has(date.getUTCDate())
  const inWeek = fields.weekdays.has(date.getUTCDay())
  return fields.bothDays ? inMonth && inWeek : inMonth || inWeek
}

/** The wall times from `from` to before `to` that the fields name, both on whole minutes. */
const walls = (fields: Fields, from: number, to: number): Array<number> => {
  const found: Array<number> = []
  let wall = from
  while (wall < to) {
    const ofDay = ((wall % day) + day) % day
    const isHour = fields.hours.has(Math.floor(ofDay / hour)) && isDay(fields, wall)
    if (!isHour) {
      wall += hour - (ofDay % hour)
      continue
    }
    if (fields.minutes.has(Math.floor((ofDay % hour) / minute)))
      for (const second of fields.seconds) found.push(wall + second * 1000)
    wall += minute
  }
  return found
}

type CronTrigger = Extract<Trigger, { kind: "cron" }>

/** The instants of a cron trigger from `from` to before `to`, both on whole minutes. */
const cronInstants = (trigger: CronTrigger, fields: Fields, from: number, to: number): Array<number> => {
  const { zone, gap = "after", ambiguous = "auto" } = trigger
  const changes = changesOf(zone)
  const found = new Set<number>()
  const counts = ambiguous === "auto" ? (fields.isWild ? "both" : "first") : ambiguous
  for (const [place, [start, offset]] of changes.entries()) {
    const before = changes[place - 1]?.[1] ?? offset
    const end = changes[place + 1]?.[0] ?? Infinity
    const after = changes[place + 1]?.[1] ?? offset
    // Where it comes twice: the second time right behind a change back, the first right before the next one.
    const first = counts === "first" ? Math.max(start, start + before - offset) : start
    const last = counts === "last" ? Math.min(end, end + after - offset) : end
    const [since, until] = [Math.max(first, from), Math.min(last, to)]
    for (const wall of walls(fields, since + offset, until + offset)) found.add(wall - offset)
    // What is missing before the first instant of this offset.
    if (offset <= before || fields.isWild || gap === "skip") continue
    if (walls(fields, start + before, start + offset).length === 0) continue
    const unit = fields.seconds.size === 1 && fields.seconds.has(0) ? minute : 1000
    const madeUp = gap === "after" ? start : start - unit
    if (madeUp >= from && madeUp < to) found.add(madeUp)
  }
  return [...found].sort((a, b) => a - b)
}

type IsOpen = (at: number) => boolean

/** A calendar of the simulation: spans, or windows that begin with each minute. */
const calendarOf = ({ rule }: Calendar): IsOpen => {
  if ("spans" in rule) {
    const spans = rule.spans.map(({ from, to }) => [Date.parse(from), Date.parse(to)] as const)
    return (at) => spans.some(([from, to]) => at >= from && at < to)
  }
  if ("cron" in rule && rule.cron === "* * * * *") {
    const lasting = Number(rule.lasting.replace("s", "")) * 1000
    return (at) => at % minute < lasting
  }
  throw new Error("The model does not know such a calendar")
}

/** One instant at which something is to be decided. */
export interface Slot {
  readonly at: number
  /** Why calendars leave it out; `null`: they do not. */
  readonly closed: OccurrenceReason | null
  /** The instants of the pattern that it stands for, ascending. */
  readonly of: ReadonlyArray<number>
}

/** When the calendars of a trigger are open. */
export class Openings {
  readonly #only: IsOpen | null
  readonly #except: IsOpen | null

  constructor({ only, except }: Trigger, calendars: ReadonlyArray<Calendar>) {
    const named = (name: string | undefined): IsOpen | null => {
      const calendar = calendars.find((each) => each.name === name)
      return calendar === undefined ? null : calendarOf(calendar)
    }
    this.#only = named(only)
    this.#except = named(except)
  }

  /** Why it is closed then; `null`: it is open. */
  closed(at: number): OccurrenceReason | null {
    if (this.#only !== null && !this.#only(at)) return "calendar"
    return this.#except?.(at) === true ? "blackout" : null
  }

  /** The first open instant from this one on; of an hour. */
  from(instant: number): number | null {
    if (this.closed(instant) === null) return instant
    for (let at = Math.floor(instant / 1000) * 1000 + 1000; at < instant + hour; at += 1000)
      if (this.closed(at) === null) return at
    return null
  }
}

const chunkMillis = 10 * minute
// Nothing of a simulation lies further ahead.
const aheadMillis = 90 * minute

/** The instants of one trigger, where calendars and jitter put them; a fixed delay has none. */
export class Slots {
  readonly #trigger: Exclude<Trigger, { kind: "after" }>
  readonly #anchor: number
  readonly #fields: Fields | null
  readonly #openings: Openings
  /** By how much each comes later. */
  readonly #offset: number
  /** Instants of the pattern before this one are of an earlier life. */
  readonly #since: number
  readonly #chunks = new Map<number, ReadonlyArray<Slot>>()

  constructor(
    trigger: Exclude<Trigger, { kind: "after" }>,
    options: {
      readonly createdAt: number
      readonly since: number
      readonly offset: number
      readonly calendars: ReadonlyArray<Calendar>
    },
  ) {
    const { createdAt, since, offset, calendars } = options
    this.#trigger = trigger
    this.#anchor = trigger.kind === "every" ? (trigger.startAt ?? createdAt) : 0
    this.#fields = trigger.kind === "cron" ? fieldsOf(trigger.expression) : null
    this.#openings = new Openings(trigger, calendars)
    this.#offset = offset
    this.#since = since
  }

  /** What is to be decided at this very instant. */
  at(at: number): Slot | undefined {
    return this.#chunk(Math.floor(at / chunkMillis)).find((slot) => slot.at === at)
  }

  /** The first one after this instant within an hour and a half; a single instant however far. */
  after(instant: number): Slot | undefined {
    const { at } = this.#single()
    if (at !== null) return at.at > instant ? at : undefined
    const first = Math.floor(instant / chunkMillis)
    for (let chunk = first; chunk * chunkMillis < instant + aheadMillis; chunk++)
      for (const slot of this.#chunk(chunk)) if (slot.at > instant) return slot
    return undefined
  }

  between(from: number, to: number): Array<Slot> {
    const found: Array<Slot> = []
    for (let chunk = Math.floor(from / chunkMillis); chunk * chunkMillis <= to; chunk++)
      for (const slot of this.#chunk(chunk)) if (slot.at >= from && slot.at <= to) found.push(slot)
    return found
  }

  #single(): { readonly at: Slot | null } {
    if (this.#trigger.kind !== "at") return { at: null }
    const at = this.#placed(this.#trigger.at) ?? this.#trigger.at + this.#offset
    const chunk = this.#chunk(Math.floor(at / chunkMillis))
    return { at: chunk[0] ?? null }
  }

  #chunk(chunk: number): ReadonlyArray<Slot> {
    const known = this.#chunks.get(chunk)
    if (known !== undefined) return known
    const from = chunk * chunkMillis
    const to = from + chunkMillis
    const [behind, ahead] = this.#reach()
    const slots = new Map<number, { closed: OccurrenceReason | null; of: Array<number> }>()
    for (const instant of this.#pattern(from - behind, to + ahead)) {
      const place = this.#placed(instant)
      const at = place ?? instant + this.#offset
      const isLost = place === null && this.#trigger.closed === "hold"
      if (isLost || at < from || at >= to) continue
      const closed = place === null ? this.#openings.closed(instant) : null
      const slot = slots.get(at)
      if (slot === undefined) slots.set(at, { closed, of: [instant] })
      else slot.of.push(instant)
    }
    const made = [...slots].map(([at, slot]) => ({ at, ...slot })).sort((a, b) => a.at - b.at)
    this.#chunks.set(chunk, made)
    return made
  }

  /** How far instants may lie before and behind what they become. */
  #reach(): readonly [behind: number, ahead: number] {
    const { closed, only, except } = this.#trigger
    const isPlaced = only !== undefined || except !== undefined
    if (isPlaced && closed === "hold") return [hour, 0]
    if (isPlaced && closed === "next") return [33 * day, 0]
    if (isPlaced && closed === "previous") return [0, 33 * day]
    return [Math.ceil(this.#offset / minute) * minute, 0]
  }

  #pattern(from: number, to: number): ReadonlyArray<number> {
    const { startsAt = -Infinity, endsAt = Infinity } = this.#trigger
    return this.#unlimited(from, to).filter((at) => at >= startsAt && at <= endsAt && at >= this.#since)
  }

  #unlimited(from: number, to: number): ReadonlyArray<number> {
    const trigger = this.#trigger
    if (trigger.kind === "at") return trigger.at >= from && trigger.at < to ? [trigger.at] : []
    if (trigger.kind === "cron") return cronInstants(trigger, this.#fields as Fields, from, to)
    const found: Array<number> = []
    const skipped = Math.max(0, Math.ceil((from - this.#anchor) / trigger.periodMillis))
    for (let at = this.#anchor + skipped * trigger.periodMillis; at < to; at += trigger.periodMillis)
      found.push(at)
    return found
  }

  /** Where an instant of the pattern is decided; `null`: it is left out. */
  #placed(instant: number): number | null {
    if (this.#openings.closed(instant) === null) return instant + this.#offset
    const { closed = "skip" } = this.#trigger
    if (closed === "skip") return null
    if (closed === "hold") {
      const opens = this.#openings.from(instant)
      return opens === null ? null : opens + this.#offset
    }
    const zone = this.#trigger.kind === "cron" ? this.#trigger.zone : "UTC"
    const wall = instant + offsetAt(zone, instant)
    for (let days = 1; days <= 31; days++) {
      const to = instantOf(zone, wall + (closed === "next" ? days : -days) * day)
      if (this.#openings.closed(to) === null) return to + this.#offset
    }
    return null
  }
}

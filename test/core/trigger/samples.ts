// Random cron texts that carry their own predicate, so that no witness of the tests leans on our parser.
import { type Random, randomOf } from "../../common/random.ts"

export type { Random }
/** The same numbers for the same seed, on every runtime. */
export const seeded = randomOf
export const int = (random: Random, min: number, max: number): number =>
  min + Math.floor(random() * (max - min + 1))

/** A day as the calendar shows it; `weekdays[d]` is the weekday of day d of its month. */
export type Day = { month: number; day: number; length: number; weekdays: readonly number[] }
type Item = { text: string; values: readonly number[]; onDay?: (day: Day) => boolean }

const numbers = (random: Random, min: number, max: number): Item => {
  const every = (first: number, last: number, step: number): number[] => {
    const values: number[] = []
    for (let value = first; value <= last; value += step) values.push(value)
    return values
  }
  const kind = random()
  const first = int(random, min, max - 1)
  const last = int(random, first + 1, max)
  if (kind < 0.5) return { text: String(first), values: [first] }
  if (kind < 0.7) return { text: `${first}-${last}`, values: every(first, last, 1) }
  const step = int(random, 1, last - first)
  if (kind < 0.85) return { text: `${first}-${last}/${step}`, values: every(first, last, step) }
  // The weekday field ends at 7 for us and at 6 for croner, so `n/step` is left to the cases.
  if (max === 7) return { text: "7", values: [7] }
  const wide = int(random, 1, max - first)
  return { text: `${first}/${wide}`, values: every(first, max, wide) }
}

const field = (random: Random, min: number, max: number, letters?: (random: Random) => Item): Item => {
  const kind = random()
  const all = Array.from({ length: max - min + 1 }, (_, index) => min + index)
  if (kind < 0.3) return { text: letters !== undefined && kind < 0.05 ? "?" : "*", values: all }
  if (kind < 0.4) {
    const step = int(random, 1, Math.min(max - min, 15))
    return { text: `*/${step}`, values: all.filter((value) => (value - min) % step === 0) }
  }
  const items: Item[] = []
  for (let left = int(random, 1, 3); left > 0; left -= 1) {
    items.push(letters !== undefined && random() < 0.3 ? letters(random) : numbers(random, min, max))
  }
  // Croner takes LW only alone.
  const chosen = items.some((item) => item.text === "LW")
    ? items.filter((item) => item.text === "LW").slice(0, 1)
    : items
  return {
    text: chosen.map((item) => item.text).join(","),
    values: chosen.flatMap((item) => item.values),
    onDay: (day) => chosen.some((item) => item.onDay?.(day) ?? false),
  }
}

/** R7 in other words: no Monday-to-Friday of the month is nearer to the target. */
const nearestTo = (day: Day, target: number): boolean => {
  const distance = (of: number): number =>
    (day.weekdays[of] ?? 0) % 6 === 0 ? Infinity : Math.abs(of - target)
  if (target > day.length || distance(day.day) === Infinity) return false
  return day.weekdays.every((_, of) => of === 0 || distance(day.day) <= distance(of))
}
const dayLetters = (random: Random): Item => {
  const kind = random()
  if (kind < 0.3) return { text: "L", values: [], onDay: (day) => day.day === day.length }
  if (kind < 0.5) return { text: "LW", values: [], onDay: (day) => nearestTo(day, day.length) }
  const target = int(random, 1, 31)
  return { text: `${target}W`, values: [], onDay: (day) => nearestTo(day, target) }
}
const weekdayLetters = (random: Random): Item => {
  const number = int(random, 0, 7)
  const nth = int(random, 1, 6)
  const text = nth === 6 ? `${number}L` : `${number}#${nth}`
  const inWeek = (at: Day): boolean => (nth === 6 ? at.day + 7 > at.length : Math.ceil(at.day / 7) === nth)
  return { text, values: [], onDay: (at) => at.weekdays[at.day] === number % 7 && inWeek(at) }
}

/** A random text of five to seven fields, and what it names. */
export const sample = (random: Random, fieldCount: number) => {
  const minute = field(random, 0, 59)
  const hour = field(random, 0, 23)
  const day = field(random, 1, 31, dayLetters)
  const month = field(random, 1, 12)
  const weekday = field(random, 0, 7, weekdayLetters)
  const plus = random() < 0.1 ? "+" : ""
  const texts = [minute.text, hour.text, day.text, month.text, plus + weekday.text]
  if (fieldCount > 5) texts.unshift(field(random, 0, 59).text)
  if (fieldCount > 6) texts.push(random() < 0.5 ? "*" : numbers(random, 1970, 2199).text)
  const and = plus === "+" || /^[*?]/.test(day.text) || /^[*?]/.test(weekday.text)
  const onDay = (at: Day): boolean => {
    const byDay = day.values.includes(at.day) || (day.onDay?.(at) ?? false)
    const number = at.weekdays[at.day] ?? 0
    const byWeekday = weekday.values.some((value) => value % 7 === number) || (weekday.onDay?.(at) ?? false)
    return month.values.includes(at.month) && (and ? byDay && byWeekday : byDay || byWeekday)
  }
  return { text: texts.join(" "), and, onDay, minutes: new Set(minute.values), hours: new Set(hour.values) }
}

export const dayOf = (millis: number): Day => {
  const date = new Date(millis)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const weekdays = Array.from({ length: length + 1 }, (_, day) =>
    new Date(Date.UTC(year, month, day)).getUTCDay(),
  )
  return { month: month + 1, day: date.getUTCDate(), length, weekdays }
}

/** Zones of every kind: usual, southern, half hours, changes at midnight, several a year, moved date line, fixed. */
export const zones40 = [
  "Europe/Berlin Europe/London Europe/Lisbon Europe/Dublin Europe/Helsinki Europe/Moscow Europe/Istanbul",
  "Europe/Chisinau America/New_York America/Chicago America/Los_Angeles America/St_Johns America/Sao_Paulo",
  "America/Santiago America/Asuncion America/Caracas America/Havana America/Scoresbysund America/Anchorage",
  "America/Mexico_City Africa/Casablanca Africa/Cairo Africa/Windhoek Asia/Kathmandu Asia/Kolkata Asia/Tehran",
  "Asia/Gaza Asia/Beirut Asia/Amman Asia/Pyongyang Asia/Tokyo Australia/Sydney Australia/Lord_Howe",
  "Australia/Adelaide Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Norfolk Antarctica/Troll Etc/GMT+12",
].flatMap((line) => line.split(" "))

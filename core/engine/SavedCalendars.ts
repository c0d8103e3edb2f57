// What an engine does with calendars when it starts: saves those of its config, finds out which ones mean something
// else than they did before, and removes those that the config had before when nothing names them any more.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { type Calendar, calendarsNamed } from "../domain/Calendar.ts"
import { InvalidInput, type StoreError } from "../domain/Errors.ts"
import type { ScheduleRow } from "../domain/Schedule.ts"
import { quote } from "../domain/TimeSpan.ts"
import { ScheduleStore } from "../ports/Store.ts"
import type { CalendarRow } from "../ports/StoreDriver.ts"
import { type CalendarBook, compileCalendars } from "../trigger/CalendarSet.ts"

/** The calendars of a store and a config. */
export interface SavedCalendars {
  /** All of them. */
  readonly book: CalendarBook
  /** Without those that the config had before: what its schedules may name. */
  readonly ownBook: CalendarBook
  /** Names whose calendars hold other instants than before, by themselves or through those that they name. */
  readonly changed: ReadonlySet<string>
  /** What is told of those that the config changed itself. */
  readonly news: ReadonlyArray<{ readonly name: string; readonly change: "added" | "changed" | "removed" }>
  /** Removes what nothing names any more, once the config's schedules are saved. */
  readonly prune: (schedules: ReadonlyArray<ScheduleRow>) => Effect.Effect<void, StoreError, ScheduleStore>
}

/** Reads a stored calendar; refused when its text is none. */
export const decodeCalendar = ({ name, definition }: CalendarRow): Result.Result<Calendar, InvalidInput> =>
  Result.mapBoth(
    Result.try(() => {
      const { zone, rule } = JSON.parse(definition) as Omit<Calendar, "name">
      return { name, zone, rule }
    }),
    {
      onSuccess: (calendar) => calendar,
      onFailure: () =>
        new InvalidInput({
          field: `calendar ${quote(name)}`,
          reason: "what the store keeps of it cannot be read",
          next: "Add a calendar of this name to the config.",
        }),
    },
  )

/** The text that a store keeps. */
export const encodeCalendar = ({ name, zone, rule }: Calendar): CalendarRow => ({
  name,
  definition: JSON.stringify({ zone, rule }),
  fromConfig: true,
})

/** Saves the config's calendars beside those that the store has. Refused before anything is saved. */
export const saveCalendars = (
  calendars: ReadonlyArray<Calendar>,
): Effect.Effect<SavedCalendars, StoreError | InvalidInput, ScheduleStore> =>
  Effect.gen(function* () {
    const store = yield* ScheduleStore
    const stored = yield* store.calendars()
    const own = new Map(calendars.map((calendar) => [calendar.name, calendar]))
    const before = new Map(stored.map((row) => [row.name, row.definition]))
    const rows = calendars.map(encodeCalendar)
    const written = rows.filter(({ name, definition }) => before.get(name) !== definition)
    const others: Array<Calendar> = []
    for (const row of stored)
      if (!own.has(row.name)) others.push(yield* Effect.fromResult(decodeCalendar(row)))
    const vanished = new Set(
      stored.flatMap(({ name, fromConfig }) => (fromConfig && !own.has(name) ? [name] : [])),
    )
    const all = [...calendars, ...others]
    const book = yield* Effect.fromResult(compileCalendars(all))
    // A calendar of the config that names a vanished one is refused, as if that were not there.
    const ownBook =
      vanished.size === 0
        ? book
        : yield* Effect.fromResult(compileCalendars(all.filter(({ name }) => !vanished.has(name))))
    // Also those that the config takes over unchanged.
    if (rows.length > 0) yield* store.putCalendars(rows)
    const prune = Effect.fnUntraced(function* (schedules: ReadonlyArray<ScheduleRow>) {
      const named = schedules.flatMap(({ trigger: { only, except } }) => [only ?? "", except ?? ""])
      const kept = through(named, others)
      const gone = [...vanished].filter((name) => !kept.has(name))
      if (gone.length > 0) yield* store.deleteCalendars(gone)
    })
    return {
      book,
      ownBook,
      changed: affected(new Set(written.map(({ name }) => name)), all),
      news: [
        ...written.map(({ name }) => ({
          name,
          change: before.has(name) ? ("changed" as const) : ("added" as const),
        })),
        ...[...vanished].map((name) => ({ name, change: "removed" as const })),
      ],
      prune,
    }
  })

/** The names, and those that their calendars name in turn. */
const through = (names: ReadonlyArray<string>, calendars: ReadonlyArray<Calendar>): ReadonlySet<string> => {
  const rules = new Map(calendars.map(({ name, rule }) => [name, rule]))
  const found = new Set<string>()
  const left = [...names]
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    const rule = rules.get(name)
    if (found.has(name)) continue
    found.add(name)
    if (rule !== undefined) left.push(...calendarsNamed(rule))
  }
  return found
}

/** The names, and those of calendars that name one of them. */
const affected = (names: ReadonlySet<string>, calendars: ReadonlyArray<Calendar>): ReadonlySet<string> => {
  if (names.size === 0) return names
  const users = new Map<string, Array<string>>()
  for (const { name, rule } of calendars)
    for (const used of new Set(calendarsNamed(rule))) users.set(used, [...(users.get(used) ?? []), name])
  const found = new Set<string>()
  const left = [...names]
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (found.has(name)) continue
    found.add(name)
    left.push(...(users.get(name) ?? []))
  }
  return found
}

// The instants at which a schedule has something to decide: those that its pattern names (`PatternSlots.ts`), where
// its calendars and its jitter put them (`Placement.ts`). The planner's decision (`Occurrences.ts`) walks them.
import { patternOf, type Patterned, type Slots, type Timeline, within } from "./PatternSlots.ts"
import { type Place, placed } from "./Placement.ts"

export { type CronPattern, cronSlots, type Slots, type Timeline } from "./PatternSlots.ts"

/** A trigger with its parsed expression and its calendars, where it has them. */
export type ParsedTrigger = Patterned & { readonly place?: Place }

/**
 * The instants of a trigger; a fixed delay has none but the one that follows a run. Where it has calendars or
 * jitter, instants of the pattern up to `cursor` are decided and stand for nothing any more; where they move to
 * another day, those before `since`, which is the creation when absent.
 */
export const slotsOf = (
  trigger: Exclude<ParsedTrigger, { kind: "after" }>,
  {
    createdAt,
    cursor,
    since = createdAt,
  }: { readonly createdAt: number; readonly cursor: number; readonly since?: number },
): Timeline => {
  const { place } = trigger
  if (place === undefined) return plain(within(trigger, patternOf(trigger, createdAt)))
  // What moves across days comes in another order than the pattern's, so there the cursor says nothing about it.
  const first =
    trigger.kind === "at"
      ? -Infinity
      : place.closed === "next" || place.closed === "previous"
        ? since
        : cursor + 1
  const startsAt = Math.max(first, trigger.startsAt ?? -Infinity)
  return placed(within({ ...trigger, startsAt }, patternOf(trigger, createdAt)), place)
}

const plain = (slots: Slots): Timeline => ({
  ...slots,
  leftOut: [],
  next: slots.after,
  settled: (instant) => instant,
})

// Instants that move to another day: to the same wall time on the next or previous local day on which it is open,
// as with business days. Part of `Placement.ts`. Those that land on the same moment are one. Pure; a look reads the
// pattern of a month on one side, so schedules of more than `perDayMax` instants a day are refused when saved.
import { daySeconds } from "./Civil.ts"
import { type InstantSet, instantOf } from "./InstantSet.ts"
import { countMax, itself, type Slots } from "./PatternSlots.ts"
import { spanAt, type Zone } from "./Zone.ts"

/** An instant moves by at most so many days. */
export const rollDaysMax = 31

/** Instants a day that a schedule may have whose instants move. */
export const perDayMax = 24

// A day of local time may have 25 hours and more.
const reachMillis = (rollDaysMax + 2) * 86_400_000

// Instants that one search looks at: of 24 a day, two hundred days.
const lookedMax = 5000

/** Where instants move, and the part of a closed set of them that has nowhere to go. */
export const rolled = (
  pattern: Slots,
  { open, clock, forward }: { readonly open: InstantSet; readonly clock: Zone; readonly forward: boolean },
): { readonly slots: Slots; readonly without: (closed: Slots) => Slots } => {
  const landing = landingOf(open, clock, forward)
  const ahead = forward ? reachMillis : 0
  const behind = reachMillis - ahead

  const after = (instant: number, until = Infinity): number | null => {
    let best: number | null = null
    let at = pattern.after(instant - ahead)
    for (let looked = 0; at !== null && looked < lookedMax; looked++) {
      if (at - behind >= Math.min(best ?? Infinity, until + 1)) break
      const to = landing(at)
      if (to !== null && to > instant && (best === null || to < best)) best = to
      at = pattern.after(at)
    }
    return best
  }
  const upTo = (instant: number, from = -Infinity): number | null => {
    let best: number | null = null
    let at = pattern.upTo(instant + behind)
    for (let looked = 0; at !== null && at + ahead >= from && looked < lookedMax; looked++) {
      if (best !== null && at + ahead <= best) break
      const to = landing(at)
      if (to !== null && to <= instant && (best === null || to > best)) best = to
      at = pattern.upTo(at - 1)
    }
    return best
  }
  const standsFor = (first: number, last: number) => {
    let count = 0
    let nominalAt = last
    let at = pattern.after(first - ahead - 1)
    while (at !== null && at <= last + behind && count < countMax) {
      const to = landing(at)
      if (to !== null && to >= first && to <= last) {
        count++
        nominalAt = at
      }
      at = pattern.after(at)
    }
    return { nominalAt, count }
  }
  return {
    slots: {
      after,
      upTo,
      count: (first, last) => standsFor(first, last).count,
      nominalOf: (at) => standsFor(at, at),
    },
    without: (closed) => lost(closed, landing),
  }
}

/** Where an instant lands. One step asks about the same ones several times, so the answers are kept as long. */
const landingOf = (open: InstantSet, clock: Zone, forward: boolean) => {
  const known = new Map<number, number | null>()
  return (at: number): number | null => {
    const kept = known.get(at)
    if (kept !== undefined) return kept
    const to = land(at)
    known.set(at, to)
    return to
  }
  function land(at: number): number | null {
    const first = open(at)
    if (first.isOpen) return at
    const second = Math.floor(at / 1000)
    const wall = second + spanAt(clock, second).offset
    const rest = at - second * 1000
    let closed = first
    for (let days = 1; days <= rollDaysMax; days++) {
      const to = instantOf(clock, wall + (forward ? days : -days) * daySeconds) + rest
      if (to >= closed.from && to < closed.to) continue
      closed = open(to)
      if (closed.isOpen) return to
    }
    return null
  }
}

/** Those of `closed` that land nowhere. */
const lost = (closed: Slots, landing: (at: number) => number | null): Slots => {
  const search = (from: number | null, step: (at: number) => number | null): number | null => {
    let at = from
    for (let looked = 0; at !== null && looked < lookedMax; looked++) {
      if (landing(at) === null) return at
      at = step(at)
    }
    return null
  }
  const after = (instant: number, until = Infinity): number | null => {
    const first = closed.after(instant, until)
    return search(first, (at) => (at > until ? null : closed.after(at, until)))
  }
  return {
    after,
    upTo: (instant, from = -Infinity) =>
      search(closed.upTo(instant, from), (at) => (at < from ? null : closed.upTo(at - 1, from))),
    count: (first, last) => {
      let count = 0
      for (let at: number | null = first; at !== null && at <= last && count < countMax; count++)
        at = after(at, last)
      return count
    },
    nominalOf: itself,
  }
}

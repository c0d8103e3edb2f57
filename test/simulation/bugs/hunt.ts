// Looks for one planted bug: seed after seed, until the simulation has seen it break what it must break.
import { simulate } from "../simulate.ts"
import type { Swarm } from "../Swarm.ts"
import type { Violation } from "../Watch.ts"
import { seedMax } from "./all.ts"
import type { Planted } from "./Planted.ts"

/** What came of a hunt. */
export interface Hunt {
  readonly bug: Planted
  /** Seeds that were tried; the last one has found it, unless there is no violation. */
  readonly seeds: number
  readonly violation: Violation | null
  /** What else was broken, by invariant, in these seeds. */
  readonly others: ReadonlyArray<string>
}

/** Workers only where the bug is about them: all else is easier to see without. */
const swarmFor = ({ swarm }: Planted): Partial<Swarm> => ({ workers: 0, ...swarm })

/** Tries seeds from 1 on. */
export const hunt = (bug: Planted): Hunt => {
  const others = new Set<string>()
  for (let seed = 1; seed <= seedMax; seed++) {
    const { violations } = simulate(seed, { bug: { name: bug.name, ...bug.make() }, swarm: swarmFor(bug) })
    const violation = violations.find(({ invariant }) => bug.breaks.includes(invariant)) ?? null
    for (const { invariant } of violations) if (!bug.breaks.includes(invariant)) others.add(invariant)
    if (violation !== null) return { bug, seeds: seed, violation, others: [...others] }
  }
  return { bug, seeds: seedMax, violation: null, others: [...others] }
}

const cleanSeeds = new Map<string, number>()

/** What is broken without the bug, in the same seeds of the same swarm: it must be nothing. */
export const withoutBug = ({ bug, seeds }: Hunt): ReadonlyArray<string> => {
  const swarm = JSON.stringify(swarmFor(bug))
  for (let seed = (cleanSeeds.get(swarm) ?? 0) + 1; seed <= seeds; seed++) {
    const { violations } = simulate(seed, { swarm: swarmFor(bug) })
    if (violations.length > 0)
      return violations.map(({ invariant, what }) => `seed ${seed}: ${invariant} ${what}`)
    cleanSeeds.set(swarm, seed)
  }
  return []
}

/** What to print of hunts: one line each. */
export const toldOf = (hunts: ReadonlyArray<Hunt>): string =>
  hunts
    .map(({ bug, seeds, violation, others }) => {
      const also = others.length === 0 ? "" : ` (also ${others.join(", ")})`
      return violation === null
        ? `NOT FOUND in ${seeds} seeds: ${bug.name}, which breaks ${bug.breaks.join(" or ")}${also}`
        : `seed ${seeds}: ${bug.name}: ${violation.invariant} ${violation.what}${also}`
    })
    .join("\n")

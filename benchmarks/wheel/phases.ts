// The mixes, for all contenders and the floor: one process, in turns, the order reversed each round, the best round
// of each counts. Round 0 warms up and counts for nothing.
import { type Spent, startMeter } from "../common/meter.ts"
import { rounded } from "../common/statistics.ts"
import { type Contender, contenders, epoch } from "./contenders.ts"
import { Floor } from "./Floor.ts"
import { type Load, makeLoad } from "./load.ts"
import type { Options } from "./options.ts"
import { ownLoops } from "./ownLoops.ts"

/** What is measured, in the order in which it is. */
export const phases = ["insert", "cancel", "mixed", "expire"] as const

/** Nanoseconds of one operation: the best round on the wall, all rounds by CPU time of the process. */
export interface Cost {
  readonly bestNanos: number
  readonly cpuNanos: number
}

/** One of the mixes. */
export type Phase = (typeof phases)[number]

/** The costs of each contender, the floor among them, with this many timers pending. */
export interface Sized {
  readonly size: number
  readonly costs: Readonly<Record<string, Readonly<Record<Phase, Cost>>>>
  /** What fired, as a number: equal for all contenders. */
  readonly checksums: Readonly<Record<string, number>>
}

// Below this many operations in a phase the clock would be what is measured.
const operationsMin = 200_000

// In the mix all timers are replaced this often, so that what a lazy queue puts off is paid in what is measured.
const mixedTurnover = 4

type Step = (phase: Phase, operations: () => number) => void
interface Runner {
  readonly name: string
  readonly pass: (measured: Step) => void
  readonly checksum: () => number | undefined
}

/** Measures all mixes at one size. */
export const measureSize = async (size: number, options: Options): Promise<Sized> => {
  const load = makeLoad(size)
  const runners: Array<Runner> = []
  for (const name of options.only) runners.push(await contenderRunner(name, load))
  runners.push(floorRunner(load))
  const meters = new Map(runners.map(({ name }) => [name, new Map<Phase, Tally>()]))
  for (let round = 0; round <= options.rounds; round++) {
    for (const { name, pass } of round % 2 === 0 ? runners : [...runners].reverse()) {
      const tallies = meters.get(name) as Map<Phase, Tally>
      for (const phase of phases) tally(tallies, phase).startRound(round)
      for (let done = 0; done < operationsMin; done += size) {
        pass((phase, operations) => {
          const stop = startMeter()
          const count = operations()
          tally(tallies, phase).add(stop(), count)
        })
      }
    }
  }
  return {
    size,
    costs: Object.fromEntries(
      [...meters].map(([name, tallies]) => [
        name,
        Object.fromEntries(phases.map((phase) => [phase, tally(tallies, phase).cost()])) as Record<
          Phase,
          Cost
        >,
      ]),
    ),
    checksums: Object.fromEntries(
      runners.flatMap(({ name, checksum }) => {
        const sum = checksum()
        return sum === undefined ? [] : [[name, sum]]
      }),
    ),
  }
}

const contenderRunner = async (name: string, load: Load): Promise<Runner> => {
  const make = contenders[name] as (capacity: number) => Contender
  const queue = make(load.size)
  const loops = await ownLoops(`${name}-${load.size}`)
  let now = epoch
  return {
    name,
    checksum: loops.checksum,
    pass: (measured) => {
      const { size } = load
      measured("insert", () => {
        loops.insert(queue, load, now)
        return size
      })
      measured("cancel", () => {
        loops.cancel(queue, load)
        return size
      })
      loops.insert(queue, load, now)
      measured("mixed", () => {
        const { at, armed } = loops.mixed(queue, load, now, size * mixedTurnover)
        now = at
        return armed
      })
      loops.cancel(queue, load)
      loops.insert(queue, load, now)
      measured("expire", () => {
        now = loops.expire(queue, load, now)
        return size
      })
    },
  }
}

const floorRunner = (load: Load): Runner => {
  const floor = new Floor(load)
  const { size } = load
  let sum = 0
  return {
    name: "floor",
    // It has no time, so nothing of it can be compared; the sum keeps the reads alive.
    checksum: () => (Number.isNaN(sum) ? 0 : undefined),
    pass: (measured) => {
      measured("insert", () => {
        floor.insert(load)
        return size
      })
      measured("cancel", () => {
        floor.cancel(load)
        return size
      })
      floor.insert(load)
      measured("mixed", () => {
        const steps = size * mixedTurnover
        floor.mixed(load, steps)
        return steps
      })
      measured("expire", () => {
        sum += floor.expire()
        return size
      })
    },
  }
}

const tally = (tallies: Map<Phase, Tally>, phase: Phase): Tally => {
  const found = tallies.get(phase) ?? new Tally()
  tallies.set(phase, found)
  return found
}

class Tally {
  private readonly rounds: Array<{ millis: number; operations: number }> = []
  private cpuMillis = 0
  private operations = 0
  private round = 0

  startRound(round: number): void {
    this.round = round
    this.rounds[round] = { millis: 0, operations: 0 }
  }

  add({ wallMillis, cpuMillis }: Spent, operations: number): void {
    const sum = this.rounds[this.round] as { millis: number; operations: number }
    sum.millis += wallMillis
    sum.operations += operations
    if (this.round === 0) return
    this.cpuMillis += cpuMillis
    this.operations += operations
  }

  cost(): Cost {
    const nanos = this.rounds.slice(1).map(({ millis, operations }) => (millis * 1e6) / operations)
    return {
      bestNanos: rounded(Math.min(...nanos)),
      cpuNanos: rounded((this.cpuMillis * 1e6) / this.operations),
    }
  }
}

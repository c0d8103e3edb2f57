// What is done to the cluster, and when: made of a seed before anything starts, so that a seed is one sequence of faults.
import { Choice } from "../../common/random.ts"
import type { Way } from "./Proxy.ts"

/** Everything that is done. */
export const faultKinds = [
  "kill",
  "freeze",
  "terminate",
  "database",
  "cut",
  "delay",
  "oneWay",
  "skew",
] as const

/** One of `faultKinds`. */
export type FaultKind = (typeof faultKinds)[number]

/** One fault; times in milliseconds. */
export interface Fault {
  readonly kind: FaultKind
  /** Not before this long after the begin. */
  readonly notBefore: number
  /** Which node, where one is meant; `nodeCount` is the client, whose way can be disturbed as well. */
  readonly node: number
  /** How long it lasts: the freeze, the time until the restart, the weather on the way. */
  readonly millis: number
  /** Alone: it waits until all is well, and is followed by nothing until what it left behind must have gone on. */
  readonly isAlone: boolean
  /** The delay of each piece. */
  readonly delayMillis: number
  readonly way: Way
  /** Whether lost pieces never come, and their connections are reset instead. */
  readonly reset: boolean
  /** How far the clock of the node's next life is off; 0 mostly. */
  readonly skewMillis: number
}

/** How many nodes there are. */
export const nodeCount = 3

// Two rounds of these are no different from one another but for the order after the first two, so that a short plan
// has what matters most.
const first: ReadonlyArray<FaultKind> = ["kill", "freeze"]
const others: ReadonlyArray<FaultKind> = [
  "kill",
  "kill",
  "freeze",
  "terminate",
  "database",
  "cut",
  "delay",
  "oneWay",
  "skew",
]

const skews: ReadonlyArray<number> = [-3_600_000, -40_000, -3_000, 3_000, 40_000, 3_600_000]

const lastsFor: Readonly<Record<FaultKind, readonly [min: number, max: number]>> = {
  kill: [0, 3000],
  // Longer than the lease, or nobody would notice.
  freeze: [6000, 15_000],
  terminate: [0, 2000],
  database: [0, 3000],
  cut: [100, 8000],
  delay: [3000, 8000],
  oneWay: [2000, 12_000],
  skew: [0, 1000],
}

/** The faults of a seed, spread over so many seconds. */
export const planOf = (options: {
  readonly seed: number
  readonly faults: number
  readonly seconds: number
}): ReadonlyArray<Fault> => {
  const choice = new Choice(options.seed)
  const kinds: Array<FaultKind> = []
  while (kinds.length < options.faults) {
    const rest = [...others]
    kinds.push(...first)
    while (rest.length > 0) kinds.push(...rest.splice(choice.int(0, rest.length - 1), 1))
  }
  const slot = (options.seconds * 1000) / Math.max(1, options.faults)
  let freezes = 0
  return kinds.slice(0, options.faults).map((kind, place) => {
    const [min, max] = lastsFor[kind]
    const onTheWay = kind === "cut" || kind === "delay" || kind === "oneWay"
    const isSkewed = kind === "skew" || choice.percent(15)
    const millis = choice.int(min, max)
    // Of a plan of some length, one is as long as they get, whatever the seed.
    const isLongest = kind === "freeze" && ++freezes === 3
    return {
      kind,
      notBefore: Math.round((place + choice.random() * 0.8) * slot),
      node: choice.int(0, nodeCount - (onTheWay && choice.percent(25) ? 0 : 1)),
      millis: isLongest ? max : millis,
      isAlone: kind === "kill" && choice.percent(60),
      delayMillis: choice.int(50, 800),
      way: choice.of<Way>(["toServer", "toNode"]),
      reset: choice.percent(30),
      skewMillis: isSkewed ? choice.of(skews) : 0,
    }
  })
}

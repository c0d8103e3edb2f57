// What is done to the server and its workers, and when: made of a seed before anything starts, so that a seed is one
// sequence of faults.
import { Choice } from "../../common/random.ts"
import type { Way } from "../postgres/Proxy.ts"

/** Everything that is done. */
export const faultKinds = [
  "killWorker",
  "killServer",
  "stopWorker",
  "stopServer",
  "freeze",
  "cut",
  "oneWay",
  "blackHole",
  "halfOpen",
  "slow",
] as const

/** One of `faultKinds`. */
export type FaultKind = (typeof faultKinds)[number]

/** One fault; times in milliseconds. */
export interface Fault {
  readonly kind: FaultKind
  /** Not before this long after the begin. */
  readonly notBefore: number
  /** Which worker, where one is meant. */
  readonly worker: number
  /** How long it lasts: the freeze, the time until the restart, the weather on the way. */
  readonly millis: number
  /** Alone: it waits until all is well, and nothing else begins before what it left behind must have gone on. */
  readonly isAlone: boolean
  /** The delay of each piece on a slow way. */
  readonly delayMillis: number
  /** What a one-way loss loses. */
  readonly way: Way
  /** Whether lost pieces never come, and their connections are reset instead. */
  readonly reset: boolean
  /** The one side of a half-open connection that knows of its end. */
  readonly side: "node" | "server"
}

/** How many workers there are. */
export const workerCount = 4

/** Faults of the server, of which there is one. */
export const isOfServer = (kind: FaultKind): boolean => kind === "killServer" || kind === "stopServer"

// What matters most comes first, so that a short plan has it.
const first: ReadonlyArray<FaultKind> = ["killWorker", "cut", "killServer", "freeze", "oneWay", "stopServer"]
const others: ReadonlyArray<FaultKind> = [
  "killWorker",
  "killWorker",
  "killServer",
  "stopWorker",
  "stopServer",
  "freeze",
  "freeze",
  "cut",
  "oneWay",
  "oneWay",
  "blackHole",
  "halfOpen",
  "halfOpen",
  "slow",
]

/** The longest freeze and the length of a black hole: longer than the 15 s after which a worker is lost. */
export const silenceMillis = 20_000

const lastsFor: Readonly<Record<FaultKind, readonly [min: number, max: number]>> = {
  killWorker: [0, 3000],
  killServer: [0, 3000],
  stopWorker: [0, 2000],
  stopServer: [0, 2000],
  freeze: [3000, silenceMillis],
  // From shorter than the grace to much longer.
  cut: [0, 6000],
  oneWay: [6000, silenceMillis],
  blackHole: [silenceMillis, silenceMillis],
  // Until the side that does not know must have noticed.
  halfOpen: [12_000, 12_000],
  slow: [3000, 8000],
}

/** The faults of a seed, spread over so many seconds. */
export const planOf = (options: {
  readonly seed: number
  readonly faults: number
  readonly seconds: number
}): ReadonlyArray<Fault> => {
  const choice = new Choice(options.seed)
  const kinds: Array<FaultKind> = [...first]
  while (kinds.length < options.faults) {
    const rest = [...others]
    while (rest.length > 0) kinds.push(...rest.splice(choice.int(0, rest.length - 1), 1))
  }
  const slot = (options.seconds * 1000) / Math.max(1, options.faults)
  const seen = new Map<FaultKind, number>()
  return kinds.slice(0, options.faults).map((kind, place) => {
    const [min, max] = lastsFor[kind]
    const count = (seen.get(kind) ?? 0) + 1
    seen.set(kind, count)
    const millis = choice.int(min, max)
    return {
      kind,
      notBefore: Math.round((place + choice.random() * 0.8) * slot),
      worker: choice.int(0, workerCount - 1),
      // Of a plan of some length, every second one is as long as they get, whatever the seed.
      millis: (kind === "freeze" || kind === "oneWay") && count % 2 === 0 ? max : millis,
      // A server that goes down among other faults is worth a look as well.
      isAlone: (isOfServer(kind) || kind === "killWorker") && choice.percent(60),
      delayMillis: choice.int(50, 500),
      way: choice.of<Way>(["toServer", "toNode"]),
      reset: choice.percent(30),
      side: choice.of(["node", "server"] as const),
    }
  })
}

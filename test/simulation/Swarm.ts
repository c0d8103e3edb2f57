// What a seed turns on: how many nodes, of what size, which faults at which rates, where in the calendar. Most faults are
// off in most seeds (swarm testing), so that what one hides from another is seen as well.
import { makeRandom } from "./Random.ts"

/** What happens to workers that speak the protocol, and between them and the nodes. */
export interface WorkersSwarm {
  /** How many; 0: the nodes serve none. */
  readonly workers: number
  /** What the nodes carry out themselves beside them; `plain`: all but flows. */
  readonly ownJobs: "all" | "plain" | "none"
  /** Some say that they can do more than they can. */
  readonly boasts: boolean
  /** Longest time of a frame, and of one on a way that is slow for a while. */
  readonly frameMillis: number
  readonly slowFrameMillis: number
  /** Of single frames. */
  readonly frameLost: number
  readonly frameRepeated: number
  /** Much less than real systems hold. */
  readonly bufferedBytesHigh: number
  /** A way swallows everything for a while, holds it up, is slow. */
  readonly holeMillis: number
  readonly lineCutMillis: number
  readonly workerCrashMillis: number
  readonly workerFreezeMillis: number
  /** A worker is told to end, by its own people or by its server. */
  readonly workerDrainMillis: number
  readonly revokeMillis: number
}

/** Rates are probabilities of a call or message, means of times in milliseconds between two events; 0: never. */
export interface Swarm extends WorkersSwarm {
  readonly seed: number
  readonly startAt: number
  readonly zone: string
  readonly nodes: number
  readonly slots: number
  readonly leaseMillis: number
  readonly pollMillis: number
  /** From how many due schedules on nodes share them: there are never as many as by default. */
  readonly shareFrom: number
  /** How long faults go on, and how long everything then has to come to its end. */
  readonly activeMillis: number
  readonly settleMillis: number
  /** Mean time between two requests of clients. */
  readonly requestMillis: number
  /** Handlers run on workers of their own, behind frames. */
  readonly remote: boolean
  readonly flows: boolean
  readonly schedules: number
  readonly failsBefore: number
  readonly failsAfter: number
  readonly slow: number
  readonly slowMaxMillis: number
  readonly crashMillis: number
  /** Of dying with each call to the store: before it is sent, and again when it is done. */
  readonly crashAtCall: number
  readonly freezeMillis: number
  readonly drainMillis: number
  readonly partitionMillis: number
  readonly storeDownMillis: number
  readonly diskFullMillis: number
  /** Of hints and of frames to and from workers. */
  readonly lost: number
  readonly repeated: number
  readonly late: number
  readonly workerGoneMillis: number
  /** Largest difference between a node's clock and the store's. */
  readonly skewMillis: number
  /** Mean time between two steps of a clock, and how far they go. */
  readonly clockStepMillis: number
  readonly clockStepMaxMillis: number
  readonly operateMillis: number
  /** How long a drain waits for handlers. */
  readonly graceMillis: number
  /** Mean time between two configs, each of which one node starts with. */
  readonly deployMillis: number
}

/** Instants shortly before a clock change, a month's and a year's end: where calendars are hard. */
const beginnings: ReadonlyArray<readonly [string, string]> = [
  ["UTC", "2024-06-12T09:29:40Z"],
  ["America/New_York", "2024-03-10T06:59:10Z"],
  ["America/New_York", "2024-11-03T05:59:10Z"],
  ["Europe/Berlin", "2024-03-31T00:59:20Z"],
  ["Europe/Berlin", "2024-10-27T00:59:30Z"],
  ["Australia/Lord_Howe", "2024-10-05T15:29:20Z"],
  ["Asia/Kolkata", "2024-02-29T18:29:15Z"],
  ["UTC", "2024-12-31T23:59:20Z"],
]

/** The swarm of a seed. */
export const swarmOf = (seed: number): Swarm => {
  const { chance, int, next, pick } = makeRandom(seed ^ 0x5eed)
  const sometimes = (probability: number, value: () => number): number => (chance(probability) ? value() : 0)
  const [zone, beginning] = pick(beginnings)
  const calm = chance(0.05)
  const nodes = pick([1, 1, 2, 2, 3, 4])
  const slots = pick([1, 2, 5, 10, 20])
  const fault = (probability: number, value: () => number): number =>
    calm ? 0 : sometimes(probability, value)
  const workers = workersSwarmOf(seed)
  return {
    ...workers,
    seed,
    startAt: Date.parse(beginning) + int(0, 999),
    zone,
    nodes,
    slots,
    leaseMillis: pick([2000, 5000, 5000]),
    pollMillis: pick([250, 1000, 1000]),
    // Not by chance: all other choices of a seed stay as they are.
    shareFrom: seed % 2 === 0 ? 32 : 1,
    activeMillis: int(15, 60) * 1000,
    settleMillis: 120_000,
    // No more than the slots can do: what is refused for want of room is another test's business.
    requestMillis: Math.max(pick([150, 300, 600, 1500]), Math.round(4000 / (nodes * slots))),
    remote: chance(0.3),
    flows: chance(0.6),
    schedules: pick([0, 1, 3, 6]),
    failsBefore: fault(0.5, () => next() * 0.1),
    failsAfter: fault(0.5, () => next() * 0.1),
    slow: fault(0.4, () => next() * 0.2),
    slowMaxMillis: pick([20, 200, 2000]),
    crashMillis: fault(0.5, () => int(5, 40) * 1000),
    freezeMillis: fault(0.35, () => int(8, 60) * 1000),
    drainMillis: fault(0.4, () => int(10, 40) * 1000),
    partitionMillis: fault(0.3, () => int(10, 40) * 1000),
    storeDownMillis: fault(0.2, () => int(20, 60) * 1000),
    diskFullMillis: fault(0.15, () => int(20, 60) * 1000),
    lost: fault(0.5, () => next() * 0.5),
    repeated: fault(0.3, () => next() * 0.3),
    late: fault(0.4, () => next() * 0.5),
    workerGoneMillis: fault(0.5, () => int(10, 40) * 1000),
    skewMillis: fault(0.3, () => pick([500, 5000, 600_000])),
    clockStepMillis: fault(0.2, () => int(10, 40) * 1000),
    clockStepMaxMillis: pick([2000, 60_000, 600_000]),
    operateMillis: sometimes(0.6, () => int(1, 10) * 1000),
    graceMillis: pick([0, 500, 3000, 3000, 10_000]),
    deployMillis: sometimes(0.4, () => int(8, 30) * 1000),
    crashAtCall: fault(0.4, () => next() * 0.004),
  }
}

/** Workers whose connections and lives are short, and who do all the work. */
export const restless: Partial<Swarm> = {
  workers: 3,
  ownJobs: "none",
  boasts: false,
  frameMillis: 50,
  lineCutMillis: 1500,
  workerFreezeMillis: 10_000,
}

/** From chance of its own: all other choices of a seed stay as they were before there were workers. */
const workersSwarmOf = (seed: number): WorkersSwarm => {
  const { chance, int, next, pick } = makeRandom(seed ^ 0x3041)
  const workers = chance(0.4) ? int(1, 5) : 0
  const calm = chance(0.1)
  const fault = (probability: number, value: () => number): number =>
    !calm && chance(probability) ? value() : 0
  return {
    workers,
    ownJobs: pick(["all", "plain", "none", "none"]),
    boasts: !calm && chance(0.3),
    frameMillis: pick([1, 5, 50]),
    slowFrameMillis: pick([300, 1500, 4000]),
    frameLost: fault(0.3, () => next() * 0.1),
    frameRepeated: fault(0.3, () => next() * 0.1),
    bufferedBytesHigh: pick([2000, 1_048_576]),
    holeMillis: fault(0.5, () => int(6, 40) * 1000),
    lineCutMillis: fault(0.5, () => int(2, 20) * 1000),
    workerCrashMillis: fault(0.5, () => int(4, 30) * 1000),
    workerFreezeMillis: fault(0.4, () => int(8, 40) * 1000),
    workerDrainMillis: fault(0.4, () => int(5, 30) * 1000),
    revokeMillis: fault(0.2, () => int(15, 60) * 1000),
  }
}

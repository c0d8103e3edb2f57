// Measures floor and server in turn: the server in a process of its own, all workers in another.
import { sleep } from "../common/meter.ts"
import { median, rounded, type Spans, spansOf } from "../common/statistics.ts"
import { type Child, startChild } from "./Child.ts"
import { messagesPerRun } from "./frames.ts"
import { type Options, type StoreName, storesOf } from "./options.ts"

/** `bare`: a `BareWorker`. `real`: the worker of `uhrwerk/worker`. */
export type Side = "bare" | "real"

/** What went over all connections, as the workers saw it. */
export interface Traffic {
  readonly framesIn: number
  readonly framesOut: number
  readonly messagesIn: number
  readonly messagesOut: number
}

/** What a load of echoes took; each is two messages. */
export interface Echoed {
  readonly count: number
  readonly wallMillis: number
}

/** One round of one server. */
interface Round {
  readonly perSecond: number
  readonly messagesPerSecond: number
  /** Acknowledgements are joined: `null` where the workers do not count. */
  readonly framesPerSecond: number | null
  /** User and system time of each side's process for one run, or one echo. */
  readonly serverCpuMicros: number
  readonly loadCpuMicros: number
}

/** Medians of all rounds. */
export interface Throughput extends Round {
  readonly name: string
  readonly connections: number
  readonly workers: Side | "echo"
  readonly store: StoreName | null
  /** Our messages a second to the floor's, of the same round: the median; `null` for the floor. */
  readonly ratio: number | null
  /** How much of our server's CPU time for a message the echo's server takes; steadier on a machine that does other things. */
  readonly cpuRatio: number | null
  readonly rounds: ReadonlyArray<number>
}

/** From the call of `send` in the server to the first line of the handler in the worker's process. */
export interface Latency extends Spans {
  readonly store: StoreName
  readonly load: "one at a time" | "rate"
}

/** Workers that have nothing to do. */
export interface Idle {
  readonly workers: number
  readonly serverCpuPercent: number
  /** The same server before the first worker came: what an idle engine takes anyway. */
  readonly aloneCpuPercent: number
  readonly loadCpuPercent: number
  readonly rssKibPerWorker: number
  readonly heapKibPerWorker: number
}

/** Everything that was measured. */
export interface Figures {
  readonly throughput?: ReadonlyArray<Throughput>
  readonly latency?: ReadonlyArray<Latency>
  readonly idle?: Idle
}

/** How many connections. */
export const connectionCounts = [1, 4, 16] as const

interface Contender {
  readonly name: string
  readonly connections: number
  readonly workers: Side | "echo"
  readonly store: StoreName | null
}

/** Measures all; what went wrong is added to `troubles`. */
export const measureAll = async (
  options: Options,
  progress: (text: string) => void,
  troubles: Array<string>,
): Promise<Figures> => {
  const tried = async <A>(what: string, measure: () => Promise<A>): Promise<A | undefined> => {
    progress(what)
    try {
      return await measure()
    } catch (error) {
      troubles.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const { only } = options
  const throughput = only.has("throughput") ? await measureThroughput(options, tried) : undefined
  const latency: Array<Latency> = []
  if (only.has("latency"))
    for (const store of storesOf(options)) {
      const found = await tried(`latency, ${store}`, () => measureLatency(options, store))
      latency.push(...(found ?? []))
    }
  const idle = only.has("idle") ? await tried("idle workers", () => measureIdle(options)) : undefined
  return {
    ...(throughput === undefined ? {} : { throughput }),
    ...(only.has("latency") ? { latency } : {}),
    ...(idle === undefined ? {} : { idle }),
  }
}

/** The echo, and the server over each store with each kind of worker. */
export const contendersOf = (options: Options, connections: number): ReadonlyArray<Contender> => [
  { name: "echo", connections, workers: "echo", store: null },
  ...storesOf(options).flatMap((store) =>
    (["bare", "real"] as const).map((workers) => ({
      name: `${store}, ${workers} workers`,
      connections,
      workers,
      store,
    })),
  ),
]

const measureThroughput = async (
  options: Options,
  tried: <A>(what: string, measure: () => Promise<A>) => Promise<A | undefined>,
): Promise<ReadonlyArray<Throughput>> => {
  const all = connectionCounts.flatMap((connections) => contendersOf(options, connections))
  const found = new Map(all.map((each) => [each, new Array<Round | undefined>()]))
  for (let round = 0; round < options.rounds; round++)
    for (const each of round % 2 === 0 ? all : [...all].reverse()) {
      const what = `${each.name}, ${each.connections} connections, round ${round + 1} of ${options.rounds}`
      found.get(each)?.push(await tried(what, () => measureRound(each, options)))
    }
  return all.map((each) => {
    const rounds = found.get(each) ?? []
    const floor = all.find(({ store, connections }) => store === null && connections === each.connections)
    const floors = (floor === undefined ? undefined : found.get(floor)) ?? []
    return { ...each, ...summaryOf(rounds, each.store === null ? null : floors) }
  })
}

/** Medians; the ratio is that of each round to the floor's of the same round. */
export const summaryOf = (
  rounds: ReadonlyArray<Round | undefined>,
  floors: ReadonlyArray<Round | undefined> | null,
): Round & Pick<Throughput, "ratio" | "cpuRatio" | "rounds"> => {
  const good = rounds.filter((round) => round !== undefined)
  const middle = (name: Exclude<keyof Round, "framesPerSecond">): number =>
    rounded(median(good.map((round) => round[name])))
  const frames = good.flatMap(({ framesPerSecond }) => framesPerSecond ?? [])
  const toFloor = (share: (ours: Round, floor: Round) => number): number | null => {
    if (floors === null) return null
    const shares = rounds.flatMap((round, place) => {
      const floor = floors[place]
      return round === undefined || floor === undefined ? [] : [share(round, floor)]
    })
    return rounded(median(shares))
  }
  return {
    perSecond: Math.round(middle("perSecond")),
    messagesPerSecond: Math.round(middle("messagesPerSecond")),
    framesPerSecond: frames.length === 0 ? null : Math.round(median(frames)),
    serverCpuMicros: middle("serverCpuMicros"),
    loadCpuMicros: middle("loadCpuMicros"),
    ratio: toFloor((ours, floor) => ours.messagesPerSecond / floor.messagesPerSecond),
    // An echo is two messages, a run has four.
    cpuRatio: toFloor((ours, floor) => floor.serverCpuMicros / 2 / (ours.serverCpuMicros / messagesPerRun)),
    rounds: good.map(({ perSecond }) => Math.round(perSecond)),
  }
}

/** Both processes, ended whatever happens. */
const withChildren = async <A>(
  serverArgs: ReadonlyArray<string>,
  measure: (server: Child, load: Child, url: string) => Promise<A>,
): Promise<A> => {
  const server = startChild("server.child.ts", ...serverArgs)
  const load = startChild("load.child.ts")
  try {
    const { url } = await server.ask<{ readonly url: string }>({ do: "url" })
    return await measure(server, load, url)
  } finally {
    await load.end()
    await server.end()
  }
}

const measureRound = (contender: Contender, options: Options): Promise<Round> =>
  withChildren([contender.store ?? "echo", options.folder], async (server, load, url) => {
    const one = contender.store === null ? echoes : drain
    // Code that runs for the first time is compiled first.
    await one(server, load, url, contender, options, Math.ceil(options.runs / 5))
    return one(server, load, url, contender, options, options.runs)
  })

type Measure = (
  server: Child,
  load: Child,
  url: string,
  contender: Contender,
  options: Options,
  runs: number,
) => Promise<Round>

const cpuOf = async (server: Child, load: Child): Promise<readonly [server: number, load: number]> => [
  (await server.used()).cpuMicros,
  (await load.used()).cpuMicros,
]

/** As many messages as so many runs would take. */
const echoes: Measure = async (server, load, url, { connections }, options, runs) => {
  const before = await cpuOf(server, load)
  const window = Math.ceil(options["in-flight"] / connections)
  const messages = (runs * messagesPerRun) / 2
  const { count, wallMillis } = await load.ask<Echoed>({ do: "echo", url, connections, window, messages })
  const after = await cpuOf(server, load)
  const perSecond = (count * 1000) / wallMillis
  return {
    perSecond,
    messagesPerSecond: 2 * perSecond,
    framesPerSecond: 2 * perSecond,
    serverCpuMicros: (after[0] - before[0]) / count,
    loadCpuMicros: (after[1] - before[1]) / count,
  }
}

/** All runs are in the store before the workers come; measured from the first start to the last settlement. */
const drain: Measure = async (server, load, url, { connections, workers }, options, runs) => {
  await server.ask({ do: "fill", runs })
  const slots = Math.ceil(options["in-flight"] / connections)
  const before = await cpuOf(server, load)
  const drained = server.ask<{ readonly wallMillis: number }>({ do: "drained" })
  // Heard of where it is waited for.
  drained.catch(() => undefined)
  await load.ask({ do: "connect", url, side: workers, count: connections, slots })
  const { wallMillis } = await drained
  const after = await cpuOf(server, load)
  const traffic = await load.ask<Traffic>({ do: "traffic" })
  await load.ask({ do: "disconnect" })
  const perSecond = (runs * 1000) / wallMillis
  const frames = traffic.framesIn + traffic.framesOut
  return {
    perSecond,
    messagesPerSecond: messagesPerRun * perSecond,
    // Only bare workers count them.
    framesPerSecond: workers === "bare" ? (frames * 1000) / wallMillis : null,
    serverCpuMicros: (after[0] - before[0]) / runs,
    loadCpuMicros: (after[1] - before[1]) / runs,
  }
}

const realWorkers = 4
const warmUpSends = 50

const measureLatency = (options: Options, store: StoreName): Promise<ReadonlyArray<Latency>> =>
  withChildren([store, options.folder], async (server, load, url) => {
    const slots = Math.ceil(options["in-flight"] / realWorkers)
    await load.ask({ do: "connect", url, side: "real", count: realWorkers, slots })
    await server.ask({ do: "sendEach", count: warmUpSends, millis: 5 })
    await load.ask({ do: "delays" })
    await server.ask({ do: "sendEach", count: options.samples, millis: 5 })
    const single = await load.ask<{ readonly delays: ReadonlyArray<number> }>({ do: "delays" })
    const { rate } = options
    const count = Math.ceil((rate * options["load-span"]) / 1000)
    await server.ask({ do: "sendAtRate", count, perSecond: rate })
    const loaded = await load.ask<{ readonly delays: ReadonlyArray<number> }>({ do: "delays" })
    for (const [{ delays }, wanted] of [
      [single, options.samples],
      [loaded, count],
    ] as const)
      if (delays.length !== wanted) throw new Error(`${delays.length} of ${wanted} runs were begun`)
    return [
      { store, load: "one at a time", ...spansOf(single.delays) },
      { store, load: "rate", ...spansOf(loaded.delays) },
    ]
  })

// Below what a server takes of new sessions in a second.
const hellosPerSecond = 150
const restMillisMax = 6_000

const measureIdle = (options: Options): Promise<Idle> =>
  withChildren(["memory", options.folder], async (server, load, url) => {
    const { idle: workers } = options
    const collected = (): Promise<{ readonly rssMib: number; readonly heapMib: number }> =>
      server.ask({ do: "used", collect: true })
    // What the first workers make the server load is not what one more of them takes.
    await load.ask({ do: "connect", url, side: "bare", count: 10, slots: 10, perSecond: hellosPerSecond })
    await load.ask({ do: "disconnect" })
    const restMillis = Math.min(restMillisMax, options["idle-span"])
    await sleep(restMillis)
    const [alone0] = await cpuOf(server, load)
    await sleep(options["idle-span"] / 3)
    const [alone1] = await cpuOf(server, load)
    const before = await collected()
    const connect = { do: "connect", url, side: "bare", slots: 10, perSecond: hellosPerSecond }
    await load.ask({ ...connect, count: workers })
    await sleep(restMillis)
    const after = await collected()
    const [server0, load0] = await cpuOf(server, load)
    await sleep(options["idle-span"])
    const [server1, load1] = await cpuOf(server, load)
    const { connected } = await server.ask<{ readonly connected: number }>({ do: "workers" })
    if (connected !== workers) throw new Error(`${connected} of ${workers} workers are alive`)
    const percent = (micros: number): number => rounded(micros / 10 / options["idle-span"])
    const kib = (mib: number): number => rounded((mib * 1024) / workers)
    return {
      workers,
      serverCpuPercent: percent(server1 - server0),
      aloneCpuPercent: percent(3 * (alone1 - alone0)),
      loadCpuPercent: percent(load1 - load0),
      rssKibPerWorker: kib(after.rssMib - before.rssMib),
      heapKibPerWorker: kib(after.heapMib - before.heapMib),
    }
  })

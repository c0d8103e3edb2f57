// Sends runs over HTTP, singly and in batches, to a bare route and to the server in turn, and the same batches to the store
// itself; then asks for lists of a short and of a long history. Every answer is looked at: a refusal is no measurement.
import { Agent, request } from "node:http"
import { median, quantile, rounded } from "../common/statistics.ts"
import { type Child, startChildAt } from "../workers/Child.ts"
import { type Options, type StoreName, storesOf } from "./options.ts"

/** Runs a second, medians of all rounds. */
export interface Enqueue {
  readonly store: StoreName
  /** Over HTTP, one in each request. */
  readonly singlesPerSecond: number
  /** To those of the bare route in the same round. */
  readonly singlesToFloor: number
  /** Over HTTP, in batches. */
  readonly batchesPerSecond: number
  readonly batchesToFloor: number
  /** The store without HTTP, with the same batches and as many under way. */
  readonly storePerSecond: number
  readonly batchesToStore: number
}

/** How long a list of 50 takes, in milliseconds. */
export interface Lists {
  readonly store: StoreName
  readonly small: { readonly runs: number; readonly p50Millis: number; readonly p95Millis: number }
  readonly large: { readonly runs: number; readonly p50Millis: number; readonly p95Millis: number }
  /** The larger one's p95 to the smaller one's. */
  readonly ratio: number
}

/** All figures. */
export interface Figures {
  readonly enqueue?: ReadonlyArray<Enqueue>
  readonly list?: ReadonlyArray<Lists>
}

/** Measures what the options name. */
export const measureAll = async (options: Options, say: (text: string) => void): Promise<Figures> => {
  const enqueue: Array<Enqueue> = []
  const list: Array<Lists> = []
  for (const store of storesOf(options)) {
    if (options.only.has("enqueue")) {
      say(`enqueue, ${store}`)
      enqueue.push(await measureEnqueue(options, store))
    }
    if (options.only.has("list")) {
      say(`list, ${store}`)
      list.push(await measureLists(options, store))
    }
  }
  return {
    ...(options.only.has("enqueue") ? { enqueue } : {}),
    ...(options.only.has("list") ? { list } : {}),
  }
}

const start = (kind: "floor" | "server" | "store", store: StoreName, { folder }: Options): Child =>
  startChildAt(new URL("server.child.ts", import.meta.url), kind, store, folder)

const measureEnqueue = async (options: Options, store: StoreName): Promise<Enqueue> => {
  const { runs, singles, batch, rounds } = options
  const rows: Array<Record<"single" | "floorSingle" | "batch" | "floorBatch" | "store", number>> = []
  for (let round = 0; round < rounds; round++) {
    const [floor, server, direct] = [
      start("floor", store, options),
      start("server", store, options),
      start("store", store, options),
    ]
    try {
      const at = async (child: Child): Promise<URL> =>
        new URL((await child.ask<{ url: string }>({ do: "url" })).url)
      const [floorUrl, serverUrl] = [await at(floor), await at(server)]
      const asked = { do: "enqueue", runs, batch, inFlight: options["in-flight"] }
      // In turn, and never two at a time; the order is reversed in every other round.
      const steps = {
        floorSingle: () => sendAll(floorUrl, singles, 1, options),
        single: () => sendAll(serverUrl, singles, 1, options),
        floorBatch: () => sendAll(floorUrl, runs, batch, options),
        batch: () => sendAll(serverUrl, runs, batch, options),
        store: async () => (runs / (await direct.ask<{ wallMillis: number }>(asked)).wallMillis) * 1_000,
      }
      const row: Record<string, number> = {}
      const names = Object.keys(steps) as ReadonlyArray<keyof typeof steps>
      for (const name of round % 2 === 0 ? names : names.toReversed()) row[name] = await steps[name]()
      rows.push(row)
      const { runs: stored } = await server.ask<{ runs: number }>({ do: "counts" })
      if (stored !== singles + runs) throw new Error(`${stored} of ${singles + runs} runs are stored`)
    } finally {
      await Promise.all([floor.end(), server.end(), direct.end()])
    }
  }
  const middle = (of: (row: (typeof rows)[number]) => number): number => rounded(median(rows.map(of)))
  return {
    store,
    singlesPerSecond: middle((row) => row.single),
    singlesToFloor: middle((row) => row.single / row.floorSingle),
    batchesPerSecond: middle((row) => row.batch),
    batchesToFloor: middle((row) => row.batch / row.floorBatch),
    storePerSecond: middle((row) => row.store),
    batchesToStore: middle((row) => row.batch / row.store),
  }
}

/** Runs a second. */
const sendAll = async (url: URL, runs: number, batch: number, options: Options): Promise<number> => {
  const inFlight = options["in-flight"]
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight })
  let sent = 0
  const lane = async (): Promise<void> => {
    while (sent < runs) {
      const count = Math.min(batch, runs - sent)
      const first = sent
      sent += count
      const each = Array.from({ length: count }, (_, n) => ({ job: "noop", input: { n: first + n } }))
      const [path, body, status] =
        batch === 1
          ? (["/v1/runs", each[0], 201] as const)
          : (["/v1/runs/batch", { runs: each }, 200] as const)
      const answer = await ask(url, agent, "POST", path, JSON.stringify(body))
      if (answer.status !== status)
        throw new Error(`${path} answered ${answer.status}: ${answer.text.slice(0, 300)}`)
    }
  }
  const from = performance.now()
  await Promise.all(Array.from({ length: inFlight }, lane))
  const wallMillis = performance.now() - from
  agent.destroy()
  return (runs / wallMillis) * 1_000
}

const measureLists = async (options: Options, store: StoreName): Promise<Lists> => {
  const server = start("server", store, options)
  try {
    const url = new URL((await server.ask<{ url: string }>({ do: "url" })).url)
    const of = async (runs: number): Promise<Lists["small"]> => {
      // In pieces, so that no question to the child takes too long.
      for (let filled = 0; filled < runs; filled += 100_000)
        await server.ask({ do: "fill", runs: Math.min(runs, filled + 100_000) })
      const times = await listTimes(url, options.samples)
      return { runs, p50Millis: rounded(median(times)), p95Millis: rounded(quantile(times, 0.95)) }
    }
    const small = await of(options.small)
    const large = await of(options.large)
    return { store, small, large, ratio: rounded(large.p95Millis / small.p95Millis) }
  } finally {
    await server.end()
  }
}

/** One list after the other: the first page and those after it, as whoever looks back reads them. */
const listTimes = async (url: URL, samples: number): Promise<ReadonlyArray<number>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: Array<number> = []
  const warm = Math.min(50, samples)
  let cursor: string | null = null
  for (let sample = 0; sample < warm + samples; sample++) {
    const from = performance.now()
    const { status, text } = await ask(
      url,
      agent,
      "GET",
      `/v1/runs?limit=50${cursor === null ? "" : `&cursor=${cursor}`}`,
    )
    if (sample >= warm) times.push(performance.now() - from)
    const page = JSON.parse(text) as {
      readonly items: ReadonlyArray<unknown>
      readonly cursor: string | null
    }
    if (status !== 200 || (cursor === null && page.items.length === 0))
      throw new Error(`a list answered ${status}: ${text.slice(0, 300)}`)
    // A hundred pages deep, and from the top again.
    cursor = page.cursor === null || sample % 100 === 99 ? null : encodeURIComponent(page.cursor)
  }
  agent.destroy()
  return times
}

const ask = (
  url: URL,
  agent: Agent,
  method: string,
  path: string,
  body?: string,
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(
      {
        agent,
        host: url.hostname,
        port: url.port,
        method,
        path,
        headers:
          body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
        )
        response.on("error", reject)
      },
    )
    sent.on("error", reject)
    sent.end(body)
  })

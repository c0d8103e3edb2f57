// The metrics of a server, all names in this file. Counters and histograms are of this node, from its engine's events, and
// begin with its start; gauges of queues and dead runs are of the whole store, which is read once in five seconds at most,
// however often somebody asks.
import type { EngineEvent } from "../../../core/observe/Event.ts"
import type { QueueDepth } from "../../../core/ports/StoreDriver.ts"
import type { RunningEngine } from "../../sdk/engine.ts"
import type { AskedStore } from "../api/ApiParts.ts"
import { inTime } from "../inTime.ts"
import { boundedLabel, makeCounter, makeHistogram, other } from "./counts.ts"
import { type Family, metricsText } from "./text.ts"

/** Metrics of a server. */
export interface Metrics {
  readonly hear: (event: EngineEvent) => void
  /** An operation of the store has ended. */
  readonly heardStore: (operation: string, millis: number) => void
  readonly start: (engine: RunningEngine) => void
  /** In the text format of Prometheus. Without those of the store when it does not answer within three seconds. */
  readonly text: () => Promise<string>
}

/** How metrics are made. */
export interface MetricsOptions {
  readonly store: Pick<AskedStore, "queueDepths" | "counts" | "now">
  /** How long what was read of the store is answered again; default 5 s. */
  readonly sameMillis?: number
  readonly onTrouble?: (error: unknown) => void
}

/** Values of `job`, and of `queue`, beside `other`. */
export const labelsMax = 200

// In seconds.
const runBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200]
const delayBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300]
const storeBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]
const readMillisMax = 3_000

interface Read {
  readonly depths: ReadonlyArray<QueueDepth>
  readonly dead: number
  readonly now: number
}

/** Makes them, all at zero. */
export const makeMetrics = (options: MetricsOptions): Metrics => {
  const { store, sameMillis = 5_000, onTrouble = () => undefined } = options
  const jobOf = boundedLabel(labelsMax)
  const runs = makeCounter(["job", "state"])
  const durations = makeHistogram(["job"], runBuckets)
  const delays = makeHistogram([], delayBuckets)
  const missed = makeCounter(["reason"])
  const operations = makeHistogram(["operation"], storeBuckets)
  let engine: RunningEngine | undefined
  let asked: { readonly at: number; readonly read: Promise<Read | undefined> } | undefined

  const read = async (): Promise<Read> => {
    const [depths, counts, now] = await Promise.all([store.queueDepths(), store.counts(), store.now()])
    const dead = counts.filter(({ state }) => state === "dead").reduce((sum, { count }) => sum + count, 0)
    return { depths, dead, now }
  }
  const readNow = (): Promise<Read | undefined> => {
    const at = performance.now()
    if (asked === undefined || at - asked.at >= sameMillis) {
      const begun = inTime(read(), readMillisMax, () => new Error("The store does not answer")).catch(
        (error: unknown) => {
          onTrouble(error)
          return undefined
        },
      )
      asked = { at, read: begun }
    }
    return asked.read
  }

  return {
    hear: (event) => {
      if (event.kind === "started") delays.observe([], Math.max(0, event.latenessMillis) / 1000)
      else if (event.kind === "ended") {
        const job = jobOf(event.run.job)
        runs.add([job, event.state])
        durations.observe([job], Math.max(0, event.durationMillis) / 1000)
      } else if (event.kind === "occurrence") missed.add([event.reason], event.count)
    },
    heardStore: (operation, millis) => operations.observe([operation], millis / 1000),
    start: (started) => {
      engine = started
    },
    text: async () => {
      const stored = await readNow()
      return metricsText([
        {
          name: "uhrwerk_runs_total",
          type: "counter",
          help: "Attempts that ended on this node, by the state in which they left the run.",
          samples: runs.samples(),
        },
        {
          name: "uhrwerk_run_duration_seconds",
          type: "histogram",
          help: "How long attempts took on this node.",
          samples: durations.samples(),
        },
        {
          name: "uhrwerk_start_delay_seconds",
          type: "histogram",
          help: "From when a run was due to its start on this node.",
          samples: delays.samples(),
        },
        {
          name: "uhrwerk_schedule_missed_total",
          type: "counter",
          help: "Instants of schedules that this node decided to give no run.",
          samples: missed.samples(),
        },
        {
          name: "uhrwerk_store_operation_duration_seconds",
          type: "histogram",
          help: "How long operations of the store took on this node, also those that failed.",
          samples: operations.samples(),
        },
        ...(stored === undefined ? [] : storeFamilies(stored)),
        ...(engine === undefined ? [] : nodeFamilies(engine)),
      ])
    },
  }
}

const storeFamilies = ({ depths, dead, now }: Read): ReadonlyArray<Family> => {
  // The deepest ones by name, and the sum of the others.
  const sorted = [...depths].sort((a, b) => b.ready - a.ready)
  const rest = sorted.slice(labelsMax)
  const queues = sorted.slice(0, labelsMax).map(({ queue, ready, oldestDueAt }) => ({
    labels: { queue },
    ready,
    age: ageOf(oldestDueAt, now),
  }))
  if (rest.length > 0)
    queues.push({
      labels: { queue: other },
      ready: rest.reduce((sum, { ready }) => sum + ready, 0),
      age: Math.max(...rest.map(({ oldestDueAt }) => ageOf(oldestDueAt, now))),
    })
  return [
    {
      name: "uhrwerk_queue_depth",
      type: "gauge",
      help: "Runs that are ready, by queue, in the whole store.",
      samples: queues.map(({ labels, ready }) => ({ labels, value: ready })),
    },
    {
      name: "uhrwerk_oldest_ready_age_seconds",
      type: "gauge",
      help: "For how long the run that waits longest has been ready, by queue, in the whole store.",
      samples: queues.map(({ labels, age }) => ({ labels, value: age })),
    },
    {
      name: "uhrwerk_dead_runs",
      type: "gauge",
      help: "Runs that are dead and kept, in the whole store.",
      samples: [{ labels: {}, value: dead }],
    },
  ]
}

const ageOf = (oldestDueAt: number | null, now: number): number =>
  oldestDueAt === null ? 0 : Math.max(0, now - oldestDueAt) / 1000

const nodeFamilies = (engine: RunningEngine): ReadonlyArray<Family> => {
  const { carried, slots, waitingInWheel } = engine.load()
  const workers = engine.workers?.list() ?? []
  const busy = workers.reduce((sum, { inHand }) => sum + inHand, carried)
  const all = workers.reduce((sum, each) => sum + each.slots, slots)
  const now = Date.now()
  return [
    {
      name: "uhrwerk_worker_slots",
      type: "gauge",
      help: "Slots of this node and of the workers that are connected to it.",
      samples: [
        { labels: { state: "busy" }, value: busy },
        // Workers may have runs in hand that wait for a slot.
        { labels: { state: "free" }, value: Math.max(0, all - busy) },
      ],
    },
    {
      name: "uhrwerk_heartbeat_age_seconds",
      type: "gauge",
      help: "Since when the worker that has been silent longest was not heard, of those that are connected to this node.",
      samples:
        workers.length === 0
          ? []
          : [
              {
                labels: {},
                value: Math.max(0, ...workers.map(({ heardAt }) => (now - heardAt) / 1000)),
              },
            ],
    },
    {
      name: "uhrwerk_wheel_entries",
      type: "gauge",
      help: "Instants that wait in the timing wheel of this node.",
      samples: [{ labels: {}, value: waitingInWheel }],
    },
  ]
}

// What a server tells others without being asked each time: the journal of events, their streams, webhooks and metrics. All
// of it hears the events of this server's engine.
import type { EngineEvent } from "../../core/observe/Event.ts"
import type { Resolve } from "../../adapters/executor-http/exchange.ts"
import type { RunningEngine } from "../sdk/engine.ts"
import type { AskedStore } from "./api/ApiParts.ts"
import { type EventStreams, makeEventStreams } from "./events/EventStreams.ts"
import { type Journal, makeJournal } from "./events/Journal.ts"
import { makeMetrics, type Metrics } from "./metrics/Metrics.ts"
import type { CheckedRules } from "../../adapters/executor-http/Request.ts"
import { type Deliverer, startDeliverer } from "./webhooks/Deliverer.ts"

/** All of them. */
export interface Outlets {
  readonly journal: Journal
  readonly streams: EventStreams
  readonly metrics: Metrics
  /** How webhooks are sent to. */
  readonly sending: { readonly rules: CheckedRules; readonly resolve?: Resolve }
  readonly hear: (event: EngineEvent) => void
  /** Begins to write and to deliver. */
  readonly start: (engine: RunningEngine) => void
  /** After the engine, and before the port: writes what is left and ends the streams. */
  readonly stop: () => Promise<void>
}

/** How they are made. */
export interface OutletsOptions {
  readonly store: AskedStore
  readonly rules: CheckedRules
  readonly onTrouble: (doing: string, error: unknown) => void
  /** Default: the host's own look-up. */
  readonly resolve?: Resolve
}

/** Makes them; nothing is written or sent before the start. */
export const makeOutlets = ({ store, rules, onTrouble, resolve }: OutletsOptions): Outlets => {
  const journal = makeJournal({ store, onTrouble: (error) => onTrouble("keep the journal of events", error) })
  const streams = makeEventStreams({ journal })
  const metrics = makeMetrics({ store })
  const sending = { rules, ...(resolve === undefined ? {} : { resolve }) }
  let deliverer: Deliverer | undefined
  return {
    journal,
    streams,
    metrics,
    sending,
    hear: (event) => {
      journal.hear(event)
      metrics.hear(event)
    },
    start: (engine) => {
      journal.start(engine.node)
      metrics.start(engine)
      deliverer = startDeliverer({
        store,
        journal,
        ...sending,
        onTrouble: (error) => onTrouble("deliver events to webhooks", error),
      })
    },
    stop: async () => {
      await deliverer?.stop()
      await journal.stop()
      await streams.stop()
    },
  }
}

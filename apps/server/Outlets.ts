// What a server tells others without being asked each time: the journal of events, their streams, webhooks and metrics. All
// of it hears the events of this server's engine.
import type { EngineEvent } from "../../core/observe/Event.ts"
import type { Resolve } from "../../adapters/executor-http/exchange.ts"
import type { RunningEngine } from "../sdk/engine.ts"
import type { AskedStore } from "./api/ApiParts.ts"
import { type EventStreams, makeEventStreams } from "./events/EventStreams.ts"
import { cancelledDraft } from "./events/cloudEvents.ts"
import { type Journal, makeJournal } from "./events/Journal.ts"
import { makeMetrics, type Metrics } from "./metrics/Metrics.ts"
import type { StoreListener } from "./observedStore.ts"
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
  /** Of the store that the engine and the API use. */
  readonly listener: StoreListener
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
  const reading = new Set<Promise<void>>()
  const tellCancelled = async (ids: ReadonlyArray<string>): Promise<void> => {
    for (const run of await store.get(ids)) journal.add(cancelledDraft(run))
  }
  return {
    journal,
    streams,
    metrics,
    sending,
    hear: (event) => {
      journal.hear(event)
      metrics.hear(event)
    },
    listener: {
      timed: metrics.heardStore,
      cancelled: (ids) => {
        const read: Promise<void> = tellCancelled(ids)
          .catch((error: unknown) => onTrouble("tell of cancelled runs", error))
          .finally(() => reading.delete(read))
        reading.add(read)
      },
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
      await Promise.all(reading)
      await journal.stop()
      await streams.stop()
    },
  }
}

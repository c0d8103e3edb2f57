// The memory store: everything that a store does, in one process and without a file. Each operation is one
// synchronous section that either happens as a whole or throws before it changed anything; so several engines
// of the process may share one driver. Nothing outlives the process.
// Rows are handed out as they are kept, and are never changed in place: whoever gets one must not change it.
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { layerDriver, type Store } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { makeCalendars } from "./calendars.ts"
import { makeCredentials } from "./credentials.ts"
import { makeFlows } from "./flows.ts"
import { makeListing } from "./listing.ts"
import { makeNodes, NodeTable } from "./nodes.ts"
import { makeRecords } from "./records.ts"
import { makeRuns } from "./runs.ts"
import { RunTable } from "./RunTable.ts"
import { makeSchedules } from "./schedules.ts"
import { ScheduleTable } from "./ScheduleTable.ts"
import { makeUpkeep } from "./upkeep.ts"

/**
 * A fresh, empty store on the clock that is given, in epoch milliseconds. Closing it does nothing. `runs` may be a table
 * that watches each change of a row, as the simulation's does.
 */
export const memoryDriver = (options: {
  readonly now: () => number
  readonly runs?: RunTable
}): StoreDriver => {
  const { now, runs = new RunTable() } = options
  const schedules = new ScheduleTable()
  const nodes = new NodeTable()
  return {
    capabilities: { name: "memory", durable: false, shared: true },
    now,
    close: () => undefined,
    ...makeRuns(runs, nodes, now),
    ...makeUpkeep(runs, schedules, nodes, now),
    ...makeFlows(runs, now),
    ...makeListing(runs),
    ...makeSchedules(schedules, runs, now),
    ...makeCalendars(),
    ...makeNodes(nodes, now),
    ...makeCredentials(now),
    ...makeRecords(now),
  }
}

/** The store services over a fresh memory store, on Effect's `Clock`. */
export const layerMemory: Layer.Layer<Store> = layerDriver(
  Effect.clockWith((clock) =>
    Effect.sync(() => memoryDriver({ now: () => clock.currentTimeMillisUnsafe() })),
  ),
)

// What the routes stand on: the engine of this server, the project that it runs, and the store, beside which it may look
// at everything that there is.
import type { NodeWorkers, StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { Project } from "../../sdk/config.ts"
import type { RunningEngine } from "../../sdk/engine.ts"
import type { RunWaits } from "../RunWaits.ts"
import type { Outlets } from "../Outlets.ts"

/** A store whose every answer is a promise. */
export type AskedStore = {
  readonly [K in Exclude<keyof StoreDriver, "capabilities" | "close">]: (
    ...args: Parameters<StoreDriver[K]>
  ) => Promise<Awaited<ReturnType<StoreDriver[K]>>>
} & Pick<StoreDriver, "capabilities">

/** What handlers may use. */
export interface ApiParts {
  readonly project: Project
  /** Throws `EngineStopped` before the start and after the end. */
  readonly engine: () => RunningEngine
  /** Refused as `storeUnavailable` when it does not answer in time. */
  readonly store: AskedStore
  /** What the nodes whose leases hold said last of their workers. */
  readonly reports: () => Promise<ReadonlyArray<NodeWorkers>>
  /** Requests that wait for the end of a run. */
  readonly waits: RunWaits
  /** Events, webhooks and metrics. */
  readonly outlets: Outlets
}

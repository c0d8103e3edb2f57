// Which of the connected workers carries out the runs of a job. The choice itself is in `core/worker/Placement.ts`.

/** How one of the workers that fit is chosen. */
export type PlacementBy =
  /** The one with the most room in proportion to its slots; of equals, the one that was asked longest ago. */
  | "leastLoaded"
  /** One after the other. */
  | "roundRobin"
  /**
   * The same one for the same value of this field of the input (`"customer"`, `"order.id"`), while it has room; then the
   * next in that value's own order of workers. Workers that come and go move few values.
   */
  | { readonly hash: string }

/** Where the runs of a job go. A job that has one is carried out by workers only, never by the engine's own process. */
export interface Placement {
  readonly by: PlacementBy
  /** Rule about a worker's labels and its `worker`, `runtime`, `version`, such as `region = eu and gpu > 1`; `null`: any. */
  readonly where: string | null
  /** One run for each worker that fits, each told its index and how many there are. */
  readonly broadcast: boolean
}

/** Which part of a broadcast a run is. */
export interface Shard {
  /** From 0. */
  readonly index: number
  /** How many workers it went to. */
  readonly count: number
}

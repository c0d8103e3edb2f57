// What is told of a connected worker: to people, to programs, and to whoever explains why a run waits.

/** `suspect`: silent for a while; `draining`: takes nothing more; `cut`: without a connection, it may come back. */
export type WorkerStatus = "alive" | "suspect" | "draining" | "cut"

/** A worker as its server sees it. Instants are epoch milliseconds of the server's clock. */
export interface WorkerView {
  readonly name: string
  /** The node that it is connected to. */
  readonly node: string
  readonly status: WorkerStatus
  readonly runtime: string
  readonly version: string
  readonly jobs: ReadonlyArray<string>
  /** Jobs that it announced, and refused for want of a handler. */
  readonly unable: ReadonlyArray<string>
  /** Those that it takes runs from; `null`: all. */
  readonly queues: ReadonlyArray<string> | null
  readonly labels: Readonly<Record<string, string | number | boolean>>
  readonly slots: number
  readonly prefetch: number
  /** Attempts that it was given and whose outcome is not in the store. */
  readonly inHand: number
  /** How busy its machine is, 1 for one full core, as it said last; `null`: it did not say. */
  readonly load: number | null
  /** The id of the credential that it came with; `null`: none was asked for. */
  readonly credential: string | null
  /** Its address, as the transport sees it. */
  readonly address: string
  readonly connectedAt: number
  readonly heardAt: number
}

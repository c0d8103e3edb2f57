// What a node leaves in the store about the workers that are connected to it: a text of bounded size, for tools that have
// no connection to the node.
import * as Result from "effect/Result"
import { utf8Length } from "../domain/Payload.ts"
import { workersBytesMax } from "../ports/StoreLimits.ts"
import type { WorkerView } from "./WorkerView.ts"

/** A report that was read. */
export interface WorkerReport {
  readonly workers: ReadonlyArray<WorkerView>
  /** How many more there are that did not fit. */
  readonly leftOut: number
}

/** The report as text of at most `bytesMax` UTF-8 bytes, at least 64 and by default as many as a store takes: the workers in their order, as many as fit. */
export const encodeReport = (
  workers: ReadonlyArray<WorkerView>,
  bytesMax: number = workersBytesMax,
): string => {
  const rows: Array<string> = []
  let bytes = utf8Length(written([], workers.length))
  for (const worker of workers) {
    const row = JSON.stringify(worker)
    bytes += utf8Length(row) + 1
    if (bytes > bytesMax) break
    rows.push(row)
  }
  return written(rows, workers.length - rows.length)
}

const written = (rows: ReadonlyArray<string>, leftOut: number): string =>
  `{"workers":[${rows.join(",")}],"leftOut":${leftOut}}`

/** The report of a text; what is no report, or of another version's making, is none, and rows that are none are left out. */
export const decodeReport = (text: string): WorkerReport => {
  const value: unknown = Result.getOrNull(Result.try((): unknown => JSON.parse(text)))
  const { workers, leftOut } = (value ?? {}) as Partial<Record<keyof WorkerReport, unknown>>
  if (!Array.isArray(workers)) return { workers: [], leftOut: 0 }
  const read = workers.filter(isView)
  return { workers: read, leftOut: typeof leftOut === "number" ? leftOut : 0 }
}

const isView = (value: unknown): value is WorkerView => {
  if (typeof value !== "object" || value === null) return false
  const view = value as Record<keyof WorkerView, unknown>
  return (
    texts.every((field) => typeof view[field] === "string") &&
    numbers.every((field) => typeof view[field] === "number") &&
    isList(view.jobs) &&
    isList(view.unable) &&
    (view.queues === null || isList(view.queues)) &&
    typeof view.labels === "object" &&
    view.labels !== null
  )
}

const texts = ["name", "node", "status", "runtime", "version", "address"] as const
const numbers = ["slots", "prefetch", "inHand", "connectedAt", "heardAt"] as const

const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === "string")

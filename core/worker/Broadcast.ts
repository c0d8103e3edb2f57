// A run for every worker: the run of a job that is a broadcast expands into a list with one item for each worker that
// fits, and the item's input says which part of the whole it is. The desk makes it, and unwraps it again.
import * as Result from "effect/Result"
import { itemMax } from "../domain/Flow.ts"
import type { Job } from "../domain/Job.ts"
import { failed, type Outcome } from "../domain/Outcome.ts"
import { utf8Length } from "../domain/Payload.ts"
import type { Run } from "../domain/Run.ts"

/** Which part of a broadcast a run is, and for whom. */
export interface Shard {
  /** From 0. */
  readonly index: number
  /** How many there are. */
  readonly count: number
  /** The worker that it is for. */
  readonly worker: string
}

/** The most that the inputs of all parts may take together: 4 MiB, as for the items of a list. */
const bytesMax = 4 * 1024 * 1024

/**
 * What the run of a broadcast comes to: one run of the same job, queue and priority for each of these workers, with attempts
 * of its own; all are carried out, whatever becomes of one. Its output is the list of theirs, in the order of the
 * workers. Fails for good with more than `itemMax` workers, or when the input, which each gets, is over 4 MiB in all.
 */
export const broadcastOf = (run: Run, job: Job, workers: ReadonlyArray<string>): Outcome => {
  const count = workers.length
  if (count > itemMax) return tooMuch(`${count} workers are more than the ${itemMax} of one broadcast`)
  const bytes = count * (run.input === null ? 0 : utf8Length(run.input))
  if (bytes > bytesMax) {
    return tooMuch(
      `The input for each of ${count} workers takes ${bytes} bytes, more than the ${bytesMax} allowed: store the data elsewhere and pass a reference to it`,
    )
  }
  const step = { job: job.name, queue: run.queue, priority: run.priority, attemptMax: job.retry.attemptMax }
  const items = workers.map((worker, index) => wrapped({ index, count, worker }, run.input))
  // Each part has had its attempts: the whole gets no second one.
  return { kind: "expanded", expansion: { kind: "map", step, items, failFast: false }, retryable: false }
}

const tooMuch = (message: string): Outcome =>
  failed({ name: "InvalidPayload", message, kind: "payload" }, false)

const start = '{"uhrwerk.shard":'
// Nowhere within the shard: there, a quote in a worker's name is escaped.
const between = '},"input":'

const wrapped = (shard: Shard, input: string | null): string =>
  `${start}${JSON.stringify(shard)}${input === null ? "" : `,"input":${input}`}}`

/**
 * The part that a run is, and the input of the whole, as it was written; `null` for a run that is no part of a broadcast.
 * To be asked of jobs that are a broadcast: the items of a list can look like anything.
 */
export const shardOf = ({
  parentId,
  input,
}: Pick<Run, "parentId" | "input">): { readonly shard: Shard; readonly input: string | null } | null => {
  if (parentId === null || input === null || !input.startsWith(start)) return null
  const end = input.indexOf(between)
  const text = end === -1 ? input.slice(start.length, -1) : input.slice(start.length, end + 1)
  const shard: unknown = Result.getOrNull(Result.try((): unknown => JSON.parse(text)))
  if (!isShard(shard)) return null
  return { shard, input: end === -1 ? null : input.slice(end + between.length, -1) }
}

const isShard = (value: unknown): value is Shard => {
  const { index, count, worker } = (value ?? {}) as Partial<Shard>
  return Number.isInteger(index) && Number.isInteger(count) && typeof worker === "string"
}

// Sends runs of any jobs together: all are checked before the first is stored, and those that are refused are named by
// their places.
import * as Result from "effect/Result"
import type { JobBook } from "../../core/domain/Job.ts"
import type { Enqueued } from "../../core/ports/StoreDriver.ts"
import { newRuns, type RunRequest } from "../../core/run/Enqueue.ts"
import type { Startable } from "./job.ts"
import { checkCount, type SendOptions } from "./send.ts"

/** A run to send. */
export interface SendItem {
  readonly job: Startable<any, any>
  readonly input?: unknown
  readonly options?: SendOptions
}

/** Runs that were to be sent together are not acceptable: nothing was stored. */
export class SendsRefused extends Error {
  override readonly name = "SendsRefused"
  /** By their places in what was sent, each with what `send` rejects with. */
  readonly refusals: ReadonlyArray<{ readonly index: number; readonly error: unknown }>

  constructor(refusals: SendsRefused["refusals"]) {
    const [first] = refusals
    const reason = first?.error instanceof Error ? first.error.message : String(first?.error)
    super(`Cannot send ${refusals.length} of the runs, so none is stored; item ${first?.index}: ${reason}`)
    this.refusals = refusals
  }
}

/** What became of each, in order. */
export type SentMany = ReadonlyArray<{ readonly id: string; readonly created: boolean }>

/** Makes the function. */
export const makeSendMany =
  (parts: {
    readonly book: JobBook
    readonly requestOf: (
      job: Startable<any, any>,
      input: unknown,
      options: SendOptions,
    ) => Promise<RunRequest>
    readonly enqueueAll: (requests: ReadonlyArray<RunRequest>) => Promise<ReadonlyArray<Enqueued>>
  }) =>
  async (items: ReadonlyArray<SendItem>): Promise<SentMany> => {
    checkCount(items)
    const requests: Array<RunRequest> = []
    const refusals: Array<SendsRefused["refusals"][number]> = []
    for (const [index, { job, input, options = {} }] of items.entries()) {
      try {
        requests.push(await parts.requestOf(job, input, options))
      } catch (error) {
        refusals.push({ index, error })
      }
    }
    if (refusals.length > 0) throw new SendsRefused(refusals)
    try {
      const answers = await parts.enqueueAll(requests)
      return answers.map(({ id, result }) => ({ id, created: result === "created" }))
    } catch (error) {
      // Which of them the engine means, it does not say; it refuses by this very rule.
      const own = requests.flatMap((request, index) => {
        const rows = newRuns(parts.book, () => "", request)
        return Result.isFailure(rows) ? [{ index, error: rows.failure }] : []
      })
      throw own.length > 0 ? new SendsRefused(own) : error
    }
  }

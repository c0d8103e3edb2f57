// `/v1/dead-letters`: what is kept of runs that failed for good.
import type { DeadLetter } from "../../../core/domain/DeadLetter.ts"
import { isRunId } from "../../../core/domain/Ids.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { BulkFilter } from "../../bulk/Bulk.ts"
import { exportLetters, groupLetters, letterLine, wholeLetter } from "../../bulk/Letters.ts"
import { lookLetters } from "../../bulk/Look.ts"
import type { deadApi } from "../../api/dead.ts"
import { pageUsual } from "../../api/fields.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { beginBulk } from "./bulk.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"

/** Behind the routes. */
export const deadHandlers: Handlers<typeof deadApi> = {
  listDeadLetters: async ({ query, caller, parts }) => {
    const { limit = pageUsual, cursor, ...filter } = query
    const whole = [filter.job, filter.fingerprint]
    const before = placeOf("dead letters", whole, cursor, isRunId)
    const { letters, next } = await lookLetters(parts.store, seenBy(caller, filter), before, limit)
    return {
      status: 200,
      body: {
        items: letters.map(letterLine),
        cursor: next === null ? null : cursorOf("dead letters", whole, next),
      },
    }
  },

  groupDeadLetters: async ({ query: { job, limit = pageUsual }, caller, parts }) => {
    const filter = seenBy(caller, job === undefined ? {} : { job })
    const { groups, letters, exact } = await groupLetters(parts.store, filter)
    const leftOut = Math.max(0, groups.length - limit)
    return { status: 200, body: { items: groups.slice(0, limit), leftOut, letters, exact } }
  },

  exportDeadLetters: async ({ query, caller, parts }) => {
    const letters = exportLetters(parts.store, seenBy(caller, query))
    // What is wrong with the store at the start is still told as an answer.
    const first = await letters.next()
    return {
      status: 200,
      stream: linesOf(letters, first),
      headers: { "content-type": "application/x-ndjson" },
    }
  },

  replayDeadLetters: ({ body, caller, parts }) =>
    beginBulk(parts, caller, { kind: "replayDeadLetters", ...body }),

  dropDeadLetters: ({ body, caller, parts }) =>
    beginBulk(parts, caller, { kind: "dropDeadLetters", ...body }),

  getDeadLetter: async ({ params, caller, parts }) => {
    const { letter, run } = await letterOf(parts, caller, params.id)
    const whole = await wholeLetter(parts.store, letter, run)
    if (whole === undefined) throw gone(params.id)
    return { status: 200, body: whole }
  },

  replayDeadLetter: async ({ params: { id }, caller, parts }) => {
    const { job } = await runOf(parts, caller, id)
    const isOpen = (await openLetter(parts, job, id)) !== undefined
    const newRunId = await inTime(parts.engine().replay(id), answerMillisMax, noAnswer)
    return {
      status: isOpen ? 201 : 200,
      body: { runId: newRunId },
      headers: { location: `/v1/runs/${newRunId}` },
      audit: { job, run: id, newRun: newRunId },
    }
  },

  dropDeadLetter: async ({ params: { id }, caller, parts }) => {
    const { letter } = await letterOf(parts, caller, id)
    await parts.store.drop([id])
    return { status: 204, audit: { job: letter.job, run: id } }
  },
}

const seenBy = ({ namespace }: Caller, filter: BulkFilter) => ({ filter, namespace, frozenAt: Infinity })

const runOf = async ({ store }: Pick<ApiParts, "store">, caller: Caller, id: string): Promise<Run> => {
  const [run] = isRunId(id) ? await store.get([id]) : []
  if (run === undefined || !maySee(caller, run.job)) throw gone(id)
  return run
}

/** The letter of a run that was not replayed, as far as the caller may see it. */
const letterOf = async (
  parts: Pick<ApiParts, "store">,
  caller: Caller,
  id: string,
): Promise<{ readonly letter: DeadLetter; readonly run: Run }> => {
  const run = await runOf(parts, caller, id)
  const letter = await openLetter(parts, run.job, id)
  if (letter === undefined) throw gone(id)
  return { letter, run }
}

const openLetter = async (
  { store }: Pick<ApiParts, "store">,
  job: string,
  id: string,
): Promise<DeadLetter | undefined> => {
  // The store reads letters by what they lie below.
  const [letter] = await store.deadLetters({ job, before: nextId(id), limit: 1 })
  return letter?.runId === id ? letter : undefined
}

const nextId = (id: string): string => {
  const digits = (BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toString(16).padStart(32, "0")
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

const gone = (id: string) =>
  refuse(
    "notFound",
    isRunId(id)
      ? `There is no dead letter of run ${id}: it is not dead, or its letter was replayed or dropped.`
      : "This is no id of a run: those are UUIDv7 in lower case.",
  )

/** A line of JSON for each, made when the reader wants it. */
const linesOf = <A>(values: AsyncGenerator<A>, first: IteratorResult<A>): ReadableStream<Uint8Array> => {
  const encoder = new TextEncoder()
  let next: Promise<IteratorResult<A>> = Promise.resolve(first)
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await next
      if (done === true) return controller.close()
      controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`))
      next = values.next()
      // It is waited for with the next pull, and must not count as nobody's until then.
      next.catch(() => undefined)
    },
    cancel: async () => {
      await values.return(undefined)
    },
  })
}

// I1, word by word: what was acknowledged is there as it was asked for; what was refused left nothing; who asks again
// with the same id, or with a key that is held, gets the run that is there. And by I9, a run's time to start counts from
// its due time by the store's clock: it neither expires before that nor starts after it.
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import { isFinal, type NewRun, type Run } from "../../../core/domain/Run.ts"
import type { Enqueued } from "../../../core/ports/StoreDriver.ts"
import type { RunRequest } from "../../../core/run/Enqueue.ts"
import type { Call } from "../Ground.ts"
import type { Check, Scene } from "./Check.ts"

/** One request, and what came of it; nothing: the node died, or nobody knows. */
interface Asked {
  readonly request: RunRequest
  outcome: { readonly answer: Enqueued } | "refused" | null
}

/** The checks, and what clients tell them. */
export interface RequestChecks extends Check {
  /** Somebody asks for a run; the answer hears what came of it. */
  readonly asked: (request: RunRequest) => {
    readonly answered: (answer: Enqueued) => void
    readonly failed: (cause: Cause.Cause<unknown>) => void
  }
}

/** Errors that say that nothing was stored. */
const refusals = ["UnknownJob", "InvalidInput", "EngineStopped", "Overloaded"]

/** The checks. */
export const requestChecks = ({ watch, ground: { table } }: Scene): RequestChecks => {
  const all: Array<Asked> = []
  const inserted = new Set<string>()
  /** When a run's time to start is over, by the store's clock. */
  const overAt = new Map<string, number>()
  const runOf = (id: string): Run | undefined => table.entries.get(id)?.run
  const violated = (id: string, what: string): void => watch.violated("I1", `${id} ${what}`)

  const checkStored = (asked: NewRun, { id, result }: Enqueued, { now, changes }: Call): void => {
    const first = changes.find(({ before, after }) => before === null && after.id === id)?.after
    if (result === "exists") {
      const there = runOf(id)
      if (there === undefined) return violated(id, "is said to be there, and is not")
      const holdsKey = asked.key !== null && there.key === asked.key && there.job === asked.job
      if (id !== asked.id && (!holdsKey || isFinal(there.state)))
        violated(asked.id, `was answered with ${id}, which does not hold its key`)
      return
    }
    if (id !== asked.id || first === undefined) return violated(asked.id, `was stored as ${id}`)
    const dueAt = asked.dueAt ?? now + asked.delayMillis
    if (asked.startWithinMillis !== null) overAt.set(id, dueAt + asked.startWithinMillis)
    const same = ["job", "queue", "input", "priority", "attemptMax", "key", "chainId"] as const
    for (const field of same)
      if (first[field] !== asked[field])
        violated(id, `has ${field} ${first[field]} instead of ${asked[field]}`)
    if (first.dueAt !== dueAt) violated(id, `is due at ${first.dueAt} instead of ${dueAt}`)
    if (first.needs.join() !== asked.needs.join()) violated(id, `needs ${first.needs.join()}`)
  }

  const checkTime = (run: Run, now: number): void => {
    const over = overAt.get(run.id)
    if (run.state === "expired" && (over === undefined || over > now))
      watch.violated(
        "I9",
        `${run.id} expired ${over === undefined ? "with no limit" : `${over - now} ms early`}`,
      )
    if (run.state === "running" && over !== undefined && over <= now)
      watch.violated("I9", `${run.id} was started ${now - over} ms after its time to start`)
  }

  /** Whether a row may have come of this request. */
  const isOf = (row: Run, { job, input, key = null, priority }: RunRequest): boolean =>
    row.job === job && row.input === input && row.key === key && row.priority === priority

  const checkAnswer = (request: RunRequest, { id }: Enqueued): void => {
    const row = runOf(id)
    if (row === undefined) return violated(id, "was acknowledged and is gone")
    if (row.job !== request.job) violated(id, `is a run of ${row.job}, and ${request.job} was asked for`)
    const { key = null } = request
    if (request.id !== undefined && id !== request.id && (key === null || row.key !== key))
      violated(request.id, `was answered with ${id}`)
    if (request.id === undefined && !isOf(row, request)) violated(id, "is not what was asked for")
  }

  return {
    asked: (request) => {
      const each: Asked = { request, outcome: null }
      all.push(each)
      return {
        answered: (answer) => {
          each.outcome = { answer }
          checkAnswer(request, answer)
        },
        failed: (cause) => {
          const error = Option.getOrNull(Cause.findErrorOption(cause)) as { readonly _tag?: string } | null
          if (refusals.includes(error?._tag ?? "")) each.outcome = "refused"
        },
      }
    },
    saw: (call, answer) => {
      for (const { before, after } of call.changes) {
        // An enqueue changes no run that is there.
        if (before === null || call.operation === "enqueue") {
          if (inserted.has(after.id)) violated(after.id, "was stored a second time")
          inserted.add(after.id)
        } else if (before.state !== after.state) checkTime(after, call.now)
      }
      if (call.operation !== "enqueue" || answer === undefined) return
      const asked = call.args[0] as ReadonlyArray<NewRun>
      for (const [place, each] of (answer as ReadonlyArray<Enqueued>).entries())
        checkStored(asked[place] as NewRun, each, call)
    },
    end: () => {
      const inputs = new Map<string, Run>()
      for (const { run } of table.entries.values()) if (run.input !== null) inputs.set(run.input, run)
      // Who asks again asks for the same: what was refused once may have been taken another time.
      const taken = new Set(all.filter(({ outcome }) => outcome !== "refused").map(({ request }) => request))
      for (const { request, outcome } of all) {
        // A chain has no id of the caller's, but an input that no other has.
        const row = request.id === undefined ? inputs.get(request.input ?? "") : runOf(request.id)
        if (row !== undefined && !taken.has(request))
          violated(row.id, `of ${row.job} is there, and was refused`)
        if (row !== undefined && !isOf(row, request)) violated(row.id, "is not what was asked for")
        if (outcome !== null && outcome !== "refused") checkAnswer(request, outcome.answer)
      }
    },
  }
}

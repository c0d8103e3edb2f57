// Enqueue: from "do this job" to stored runs. What is refused is refused before anything is written; what is
// acknowledged is in the store. A job that needs others is stored with a run of each of them, as one chain.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { EngineStopped, InvalidInput, Overloaded, StoreError, UnknownJob } from "../domain/Errors.ts"
import type { IdSource } from "../domain/Ids.ts"
import { chainOf, type Job, type JobBook, knownNames } from "../domain/Job.ts"
import type { NewRun } from "../domain/Run.ts"
import { Notifier } from "../ports/Notifier.ts"
import { RunStore } from "../ports/Store.ts"
import type { Enqueued } from "../ports/StoreDriver.ts"
import { makeBatcher } from "./Batcher.ts"

/** What to run, and when; times in milliseconds. */
export interface RunRequest {
  readonly job: string
  /** JSON text, or `null`. */
  readonly input: string | null
  /** The run's id, a UUIDv7 of the caller's, so that asking twice makes one run. */
  readonly id?: string
  /** While a run of this job and key has not ended, asking again answers that run. */
  readonly key?: string | null
  readonly delayMillis?: number
  /** Overrides `delayMillis`: an instant, in the past for "at once". */
  readonly dueAt?: number | null
  readonly priority?: number
  readonly queue?: string
  /** Not started this long after its due time, the run expires. */
  readonly startWithinMillis?: number | null
}

/** Why a request was not stored. */
export type EnqueueError = UnknownJob | InvalidInput | EngineStopped | Overloaded | StoreError

/** Requests that may wait for the store at once. */
export const waitingMax = 100_000
/** Rows in one write. */
const batchMax = 500
// Of many requests that come together, those that wait for the store at a time.
const togetherMax = 10_000
// Writes under way at a time: one is made and sent while the store is busy with the other.
const writersMax = 2

/**
 * The rows for a request: the job's run, last, after those of the jobs it needs, which get no input. A job with needs
 * takes no id and no key of the caller's: its chain could not be told from the one that is there.
 */
export const newRuns = (
  book: JobBook,
  ids: IdSource,
  request: RunRequest,
): Result.Result<ReadonlyArray<NewRun>, UnknownJob | InvalidInput> => {
  const job = book.jobs.get(request.job)
  if (job === undefined) {
    return Result.fail(
      new UnknownJob({
        job: request.job,
        field: "job",
        reason: `no job named "${request.job}" is defined`,
        next: `Define it in the config, or correct the name. Known jobs: ${knownNames(book.jobs)}.`,
      }),
    )
  }
  if (request.queue !== undefined && ![...book.jobs.values()].some(({ queue }) => queue === request.queue)) {
    return Result.fail(
      new InvalidInput({
        field: "queue",
        reason: `no job has the queue "${request.queue}", so nobody would ever look there`,
        next: "Give a queue of one of the jobs, or leave it out.",
      }),
    )
  }
  const single = request.id ?? request.key
  if (job.needs.length > 0 && single !== undefined && single !== null) {
    return Result.fail(
      new InvalidInput({
        field: request.id === undefined ? "key" : "id",
        reason: `job "${job.name}" needs other jobs, and a chain has no id or key of yours`,
        next: "Leave it out for this job.",
      }),
    )
  }
  // Most jobs need no other, and a crowded minute makes many runs.
  if (job.needs.length === 0) return Result.succeed([rowOf(request, job, request.id ?? ids())])
  const names = chainOf(book, job.name)
  if (names.length > batchMax) {
    return Result.fail(
      new InvalidInput({
        field: `job "${job.name}".needs`,
        reason: `a chain of ${names.length} jobs is more than the ${batchMax} that are stored in one step`,
        next: "Let one job do the work of several.",
      }),
    )
  }
  const idOf = new Map(names.map((name) => [name, name === job.name ? (request.id ?? ids()) : ids()]))
  const chainId = names.length > 1 ? (idOf.get(job.name) as string) : null
  return Result.succeed(
    names.map((name): NewRun => {
      const member = book.jobs.get(name) ?? job
      const row = rowOf(name === job.name ? request : withoutInput(request), member, idOf.get(name) as string)
      return { ...row, chainId, needs: member.needs.map((need) => idOf.get(need) as string) }
    }),
  )
}

const rowOf = (request: RunRequest, job: Job, id: string): NewRun => ({
  id,
  job: job.name,
  queue: request.queue ?? job.queue,
  input: request.input,
  dueAt: request.dueAt ?? null,
  delayMillis: request.delayMillis ?? 0,
  priority: request.priority ?? job.priority,
  attemptMax: job.retry.attemptMax,
  key: request.key ?? null,
  startWithinMillis: request.startWithinMillis ?? null,
  scheduleId: null,
  nominalAt: null,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: null,
  step: null,
})

// What others need of it is their own: their queue, and no input or key.
const withoutInput = ({ queue: _queue, key: _key, ...request }: RunRequest): RunRequest => ({
  ...request,
  input: null,
})

/** Stores runs. */
export interface Enqueue {
  /** Stores the request's run, and those it needs; answers for the run that was asked for. */
  readonly enqueue: (request: RunRequest) => Effect.Effect<Enqueued, EnqueueError>
  /**
   * The same for many, answered in their order. Nothing is stored when one of them is refused for what it says; when the
   * store fails, the engine ends or too many wait, some may be stored and others not.
   */
  readonly enqueueAll: (
    requests: ReadonlyArray<RunRequest>,
  ) => Effect.Effect<ReadonlyArray<Enqueued>, EnqueueError>
  /** Takes no further request. */
  readonly close: () => void
  /** Waits until all taken requests are answered. */
  readonly flushed: Effect.Effect<void>
}

/** Starts it; it stops with the scope. */
export const makeEnqueue = (options: {
  readonly book: JobBook
  readonly ids: IdSource
}): Effect.Effect<Enqueue, never, Scope.Scope | RunStore | Notifier> =>
  Effect.gen(function* () {
    const store = yield* RunStore
    const notifier = yield* Notifier
    let closed = false

    const write = Effect.fnUntraced(function* (groups: ReadonlyArray<ReadonlyArray<NewRun>>, again: boolean) {
      const once = store.enqueue(groups.flat())
      // The batch was repeated already: waiting for each of it in turn would let the last caller wait for hours.
      const rows = yield* again ? once : Effect.retry(once, retries)
      let place = -1
      const answers = groups.map((group) => rows[(place += group.length)] as Enqueued)
      if (rows.some(({ state }) => state === "ready")) notifier.publish({ kind: "runs", dueAt: 0 })
      for (const { state, dueAt } of rows)
        if (state === "scheduled") notifier.publish({ kind: "runs", dueAt })
      return answers
    })
    const batcher = yield* makeBatcher<ReadonlyArray<NewRun>, Enqueued, EnqueueError>({
      write,
      sizeOf: (group) => group.length,
      batchMax,
      waitingMax,
      writersMax,
      // What was under way may be stored: who is told that it was refused would send it a second time.
      abandoned: (isUnderWay) => (isUnderWay ? unanswered() : stopped()),
    })

    const enqueue = (request: RunRequest): Effect.Effect<Enqueued, EnqueueError> =>
      Effect.callback((resume) => {
        if (closed) return resume(Effect.fail(stopped()))
        const group = newRuns(options.book, options.ids, request)
        if (Result.isFailure(group)) return resume(Effect.fail(group.failure))
        const taken = batcher.add(group.success, (answer) =>
          resume(Result.isSuccess(answer) ? Effect.succeed(answer.success) : Effect.fail(answer.failure)),
        )
        if (!taken) resume(Effect.fail(overloaded()))
      })

    const addAll = (
      groups: ReadonlyArray<ReadonlyArray<NewRun>>,
    ): Effect.Effect<ReadonlyArray<Enqueued>, EnqueueError> =>
      Effect.callback((resume) => {
        if (closed) return resume(Effect.fail(stopped()))
        const answers = Array.from<Enqueued>({ length: groups.length })
        let failure: EnqueueError | undefined
        let left = groups.length
        const answered = (): void => {
          if (--left === 0) resume(failure === undefined ? Effect.succeed(answers) : Effect.fail(failure))
        }
        for (const [index, group] of groups.entries()) {
          const taken = batcher.add(group, (answer) => {
            if (Result.isSuccess(answer)) answers[index] = answer.success
            else failure ??= answer.failure
            answered()
          })
          if (taken) continue
          failure ??= overloaded()
          answered()
        }
      })

    const enqueueAll = Effect.fnUntraced(function* (requests: ReadonlyArray<RunRequest>) {
      const groups: Array<ReadonlyArray<NewRun>> = []
      for (const request of requests)
        groups.push(yield* Effect.fromResult(newRuns(options.book, options.ids, request)))
      const answers: Array<Enqueued> = []
      // Others send too: not all of the room for those that wait is taken at once.
      for (let from = 0; from < groups.length; from += togetherMax)
        for (const answer of yield* addAll(groups.slice(from, from + togetherMax))) answers.push(answer)
      return answers
    })

    return {
      enqueue,
      enqueueAll,
      close: () => {
        closed = true
      },
      flushed: batcher.flushed,
    }
  })

// Safe to repeat: the ids are the same each time. After about a second the caller hears of the failure.
const retries = Schedule.exponential("50 millis").pipe(Schedule.upTo({ times: 4 }))

/** The refusal of an engine that takes no new runs. */
export const stopped = (): EngineStopped =>
  new EngineStopped({
    field: "engine",
    reason: "the engine is stopping and takes no new runs",
    next: "Send to another engine, or start this one again.",
  })

const unanswered = (): StoreError =>
  new StoreError({
    driver: "any",
    operation: "enqueue",
    outcomeUnknown: true,
    cause: new Error("the engine ended before the store answered"),
  })

const overloaded = (): Overloaded =>
  new Overloaded({
    field: "engine",
    limit: waitingMax,
    reason: `${waitingMax} requests wait to be stored`,
    next: "Wait for some of them before you send more.",
  })

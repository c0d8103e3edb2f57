// Paused queues: what an operator says of a queue, as a record that every node reads a few times in a few seconds, so that
// all of them leave its runs where they are. A pause takes nothing back: what runs goes on, what waits stays ready, and
// its time to start goes by as ever. Who reads the records, and when, is the engine's business.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { InvalidInput, type StoreError } from "../domain/Errors.ts"
import { parseName } from "../domain/Job.ts"
import { quote } from "../domain/TimeSpan.ts"
import { RecordStore, StoreInfo } from "../ports/Store.ts"
import type { PutRecord, RecordFilter, RecordRow } from "../ports/StoreDriver.ts"

/** A queue whose runs do not start. */
export interface PausedQueue {
  readonly queue: string
  /** Why; `null`: nobody said. */
  readonly note: string | null
  /** Who did it; `null`: not known. */
  readonly by: string | null
  /** Epoch milliseconds. */
  readonly at: number
}

/** The kind of their records. */
export const pausedKind = "queue"

/** Queues of one store that are paused at once: as many as one read brings. */
export const pausedMax = 1000

/** Characters of a note. */
export const noteMax = 512

/** What to read. */
export const pausedFilter: RecordFilter = { kind: pausedKind, order: "ascending", limit: pausedMax }

const idMax = 255

/** The id of a queue's record: its name, percent-encoded. Refused: what is no name, or too long as an id. */
export const pausedId = (queue: string): Result.Result<string, InvalidInput> =>
  Result.flatMap(parseName("queue", queue), (name) => {
    const id = Result.getOrElse(
      Result.try(() => encodeURIComponent(name)),
      () => "",
    )
    if (id !== "" && id.length <= idMax) return Result.succeed(id)
    const reason = `${quote(queue)} is too long to be paused, percent-encoded, or no text of Unicode`
    return Result.fail(new InvalidInput({ field: "queue", reason, next: "Give the queue a shorter name." }))
  })

/** The record of a pause; it stays until it is deleted, and takes the place of an earlier one. */
export const pauseRecord = (pause: PausedQueue): Result.Result<PutRecord, InvalidInput> => {
  if (pause.note !== null && pause.note.length > noteMax) {
    const reason = `it has ${pause.note.length} characters`
    return Result.fail(
      new InvalidInput({ field: "note", reason, next: `Give at most ${noteMax} characters.` }),
    )
  }
  const { queue, note, by, at } = pause
  const body = JSON.stringify({ queue, paused: true, note, by, at })
  return Result.map(pausedId(queue), (id) => ({
    kind: pausedKind,
    id,
    body,
    expiresAt: null,
    expected: null,
  }))
}

/** What records say; one that is none of ours is left out. */
export const pausedIn = (rows: ReadonlyArray<Pick<RecordRow, "body">>): ReadonlyArray<PausedQueue> =>
  rows.flatMap(({ body }) => {
    const value = Result.getOrNull(Result.try((): unknown => JSON.parse(body)))
    const { queue, paused, note, by, at } = (value ?? {}) as Readonly<Record<string, unknown>>
    if (typeof queue !== "string" || paused !== true) return []
    return [{ queue, note: textOf(note), by: textOf(by), at: typeof at === "number" ? at : 0 }]
  })

/** Pauses a queue, of whatever config; one that is paused gets the new note. */
export const pauseQueue = (
  queue: string,
  note: string | null,
  by: string | null,
): Effect.Effect<PausedQueue, StoreError | InvalidInput, RecordStore | StoreInfo> =>
  Effect.gen(function* () {
    const records = yield* RecordStore
    const pause: PausedQueue = { queue, note, by, at: yield* (yield* StoreInfo).now }
    const record = yield* Effect.fromResult(pauseRecord(pause))
    const there = yield* records.records(pausedFilter)
    // One more, and a node would not read of all.
    if (there.length >= pausedMax && !there.some(({ id }) => id === record.id))
      return yield* new InvalidInput({
        field: "queue",
        reason: `${pausedMax} queues are paused, which is the most`,
        next: "Resume some of them first.",
      })
    yield* records.putRecords([record])
    return pause
  })

/** Lets a queue go on; answers whether it was paused. */
export const resumeQueue = (queue: string): Effect.Effect<boolean, StoreError | InvalidInput, RecordStore> =>
  Effect.gen(function* () {
    const id = yield* Effect.fromResult(pausedId(queue))
    return (yield* (yield* RecordStore).deleteRecords(pausedKind, [id])) > 0
  })

const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null)

/** The queues that a node claims from, of those that it serves. */
export class QueueGate {
  #paused: ReadonlySet<string> = new Set()
  #isShut = false
  #open = new WeakMap<ReadonlyArray<string>, ReadonlyArray<string>>()

  /** Takes what was read last; answers whether something is different. `isShut`: nothing at all is claimed. */
  set(paused: ReadonlySet<string>, isShut: boolean): boolean {
    const isSame = isShut === this.#isShut && paused.size === this.#paused.size
    if (isSame && [...paused].every((queue) => this.#paused.has(queue))) return false
    this.#paused = paused
    this.#isShut = isShut
    this.#open = new WeakMap()
    return true
  }

  /** Those of a list that are not paused; the same list for the same one as long as nothing changes. */
  readonly open = (queues: ReadonlyArray<string>): ReadonlyArray<string> => {
    if (!this.#isShut && this.#paused.size === 0) return queues
    const known = this.#open.get(queues)
    if (known !== undefined) return known
    const open = this.#isShut ? [] : queues.filter((queue) => !this.#paused.has(queue))
    this.#open.set(queues, open)
    return open
  }
}

// The journal of a store: what happened on all of its nodes, in one order, as batches in records. The record of a batch has
// the next free number as its id and is stored only where there is none of that number yet, so a batch of a number is
// there only when all before it are: a reader that has read up to a number misses nothing by asking for what is above it,
// whichever node wrote it, and whatever any clock says. Who comes second to a number takes the next one.
//
// An event is stored once: a batch whose answer was lost is tried at the very number again, and found there by its mark.
// Batches wait while the store does not answer, up to a bound; what is over it is counted, and told as an event.
import { randomBytes } from "node:crypto"
import type { EngineEvent } from "../../../core/observe/Event.ts"
import type { AskedStore } from "../api/ApiParts.ts"
import { type Batch, batchKind as kind, decodeBatch, restOf } from "./Batch.ts"
import { type Draft, draftOf } from "./cloudEvents.ts"
import { batchEventsMax, batchId, origin, type Position } from "./Position.ts"
import { pruneJournal } from "./pruneJournal.ts"

/** What a reader gets: batches in order, or where it may go on when not all that it has not read is kept any more. */
export type Read = { readonly batches: ReadonlyArray<Batch> } | { readonly gap: Position }

/** The journal of a server's store. */
export interface Journal {
  readonly hear: (event: EngineEvent) => void
  /** Adds an event that is none of an engine's. */
  readonly add: (draft: Draft) => void
  /** Begins to write, when it is known which node this is. */
  readonly start: (node: () => string) => void
  /** What comes after a position, at most some batches; nothing when that is all. */
  readonly read: (after: Position) => Promise<Read>
  /** The position behind all that is stored. */
  readonly newest: () => Promise<Position>
  /** The position before all that is kept. */
  readonly oldest: () => Promise<Position>
  /** The number of the newest batch that is known here. */
  readonly tail: () => number
  /** Waits until there is something after a batch, the signal aborts or the journal ends. */
  readonly wait: (batch: number, signal: AbortSignal) => Promise<void>
  readonly isStopped: () => boolean
  /** Writes what waits, as far as the store takes it within the time, and wakes all readers. */
  readonly stop: (millisMax?: number) => Promise<void>
}

/** How the journal is kept. */
export interface JournalOptions {
  readonly store: Pick<AskedStore, "putRecords" | "records" | "deleteRecords" | "now">
  readonly onTrouble: (error: unknown) => void
  readonly now?: () => number
  /** Events that wait for the store; default 20,000. */
  readonly waitingMax?: number
  /** How long events are kept; default 24 h. */
  readonly keptMillis?: number
  /** Batches that are kept at most; default 200,000. */
  readonly batchesMax?: number
  /** Bytes of events that are kept at most, about; default 1 GiB. */
  readonly bytesMax?: number
  /** How often it is looked for what is too old; default a minute. */
  readonly pruneMillis?: number
}

/** Until a batch is written. */
const flushMillis = 100
/** How soon what other nodes wrote is seen. */
const lookMillis = 500
const retryMillis = 1_000
const pruneMillisUsual = 60_000
/** Longer ago, another look at the newest number comes before a write: the one after it might have been pruned since. */
const tailMillisMax = 1_000
const bodyMax = 200_000
const pageBatches = 20
const recentMax = 40
const stopMillis = 5_000

/** Makes a journal. */
export const makeJournal = (options: JournalOptions): Journal => {
  const { store, onTrouble, now = Date.now, waitingMax = 20_000 } = options
  const { keptMillis = 86_400_000, batchesMax = 200_000, bytesMax = 2 ** 30 } = options
  const waiting: Array<Draft> = []
  const recent = new Map<number, Batch>()
  const waiters = new Set<() => void>()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  let lost = 0
  let tail: Position = origin
  let tailBytes = 0
  let tailAt = Number.NEGATIVE_INFINITY
  let node: (() => string) | undefined
  let flushing: Promise<void> | undefined
  let isStopped = false
  let isLooking = false

  const later = (millis: number, work: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      work()
    }, millis)
    timers.add(timer)
  }
  const wake = (): void => {
    for (const each of waiters) each()
  }
  const saw = (batch: Batch): void => {
    if (batch.number <= tail.batch) return
    tail = { batch: batch.number, index: batch.drafts.length - 1, mark: batch.mark }
    tailBytes = batch.bytesUpTo
    recent.set(batch.number, batch)
    if (recent.size > recentMax) for (const first of recent.keys()) return void recent.delete(first)
  }
  const look = async (): Promise<void> => {
    const [row] = await store.records({ kind, order: "descending", limit: 1 })
    tailAt = performance.now()
    if (row === undefined) return
    const batch = decodeBatch(row)
    if (batch.number <= tail.batch) return
    // Those between are not in memory, and readers ask the store for them.
    recent.clear()
    saw(batch)
    wake()
  }

  /** What comes next, as JSON texts that fit one record. */
  const take = (): ReadonlyArray<string> => {
    if (lost > 0) {
      // Behind those that wait, as what comes first is kept.
      waiting.push({
        type: "uhrwerk.events.lost",
        at: now(),
        subject: null,
        job: null,
        data: { count: lost, reason: "The store did not take events for too long" },
      })
      lost = 0
    }
    const texts: Array<string> = []
    let bytes = 0
    for (const draft of waiting) {
      if (texts.length >= batchEventsMax) break
      const text = JSON.stringify(draft)
      bytes += Buffer.byteLength(text) + 1
      if (texts.length > 0 && bytes > bodyMax) break
      texts.push(text)
    }
    return texts
  }

  const append = async (texts: ReadonlyArray<string>, by: string): Promise<void> => {
    const mark = randomBytes(4).toString("hex")
    const events = `[${texts.join(",")}]`
    const drafts = waiting.slice(0, texts.length)
    const bytes = Buffer.byteLength(events)
    // A try that may have been done was it at this number, and all others go there as well, until it is known.
    let tried: number | undefined
    for (;;) {
      try {
        if (tried === undefined && performance.now() - tailAt > tailMillisMax) await look()
        const number: number = tried ?? tail.batch + 1
        const isRepeated = tried !== undefined
        tried = number
        const batch: Batch = { number, mark, node: by, bytesUpTo: tailBytes + bytes, drafts }
        const head = JSON.stringify({ mark, node: by, bytesUpTo: batch.bytesUpTo })
        const body = `${head.slice(0, -1)},"drafts":${events}}`
        const record = { kind, id: batchId(number), body, expiresAt: null, expected: 0 }
        const [version] = await store.putRecords([record])
        tailAt = performance.now()
        if (version === 1) return saw(batch)
        if (isRepeated && (await at(number))?.mark === mark) return saw(batch)
        tried = undefined
        await look()
      } catch (error) {
        onTrouble(error)
        await new Promise<void>((resolve) => later(retryMillis, resolve))
      }
    }
  }
  const at = async (number: number): Promise<Batch | undefined> => {
    const [row] = await store.records({ kind, prefix: batchId(number), order: "ascending", limit: 1 })
    return row === undefined ? undefined : decodeBatch(row)
  }

  const flush = async (): Promise<void> => {
    const own = node
    if (own === undefined) return
    while (waiting.length > 0) {
      const texts = take()
      await append(texts, own())
      waiting.splice(0, texts.length)
      wake()
    }
  }
  const startFlush = (): Promise<void> =>
    (flushing ??= flush().finally(() => {
      flushing = undefined
      if (waiting.length > 0) schedule()
    }))
  let isScheduled = false
  const schedule = (): void => {
    if (isScheduled || isStopped || flushing !== undefined || node === undefined) return
    isScheduled = true
    later(flushMillis, () => {
      isScheduled = false
      void startFlush()
    })
  }

  /** Looks for what others wrote, as long as somebody waits for it. */
  const lookOn = (): void => {
    if (isLooking || isStopped) return
    isLooking = true
    later(lookMillis, () => {
      void (performance.now() - tailAt < lookMillis ? Promise.resolve() : look())
        .catch(onTrouble)
        .finally(() => {
          isLooking = false
          if (waiters.size > 0) lookOn()
        })
    })
  }

  const read = async (after: Position): Promise<Read> => {
    // Whoever waits has it looked for more.
    if (tail.batch > 0 && after.batch === tail.batch && after.mark === tail.mark && after.index >= tail.index)
      return { batches: [] }
    const near: Array<Batch> = []
    for (let number = after.batch + 1; near.length < pageBatches; number++) {
      const batch = recent.get(number)
      if (batch === undefined) break
      near.push(batch)
    }
    const own = recent.get(after.batch)
    if (near.length > 0 && own?.mark === after.mark) return { batches: restOf(own, after, near) }
    // With the batch itself, whose rest may be wanted, and whose mark says whether it is the one that was read.
    const from = after.batch === 0 ? {} : { after: batchId(after.batch - 1) }
    const rows = await store.records({ kind, ...from, order: "ascending", limit: pageBatches + 1 })
    const batches = rows.map(decodeBatch)
    const [first] = batches
    if (first === undefined) return after.batch === 0 ? { batches } : { gap: await oldest() }
    if (first.number === after.batch + 1) return { batches }
    if (first.number !== after.batch) return { gap: await oldest() }
    if (after.mark === origin.mark) return { batches: batches.slice(1) }
    return first.mark === after.mark
      ? { batches: restOf(first, after, batches.slice(1)) }
      : { gap: await oldest() }
  }
  const oldest = async (): Promise<Position> => {
    const [row] = await store.records({ kind, order: "ascending", limit: 1 })
    return row === undefined ? origin : { ...origin, batch: Number(row.id) - 1 }
  }

  const pruneOn = (): void =>
    later(options.pruneMillis ?? pruneMillisUsual, () => {
      void pruneJournal(store, { keptMillis, batchesMax, bytesMax })
        .catch(onTrouble)
        .finally(() => isStopped || pruneOn())
    })

  const add = (draft: Draft): void => {
    if (isStopped) return
    // What came first is kept, as a batch of it may be on its way.
    if (waiting.length >= waitingMax) lost++
    else waiting.push(draft)
    schedule()
  }

  return {
    hear: (event) => {
      const draft = draftOf(event, now())
      if (draft !== undefined) add(draft)
    },
    add,
    start: (of) => {
      node = of
      pruneOn()
      if (waiting.length > 0) schedule()
    },
    read,
    oldest,
    newest: async () => {
      await look()
      return tail
    },
    tail: () => tail.batch,
    wait: (batch, signal) =>
      new Promise((resolve) => {
        if (isStopped || signal.aborted || tail.batch > batch) return resolve()
        const done = (): void => {
          if (!isStopped && !signal.aborted && tail.batch <= batch) return
          waiters.delete(done)
          signal.removeEventListener("abort", done)
          resolve()
        }
        waiters.add(done)
        signal.addEventListener("abort", done)
        lookOn()
      }),
    isStopped: () => isStopped,
    stop: async (millisMax = stopMillis) => {
      if (isStopped) return
      const end = new Promise<void>((resolve) => later(millisMax, resolve))
      await Promise.race([(flushing ?? Promise.resolve()).then(startFlush), end])
      isStopped = true
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      wake()
    },
  }
}

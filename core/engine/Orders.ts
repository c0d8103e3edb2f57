// What operators ask of engines, read from the store: queues that are paused, that this node drains, what becomes of one of
// its workers. Read before the first claim and every second and a half from then on, two small reads; as long as the
// store does not tell, what it said last holds, and where it has no records at all nothing is paused.
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type * as Scope from "effect/Scope"
import type { InvalidInput, StoreError } from "../domain/Errors.ts"
import { supervise } from "../observe/Supervisor.ts"
import { RecordStore, StoreInfo } from "../ports/Store.ts"
import type { RecordRow } from "../ports/StoreDriver.ts"
import {
  type PausedQueue,
  pausedFilter,
  pausedIn,
  pauseQueue,
  QueueGate,
  resumeQueue,
} from "../run/PausedQueues.ts"
import {
  drainKeptMillis,
  type DrainOrder,
  drainRecord,
  orderIn,
  orderKind,
  ordersOf,
  type WorkerOrder,
} from "./NodeOrders.ts"

/** What can be asked of a running engine about them. */
export interface OrderCalls {
  /** Nothing of the queue starts any more, on any node; in effect here at once, and within two seconds elsewhere. */
  readonly pauseQueue: (
    queue: string,
    note?: string | null,
    by?: string | null,
  ) => Effect.Effect<PausedQueue, StoreError | InvalidInput>
  /** Answers whether it was paused. */
  readonly resumeQueue: (queue: string) => Effect.Effect<boolean, StoreError | InvalidInput>
  /** Reads now what is asked of it, instead of in a second. */
  readonly readOrders: Effect.Effect<void, StoreError>
  /** Whether this node takes nothing new, until it is told to go on. */
  readonly isDraining: () => boolean
}

/** The same, with what the claims ask. */
export interface Orders extends OrderCalls {
  readonly open: QueueGate["open"]
}

// Two seconds are promised, and a read takes its time. No config may poll less than once a minute: who does is on a clock
// that lets days go by in a moment, and is asked in its own process.
const everyMillis = 1500
const pollMillisMax = 60_000

/** Reads for the first time, then starts reading; it stops with the scope. */
export const makeOrders = (options: {
  readonly node: () => string
  readonly pollMillis: number
  /** Queues were paused or resumed, or the node began or ended to drain. */
  readonly onChange: () => void
  /** Its workers are to go; `null`: they may come again. */
  readonly onDrain: (order: DrainOrder | null) => void
  readonly onWorker: (order: WorkerOrder) => void
  readonly onTrouble: (doing: string, error: StoreError) => void
}): Effect.Effect<Orders, never, Scope.Scope | RecordStore | StoreInfo> =>
  Effect.gen(function* () {
    const records = yield* RecordStore
    const info = yield* StoreInfo
    const clock = yield* Clock.Clock
    const context = yield* Effect.context<RecordStore | StoreInfo>()
    const pause = options.pollMillis > pollMillisMax ? options.pollMillis : everyMillis
    const gate = new QueueGate()
    const turns = Semaphore.makeUnsafe(1)
    // Those that were obeyed and whose record may still be there.
    let obeyed: ReadonlySet<string> = new Set()
    let draining: { readonly as: string; readonly order: DrainOrder } | null = null
    let isTroubled = false

    /** Keeps the order to drain as long as this node lives, also under the id that it has after it lost its lease. */
    const keepDrain = Effect.fnUntraced(function* (node: string, row: RecordRow | undefined) {
      const found = row === undefined ? null : orderIn(row)
      const order = found?.kind === "drain" ? found : draining?.as === node ? null : (draining?.order ?? null)
      if (order !== null) {
        const left = (row?.expiresAt ?? 0) - clock.currentTimeMillisUnsafe()
        if (row === undefined || left < drainKeptMillis / 2)
          // Not over the head of whoever has just told it to go on.
          yield* records.putRecords([
            { ...drainRecord(node, order, yield* info.now), expected: row?.version ?? null },
          ])
        if (draining !== null && draining.as !== node) yield* records.deleteRecords(orderKind, [draining.as])
      }
      const [was, is] = [draining !== null, order !== null]
      draining = order === null ? null : { as: node, order }
      if (was !== is) options.onDrain(order)
    })

    const obey = Effect.fnUntraced(function* (rows: ReadonlyArray<RecordRow>) {
      for (const row of rows) {
        const order = orderIn(row)
        if (!obeyed.has(row.id) && order !== null && order.kind !== "drain") options.onWorker(order)
      }
      obeyed = new Set(rows.map(({ id }) => id))
      if (rows.length > 0) yield* records.deleteRecords(orderKind, [...obeyed])
    })

    const read = turns.withPermits(1)(
      Effect.gen(function* () {
        const paused = new Set(pausedIn(yield* records.records(pausedFilter)).map(({ queue }) => queue))
        const node = options.node()
        const rows = yield* records.records(ordersOf(node))
        yield* keepDrain(
          node,
          rows.find(({ id }) => id === node),
        )
        if (gate.set(paused, draining !== null)) options.onChange()
        yield* obey(rows.filter(({ id }) => id !== node))
        isTroubled = false
      }),
    )
    const readOrTell = Effect.catch(read, (error) =>
      Effect.sync(() => {
        // Once, and not every other second: a store may have no records at all.
        if (!isTroubled) options.onTrouble("read what operators ask", error)
        isTroubled = true
      }),
    )
    // A claim from a queue that is paused cannot be taken back, so that the first look is tried again.
    yield* Effect.catch(Effect.retry(read, { times: 2 }), () => readOrTell)
    yield* supervise("orders", Effect.andThen(Effect.sleep(pause), readOrTell))

    return {
      open: gate.open,
      isDraining: () => draining !== null,
      readOrders: read,
      pauseQueue: (queue, note = null, by = null) =>
        Effect.provideContext(
          Effect.tap(pauseQueue(queue, note, by), () => readOrTell),
          context,
        ),
      resumeQueue: (queue) =>
        Effect.provideContext(
          Effect.tap(resumeQueue(queue), () => readOrTell),
          context,
        ),
    }
  })

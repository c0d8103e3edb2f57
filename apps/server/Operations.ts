// Does operations, page by page, on any server of the store. Who begins a page says so in the record first, under the
// version that it read, with a lease: so no two servers begin the same one. A server that dies leaves its page noted; when
// its lease is over another one does that page again, which changes nothing twice (see bulk/Act.ts), and goes on. What a
// page came to and where the next begins are stored in one step, so the numbers add up whoever does what.
import { errorInfo } from "../../core/domain/Payload.ts"
import { act, type Acted } from "../bulk/Act.ts"
import { look } from "../bulk/Look.ts"
import { millisFor, pageAt } from "../bulk/Rate.ts"
import type { AskedStore } from "./api/ApiParts.ts"
import {
  isOver,
  openKind,
  openMax,
  type Operation,
  putOperation,
  readOperation,
  type StoredOperation,
} from "./OperationRecord.ts"
import { Refused } from "./problems.ts"

/** What it stands on. */
export interface OperationsParts {
  readonly store: AskedStore
  /** This server, for others: unique. */
  readonly self: string
  /** Hears of operations that fail, and when it cannot go on, the first time of several in a row. */
  readonly onTrouble: (doing: string, error: unknown) => void
}

/** Does what there is to do. */
export interface Operations {
  /** Does at most one page of each operation; answers when to look again, in milliseconds from now. */
  readonly tick: () => Promise<number>
  /** Looks for work until it is stopped. */
  readonly start: () => void
  /** Ends after the page under way, and gives up the leases, so that others need not wait for their end. */
  readonly stop: () => Promise<void>
}

/** How long nobody else takes an operation whose server says nothing. An answer of the store takes a third of it at most. */
export const leaseMillis = 30_000
const pollMillis = 1_000
const triesMax = 5
const fault = "This is a fault of the server. Its log has more under the operation's id"

/** Makes it; it begins with `start`. */
export const makeOperations = ({ store, self, onTrouble }: OperationsParts): Operations => {
  const stop: { isAsked: boolean } = { isAsked: false }
  let wake = (): void => {}
  let loop: Promise<void> | undefined
  let isTroubled = false

  const openIds = async (): Promise<ReadonlyArray<string>> =>
    (await store.records({ kind: openKind, order: "ascending", limit: 2 * openMax })).map(({ id }) => id)

  const tick = async (): Promise<number> => {
    let wait = pollMillis
    const errors: Array<unknown> = []
    for (const id of await openIds()) {
      if (stop.isAsked) break
      // One that cannot go on holds up no other.
      await stepOf(id).then(
        (millis) => (wait = Math.min(wait, millis)),
        (error: unknown) => errors.push(error),
      )
    }
    if (errors.length > 0) throw errors[0]
    return wait
  }

  const stepOf = async (id: string): Promise<number> => {
    const [now, stored] = [await store.now(), await readOperation(store, id)]
    if (stored === undefined || isOver(stored.operation)) {
      await forget(id, now, stored)
      return pollMillis
    }
    const { owner, leaseUntil, nextAt, cancelAsked } = stored.operation
    if (owner !== self && leaseUntil > now) return pollMillis
    if (nextAt > now && !cancelAsked) return nextAt - now
    try {
      return await step(stored, now)
    } catch (error) {
      // The store may answer later. Anything else would be the same each time.
      if (error instanceof Refused || errorInfo(error).name === "StoreError") throw error
      onTrouble(`do operation ${id}`, error)
      const failed = await readOperation(store, id)
      const isOwn = failed?.operation.owner === self || failed?.version === stored.version
      if (failed !== undefined && isOwn) await end(failed, now, { state: "failed", error: fault })
      return pollMillis
    }
  }

  const step = async (stored: StoredOperation, now: number): Promise<number> => {
    const { operation } = stored
    const again = operation.page.length > 0
    if (!again && operation.cancelAsked) return end(stored, now, { state: "cancelled" })
    if (!again && operation.place === null) return end(stored, now, endOf(operation))
    const found =
      again || operation.place === null
        ? { ids: operation.page, next: operation.place }
        : await look(store, operation, operation.place, pageAt(operation.perSecond))
    const begun: Operation = {
      ...operation,
      state: "running",
      startedAt: operation.startedAt ?? now,
      owner: self,
      leaseUntil: now + leaseMillis,
      page: found.ids,
      place: found.next,
    }
    const version = await putOperation(store, begun, stored.version, now)
    // Somebody else was first, be it with a wish to cancel: look again.
    if (version === 0 || begun.page.length === 0) return 0
    const acted = await act(store, begun, begun.page, again)
    return settle({ operation: begun, version }, acted)
  }

  /** Stores what a page came to, also beside a wish to cancel that came meanwhile; not when another server took it. */
  const settle = async (begun: StoredOperation, acted: Acted): Promise<number> => {
    let stored: StoredOperation | undefined = begun
    for (let tries = 0; tries < triesMax && stored !== undefined; tries++) {
      const { operation, version }: StoredOperation = stored
      if (operation.owner !== self || operation.page.length === 0) return 0
      const now = await store.now()
      // By the rate the next page may begin so long after this one began, which its lease tells.
      const pause = millisFor(operation.page.length, operation.perSecond)
      const settled: Operation = {
        ...operation,
        done: operation.done + acted.done,
        skipped: operation.skipped + acted.skipped,
        failed: operation.failed + acted.failed,
        error: acted.error ?? operation.error,
        page: [],
        nextAt: operation.leaseUntil - leaseMillis + pause,
        leaseUntil: now + pause + leaseMillis,
      }
      if ((await putOperation(store, settled, version, now)) > 0) return Math.max(0, settled.nextAt - now)
      stored = await readOperation(store, operation.id)
    }
    return 0
  }

  const end = async (
    { operation, version }: StoredOperation,
    now: number,
    how: Partial<Operation>,
  ): Promise<number> => {
    const ended: Operation = { ...operation, ...how, endedAt: now, owner: null, leaseUntil: 0, page: [] }
    if ((await putOperation(store, ended, version, now)) > 0)
      await store.deleteRecords(openKind, [operation.id])
    return 0
  }

  // It is stored a moment after its sign, so one that is missing may be about to come.
  const forget = async (id: string, now: number, stored: StoredOperation | undefined): Promise<void> => {
    if (stored === undefined) {
      const [sign] = await store.records({ kind: openKind, prefix: id, order: "ascending", limit: 1 })
      if (sign === undefined || sign.updatedAt > now - 2 * leaseMillis) return
    }
    await store.deleteRecords(openKind, [id])
  }

  const release = async (): Promise<void> => {
    for (const id of await openIds()) {
      const stored = await readOperation(store, id)
      if (stored?.operation.owner !== self) continue
      await putOperation(store, { ...stored.operation, leaseUntil: 0 }, stored.version, await store.now())
    }
  }

  const safely = async <A>(doing: string, work: () => Promise<A>, otherwise: A): Promise<A> => {
    try {
      const answer = await work()
      isTroubled = false
      return answer
    } catch (error) {
      if (!isTroubled) onTrouble(doing, error)
      isTroubled = true
      return otherwise
    }
  }

  const run = async (): Promise<void> => {
    while (!stop.isAsked) {
      const millis = await safely("go on with operations", tick, pollMillis)
      if (millis > 0 && !stop.isAsked) await pause(millis)
    }
    await safely("give up operations", release, undefined)
  }

  const pause = (millis: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, millis)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  return {
    tick,
    start: () => {
      loop ??= run()
    },
    stop: async () => {
      stop.isAsked = true
      wake()
      await loop
    },
  }
}

const endOf = ({ done, skipped, failed, error }: Operation): Partial<Operation> => ({
  state: failed > 0 ? "failed" : "succeeded",
  total: { value: done + skipped + failed, exact: true },
  error: failed > 0 ? error : null,
})

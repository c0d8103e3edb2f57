// Requests that wait for the end of a run, wherever it ends: an event of this engine tells of it at once, and for the runs
// of all other nodes one look at the store, twice a second, serves all who wait. Bounded in number; nobody waits for longer
// than his time, than he listens, or than the server takes requests.
import { isFinal, type Run } from "../../core/domain/Run.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import type { AskedStore } from "./api/ApiParts.ts"

/** Waiting requests at a time. */
export const waitsMax = 500
/** The longest wait, in milliseconds. */
export const waitMillisMax = 60_000
const lookEveryMillis = 500

/** One that waits. */
export interface RunWait {
  /** Resolves at the end of the run, of its time, of the client or of the server; it never rejects. */
  readonly over: Promise<void>
  /** Has to be called. */
  readonly end: () => void
}

/** All that wait. */
export interface RunWaits {
  readonly hear: (event: EngineEvent) => void
  /**
   * Waits for the run of an id; `undefined`: too many wait. Begin before you read the run, so that no end falls between
   * the two.
   */
  readonly begin: (id: string, millis: number, signal: AbortSignal) => RunWait | undefined
  /** Ends all waits, and those to come at once. */
  readonly close: () => void
}

/** Makes them, over the store that they look at. */
export const makeRunWaits = ({ get }: Pick<AskedStore, "get">): RunWaits => {
  const waits = new Map<string, Set<() => void>>()
  let count = 0
  let timer: ReturnType<typeof setInterval> | undefined
  let isLooking = false
  let isClosed = false

  const wake = (id: string): void => waits.get(id)?.forEach((end) => end())
  const look = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const ids = [...waits.keys()]
      const runs = new Map((await get(ids)).map((run): [string, Run] => [run.id, run]))
      for (const id of ids) if (isFinal(runs.get(id)?.state ?? "cancelled")) wake(id)
    } catch {
      // The next look is soon, and who waits reads the run himself in the end.
    } finally {
      isLooking = false
    }
  }

  return {
    hear: (event) => {
      if (event.kind === "ended" && isFinal(event.state)) wake(event.run.id)
    },
    begin: (id, millis, signal) => {
      if (count >= waitsMax) return undefined
      const { promise: over, resolve } = Promise.withResolvers<void>()
      const timeOut = setTimeout(resolve, isClosed ? 0 : Math.min(millis, waitMillisMax))
      signal.addEventListener("abort", () => resolve(), { once: true })
      if (signal.aborted) resolve()
      const ofRun = waits.get(id) ?? new Set()
      waits.set(id, ofRun.add(resolve))
      count++
      timer ??= setInterval(() => void look(), lookEveryMillis)
      const end = (): void => {
        if (!ofRun.delete(resolve)) return
        clearTimeout(timeOut)
        resolve()
        count--
        if (ofRun.size === 0) waits.delete(id)
        if (count > 0) return
        clearInterval(timer)
        timer = undefined
      }
      return { over, end }
    },
    close: () => {
      isClosed = true
      for (const id of waits.keys()) wake(id)
    },
  }
}

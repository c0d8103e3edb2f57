// What an engine tells whoever listens: one value for each thing that happened, after it is in the store.
// Listeners are called in place and must be quick; what they throw is dropped.
import * as Result from "effect/Result"
import type { Run, RunState } from "../domain/Run.ts"
import type { OccurrenceReason } from "../domain/Schedule.ts"

/** Something that happened in this engine. Times are epoch milliseconds. */
export type EngineEvent =
  | { readonly kind: "started"; readonly run: Run; readonly at: number; readonly latenessMillis: number }
  /** Of a flow run, and of a list that is mapped, the end of its steps, however it came; `run` is then its row after it. */
  | {
      readonly kind: "ended"
      readonly run: Run
      /** Where the attempt left the run: a final state, `retrying`, `scheduled` (snoozed) or `ready` (released). */
      readonly state: RunState
      readonly durationMillis: number
      readonly error: { readonly name: string; readonly message: string } | null
      readonly output: string | null
      /** When a retrying or snoozed run starts again. */
      readonly dueAt: number | null
    }
  /** Its steps do the work from here on: it is `blocked`, or has ended with them already. `ended` tells their end. */
  | { readonly kind: "expanded"; readonly run: Run; readonly steps: number }
  /** The outcome came after the run had been cancelled or given to another node: it was not applied. */
  | { readonly kind: "stale"; readonly run: Run }
  | { readonly kind: "reclaimed"; readonly id: string; readonly job: string; readonly state: RunState }
  | {
      readonly kind: "occurrence"
      readonly scheduleId: string
      readonly at: number
      readonly count: number
      readonly reason: OccurrenceReason
    }
  /**
   * A schedule's next instant was computed with other zone data than this host has (release, fingerprint, offset), and
   * what became of it. It counts once either way; a planner tells of each pair of data once.
   */
  | {
      readonly kind: "zoneData"
      readonly scheduleId: string
      readonly stored: string
      readonly own: string
      readonly before: number | null
      readonly after: number | null
    }
  /** At the start: a calendar of the config is new, another one, or gone; so many schedules have another next instant. */
  | {
      readonly kind: "calendar"
      readonly name: string
      readonly change: "added" | "changed" | "removed"
      readonly schedules: number
    }
  /** The clock was set back, by about so much; fixed rates and delays that were ahead of it go on at once. */
  | { readonly kind: "clockBack"; readonly millis: number; readonly schedules: number }
  | { readonly kind: "log"; readonly run: Run; readonly line: string }
  /** How far a handler says that it is, from 0 to 100; `null`: it cannot tell. */
  | {
      readonly kind: "progress"
      readonly run: Run
      readonly percent: number | null
      readonly note: string | null
    }
  | { readonly kind: "leaseLost"; readonly node: string }
  /**
   * A worker came or went, or what it sent was refused. `worker` is its name, or the address of one that did not say it.
   * `cut`: its connection is gone, it may come back; `over`: its session has ended, `reason` says how.
   */
  | {
      readonly kind: "worker"
      readonly worker: string
      readonly what:
        | "connected"
        | "resumed"
        | "alive"
        | "suspect"
        | "draining"
        | "cut"
        | "over"
        | "denied"
        | "refused"
      readonly reason: string | null
    }
  /** At the start, once each: what the storage, as it is set up, may lose; see `StoreCapabilities.cautions`. */
  | { readonly kind: "caution"; readonly text: string }
  /** A newer version has changed the store's tables: this engine takes and plans nothing more. Drain it, and upgrade. */
  | { readonly kind: "outdated"; readonly reason: string }
  | { readonly kind: "trouble"; readonly doing: string; readonly error: string }

/** Publishes events to listeners. */
export interface Events {
  readonly publish: (event: EngineEvent) => void
  /** Listens until the returned function is called. */
  readonly listen: (listener: (event: EngineEvent) => void) => () => void
}

/** A publisher without a queue: an event costs nothing when nobody listens. */
export const makeEvents = (): Events => {
  const listeners = new Set<(event: EngineEvent) => void>()
  return {
    publish: (event) => {
      for (const listener of listeners) Result.try(() => listener(event))
    },
    listen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

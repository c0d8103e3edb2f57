// The store of a simulation: the real memory store on a clock of its own, every call of which is seen, and every change
// of a run's row. It is the ground that survives whatever happens to nodes.
import * as Context from "effect/Context"
import { RunTable, type Entry } from "../../adapters/store-memory/RunTable.ts"
import type { FlowRun } from "../../adapters/store-memory/FlowRun.ts"
import { memoryDriver } from "../../adapters/store-memory/mod.ts"
import type { ErrorInfo, Run } from "../../core/domain/Run.ts"
import { contextDriver, type Store, type StoreOperation } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import type { Lane, World } from "./World.ts"

/** One call as it happened at the store. */
export interface Call {
  readonly operation: StoreOperation
  readonly args: ReadonlyArray<unknown>
  /** The store's clock. */
  readonly now: number
  readonly changes: Array<Change>
}

/** One change of a row within a call. */
export interface Change {
  readonly before: Run | null
  readonly after: Run
  readonly error: ErrorInfo | null
}

/** Hears what happens at the store; `answer` is absent when the call was refused. */
export interface Witness {
  readonly saw: (call: Call, answer: unknown, refusal: unknown) => void
}

/** A table that keeps each change of a row, for the call that is under way. */
export class WatchedRuns extends RunTable {
  changes: Array<Change> = []

  override insert(run: Run, flow: FlowRun | null = null): Entry {
    this.changes.push({ before: this.entries.get(run.id)?.run ?? null, after: run, error: null })
    return super.insert(run, flow)
  }

  override put(entry: Entry, next: Run, now: number, error: ErrorInfo | null = null): void {
    this.changes.push({ before: entry.run, after: next, error })
    super.put(entry, next, now, error)
  }
}

/** The store, and what the checks read of it. */
export interface Ground {
  readonly lane: Lane
  readonly driver: StoreDriver
  readonly table: WatchedRuns
  readonly services: Context.Context<Store>
  /** The store's clock, in epoch milliseconds. */
  readonly now: () => number
}

/** Makes it. `spoil` is for planted bugs: it may put another driver or table in the place of the honest one. */
export const makeGround = (world: World, witness: Witness, spoil: Spoil = {}): Ground => {
  const lane = world.lane("store")
  const now = (): number => Math.floor(lane.now())
  const table = spoil.table?.() ?? new WatchedRuns()
  const honest = memoryDriver({ now, runs: table })
  const driver = spoil.driver?.(honest, { table, lane }) ?? honest
  return { lane, driver, table, now, services: contextDriver(seen(driver, table, now, witness)) }
}

/** What a planted bug does to the store. */
export interface Spoil {
  readonly table?: () => WatchedRuns
  readonly driver?: (
    honest: StoreDriver,
    ground: { readonly table: WatchedRuns; readonly lane: Lane },
  ) => StoreDriver
}

const seen = (driver: StoreDriver, table: WatchedRuns, now: () => number, witness: Witness): StoreDriver => {
  const watched: Record<string, unknown> = { ...driver }
  for (const [operation, run] of Object.entries(driver)) {
    if (typeof run !== "function" || operation === "now") continue
    watched[operation] = (...args: ReadonlyArray<unknown>) => {
      const changes: Array<Change> = (table.changes = [])
      const call: Call = { operation: operation as StoreOperation, args, now: now(), changes }
      let answer: unknown
      try {
        answer = (run as (...args: ReadonlyArray<unknown>) => unknown)(...args)
      } catch (refusal) {
        witness.saw(call, undefined, refusal)
        throw refusal
      }
      witness.saw(call, answer, undefined)
      return answer
    }
  }
  return watched as unknown as StoreDriver
}

// What a storage says of itself when somebody asks whether all is well. An adapter looks and words what it found; a tool
// only prints it. Not part of the driver: a store that was opened has been checked and migrated already, and this is for
// one that may not open at all. Looking changes nothing.
import type { StoreDriver } from "./StoreDriver.ts"

/** One thing that was looked at. */
export interface Finding {
  /** What it was, in one or two words. */
  readonly what: string
  /** `warn`: it works, and something may be lost, slow or surprising. `fail`: an engine cannot do its work like this. */
  readonly state: "ok" | "warn" | "fail"
  /** What was found, without a full stop. */
  readonly found: string
  /** The command or step that mends it; `null` where there is nothing to mend. */
  readonly mend: string | null
}

/** All that was looked at. */
export interface Examination {
  readonly findings: ReadonlyArray<Finding>
  /** The store, for whoever looks further, and closes it; `null` when it cannot be used as it is. */
  readonly store: StoreDriver | null
}

/** Nothing to mend. */
export const ok = (what: string, found: string): Finding => ({ what, state: "ok", found, mend: null })

/** It works, with a reservation. */
export const warn = (what: string, found: string, mend: string): Finding => ({
  what,
  state: "warn",
  found,
  mend,
})

/** It does not work. */
export const fail = (what: string, found: string, mend: string): Finding => ({
  what,
  state: "fail",
  found,
  mend,
})

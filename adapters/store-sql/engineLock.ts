// Keeps a second engine off a file that one engine serves. The lock is a SQLite lock on a small file beside it,
// held open by the engine: the operating system drops it with the process, also after kill -9, so there is
// nothing to time out, to guess or to clean up. Tools that only read, cancel or replay do not need it.
import { DatabaseSync } from "node:sqlite"
import { StoreInUse } from "../../core/domain/Errors.ts"
import type { NodeRow } from "../../core/ports/StoreDriver.ts"

/** Takes the engine's lock on `file` until `release`; throws `StoreInUse` when another engine has it. */
export const lockForEngine = (
  file: string,
  holders: () => ReadonlyArray<NodeRow>,
): { readonly release: () => void } => {
  if (file === ":memory:") return { release: () => {} }
  const lock = new DatabaseSync(`${file}-engine`, { timeout: 0 })
  try {
    lock.exec("pragma journal_mode = delete")
    lock.exec("begin exclusive")
  } catch (error) {
    lock.close()
    if (!/locked|busy/i.test(error instanceof Error ? error.message : "")) throw error
    const holder = holders()[0]
    const who =
      holder === undefined ? "another engine" : `the engine in process ${holder.pid} on ${holder.host}`
    throw new StoreInUse({
      field: `storage "${file}"`,
      reason: `${who} serves this file, and a SQLite file serves one engine at a time`,
      next: "Stop that engine first, or give this one a file of its own.",
    })
  }
  return { release: () => lock.close() }
}

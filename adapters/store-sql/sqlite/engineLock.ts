// Keeps a second engine off a file that one engine serves. The lock is a SQLite lock on a small file beside it,
// held open by the engine: the operating system drops it with the process, also after kill -9, so there is
// nothing to time out, to guess or to clean up. Tools that only read, cancel or replay do not need it.
import { realpathSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { StoreInUse } from "../../../core/domain/Errors.ts"
import { location } from "./Database.ts"

/** Takes the engine's lock on `file`, which exists, until `release`; throws `StoreInUse` when another has it. */
export const lockForEngine = (file: string, sqlite: DatabaseSync): { readonly release: () => void } => {
  if (file === ":memory:") return { release: () => {} }
  // By its real name: a link to the file is the same file.
  const lock = new DatabaseSync(location(`${realpathSync(file)}-engine`, "rwc"), { timeout: 0 })
  try {
    lock.exec("pragma journal_mode = delete")
    lock.exec("begin exclusive")
  } catch (error) {
    lock.close()
    if (!/locked|busy/i.test(error instanceof Error ? error.message : "")) throw error
    throw new StoreInUse({
      field: `storage "${file}"`,
      reason: `${holderOf(sqlite)} serves this file, and a SQLite file serves one engine at a time`,
      next: "Stop that engine first, or give this one a file of its own.",
    })
  }
  return { release: () => lock.close() }
}

// The file may be of any version, and has no node while its engine starts.
const holderOf = (sqlite: DatabaseSync): string => {
  try {
    const node = sqlite.prepare("select pid, host from nodes order by started_at desc limit 1").get()
    return node === undefined
      ? "another engine"
      : `the engine in process ${String(node["pid"])} on ${String(node["host"])}`
  } catch {
    return "another engine"
  }
}

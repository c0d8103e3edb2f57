// Uhrwerk over a SQLite file: another kind of store, so for information.
import { rm } from "node:fs/promises"
import type { Place, Side, SideInfo } from "../Side.ts"
import { openUhrwerk } from "./uhrwerk.ts"

export const info: SideInfo = {
  store: "SQLite",
  settings: [{ set: "worker.concurrency; all else as it comes", page: "README.md" }],
  keeps: "the run, its input and what became of it, for 7 days",
  polls: false,
}

/** Opens it in a file of its own. */
export const open = (place: Place): Promise<Side> => {
  const file = `${place.folder}/${place.name}.db`
  return openUhrwerk(`sqlite:${file}`, place, async () => {
    for (const end of ["", "-wal", "-shm", "-engine"]) await rm(`${file}${end}`, { force: true })
  })
}

// How the cases get a store without any row, on a clock that only they move. Yours makes a file, a schema or a database
// that nobody else has, and removes it when the driver is closed.
import type { StoreDriver } from "uhrwerk/sql"
import { templateDriver } from "../mod.ts"

export const open = (now: () => number): StoreDriver => templateDriver({ now })

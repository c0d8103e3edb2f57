// Uhrwerk over PostgreSQL.
import postgres from "postgres"
import type { Place, Side, SideInfo } from "../Side.ts"
import { openUhrwerk } from "./uhrwerk.ts"

export const info: SideInfo = {
  store: "PostgreSQL",
  settings: [{ set: "worker.concurrency; all else as it comes", page: "README.md" }],
  keeps: "the run, its input and what became of it, for 7 days",
  polls: false,
}

/** Opens it in a schema of its own. */
export const open = (place: Place): Promise<Side> => {
  const url = new URL(place.postgres)
  url.searchParams.set("schema", place.name)
  return openUhrwerk(url.toString() as `postgres://${string}`, place, async () => {
    const sql = postgres(place.postgres, { max: 1, onnotice: () => {} })
    await sql`drop schema if exists ${sql(place.name)} cascade`
    await sql.end()
  })
}

// Which jobs a node claims, as a table of its connection: a node may have a job for each of 10,000 steps, and a list
// that is bound to each claim would be read in full each time.
import { sql } from "drizzle-orm"
import type { Claim } from "../../../core/ports/StoreDriver.ts"
import type { Database } from "./Database.ts"
import { at, prepare } from "./Statement.ts"

/** The table; made when a file is opened, and gone with the connection. Nothing of it is in the file. */
export const wantedJobsTable =
  "create temp table wanted_jobs (job text primary key, expands integer not null) without rowid"

type Wanted = Pick<Claim, "jobs" | "expanding">

/** Makes the part of a session that fills it; to be called before a transaction, which might be taken back. */
export const makeWantedJobs = (database: Database): ((wanted: Wanted) => void) => {
  const clear = prepare(database, sql`delete from wanted_jobs`)
  const fill = prepare(
    database,
    sql`insert or ignore into wanted_jobs (job, expands) select value,
      value in (select value from json_each(${at("expanding")})) from json_each(${at("jobs")})`,
  )
  let known: Wanted | undefined
  return ({ jobs, expanding = [] }) => {
    if (known !== undefined && isSame(jobs, known.jobs) && isSame(expanding, known.expanding ?? [])) return
    // Until it is filled nothing is known of it.
    known = undefined
    clear.run()
    fill.run({ jobs: JSON.stringify(jobs), expanding: JSON.stringify(expanding) })
    known = { jobs, expanding }
  }
}

// A node asks with the same lists each time, and they are never changed.
const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((job, index) => job === b[index]))

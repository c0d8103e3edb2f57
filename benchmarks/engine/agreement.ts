// Proof that the floor does the same work as the engine: the same statements, and the same rows afterwards.
import { DatabaseSync } from "node:sqlite"
import { makeClaim } from "../../adapters/store-sql/sqlite/claim.ts"
import type { Database } from "../../adapters/store-sql/sqlite/Database.ts"
import { makeEnqueue } from "../../adapters/store-sql/sqlite/enqueue.ts"
import { openSession } from "../../adapters/store-sql/sqlite/Session.ts"
import { floorSql, job } from "./floor.ts"

/** The names of the floor's statements that the store does not prepare in the same words. */
export const foreignStatements = (): ReadonlyArray<string> => {
  const texts = new Set<string>()
  const database = {
    file: "",
    prepare: (text: string) => texts.add(words(text)),
    transaction: (body: () => unknown) => body(),
    close: () => {},
  } as unknown as Database
  const session = openSession(database, Date.now)
  makeClaim(session)
  makeEnqueue(session)
  return Object.entries(floorSql).flatMap(([name, text]) => (texts.has(words(text)) ? [] : [name]))
}

const words = (text: string): string => text.replaceAll('"', "").replaceAll(/\s+/g, " ").trim()

/** What two files must have in common after the same work: every run of the job without ids and times, and its counts. */
export const contents = (file: string): ReadonlyArray<string> => {
  const sqlite = new DatabaseSync(file, { readOnly: true })
  try {
    const names = sqlite.prepare("select name from pragma_table_info('runs')").all()
    const columns = names.map((row) => String(row["name"])).filter((name) => !own.has(name))
    const runs = sqlite
      .prepare(
        `select ${columns.join(", ")}, length(id) as id, due_at - created_at as wait, node is null as free,
          started_at is null as unstarted, ended_at is null as open from runs where job = ?`,
      )
      .all(job)
    const counts = sqlite
      .prepare("select job, state, count from run_counts where count <> 0 and job = ?")
      .all(job)
    const others = ["attempts", "dead_letters", "dependents", "schedules", "occurrences"].map((name) => ({
      table: name,
      rows: sqlite.prepare(`select count(*) as rows from ${name}`).get()?.["rows"],
    }))
    return [...runs, ...counts, ...others].map((row) => JSON.stringify(row)).sort()
  } finally {
    sqlite.close()
  }
}

// What is each side's own. The order of insertion is too, where many send at once.
const own = new Set(["seq", "id", "due_at", "created_at", "node", "started_at", "ended_at"])

/** How two contents differ, at most a few examples; empty when they are equal. */
export const differences = (
  what: string,
  floor: ReadonlyArray<string>,
  engine: ReadonlyArray<string>,
): ReadonlyArray<string> => {
  const [inFloor, inEngine] = [new Set(floor), new Set(engine)]
  const only = [
    ...floor.filter((line) => !inEngine.has(line)).map((line) => `only the floor has ${line}`),
    ...engine.filter((line) => !inFloor.has(line)).map((line) => `only the engine has ${line}`),
  ]
  if (only.length === 0 && floor.length !== engine.length)
    only.push(`${floor.length} and ${engine.length} rows`)
  return only.slice(0, 6).map((line) => `${what}: ${line}`)
}

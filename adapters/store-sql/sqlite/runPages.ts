// Pages of runs in the file: for each set of conditions that a list may have, the index that finds the page.
import { type SQL, sql } from "drizzle-orm"
import type { RunState } from "../../../core/domain/Run.ts"
import type { RunFilter } from "../../../core/ports/StoreDriver.ts"
import { jobsAskedFor } from "../listing.ts"
import type { Row } from "../rows.ts"
import type { Database } from "./Database.ts"
import { at, prepare, type Statement, type Values } from "./Statement.ts"

// Every id sorts below this one.
const aboveAll = "\u{10ffff}"

// What `runs_otherwise` is of; its condition is repeated, word for word, where it is to serve.
const otherwise: ReadonlyArray<RunState> = ["dead", "cancelled", "skipped", "expired"]
const isOtherwise = sql.raw(`state in (${otherwise.map((state) => `'${state}'`).join(", ")})`)

// Whether there is no index of the state alone: of all, and of succeeded runs, which nearly all of them are.
const isHistory = (state: RunState | undefined): boolean => state === undefined || state === "succeeded"
const isOfJobs = (state: RunState | undefined): boolean =>
  isHistory(state) || (state !== undefined && otherwise.includes(state))

/** Makes what reads a page, the highest id first. */
export const makeRunPages = (database: Database): ((filter: RunFilter) => ReadonlyArray<Row>) => {
  // Compiled when they are first asked for: 176 at most.
  const statements = new Map<string, Statement>()
  const compiled = (name: string, { state, queue, chainId }: RunFilter, query: () => SQL): Statement => {
    const full = `${name} ${state} ${queue === undefined} ${chainId === undefined}`
    const statement = statements.get(full) ?? prepare(database, query())
    statements.set(full, statement)
    return statement
  }

  /** `from ... where ... order by` of the runs that a filter is for, and of the job that is so. */
  const rowsOf = ({ state, queue, chainId }: RunFilter, ofJob: SQL | null, isOneJob: boolean): SQL => {
    // The state is written out and its index named: a partial index serves no parameter, and without statistics
    // SQLite would rather read the history backwards.
    const ofOneJob = isOneJob && chainId === undefined && isOfJobs(state)
    const index =
      chainId !== undefined
        ? "indexed by runs_chain"
        : ofOneJob
          ? `indexed by ${isHistory(state) ? "runs_job" : "runs_otherwise"}`
          : isHistory(state)
            ? ""
            : `indexed by runs_${state}`
    const conditions = [
      sql`id > ${at("after")} and id < ${at("before")}`,
      ...(ofJob === null ? [] : [ofJob]),
      ...(state === undefined ? [] : [sql.raw(`state = '${state}'`)]),
      ...(ofOneJob && !isHistory(state) ? [isOtherwise] : []),
      ...(queue === undefined ? [] : [sql`queue = ${at("queue")}`]),
      ...(chainId === undefined ? [] : [sql`chain_id = ${at("chainId")}`]),
    ]
    return sql`from runs ${sql.raw(index)} where ${sql.join(conditions, sql` and `)} order by id desc`
  }
  const limit = at("limit")
  const ofAll = (filter: RunFilter) =>
    compiled("all", filter, () => sql`select * ${rowsOf(filter, null, false)} limit ${limit}`)
  const ofOne = (filter: RunFilter) =>
    compiled(
      "one",
      filter,
      () => sql`select * ${rowsOf(filter, sql`job = ${at("job")}`, true)} limit ${limit}`,
    )
  const ofSome = (filter: RunFilter) =>
    compiled("some", filter, () => {
      const isOne = sql`job in (select value from json_each(${at("jobs")}))`
      return sql`select * ${rowsOf(filter, isOne, false)} limit ${limit}`
    })
  const newestOf = (filter: RunFilter) =>
    compiled("newest", filter, () => {
      const newest = sql`(select id ${rowsOf(filter, sql`job = wanted.value`, true)} limit 1)`
      return sql`select value as job, ${newest} as newest from json_each(${at("jobs")}) as wanted
        order by newest desc limit ${limit}`
    })

  /**
   * The first rows of several jobs, whatever the history of each. Along the index of jobs: the newest run of each, of
   * which those with the newest may be on the page; and of each of these what comes before the last one found so far.
   */
  const firstOfEach = (filter: RunFilter, jobs: string, values: Page): ReadonlyArray<Row> => {
    let page: ReadonlyArray<Row> = []
    for (const { job = null, newest } of newestOf(filter).all({ ...values, jobs })) {
      if (newest === null) break
      const after = page.length < values.limit ? values.after : (page.at(-1)?.["id"] as string)
      const found = ofOne(filter).all({ ...values, job, after })
      page = [...page, ...found].sort((a, b) => (String(a["id"]) < String(b["id"]) ? 1 : -1))
      page = page.slice(0, values.limit)
    }
    return page
  }

  return (filter) => {
    const { queue = null, chainId = null, before = aboveAll, after = "", limit } = filter
    const values = { queue, chainId, before, after, limit }
    const jobs = jobsAskedFor(filter)
    if (jobs === null) return ofAll(filter).all(values)
    const [job, ...others] = jobs
    if (job === undefined) return []
    if (others.length === 0) return ofOne(filter).all({ ...values, job })
    const text = JSON.stringify(jobs)
    return filter.chainId === undefined && isOfJobs(filter.state)
      ? firstOfEach(filter, text, values)
      : ofSome(filter).all({ ...values, jobs: text })
  }
}

type Page = Values & { readonly after: string; readonly limit: number }

// Enqueue: new runs that need nothing, a batch in one transaction, idempotent by id and by key. Without keys it is tried
// without a look at what is there, which is nothing but after an answer that was lost. Runs that need others go the
// general way.
import { type Enqueued, type NewRun, type Row, type Run, type RunState, Transition } from "uhrwerk/sql"
import type { Connection, Queryable } from "./Connection.ts"
import { addCounts, changesOf } from "./counts.ts"
import { isDuplicate } from "./failures.ts"
import { storeRuns, takeKeys } from "./newRuns.ts"
import { given as rowsGiven, type Given, nowOf, pieces } from "./Statement.ts"

// A key may be freed, and taken again, between two looks at it.
const tryMax = 8

/** Stores runs that need nothing; what was there already is answered as it stands. */
export const enqueueAlone = async (
  connection: Connection,
  runs: ReadonlyArray<NewRun>,
  given: Given,
): Promise<ReadonlyArray<Enqueued>> => {
  if (runs.length === 0) return []
  let looks = runs.some(({ key }) => key !== null)
  for (let attempt = 1; ; attempt++) {
    try {
      return await connection.transaction((queryable) => store(queryable, runs, given, looks))
    } catch (error) {
      if (!isDuplicate(error) || attempt === tryMax) throw error
      looks = true
    }
  }
}

const store = async (
  queryable: Queryable,
  runs: ReadonlyArray<NewRun>,
  given: Given,
  looks: boolean,
): Promise<ReadonlyArray<Enqueued>> => {
  const now = await nowOf(queryable, given)
  const there = looks ? await whatIsThere(queryable, runs) : { ids: new Map(), keys: new Map() }
  // Of runs with one id, or one key, the first counts.
  const { ids, keys }: There = { ids: new Map(there.ids), keys: new Map(there.keys) }
  const fresh: Array<Run> = []
  const answers = runs.map((run): Enqueued => {
    const name = run.key === null ? null : nameOf(run.job, run.key)
    const known = ids.get(run.id) ?? (name === null ? undefined : keys.get(name))
    if (known !== undefined) return known
    const row = Transition.enqueued(run, 0, now)
    fresh.push(row)
    const answer = { id: row.id, state: row.state, dueAt: row.dueAt }
    ids.set(row.id, { ...answer, result: "exists" })
    if (name !== null) keys.set(name, { ...answer, result: "exists" })
    return { ...answer, result: "created" }
  })
  await takeKeys(queryable, fresh)
  await storeRuns(queryable, fresh)
  await addCounts(queryable, changesOf(fresh.map(({ job, state }) => ({ job, from: null, to: state }))))
  return answers
}

interface There {
  readonly ids: Map<string, Enqueued>
  readonly keys: Map<string, Enqueued>
}

const whatIsThere = async (queryable: Queryable, runs: ReadonlyArray<NewRun>): Promise<There> => {
  const ids = new Map<string, Enqueued>()
  const keys = new Map<string, Enqueued>()
  const rows = await queryable.read(
    `select r.id, coalesce(l.state, e.state) as state, coalesce(l.due_at, e.due_at) as due_at
      from runs as r force index (primary) left join live as l on l.id = r.id left join ended as e on e.id = r.id
      where r.id in (?)`,
    [runs.map(({ id }) => id)],
  )
  for (const row of rows) ids.set(row["id"] as string, answerOf(row))
  const wanted = runs.flatMap(({ job, key }) => (key === null ? [] : [[job, key]]))
  for (const some of pieces(wanted))
    for (const row of await queryable.read(
      `select k.job, k.\`key\`, l.id, l.state, l.due_at from ${rowsGiven(["job", "wanted"], some.length)}
        straight_join \`keys\` as k on k.job = given.job and k.\`key\` = given.wanted
        straight_join live as l on l.id = k.run_id`,
      some.flat(),
    ))
      keys.set(nameOf(row["job"] as string, row["key"] as string), answerOf(row))
  return { ids, keys }
}

const answerOf = (row: Row): Enqueued => ({
  id: row["id"] as string,
  result: "exists",
  state: row["state"] as RunState,
  dueAt: row["due_at"] as number,
})

const nameOf = (job: string, key: string): string => JSON.stringify([job, key])

// How bulk work finds what it is about: page by page, the newest first, each page from where the one before ended. A place
// is plain data, so that another process can go on from it.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Run } from "../../core/domain/Run.ts"
import { batchMax, pageMax } from "../../core/ports/StoreLimits.ts"
import {
  boundsOf,
  type Bulk,
  type BulkFilter,
  type BulkStore,
  isLetterOf,
  isRunOf,
  isWithin,
  openStates,
} from "./Bulk.ts"

/** Where a walk goes on. */
export interface Place {
  /** Ids below this one. */
  readonly before: string
  /** Of runs: which of the states. */
  readonly state: number
  /** Of runs: how often all states were gone through. */
  readonly round: number
  /** Of runs: whether this round found one. */
  readonly found: boolean
}

/** What a step of a walk found; `next`: where to go on, `null` at the end. */
export interface Found {
  readonly ids: ReadonlyArray<string>
  /** How many rows were read for it. */
  readonly looked: number
  readonly next: Place | null
}

/** A run may change its state while others are gone through, into one that was passed: so they are gone through again. */
const roundsMax = 3

/** Rows that are read at most in one step, whatever few of them count. */
const rowsMax = 2_000

/** Where a walk begins. */
export const beginOf = (bulk: Bulk): Place => ({
  before: bulk.kind === "cancelRuns" ? boundsOf(bulk).below : topOf(bulk),
  state: 0,
  round: 0,
  found: false,
})

/** At most so many (1 to 200) that are meant. None, and a `next`, means that many were read that are not. */
export const look = async (store: BulkStore, bulk: Bulk, from: Place, take: number): Promise<Found> => {
  const isLetters = bulk.kind !== "cancelRuns"
  const jobs = await jobsIn(store, bulk)
  const ids: Array<string> = []
  let place: Place | null = from
  let looked = 0
  while (place !== null && ids.length === 0 && looked < rowsMax) {
    const page: Page<DeadLetter | Run> = isLetters
      ? await lettersBelow(store, bulk, place.before, take, jobs)
      : await runsBelow(store, bulk, place, take, jobs)
    ids.push(...page.taken.map((row) => ("runId" in row ? row.runId : row.id)))
    looked += page.looked
    const found: boolean = place.found || ids.length > 0
    if (page.last !== null) place = { ...place, before: page.last, found }
    else place = isLetters ? null : nextState(bulk, { ...place, found })
  }
  return { ids, looked, next: place }
}

/** How much there is, as far as 10,000 rows tell, and some of it. */
export interface Preview {
  readonly total: { readonly value: number; readonly exact: boolean }
  readonly sample: ReadonlyArray<string>
}

/** Rows that are looked at for a count, and for groups. */
export const lookedMax = 10_000
const sampleMax = 10

/** What bulk work would touch now. */
export const previewOf = async (store: BulkStore, bulk: Bulk): Promise<Preview> => {
  let place: Place | null = beginOf(bulk)
  let [value, looked] = [0, 0]
  const sample: Array<string> = []
  const isOver = (): boolean => place === null || place.round > 0
  const step = async (take: number): Promise<Found> => {
    const found = await look(store, bulk, place ?? beginOf(bulk), take)
    place = found.next
    return found
  }
  while (!isOver() && looked < lookedMax) {
    const found = await step(pageMax)
    value += found.ids.length
    looked += found.looked
    sample.push(...found.ids.slice(0, sampleMax - sample.length))
  }
  // Whether these were all, only one more look tells.
  const exact = isOver() || ((await step(1)).ids.length === 0 && isOver())
  return { total: { value, exact }, sample }
}

/** Which letters to read: those of bulk work, without the rest of it. */
export interface LetterFilter {
  readonly filter: BulkFilter
  readonly namespace: string | null
  readonly frozenAt: number
}

/** At most so many (1 to 200) letters below an id, the newest first; `next`: the id to go on below, `null` at the end. */
export const lookLetters = async (
  store: BulkStore,
  filter: LetterFilter,
  before: string | undefined,
  take: number,
): Promise<{
  readonly letters: ReadonlyArray<DeadLetter>
  readonly looked: number
  readonly next: string | null
}> => {
  const letters: Array<DeadLetter> = []
  const jobs = await jobsIn(store, filter)
  let place: string | null = before ?? topOf(filter)
  let looked = 0
  while (place !== null && letters.length < take && looked < rowsMax) {
    const page: Page<DeadLetter> = await lettersBelow(store, filter, place, take - letters.length, jobs)
    letters.push(...page.taken)
    looked += page.looked
    place = page.last
  }
  return { letters, looked, next: place }
}

/** Of a page of the store: what is meant, and how far that went. */
interface Page<R> {
  readonly taken: ReadonlyArray<R>
  readonly looked: number
  /** The id of the last row that was looked at; `null`: there is no more. */
  readonly last: string | null
}

type Jobs = ReadonlyArray<string> | undefined

const nobody = { taken: [], looked: 0, last: null }

const lettersBelow = async (
  store: BulkStore,
  filter: LetterFilter,
  before: string,
  take: number,
  jobs: Jobs,
): Promise<Page<DeadLetter>> => {
  const { job, error, fingerprint } = filter.filter
  if (jobs?.length === 0) return nobody
  // Of what the store cannot tell apart a whole page is read: few of it may count.
  const limit = error === undefined && fingerprint === undefined ? take : pageMax
  const rows = await store.deadLetters({ ...narrowed(job, jobs), before, limit })
  return firstOf(rows, limit, take, ({ runId }) => runId, isLetterOf(filter), boundsOf(filter).above)
}

const runsBelow = async (
  store: BulkStore,
  bulk: Bulk,
  { before, state }: Place,
  take: number,
  jobs: Jobs,
): Promise<Page<Run>> => {
  const { job, queue } = bulk.filter
  if (jobs?.length === 0) return nobody
  const rows = await store.list({
    state: statesOf(bulk)[state] ?? "ready",
    ...narrowed(job, jobs),
    ...(queue === undefined ? {} : { queue }),
    before,
    limit: take,
  })
  return firstOf(rows, take, take, ({ id }) => id, isRunOf(bulk), boundsOf(bulk).above)
}

/** The first rows that are meant, at most `take`, of what was read with a limit. */
const firstOf = <R>(
  rows: ReadonlyArray<R>,
  limit: number,
  take: number,
  idOf: (row: R) => string,
  isMeant: (row: R) => boolean,
  above: string,
): Page<R> => {
  const taken: Array<R> = []
  for (const [index, row] of rows.entries()) {
    if (idOf(row) <= above) return { taken, looked: index + 1, last: null }
    if (isMeant(row) && taken.push(row) === take) return { taken, looked: index + 1, last: idOf(row) }
  }
  const last = rows.length < limit ? undefined : rows.at(-1)
  return { taken, looked: rows.length, last: last === undefined ? null : idOf(last) }
}

// Of a letter it is the instant of death that says whether it came later, whoever made the id and with which clock.
const topOf = ({ filter }: Pick<Bulk, "filter">): string => boundsOf({ filter, frozenAt: Infinity }).below

const statesOf = ({ filter: { state } }: Bulk) => (state === undefined ? openStates : [state])

const nextState = (bulk: Bulk, { state, round, found }: Place): Place | null => {
  const before = boundsOf(bulk).below
  if (state + 1 < statesOf(bulk).length) return { before, state: state + 1, round, found }
  const isOver = bulk.filter.state !== undefined || !found || round + 1 >= roundsMax
  return isOver ? null : { before, state: 0, round: round + 1, found: false }
}

const narrowed = (job: string | undefined, jobs: Jobs) =>
  job !== undefined ? { job } : jobs === undefined ? {} : { jobs }

/** The jobs of a namespace that have runs; `undefined`: any, or so many that each row is asked instead. */
const jobsIn = async (
  store: BulkStore,
  { filter, namespace }: Pick<Bulk, "filter" | "namespace">,
): Promise<Jobs> => {
  if (namespace === null) return undefined
  if (filter.job !== undefined) return isWithin(namespace, filter.job) ? undefined : []
  const names = new Set((await store.counts()).map(({ job }) => job))
  const jobs = [...names].filter((job) => isWithin(namespace, job)).sort()
  return jobs.length > batchMax ? undefined : jobs
}

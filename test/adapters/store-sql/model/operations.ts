// An operation of the storage port as data, so that a sequence of them can be made, repeated, cut and printed; and
// what a store answered, in a form in which the answers of two stores are equal if the port says that they are.
import { batchMax, pageMax } from "../../../../core/ports/StoreLimits.ts"
import type { Run } from "../../../../core/domain/Run.ts"
import type { DueSchedule, Occurrence } from "../../../../core/domain/Schedule.ts"
import type { StoreDriver } from "../../../../core/ports/StoreDriver.ts"

/** The kinds of records that sequences put. */
export const recordKinds = ["note", "audit"] as const

/** Every operation of the port. */
export type Name = Exclude<keyof StoreDriver, "capabilities" | "now" | "close">

/** One call, and how far the clock moves before it. */
export interface Operation {
  readonly name: Name
  readonly args: ReadonlyArray<unknown>
  /** Milliseconds; negative when the clock steps back. */
  readonly moveMillis: number
  /** It breaks a limit or names what is not there: it must be refused and change nothing. */
  readonly isRefused: boolean
}

/** What became of a call. */
export type Answer = { readonly value: unknown } | { readonly refused: true } | { readonly broken: string }

/** Calls a store; an error that says that nothing was done is an answer, any other is none of the port's. */
export const call = async (store: StoreDriver, { name, args }: Operation): Promise<Answer> => {
  try {
    return { value: normalised(name, args, await perform(store, name, args)) }
  } catch (error) {
    if ((error as { outcomeUnknown?: unknown }).outcomeUnknown === false) return { refused: true }
    // Never equal to the other store's: such an error is a fault, whoever else has it.
    return { broken: `${store.capabilities.name}: ${(error as Error).stack}` }
  }
}

const perform = async (store: StoreDriver, name: Name, args: ReadonlyArray<unknown>): Promise<unknown> => {
  const operation = store[name] as (...args: ReadonlyArray<unknown>) => unknown
  const once = (): unknown => operation(...args)
  if (name === "join" && store.capabilities.shared)
    return joinAlone(store, args as Parameters<typeof store.join>)
  const limit = args.at(-1) as number
  // Which of several runs a call takes first is not said of these three: all that there are, call by call.
  return ["promote", "prune", "pruneRecords"].includes(name) ? sumOf(once, limit) : once()
}

// "A store that serves one engine at a time ends the leases of all others here": SQLite does, memory need not.
const joinAlone = async (store: StoreDriver, args: Parameters<StoreDriver["join"]>): Promise<unknown> => {
  for (const { id } of await store.nodes()) if (id !== args[0].id) await store.leave(id)
  return store.join(...args)
}

const sumOf = async (once: () => unknown, limit: number): Promise<unknown> => {
  let sum = 0
  for (;;) {
    const count = (await once()) as number
    if (count > limit) return `${count} in one call, more than the limit of ${limit}`
    if (count === 0) return sum
    sum += count
  }
}

// "Of several needs that failed it names one": which, hangs on the order in which a store comes upon them.
const namesOne = (run: Run): Run =>
  run.state === "skipped" && run.needs.length > 1 && run.reason !== null
    ? { ...run, reason: run.reason.replace(/^.* \(run .*\) ended \w+$/s, "(one of them)") }
    : run

// Only what the port leaves open; all else must be in the same order.
const normalised = (name: Name, args: ReadonlyArray<unknown>, value: unknown): unknown => {
  const rows = value as ReadonlyArray<Readonly<Record<string, unknown>>>
  switch (name) {
    // "How many runs of a job are in a state": a set of rows.
    case "counts":
      return sorted(rows, ({ job, state }) => `${String(state)} ${String(job)}`)
    // Sets of rows as well: no operation names an order or a page of them.
    case "schedules":
    case "nodes":
      return sorted(rows, ({ id }) => String(id))
    // "Running runs that `node` holds, at most `limit`": any of them.
    case "carried":
      return rows.length === args[1] ? rows.length : sorted(rows, ({ id }) => String(id))
    case "get":
    case "list":
      return (value as ReadonlyArray<Run>).map(namesOne)
    case "dueSchedules":
      return dueOf(value as ReadonlyArray<DueSchedule>, args[0] as number)
    case "occurrences":
      return ledgerOf(value as ReadonlyArray<Occurrence>, args[0] as { readonly limit: number })
    default:
      return value
  }
}

// Those that wait have no instant that could order them, and may fill the page.
const dueOf = (rows: ReadonlyArray<DueSchedule>, limit: number): unknown => {
  if (rows.length === limit && rows.some(({ nextAt }) => nextAt === null)) return rows.length
  const waiting = rows.filter(({ nextAt }) => nextAt === null)
  return { waiting: sorted(waiting, ({ id }) => id), come: rows.filter(({ nextAt }) => nextAt !== null) }
}

// "Newest first": schedules that decided the same instant are in any order, and a page may end between them.
const ledgerOf = (rows: ReadonlyArray<Occurrence>, { limit }: { readonly limit: number }): unknown => {
  const instants = rows.map(({ at }) => at)
  const whole = rows.length < limit ? rows : rows.filter(({ at }) => at !== instants.at(-1))
  return { instants, rows: sorted(whole, ({ at, scheduleId }) => `${at} ${scheduleId}`) }
}

const sorted = <A>(rows: ReadonlyArray<A>, keyOf: (row: A) => string): ReadonlyArray<A> =>
  rows
    .map((row) => [keyOf(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, row]) => row)

/** All that can be seen of a store. */
export const visible = async (store: StoreDriver): Promise<Record<string, unknown>> => {
  const ids: Array<string> = []
  const runs: Array<unknown> = []
  for (let before: string | undefined; ;) {
    const page = await store.list({ limit: pageMax, ...(before === undefined ? {} : { before }) })
    for (const run of page) ids.push((before = run.id))
    runs.push(...page.map(namesOne))
    if (page.length < pageMax) break
  }
  const schedules = await store.schedules()
  const ledger: Record<string, unknown> = {}
  for (const { id } of schedules) ledger[id] = await store.occurrences({ scheduleId: id, limit: pageMax })
  const attempts: Record<string, unknown> = {}
  const flows: Record<string, unknown> = {}
  for (const id of ids) {
    attempts[id] = await store.attempts(id)
    flows[id] = await store.flowOf(id)
  }
  const page = { limit: pageMax }
  return {
    runs,
    byId: (await store.get(ids.slice(0, batchMax))).map(namesOne),
    attempts,
    flows,
    stepInputs: await store.stepInputs(ids.slice(0, batchMax)),
    letters: await store.deadLetters(page),
    counts: normalised("counts", [], await store.counts()),
    depths: await store.queueDepths(),
    schedules: normalised("schedules", [], schedules),
    ledger,
    latest: normalised("occurrences", [page], await store.occurrences(page)),
    nextAt: await store.nextScheduleAt(),
    dueAt: await store.dueWithin(0, Number.MAX_SAFE_INTEGER, batchMax),
    calendars: await store.calendars(),
    nodes: normalised("nodes", [], await store.nodes()),
    workers: await store.workers(),
    credentials: await store.credentials(),
    records: await Promise.all(
      recordKinds.map(async (kind) => store.records({ kind, order: "ascending", limit: batchMax })),
    ),
  }
}

/** Where two values differ first, as a path; `null` when they are the same. A missing key is not `undefined`. */
export const difference = (a: unknown, b: unknown, path = ""): string | null => {
  if (Object.is(a, b)) return null
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return path
  if (Array.isArray(a) !== Array.isArray(b)) return path
  const keys = Object.keys(a)
  for (const key of keys) {
    if (!Object.hasOwn(b, key)) return `${path}.${key}`
    const at = difference(a[key as never], b[key as never], `${path}.${key}`)
    if (at !== null) return at
  }
  const more = Object.keys(b).find((key) => !Object.hasOwn(a, key))
  return more === undefined ? null : `${path}.${more}`
}

// Takes the lines of an export into a store: all that is still to be done, with its ids and its places in time. What has
// ended is history, which a store writes by itself only; it is counted, and stays in the file.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { isFinal, type NewRun, type Run, runStates } from "../../core/domain/Run.ts"
import type { ScheduleRow } from "../../core/domain/Schedule.ts"
import type { CalendarRow, PutCredential, StoreDriver } from "../../core/ports/StoreDriver.ts"
import { UsageError } from "./exits.ts"
import { exportVersion } from "./exportStore.ts"

/** What became of the lines. */
export interface Imported {
  /** By type: stored now, or there already with the same id. */
  readonly taken: Map<string, number>
  /** By reason: not stored. */
  readonly left: Map<string, number>
}

const Line = Schema.Struct({
  type: Schema.String,
  version: Schema.optionalKey(Schema.Int),
  row: Schema.optionalKey(Schema.Struct({ id: Schema.optionalKey(Schema.String) })),
  lines: Schema.optionalKey(Schema.Int),
})
const decodeLine = Schema.decodeUnknownResult(Schema.fromJsonString(Line))
const RunRow = Schema.Struct({ id: Schema.String, job: Schema.String, state: Schema.Literals(runStates) })
const decodeRun = Schema.decodeUnknownResult(RunRow)

const batch = 200

/** Imports lines, in order; `dryRun`: only says what it would do. Throws `UsageError` for what is no whole export. */
export const importLines = async (
  store: StoreDriver,
  lines: AsyncIterable<string>,
  dryRun: boolean,
): Promise<Imported> => {
  const taken = new Map<string, number>()
  const left = new Map<string, number>()
  const count = (map: Map<string, number>, what: string, by = 1): void =>
    void map.set(what, (map.get(what) ?? 0) + by)
  const pending = new Set<string>()
  const runs: Array<NewRun> = []
  const flush = async (): Promise<void> => {
    const some = runs.splice(0)
    if (some.length > 0 && !dryRun) await store.enqueue(some)
    count(taken, "run", some.length)
  }
  let number = 0
  let ended = false
  for await (const text of lines) {
    if (text.trim() === "") continue
    number++
    const read = decodeLine(text)
    if (Result.isFailure(read) || ended) throw new UsageError(`Line ${number} is no line of an export`)
    const { type, version, row, lines: all } = read.success
    if (number === 1 && (type !== "uhrwerk" || version !== exportVersion))
      throw new UsageError(
        `This is no export that this version reads: its first line has to say "uhrwerk", version ${exportVersion}`,
      )
    if (type === "end") {
      if (all !== number)
        throw new UsageError(`The export has ${all} lines, and ${number} came: it is not whole`)
      ended = true
      continue
    }
    if (row === undefined) continue
    // The whole row: the schema above looks at what is needed to tell them apart.
    const { row: whole } = JSON.parse(text) as { readonly row: object }
    if (type === "run") {
      const run = decodeRun(whole)
      if (Result.isFailure(run)) throw new UsageError(`Line ${number} has no run`)
      const why = whyLeft(whole as Run, pending)
      if (why !== null) {
        count(left, why)
        continue
      }
      pending.add(run.success.id)
      runs.push(newRunOf(whole as Run, pending))
      if (runs.length >= batch) await flush()
      continue
    }
    const take = Object.hasOwn(takers, type) ? takers[type] : undefined
    if (take === undefined) count(left, `${type}: history, which stays in the file`)
    else {
      if (!dryRun) await take(store, whole)
      count(taken, type)
    }
  }
  await flush()
  if (!ended)
    throw new UsageError(
      `The export breaks off after ${number} lines: what came so far was taken; import the whole file`,
    )
  return { taken, left }
}

const whyLeft = (run: Run, pending: ReadonlySet<string>): string | null => {
  if (isFinal(run.state)) return "run: it has ended, and stays in the file"
  if (run.parentId !== null) return "run: a step of a flow run; start the flow anew"
  if (run.state === "running") return "run: under way; drain its engine before the export"
  if (run.state === "blocked" && run.needs.length === 0)
    return "run: a flow run under way; start the flow anew"
  return run.state === "blocked" && run.needs.every((id) => !pending.has(id)) && run.waitingFor > 0
    ? "run: what it needs was left"
    : null
}

/** As it is asked for anew: attempts that it has used are used. */
const newRunOf = (run: Run, pending: ReadonlySet<string>): NewRun => ({
  id: run.id,
  job: run.job,
  queue: run.queue,
  input: run.input,
  dueAt: run.dueAt,
  delayMillis: 0,
  priority: run.priority,
  attemptMax: Math.max(1, run.attemptMax - run.attempt),
  key: run.key,
  startWithinMillis: run.expiresAt === null ? null : Math.max(1, run.expiresAt - run.dueAt),
  scheduleId: run.scheduleId,
  nominalAt: run.nominalAt,
  chainId: run.chainId,
  // Those that have succeeded are not waited for any more.
  needs: run.needs.filter((id) => pending.has(id)),
  replayOf: run.replayOf,
  parentId: null,
  step: null,
})

type Take = (store: StoreDriver, row: object) => Promise<void>

const takers: Readonly<Record<string, Take>> = {
  calendar: async (store, row) => store.putCalendars([row as CalendarRow]),
  credential: async (store, row) => void (await store.putCredential(row as PutCredential)),
  schedule: async (store, row) => {
    const schedule = row as ScheduleRow
    const { id, job, trigger, input, overlap, catchUp, fromConfig, cursor, nextAt, zoneData, createdAt } =
      schedule
    const given = { id, job, trigger, input, overlap, fromConfig, cursor, nextAt, zoneData, createdAt }
    await store.putSchedules([catchUp === undefined ? given : { ...given, catchUp }])
    if (schedule.pausedAt !== null) await store.pauseSchedule(id, true, schedule.pausedNote)
  },
}

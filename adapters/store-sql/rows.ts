// Between a run and its row: the one place where JSON, booleans and times are encoded.
import { type Attempt, type ErrorInfo, isFinal, type Run, type RunState } from "../../core/domain/Run.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type {
  CatchUp,
  DueSchedule,
  Occurrence,
  OccurrenceReason,
  Overlap,
  ScheduleRow,
  Trigger,
} from "../../core/domain/Schedule.ts"
import type { CredentialKind, CredentialRow } from "../../core/ports/StoreDriver.ts"

/** What a column holds. */
export type Cell = string | number | null

/** A row by column name. */
export type Row = Readonly<Record<string, Cell>>

const text = (value: Row[string] | undefined): string => value as string
const textOrNull = (value: Row[string] | undefined): string | null => value as string | null
const number = (value: Row[string] | undefined): number => value as number
const numberOrNull = (value: Row[string] | undefined): number | null => value as number | null
const json = (value: Row[string] | undefined): unknown => JSON.parse(value as string)

const needsOf = (row: Row): ReadonlyArray<string> =>
  row["needs"] === null ? [] : (json(row["needs"]) as ReadonlyArray<string>)

/** What is known of a run that has just succeeded, of the few columns that others wait for. */
export const decodeEnded = (
  id: string,
  row: Row,
): Pick<Run, "id" | "job" | "state" | "needs" | "parentId" | "step"> => ({
  id,
  job: text(row["job"]),
  state: "succeeded",
  needs: needsOf(row),
  parentId: textOrNull(row["parent_id"]),
  step: numberOrNull(row["step"]),
})

/** A run of its row. */
export const decodeRun = (row: Row): Run => ({
  id: text(row["id"]),
  job: text(row["job"]),
  queue: text(row["queue"]),
  input: textOrNull(row["input"]),
  dueAt: number(row["due_at"]),
  delayMillis: 0,
  priority: number(row["priority"]),
  attemptMax: number(row["attempt_max"]),
  key: textOrNull(row["key"]),
  expiresAt: numberOrNull(row["expires_at"]),
  scheduleId: textOrNull(row["schedule_id"]),
  nominalAt: numberOrNull(row["nominal_at"]),
  chainId: textOrNull(row["chain_id"]),
  needs: needsOf(row),
  replayOf: textOrNull(row["replay_of"]),
  state: text(row["state"]) as RunState,
  createdAt: number(row["created_at"]),
  attempt: number(row["attempt"]),
  losses: number(row["losses"]),
  token: number(row["token"]),
  node: textOrNull(row["node"]),
  waitingFor: number(row["waiting_for"]),
  startedAt: numberOrNull(row["started_at"]),
  startAcknowledged: row["start_acknowledged"] === 1,
  endedAt: numberOrNull(row["ended_at"]),
  output: textOrNull(row["output"]),
  error: row["error"] === null ? null : (json(row["error"]) as ErrorInfo),
  reason: textOrNull(row["reason"]),
  parentId: textOrNull(row["parent_id"]),
  step: numberOrNull(row["step"]),
})

/** What a run's row holds of it, by the names of the schema. */
export const encodeRun = (run: Run): Row => ({
  id: run.id,
  job: run.job,
  queue: run.queue,
  state: run.state,
  priority: run.priority,
  dueAt: run.dueAt,
  createdAt: run.createdAt,
  attempt: run.attempt,
  attemptMax: run.attemptMax,
  losses: run.losses,
  token: run.token,
  node: run.node,
  waitingFor: run.waitingFor,
  startedAt: run.startedAt,
  startAcknowledged: run.startAcknowledged ? 1 : 0,
  endedAt: run.endedAt,
  key: run.key,
  expiresAt: run.expiresAt,
  scheduleId: run.scheduleId,
  nominalAt: run.nominalAt,
  chainId: run.chainId,
  needs: run.needs.length === 0 ? null : JSON.stringify(run.needs),
  replayOf: run.replayOf,
  reason: run.reason,
  error: run.error === null ? null : JSON.stringify(run.error),
  input: run.input,
  output: run.output,
  parentId: run.parentId,
  step: run.step,
})

/** The columns that `encodeNew` fills. */
export const newRunColumns = [
  "id",
  "job",
  "queue",
  "state",
  "priority",
  "due_at",
  "created_at",
  "attempt_max",
  "expires_at",
  "schedule_id",
  "nominal_at",
  "chain_id",
  "replay_of",
  "input",
  "parent_id",
  "step",
]

/** What tells a run that was never claimed, has no key and needs nothing from others of its kind. */
export const encodeNew = (run: Run): ReadonlyArray<string | number | null> => [
  run.id,
  run.job,
  run.queue,
  run.state,
  run.priority,
  run.dueAt,
  run.createdAt,
  run.attemptMax,
  run.expiresAt,
  run.scheduleId,
  run.nominalAt,
  run.chainId,
  run.replayOf,
  run.input,
  run.parentId,
  run.step,
]

/** An attempt of its row. */
export const decodeAttempt = (row: Row): Attempt => ({
  runId: text(row["run_id"]),
  attempt: number(row["attempt"]),
  token: number(row["token"]),
  node: textOrNull(row["node"]),
  startedAt: numberOrNull(row["started_at"]),
  endedAt: number(row["ended_at"]),
  error: json(row["error"]) as ErrorInfo,
})

/** A dead letter of its row. */
export const decodeDeadLetter = (row: Row): DeadLetter => ({
  runId: text(row["run_id"]),
  job: text(row["job"]),
  diedAt: number(row["died_at"]),
  attempt: number(row["attempt"]),
  error: json(row["error"]) as ErrorInfo,
  replayedBy: textOrNull(row["replayed_by"]),
})

// Most schedules of a busy minute share a few triggers, and reading them costs more than the rest of their rows.
const triggers = new Map<string, Trigger>()
const triggersMax = 10_000

const triggerOf = (trigger: string): Trigger => {
  const known = triggers.get(trigger)
  if (known !== undefined) return known
  if (triggers.size >= triggersMax) triggers.clear()
  const parsed = JSON.parse(trigger) as Trigger
  triggers.set(trigger, parsed)
  return parsed
}

/** A schedule of its row. */
export const decodeSchedule = (row: Row): ScheduleRow => ({
  id: text(row["id"]),
  job: text(row["job"]),
  trigger: triggerOf(text(row["trigger"])),
  input: textOrNull(row["input"]),
  overlap: text(row["overlap"]) as Overlap,
  ...(row["catch_up"] === null ? {} : { catchUp: json(row["catch_up"]) as CatchUp }),
  fromConfig: row["from_config"] === 1,
  version: number(row["version"]),
  cursor: number(row["cursor"]),
  nextAt: numberOrNull(row["next_at"]),
  waitsUntil: numberOrNull(row["waits_until"]),
  pausedAt: numberOrNull(row["paused_at"]),
  pausedNote: textOrNull(row["paused_note"]),
  resumedAt: numberOrNull(row["resumed_at"]),
  createdAt: number(row["created_at"]),
  lastRunId: textOrNull(row["last_run_id"]),
  runCount: number(row["run_count"]),
  zoneData: textOrNull(row["zone_data"]),
})

/** What `decodeDue` reads, in its order; behind them state and end of the last run, and whether it is held. */
export const dueColumns = [
  "id",
  "job",
  "trigger",
  "input",
  "overlap",
  "catch_up",
  "from_config",
  "version",
  "cursor",
  "next_at",
  "waits_until",
  "resumed_at",
  "created_at",
  "last_run_id",
  "run_count",
  "zone_data",
] as const

/** A due schedule: it is not paused. */
export const decodeDue = (row: ReadonlyArray<Cell>): DueSchedule => {
  const state = row[16] as RunState | null
  const isHeld = row[18] === 1
  const schedule = {
    id: row[0] as string,
    job: row[1] as string,
    trigger: triggerOf(row[2] as string),
    input: row[3] as string | null,
    overlap: row[4] as Overlap,
    fromConfig: row[6] === 1,
    version: row[7] as number,
    cursor: row[8] as number,
    nextAt: row[9] as number | null,
    waitsUntil: row[10] as number | null,
    pausedAt: null,
    pausedNote: null,
    resumedAt: row[11] as number | null,
    createdAt: row[12] as number,
    lastRunId: row[13] as string | null,
    runCount: row[14] as number,
    zoneData: row[15] as string | null,
    lastRunAlive: state !== null && (isHeld || !isFinal(state)),
    lastRunEndedAt: isHeld ? null : (row[17] as number | null),
  }
  return row[5] === null ? schedule : { ...schedule, catchUp: json(row[5]) as CatchUp }
}

/** An occurrence of its row. */
export const decodeOccurrence = (row: Row): Occurrence => ({
  scheduleId: text(row["schedule_id"]),
  at: number(row["at"]),
  lastAt: number(row["last_at"]),
  count: number(row["count"]),
  runId: textOrNull(row["run_id"]),
  reason: textOrNull(row["reason"]) as OccurrenceReason | null,
  decidedAt: number(row["decided_at"]),
  nominalAt: numberOrNull(row["nominal_at"]),
  trigger: textOrNull(row["trigger"]),
  zoneData: textOrNull(row["zone_data"]),
})

/** A credential of its row. */
export const decodeCredential = (row: Row): CredentialRow => ({
  id: text(row["id"]),
  kind: text(row["kind"]) as CredentialKind,
  name: text(row["name"]),
  hash: text(row["hash"]),
  scope: text(row["scope"]),
  expiresAt: numberOrNull(row["expires_at"]),
  createdAt: number(row["created_at"]),
})

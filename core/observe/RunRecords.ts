// What is kept of a run's log and of its progress, as records of the store: one for each line, in the order of their ids,
// and one for the latest progress. Whoever writes and whoever reads them agree here.
import type { RecordRow } from "../ports/StoreDriver.ts"

/** The kind of the records of lines. */
export const logKind = "log"
/** The kind of the records of progress; their id is the run's. */
export const progressKind = "progress"

/** A line of a run's log. */
export interface LogLine {
  readonly attempt: number
  /** Grows within the attempt: by the time of the line, so that it goes on growing with another server. */
  readonly seq: number
  /** Epoch milliseconds, by the clock of the server that heard it. */
  readonly at: number
  readonly line: string
  /** In place of so many lines that were too many; then `line` says so. 0: a line like any other. */
  readonly leftOut: number
}

/** How far a run said last that it is. */
export interface ProgressNote {
  readonly attempt: number
  readonly at: number
  /** 0 to 100; `null`: it cannot tell. */
  readonly percent: number | null
  readonly note: string | null
}

/** The ids of all lines of a run begin so; of one attempt, if it is named. */
export const logPrefix = (runId: string, attempt?: number): string =>
  `${runId}:${attempt === undefined ? "" : `${padded(attempt, 4)}:`}`

/** The id of a line; in the order of attempt and `seq`. */
export const logId = (runId: string, attempt: number, seq: number): string =>
  `${logPrefix(runId, attempt)}${padded(seq, 16)}`

/** Whether a text may be the id of a line. */
export const isLogId = (text: string): boolean => /^[0-9a-f-]{36}:\d{4}:\d{16}$/.test(text)

const padded = (value: number, digits: number): string => String(value).padStart(digits, "0")

/** The body of a line's record. */
export const logBody = ({ at, line, leftOut }: Omit<LogLine, "attempt" | "seq">): string =>
  JSON.stringify({ at, line, leftOut })

/** The body of a progress record. */
export const progressBody = (note: ProgressNote): string => JSON.stringify(note)

/** The line of a record. */
export const logLineOf = ({ id, body }: Pick<RecordRow, "id" | "body">): LogLine => {
  const [, attempt, seq] = id.split(":")
  return {
    attempt: Number(attempt),
    seq: Number(seq),
    ...(JSON.parse(body) as Omit<LogLine, "attempt" | "seq">),
  }
}

/** The progress of a record. */
export const progressOf = ({ body }: Pick<RecordRow, "body">): ProgressNote =>
  JSON.parse(body) as ProgressNote

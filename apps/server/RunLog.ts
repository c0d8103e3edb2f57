// Keeps what runs say: hears the lines and the progress of handlers and workers, and writes them as records, many at a
// time. A log is a help, not the truth about a run: what is too much is left out, counted, and said in the log itself; a
// store that does not answer holds up no run. A server that is killed loses at most what it had heard in a tenth of a
// second.
import type { Run } from "../../core/domain/Run.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { redactText } from "../../core/observe/redact.ts"
import {
  logBody,
  logId,
  logKind,
  progressBody,
  progressKind,
  type ProgressNote,
} from "../../core/observe/RunRecords.ts"
import type { PutRecord } from "../../core/ports/StoreDriver.ts"
import type { AskedStore } from "./api/ApiParts.ts"

/** How much is kept. */
export interface RunLogLimits {
  /** Lines of one start of a run; default 10,000. */
  readonly linesMax: number
  /** Characters of a line; default 4,096. */
  readonly lineMax: number
  /** Lines in a second of all runs of this server; default 5,000. */
  readonly linesPerSecondMax: number
  /** Lines that wait for the store; default 20,000. */
  readonly waitingMax: number
}

/** The limits without another word. */
export const runLogLimits: RunLogLimits = {
  linesMax: 10_000,
  lineMax: 4_096,
  linesPerSecondMax: 5_000,
  waitingMax: 20_000,
}

/** A recorder. */
export interface RunLog {
  readonly hear: (event: EngineEvent) => void
  /** Writes what was heard before; resolves also when the store does not take it. */
  readonly flush: () => Promise<void>
  /** Writes what was heard, and hears nothing more. */
  readonly stop: () => Promise<void>
}

/** What is known of a start of a run that has said something. */
interface Speaker {
  readonly run: string
  readonly attempt: number
  seq: number
  count: number
  /** The line that says what is left out; it is written anew as that grows. */
  note: { readonly seq: number; readonly at: number; readonly why: string; leftOut: number } | null
}

const batchMax = 500
const everyMillis = 100
const againMillis = 1_000
const triesMax = 5
// Of so many runs the counts are known; of more, the first ones begin anew.
const speakersMax = 10_000

/** Makes one, which writes until it is stopped. */
export const makeRunLog = (options: {
  readonly store: Pick<AskedStore, "putRecords">
  /** How long lines are kept; as long as the runs. */
  readonly retentionMillis: number
  readonly onTrouble: (error: unknown) => void
  readonly limits?: Partial<RunLogLimits>
  readonly now?: () => number
}): RunLog => {
  const limits = { ...runLogLimits, ...options.limits }
  const now = options.now ?? (() => Date.now())
  const speakers = new Map<string, Speaker>()
  const noted = new Set<Speaker>()
  let lines: Array<{ readonly id: string; readonly at: number; readonly line: string }> = []
  const progress = new Map<string, ProgressNote>()
  let second = { from: 0, count: 0 }
  let timer: ReturnType<typeof setTimeout> | undefined
  let writing: Promise<void> | undefined
  let isOver = false

  const keyOf = ({ id, attempt }: Run): string => `${id}:${attempt}`
  const speakerOf = (run: Run): Speaker => {
    const key = keyOf(run)
    const known = speakers.get(key)
    if (known !== undefined) return known
    for (const oldest of speakers.keys()) if (speakers.size >= speakersMax) speakers.delete(oldest)
    const made: Speaker = { run: run.id, attempt: run.attempt, seq: 0, count: 0, note: null }
    speakers.set(key, made)
    return made
  }
  /**
   * By the time, so that an attempt that goes on with another server, or is snoozed and starts again, goes on with its
   * lines behind those that are there, without a look at the store.
   */
  const nextSeq = (speaker: Speaker, at: number): number =>
    (speaker.seq = Math.max(speaker.seq + 1, at * 1_000))

  const tooMuch = (speaker: Speaker, at: number): string | undefined => {
    if (speaker.count >= limits.linesMax) return `more than ${limits.linesMax} of one start`
    if (lines.length >= limits.waitingMax) return "the store takes them too slowly"
    if (at - second.from >= 1_000 || at < second.from) second = { from: at, count: 0 }
    if (second.count >= limits.linesPerSecondMax)
      return `more than ${limits.linesPerSecondMax} in a second on this server`
    return undefined
  }
  const hearLine = (run: Run, line: string): void => {
    const at = now()
    const speaker = speakerOf(run)
    const why = tooMuch(speaker, at)
    if (why !== undefined) {
      speaker.note ??= { seq: nextSeq(speaker, at), at, why, leftOut: 0 }
      speaker.note.leftOut++
      noted.add(speaker)
      return writeSoon()
    }
    // What comes now stands behind the note, which is whole.
    if (speaker.note !== null) endNote(speaker)
    speaker.count++
    second.count++
    lines.push({ id: logId(run.id, run.attempt, nextSeq(speaker, at)), at, line: cut(line, limits.lineMax) })
    writeSoon()
  }
  const endNote = (speaker: Speaker): void => {
    // A copy waits to be written; the speaker may go on, with a note of its own.
    if (noted.delete(speaker)) noted.add({ ...speaker })
    speaker.note = null
  }
  const hearProgress = ({ run, percent, note }: Extract<EngineEvent, { kind: "progress" }>): void => {
    if (progress.size >= limits.waitingMax && !progress.has(run.id)) return
    progress.set(run.id, { attempt: run.attempt, at: now(), percent, note })
    writeSoon()
  }

  const take = (): ReadonlyArray<PutRecord> => {
    const expiresAt = now() + options.retentionMillis
    const common = { expiresAt, expected: null }
    const records: Array<PutRecord> = lines.slice(0, batchMax).map(({ id, at, line }) => {
      return { kind: logKind, id, body: logBody({ at, line: redactText(line), leftOut: 0 }), ...common }
    })
    lines = lines.slice(batchMax)
    for (const speaker of noted) {
      if (records.length >= batchMax) break
      noted.delete(speaker)
      if (speaker.note === null) continue
      const { seq, at, why, leftOut } = speaker.note
      const line = `(${leftOut} ${leftOut === 1 ? "line is" : "lines are"} left out: ${why})`
      const id = logId(speaker.run, speaker.attempt, seq)
      records.push({ kind: logKind, id, body: logBody({ at, line, leftOut }), ...common })
    }
    for (const [id, said] of progress) {
      if (records.length >= batchMax) break
      progress.delete(id)
      const note = said.note === null ? null : redactText(said.note)
      records.push({ kind: progressKind, id, body: progressBody({ ...said, note }), ...common })
    }
    return records
  }
  const writeAll = async (): Promise<void> => {
    for (let batch = take(); batch.length > 0; batch = take())
      // Whoever stops waits for one answer, and not for a store that is gone.
      if (!(await write(batch)) && isOver) return
  }
  /** Safe to repeat: the ids are the same each time. */
  const write = async (batch: ReadonlyArray<PutRecord>): Promise<boolean> => {
    for (let tries = 1; ; tries++) {
      try {
        await options.store.putRecords(batch)
        return true
      } catch (error) {
        if (tries === 1 || tries === triesMax) options.onTrouble(error)
        if (tries === triesMax || isOver) return false
        await new Promise((resolve) => setTimeout(resolve, againMillis))
      }
    }
  }
  const hasMore = (): boolean => !isOver && lines.length + noted.size + progress.size > 0
  const flush = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    // One write at a time; what comes while it is under way goes with it, or with the next.
    do await (writing ??= writeAll().finally(() => (writing = undefined)))
    while (hasMore())
  }
  const writeSoon = (): void => {
    if (lines.length >= batchMax && writing === undefined) return void flush()
    // Another write may be under way, and has passed what came now.
    timer ??= setTimeout(() => void flush(), everyMillis)
  }

  return {
    hear: (event) => {
      if (isOver) return
      if (event.kind === "log") hearLine(event.run, event.line)
      else if (event.kind === "progress") hearProgress(event)
      else if (event.kind === "ended" && speakers.size > 0) {
        const key = keyOf(event.run)
        const speaker = speakers.get(key)
        if (speaker === undefined) return
        endNote(speaker)
        speakers.delete(key)
      }
    },
    flush,
    stop: async () => {
      isOver = true
      await flush()
    },
  }
}

const cut = (line: string, max: number): string =>
  line.length <= max ? line : `${line.slice(0, max)} (${line.length - max} characters are left out)`

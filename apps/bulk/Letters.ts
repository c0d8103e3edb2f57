// Dead letters as people read them: in groups of the same error, and whole, with their input and every attempt.
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import { errorPattern } from "../../core/domain/Fingerprint.ts"
import { decodePayload } from "../../core/domain/Payload.ts"
import type { ErrorInfo, Run } from "../../core/domain/Run.ts"
import { redactText } from "../../core/observe/redact.ts"
import { pageMax } from "../../core/ports/StoreLimits.ts"
import type { BulkStore } from "./Bulk.ts"
import { type LetterFilter, lookedMax, lookLetters } from "./Look.ts"

/** Letters whose errors differ in details only. */
export interface LetterGroup {
  readonly fingerprint: string
  /** What their errors share. */
  readonly pattern: string
  readonly count: number
  /** When the first and the last of them died. */
  readonly firstAt: number
  readonly lastAt: number
  /** Of which jobs, at most 10 names. */
  readonly jobs: ReadonlyArray<string>
  /** The newest. */
  readonly sample: ReturnType<typeof letterLine>
}

/** Groups, the largest first. */
export interface LetterGroups {
  readonly groups: ReadonlyArray<LetterGroup>
  /** How many letters are in them. */
  readonly letters: number
  /** `false`: there are more than 10,000 letters, and only the newest were looked at. */
  readonly exact: boolean
}

const jobsShown = 10

/** Groups the letters that are meant. */
export const groupLetters = async (store: BulkStore, filter: LetterFilter): Promise<LetterGroups> => {
  const groups = new Map<string, LetterGroup>()
  let before: string | undefined
  let [looked, letters, exact] = [0, 0, false]
  while (!exact && looked < lookedMax) {
    const page = await lookLetters(store, filter, before, pageMax)
    for (const letter of page.letters) addTo(groups, letter)
    letters += page.letters.length
    looked += page.looked
    exact = page.next === null
    before = page.next ?? undefined
  }
  if (!exact) {
    const more = await lookLetters(store, filter, before, 1)
    exact = more.letters.length === 0 && more.next === null
  }
  return { groups: [...groups.values()].sort((a, b) => b.count - a.count), letters, exact }
}

const addTo = (groups: Map<string, LetterGroup>, letter: DeadLetter): void => {
  const { fingerprint, pattern } = errorPattern(letter.error)
  const group = groups.get(fingerprint)
  const { job, diedAt } = letter
  groups.set(
    fingerprint,
    group === undefined
      ? {
          fingerprint,
          pattern: redactText(pattern),
          count: 1,
          firstAt: diedAt,
          lastAt: diedAt,
          jobs: [job],
          sample: letterLine(letter),
        }
      : {
          ...group,
          count: group.count + 1,
          firstAt: Math.min(group.firstAt, diedAt),
          lastAt: Math.max(group.lastAt, diedAt),
          jobs:
            group.jobs.includes(job) || group.jobs.length >= jobsShown ? group.jobs : [...group.jobs, job],
        },
  )
}

/** A letter in a list. Secrets that its error says by name are left out. */
export const letterLine = ({ runId, job, diedAt, attempt, error }: DeadLetter) => ({
  runId,
  job,
  diedAt,
  attempt,
  fingerprint: errorPattern(error).fingerprint,
  error: { name: error.name, message: redactText(error.message), kind: error.kind },
})

/** A letter with all that there is of it; `undefined`: its run is gone. */
export const wholeLetter = async (store: BulkStore, letter: DeadLetter, run: Run | undefined) => {
  if (run === undefined) return undefined
  const attempts = await store.attempts(run.id)
  return {
    ...letterLine(letter),
    error: errorView(letter.error),
    queue: run.queue,
    priority: run.priority,
    key: run.key,
    createdAt: run.createdAt,
    scheduleId: run.scheduleId,
    input: decodePayload(run.input) ?? null,
    attempts: attempts.map(({ runId: _run, error, ...attempt }) => ({ ...attempt, error: errorView(error) })),
  }
}

/** A whole letter. */
export type WholeLetter = NonNullable<Awaited<ReturnType<typeof wholeLetter>>>

// Inputs of 256 KiB each: so many are in hand at once, and no more.
const exportedAtOnce = 20

/** All letters that are meant, whole, the newest first; one page of them is in memory at a time. */
export async function* exportLetters(store: BulkStore, filter: LetterFilter): AsyncGenerator<WholeLetter> {
  let before: string | undefined
  for (;;) {
    const { letters, next } = await lookLetters(store, filter, before, exportedAtOnce)
    const runs = new Map((await store.get(letters.map(({ runId }) => runId))).map((run) => [run.id, run]))
    for (const letter of letters) {
      const whole = await wholeLetter(store, letter, runs.get(letter.runId))
      if (whole !== undefined) yield whole
    }
    if (next === null) return
    before = next
  }
}

const errorView = ({ name, message, kind, stack }: ErrorInfo) => ({
  name,
  message: redactText(message),
  kind,
  ...(stack === undefined ? {} : { stack: redactText(stack) }),
})

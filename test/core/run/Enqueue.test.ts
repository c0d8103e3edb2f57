// From a request to the rows of its run and of those that it needs; what is refused is refused before any row is made.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { InvalidInput, UnknownJob } from "../../../core/domain/Errors.ts"
import { type Job, type JobBook, parseJobs } from "../../../core/domain/Job.ts"
import { defaultRetryPolicy } from "../../../core/domain/RetryPolicy.ts"
import type { NewRun } from "../../../core/domain/Run.ts"
import { newRuns, type RunRequest } from "../../../core/run/Enqueue.ts"

const now = 1_800_000_000_000

const job = (name: string, fields: Partial<Job> = {}): Job => ({
  name,
  queue: "default",
  priority: 0,
  retry: defaultRetryPolicy,
  timeoutMillis: null,
  needs: [],
  ...fields,
})

const book: JobBook = Result.getOrThrow(
  parseJobs([
    job("report", { needs: ["left", "right"], queue: "reports", priority: 5 }),
    job("left", { needs: ["source"], retry: { ...defaultRetryPolicy, attemptMax: 7 } }),
    job("right", { needs: ["source"], queue: "slow", priority: -1 }),
    job("source"),
    job("alone", { queue: "mail", priority: 2, retry: { ...defaultRetryPolicy, attemptMax: 1 } }),
    job("twice", { needs: ["source", "source"] }),
  ]),
)

/** Ids `#1`, `#2` and so on, and how many were taken. */
const counted = () => {
  let count = 0
  return { ids: () => `#${++count}`, taken: () => count }
}
const made = (request: RunRequest, ids = counted().ids): ReadonlyArray<NewRun> =>
  Result.getOrThrow(newRuns(book, ids, Object.freeze(request)))
const only = (request: RunRequest): NewRun => {
  const rows = made(request)
  expect(rows).toHaveLength(1)
  return rows[0] as NewRun
}

describe("Enqueue > one run", () => {
  test("it takes queue, priority and attempts of its job, and is due at once", () =>
    expect(only({ job: "alone", input: '{"a":1}' })).toEqual({
      id: "#1",
      job: "alone",
      queue: "mail",
      input: '{"a":1}',
      dueAt: null,
      delayMillis: 0,
      priority: 2,
      attemptMax: 1,
      key: null,
      startWithinMillis: null,
      scheduleId: null,
      nominalAt: null,
      chainId: null,
      needs: [],
      replayOf: null,
      parentId: null,
      step: null,
    }))

  test("what the request says goes before what the job says, also a zero", () => {
    const row = only({ job: "alone", input: null, queue: "slow", priority: 0, key: "k", delayMillis: 5 })
    expect(row).toMatchObject({ queue: "slow", priority: 0, key: "k", delayMillis: 5, dueAt: null })
    expect(only({ job: "alone", input: null, dueAt: 0 }).dueAt).toBe(0)
    expect(only({ job: "alone", input: null, dueAt: null, delayMillis: 3 }).dueAt).toBeNull()
  })

  test("an id of the caller's is the run's, and no other one is taken", () => {
    const { ids, taken } = counted()
    expect(made({ job: "alone", input: null, id: "mine" }, ids)[0]?.id).toBe("mine")
    expect(taken()).toBe(0)
  })

  test("its time to start is handed on as a span: only the store's clock makes an instant of it", () => {
    const within = (startWithinMillis: number | null) =>
      only({ job: "alone", input: null, delayMillis: 50, startWithinMillis }).startWithinMillis
    for (const span of [100, 0, null]) expect(within(span)).toBe(span)
    expect(only({ job: "alone", input: null }).startWithinMillis).toBeNull()
  })
})

describe("Enqueue > a chain", () => {
  const rows = made({ job: "report", input: '"in"' })
  const of = (name: string): NewRun => rows.find((row) => row.job === name) as NewRun

  test("all that it needs comes first, the run that was asked for last", () =>
    expect(rows.map((row) => row.job)).toEqual(["source", "left", "right", "report"]))

  test("each need is the id of the run of that job in this chain", () => {
    expect(of("source").needs).toEqual([])
    expect(of("left").needs).toEqual([of("source").id])
    expect(of("right").needs).toEqual([of("source").id])
    expect(of("report").needs).toEqual([of("left").id, of("right").id])
    expect(new Set(rows.map(({ id }) => id)).size).toBe(4)
  })

  test("all carry the id of the run that was asked for, and each its own job's queue, priority and attempts", () => {
    expect(new Set(rows.map(({ chainId }) => chainId))).toEqual(new Set([of("report").id]))
    expect(rows.map(({ queue }) => queue)).toEqual(["default", "default", "slow", "reports"])
    expect(rows.map(({ priority }) => priority)).toEqual([0, 0, -1, 5])
    expect(rows.map(({ attemptMax }) => attemptMax)).toEqual([3, 7, 3, 3])
  })

  test("only the run that was asked for gets the input and the queue of the request", () => {
    expect(rows.map(({ input }) => input)).toEqual([null, null, null, '"in"'])
    const moved = made({ job: "report", input: null, queue: "mail" })
    expect(moved.map(({ queue }) => queue)).toEqual(["default", "default", "slow", "mail"])
  })

  test("all are due, expire and rank together", () => {
    const later = made({ job: "report", input: null, dueAt: now + 5, priority: 9, startWithinMillis: 10 })
    for (const row of later) expect(row).toMatchObject({ dueAt: now + 5, priority: 9, startWithinMillis: 10 })
    for (const row of made({ job: "report", input: null, delayMillis: 7 })) expect(row.delayMillis).toBe(7)
  })

  test("a middle of the chain takes what it needs only", () =>
    expect(made({ job: "left", input: null }).map((row) => row.job)).toEqual(["source", "left"]))

  test("the ids of two chains are apart", () => {
    const { ids } = counted()
    const all = [...made({ job: "report", input: null }, ids), ...made({ job: "report", input: null }, ids)]
    expect(new Set(all.map(({ id }) => id)).size).toBe(8)
    expect(new Set(all.map(({ chainId }) => chainId)).size).toBe(2)
  })

  test("a need that is written twice is one run", () => {
    const [source, twice] = made({ job: "twice", input: null })
    expect(new Set(twice?.needs)).toEqual(new Set([source?.id]))
  })
})

describe("Enqueue > refusals", () => {
  const refused = (request: RunRequest): UnknownJob | InvalidInput => {
    const { ids, taken } = counted()
    const result = newRuns(book, ids, request)
    if (Result.isSuccess(result)) throw new Error("It was accepted")
    expect(taken()).toBe(0)
    expect(result.failure.next).toMatch(/^[A-Z].*\.$/)
    return result.failure
  }

  test("a job that is not defined, with the names there are", () => {
    const failure = refused({ job: "reprot", input: null })
    expect(failure).toBeInstanceOf(UnknownJob)
    expect(failure).toMatchObject({ job: "reprot", field: "job" })
    expect(failure.next).toContain("report, left, right, source, alone")
    expect(refused({ job: "constructor", input: null })).toBeInstanceOf(UnknownJob)
    expect(refused({ job: "", input: null })).toBeInstanceOf(UnknownJob)
  })

  test("a queue that nobody looks into", () => {
    const failure = refused({ job: "alone", input: null, queue: "mial" })
    expect(failure).toBeInstanceOf(InvalidInput)
    expect(failure).toMatchObject({ field: "queue" })
    expect(failure.reason).toContain('"mial"')
  })

  test("an id or a key for a job that needs others, naming which", () => {
    expect(refused({ job: "report", input: null, id: "mine" })).toMatchObject({ field: "id" })
    expect(refused({ job: "report", input: null, key: "k" })).toMatchObject({ field: "key" })
    expect(refused({ job: "report", input: null, id: "mine", key: "k" })).toMatchObject({ field: "id" })
    expect(refused({ job: "left", input: null, key: "" })).toMatchObject({ field: "key" })
  })

  test("a chain that is too long for one step", () => {
    const long = Array.from({ length: 501 }, (_, n) => job(`j${n}`, { needs: n === 0 ? [] : [`j${n - 1}`] }))
    const chain = Result.getOrThrow(parseJobs(long))
    const result = newRuns(chain, counted().ids, { job: "j500", input: null })
    expect(Result.isFailure(result) ? result.failure : undefined).toMatchObject({
      _tag: "InvalidInput",
      field: 'job "j500".needs',
    })
    expect(Result.isSuccess(newRuns(chain, counted().ids, { job: "j499", input: null }))).toBe(true)
  })

  test("no key at all is none", () => expect(made({ job: "report", input: null, key: null })).toHaveLength(4))
})

// From an outcome to what the store is asked to do: the token goes with it, and the retry is decided here.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { type JobBook, parseJobs } from "../../../core/domain/Job.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import { defaultRetryPolicy, type RetryPolicy } from "../../../core/domain/RetryPolicy.ts"
import type { ErrorInfo, Run } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import { decide } from "../../../core/run/Settlement.ts"

const now = 1_800_000_000_000
const policy: RetryPolicy = {
  ...defaultRetryPolicy,
  attemptMax: 5,
  rules: [
    { error: "Denied", retry: false },
    { error: "RateLimited", delayMillis: 60_000 },
  ],
}
const book: JobBook = Result.getOrThrow(
  parseJobs([
    { name: "report", queue: "default", priority: 0, retry: policy, timeoutMillis: null, needs: [] },
  ]),
)

const running = (fields: Partial<Run> = {}): Run =>
  Object.freeze({
    ...Transition.enqueued(newRun(1, { attemptMax: 5 }), 0, now),
    state: "running",
    token: 7,
    attempt: 1,
    node: "n1",
    ...fields,
  })
const error = (name = "Error"): ErrorInfo => ({ name, message: "It broke", kind: "error" })
const failed = (fields: Partial<Extract<Outcome, { kind: "failed" }>> = {}): Outcome => ({
  kind: "failed",
  error: error(),
  retryable: true,
  retryAfterMillis: null,
  ...fields,
})
const retryIn = (run: Run, outcome: Outcome, random = 0.5): number | null => {
  const settlement = decide(book, run, outcome, random)
  if (settlement.kind !== "failed") throw new Error(`It is ${settlement.kind}`)
  return settlement.retryInMillis
}

describe("Settlement > decide", () => {
  test("whatever the outcome, it goes with the run's id and token", () => {
    const outcomes: ReadonlyArray<Outcome> = [
      { kind: "succeeded", output: '"out"' },
      { kind: "succeeded", output: null },
      { kind: "snoozed", delayMillis: 250 },
      { kind: "released" },
    ]
    const run = running()
    for (const outcome of outcomes)
      expect(decide(book, run, Object.freeze(outcome), 0)).toEqual({ id: run.id, token: 7, ...outcome })
    expect(decide(book, run, failed(), 0.5)).toEqual({
      id: run.id,
      token: 7,
      kind: "failed",
      error: error(),
      retryInMillis: 500,
    })
  })

  test("a failure retries by the job's policy, with the random number it is given", () => {
    expect([0, 0.25, 0.5].map((random) => retryIn(running({ attempt: 2 }), failed(), random))).toEqual([
      0, 500, 1000,
    ])
    expect(retryIn(running(), failed({ error: error("RateLimited") }))).toBe(60_000)
    expect(retryIn(running(), failed({ error: error("Denied") }))).toBeNull()
    expect(retryIn(running(), failed({ retryable: false }))).toBeNull()
    expect(retryIn(running(), failed({ retryAfterMillis: 1234 }))).toBe(1234)
  })

  test("the limit is the row's own, whatever the policy has become since", () => {
    expect(retryIn(running({ attempt: 3, attemptMax: 3 }), failed())).toBeNull()
    expect(retryIn(running({ attempt: 5, attemptMax: 9 }), failed())).not.toBeNull()
    expect(retryIn(running({ attempt: 1, attemptMax: 1 }), failed({ retryAfterMillis: 5 }))).toBeNull()
  })

  test("a job that is no longer defined retries by the default", () => {
    const gone = running({ job: "gone", attempt: 2 })
    expect(retryIn(gone, failed(), 0.5)).toBe(1000)
    expect(retryIn(running({ job: "gone", attempt: 5 }), failed())).toBeNull()
    expect(retryIn(gone, failed({ error: error("Denied") }), 0.5)).toBe(1000)
  })

  test("a lost, timed-out or unwritable attempt counts as a failure like others", () => {
    for (const kind of ["timeout", "lost", "payload"] as const)
      expect(retryIn(running(), failed({ error: { ...error(), kind } }))).toBe(500)
  })

  test("followed to its end a failing run uses exactly its attempts (SC-S33)", () => {
    for (const attemptMax of [1, 2, 3, 25]) {
      let run = Transition.enqueued(newRun(1, { attemptMax }), 0, now)
      let time = now
      let calls = 0
      for (let next: Run | null = run; next !== null && run.state !== "dead";) {
        const claimed = Transition.claimed(run, "n1", true, time) as Run
        calls++
        expect(claimed.attempt).toBe(calls)
        const retryInMillis = retryIn(claimed, failed())
        next = Transition.failed(claimed, claimed.token, error(), retryInMillis, time)
        run = next as Run
        time = run.dueAt
        if (run.state === "retrying") run = Transition.promoted(run, time) as Run
      }
      expect(calls).toBe(attemptMax)
      expect(run.state).toBe("dead")
    }
  })
})

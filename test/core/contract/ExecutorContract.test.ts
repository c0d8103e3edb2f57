// The contract of executors finds what it is there for: each executor here breaks one promise, and a case says so.
import { describe, expect, test } from "vitest"
import { inlineExecutor } from "../../../adapters/executor-inline/mod.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import type { Assignment, Executor, Started } from "../../../core/ports/Executor.ts"
import { executorContract, runExecutorCase } from "../../../core/testing.ts"
import { handlers } from "../../adapters/executor-inline/handlers.ts"

type Service = Executor["Service"]
type Done = (outcome: Outcome) => void

const good = inlineExecutor(new Map(Object.entries(handlers)))
const withStart = (start: (assignment: Assignment, done: Done) => Started): Service => ({
  jobs: good.jobs,
  start,
})
/** Tells another outcome than the one that came. */
const telling = (change: (outcome: Outcome, assignment: Assignment) => Outcome): Service =>
  withStart((assignment, done) => good.start(assignment, (outcome) => done(change(outcome, assignment))))
const changed = (fields: object): Service =>
  telling((outcome) => (outcome.kind === "failed" ? { ...outcome, ...fields } : outcome))

const started: Array<Started> = []
const faults: ReadonlyArray<readonly [string, Service, string]> = [
  [
    "tells an end twice",
    withStart((assignment, done) =>
      good.start(assignment, (outcome) => {
        done(outcome)
        done(outcome)
      }),
    ),
    "start > no output is null",
  ],
  [
    "tells an end again after a stop",
    withStart((assignment, done) => {
      const each = good.start(assignment, done)
      const again: Outcome = { kind: "succeeded", output: null }
      let stops = 0
      return { stop: (reason) => (stops++ === 0 ? each.stop(reason) : done(again)) }
    }),
    'stop > an attempt that is told "drain" ends, once',
  ],
  [
    "throws for a job that it does not have",
    withStart((assignment, done) => {
      if (!good.jobs.has(assignment.run.job)) throw new Error("What is that?")
      return good.start(assignment, done)
    }),
    "start > a job that it does not have fails, and may be tried elsewhere",
  ],
  ["has no jobs", { ...good, jobs: new Set() }, "jobs > are those that it was given"],
  [
    "gives an empty text as nothing",
    telling((outcome) =>
      outcome.kind === "succeeded" && outcome.output === '""' ? { ...outcome, output: null } : outcome,
    ),
    "start > an output is kept as it is: an empty text",
  ],
  [
    "keeps what is too large",
    telling((outcome, { run }) =>
      run.job === "large" ? { kind: "succeeded", output: `"${"x".repeat(Number(run.input))}"` } : outcome,
    ),
    "start > an output beyond the limit fails without retry: the work is done",
  ],
  [
    "forgets who is not to be tried again",
    changed({ retryable: true }),
    "start > a failure may say that no further attempt helps",
  ],
  ["retries nothing", changed({ retryable: false }), "start > a failure leaves the retry to the policy"],
  ["forgets when", changed({ retryAfterMillis: null }), "start > a failure may ask for a later attempt"],
  [
    "gives all attempts one outcome",
    telling((outcome, { run }) => (run.job === "echo" ? { kind: "succeeded", output: "1" } : outcome)),
    "start > attempts beside each other have their own outcomes",
  ],
  [
    "stops all of them",
    withStart((assignment, done) => {
      const each = good.start(assignment, (outcome) =>
        done(assignment.run.job === "late" ? { kind: "released" } : outcome),
      )
      started.push(each)
      return { stop: (reason) => started.forEach((one) => one.stop(reason)) }
    }),
    "stop > ends no attempt but its own",
  ],
]

describe("the contract of executors", () => {
  test.each(faults)("an executor that %s is found", async (_, executor, name) => {
    const each = executorContract.find((one) => one.name === name)
    if (each === undefined) throw new Error(`There is no case "${name}"`)
    await runExecutorCase(each, good)
    await expect(runExecutorCase(each, executor)).rejects.toThrow()
  })

  test("no two cases have one name", () => {
    expect(new Set(executorContract.map(({ name }) => name)).size).toBe(executorContract.length)
  })
})

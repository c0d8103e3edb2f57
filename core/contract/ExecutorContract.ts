// Everything that an executor promises to the dispatcher, as cases that every executor must pass. An executor under
// test is given jobs of known behaviour (`ExecutorJob`), each written in its own way: a function, a program, a server.
// Time is real here, as what is outside of a process does not know another one.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Outcome } from "../domain/Outcome.ts"
import { decodePayload, payloadBytesMax } from "../domain/Payload.ts"
import type { Run } from "../domain/Run.ts"
import type { Assignment, Executor, Started, StopReason } from "../ports/Executor.ts"
import { type ContractViolation, expectFields, expectSame, expectTrue } from "./Case.ts"

/**
 * The jobs: `echo` answers its input, `nothing` answers nothing, `large` answers a text of as many letters as its input
 * says, `fail` fails, `fatal` fails so that no further attempt helps, `later` fails and asks for an attempt after 90 s,
 * `slow` ends within a second of being told to stop and never otherwise, `late` answers "late" after 300 ms, whatever
 * it is told.
 */
export const executorJobs = ["echo", "nothing", "large", "fail", "fatal", "later", "slow", "late"] as const

/** The name of one of them. */
export type ExecutorJob = (typeof executorJobs)[number]

/** The executor under test. */
export class ExecutorSubject extends Context.Service<ExecutorSubject, Executor["Service"]>()(
  "uhrwerk/core/ExecutorSubject",
) {}

/** One promise of an executor. */
export interface ExecutorCase {
  readonly name: string
  readonly run: Effect.Effect<void, ContractViolation, ExecutorSubject>
}

/** A started attempt, and what came of it so far. */
interface Attempt {
  readonly started: Started
  readonly outcomes: ReadonlyArray<Outcome>
}

const assignmentOf = (job: string, input: string | null, id = `run of ${job}`): Assignment => {
  const run: Run = {
    id,
    job,
    queue: "default",
    input,
    dueAt: 0,
    expiresAt: null,
    delayMillis: 0,
    priority: 0,
    attemptMax: 3,
    key: null,
    scheduleId: null,
    nominalAt: null,
    chainId: null,
    needs: [],
    replayOf: null,
    parentId: null,
    step: null,
    state: "running",
    createdAt: 0,
    attempt: 1,
    losses: 0,
    token: 1,
    node: "n1",
    waitingFor: 0,
    startedAt: 0,
    startAcknowledged: true,
    endedAt: null,
    output: null,
    error: null,
    reason: null,
  }
  return { run, needs: new Map(), step: null, timeoutMillis: null }
}

const start = (job: ExecutorJob | "unknown", input: string | null = null, id?: string) =>
  Effect.map(ExecutorSubject, (executor): Attempt => {
    const outcomes: Array<Outcome> = []
    const started = executor.start(assignmentOf(job, input, id), (outcome) => outcomes.push(outcome))
    return { started, outcomes }
  })

// Long enough for a runtime to start a program on a busy machine, and for whatever tells an end twice to do so.
const waitMillis = 20_000
const afterMillis = 60

/** Waits for the end, and then a moment more: an end is told once. */
const endOf = (what: string, { outcomes }: Attempt) =>
  Effect.gen(function* () {
    for (let waited = 0; outcomes.length === 0 && waited < waitMillis; waited += 5) yield* Effect.sleep(5)
    yield* Effect.sleep(afterMillis)
    yield* expectSame(`${what}: ends that were told`, outcomes.length, 1)
    return outcomes[0] as Outcome
  })

const ends = (job: ExecutorJob | "unknown", input: string | null = null) =>
  Effect.flatMap(start(job, input), (attempt) => endOf(job, attempt))

const echoes = (what: string, value: unknown): ExecutorCase => ({
  name: `start > an output is kept as it is: ${what}`,
  run: Effect.gen(function* () {
    const outcome = yield* ends("echo", JSON.stringify(value))
    yield* expectSame("kind", outcome.kind, "succeeded")
    const output = outcome.kind === "succeeded" ? outcome.output : null
    yield* expectSame("output", decodePayload(output), value)
  }),
})

const stops = (reason: StopReason): ExecutorCase => ({
  name: `stop > an attempt that is told "${reason}" ends, once`,
  run: Effect.gen(function* () {
    const attempt = yield* start("slow")
    yield* Effect.sleep(200)
    yield* expectSame("before", attempt.outcomes.length, 0)
    attempt.started.stop(reason)
    const outcome = yield* endOf("slow", attempt)
    yield* expectSame("kind", outcome.kind, "failed")
    attempt.started.stop(reason)
    yield* Effect.sleep(afterMillis)
    yield* expectSame("told after its end", attempt.outcomes.length, 1)
  }),
})

/** The cases of the `Executor` port. */
export const executorContract: ReadonlyArray<ExecutorCase> = [
  {
    name: "jobs > are those that it was given",
    run: Effect.gen(function* () {
      const { jobs } = yield* ExecutorSubject
      yield* expectSame("jobs", [...jobs].sort(), [...executorJobs].sort())
    }),
  },
  echoes("null", null),
  echoes("a number", 0),
  echoes("false", false),
  echoes("an empty text", ""),
  echoes(
    "line breaks, quotes, shells, other scripts",
    "a\nb\r\n\"'`$(exit 1); rm -rf x & | > \\ ü 漢 🙂 \u2028 \u0000",
  ),
  echoes("names that objects know", JSON.parse('{"__proto__":{"a":1},"constructor":[]}')),
  echoes("200 KiB", "ü".repeat(100_000)),
  {
    name: "start > no output is null",
    run: Effect.flatMap(ends("nothing"), (outcome) =>
      expectSame("outcome", outcome, { kind: "succeeded", output: null }),
    ),
  },
  {
    name: "start > an output of the limit is kept",
    run: Effect.gen(function* () {
      const outcome = yield* ends("large", String(payloadBytesMax - 2))
      yield* expectSame("kind", outcome.kind, "succeeded")
      const output = outcome.kind === "succeeded" ? outcome.output : null
      yield* expectSame("length", output?.length, payloadBytesMax)
    }),
  },
  {
    name: "start > an output beyond the limit fails without retry: the work is done",
    run: Effect.gen(function* () {
      for (const length of [payloadBytesMax - 1, 20_000_000]) {
        const outcome = yield* ends("large", String(length))
        yield* expectFields("outcome", outcome as object, { kind: "failed", retryable: false })
        const kind = outcome.kind === "failed" ? outcome.error.kind : null
        yield* expectSame("error", kind, "payload")
      }
    }),
  },
  {
    name: "start > a failure leaves the retry to the policy",
    run: Effect.gen(function* () {
      const outcome = yield* ends("fail")
      yield* expectFields("outcome", outcome as object, {
        kind: "failed",
        retryable: true,
        retryAfterMillis: null,
      })
      const message = outcome.kind === "failed" ? outcome.error.message : ""
      yield* expectTrue("it says something", message.length > 0)
    }),
  },
  {
    name: "start > a failure may say that no further attempt helps",
    run: Effect.flatMap(ends("fatal"), (outcome) =>
      expectFields("outcome", outcome as object, { kind: "failed", retryable: false }),
    ),
  },
  {
    name: "start > a failure may ask for a later attempt",
    run: Effect.flatMap(ends("later"), (outcome) =>
      expectFields("outcome", outcome as object, {
        kind: "failed",
        retryable: true,
        retryAfterMillis: 90_000,
      }),
    ),
  },
  {
    name: "start > a job that it does not have fails, and may be tried elsewhere",
    run: Effect.flatMap(ends("unknown"), (outcome) =>
      expectFields("outcome", outcome as object, { kind: "failed", retryable: true }),
    ),
  },
  {
    name: "start > attempts beside each other have their own outcomes",
    run: Effect.gen(function* () {
      const attempts: Array<Attempt> = []
      for (let index = 0; index < 12; index++)
        attempts.push(yield* start(index % 3 === 2 ? "fail" : "echo", String(index), `run ${index}`))
      for (const [index, attempt] of attempts.entries()) {
        const outcome = yield* endOf(`attempt ${index}`, attempt)
        const output = outcome.kind === "succeeded" ? outcome.output : outcome.kind
        yield* expectSame(`attempt ${index}`, output, index % 3 === 2 ? "failed" : String(index))
      }
    }),
  },
  stops("timeout"),
  stops("cancelled"),
  stops("drain"),
  stops("leaseLost"),
  {
    name: "stop > in the same turn as the start, and twice",
    run: Effect.gen(function* () {
      const attempt = yield* start("slow")
      attempt.started.stop("cancelled")
      attempt.started.stop("drain")
      const outcome = yield* endOf("slow", attempt)
      yield* expectSame("kind", outcome.kind, "failed")
    }),
  },
  {
    name: "stop > one that does not listen is told of once, too",
    run: Effect.gen(function* () {
      const attempt = yield* start("late")
      attempt.started.stop("drain")
      yield* endOf("late", attempt)
    }),
  },
  {
    name: "stop > ends no attempt but its own",
    run: Effect.gen(function* () {
      const stopped = yield* start("slow", null, "run 1")
      const other = yield* start("late", null, "run 2")
      stopped.started.stop("cancelled")
      yield* endOf("slow", stopped)
      const outcome = yield* endOf("late", other)
      yield* expectSame("outcome", outcome, { kind: "succeeded", output: '"late"' })
    }),
  },
]

/** Runs a case on an executor; rejects with a `ContractViolation` when it breaks its promise. */
export const runExecutorCase = (each: ExecutorCase, executor: Executor["Service"]): Promise<void> =>
  Effect.runPromise(Effect.provideService(each.run, ExecutorSubject, executor))

// What every text promises: names, keys, payloads and errors come back as they were given, whatever they hold.
import * as Effect from "effect/Effect"
import type { ErrorInfo } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, expectFields, expectSame } from "../Case.ts"
import { claim, claimOne, enqueue, newRun, runId, settle, stored, success } from "../Fixtures.ts"

const names = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "x'; DROP TABLE runs; --",
  'quote " and \\ back',
  "%",
  "_",
  "Größe",
  "時計",
  "⏰🕰️",
  " padded ",
  "UPPER",
  "upper",
]

const payloads = [
  JSON.stringify({ nul: "a\u0000b" }),
  JSON.stringify("⏰🕰️ and \u202e text"),
  // JSON.stringify escapes a lone surrogate, so the text itself is well-formed.
  JSON.stringify(["\ud83d", "\udc00\ud800"]),
  JSON.stringify({ ["__proto__"]: { polluted: true }, constructor: null }),
  "null",
  '""',
  "1e400",
  ' { "spaces" : [ 1 , 2.50 ] } ',
]

/** Cases of names, payloads and errors. */
export const textCases: ReadonlyArray<Case> = [
  {
    name: "texts > any job name, queue and key is stored, claimed, counted and filtered as it is",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* runs.enqueue(names.map((name, n) => newRun(n + 1, { job: name, queue: name, key: name })))
      for (const [n, name] of names.entries()) {
        const listed = yield* runs.list({ job: name, limit: 200 })
        yield* expectSame(
          `list of "${name}"`,
          listed.map((run) => run.id),
          [runId(n + 1)],
        )
        const [again] = yield* enqueue(newRun(500 + n, { job: name, key: name }))
        yield* expectFields(`key "${name}"`, again, { id: runId(n + 1), result: "exists" })
        const taken = yield* claim({ queues: [name], jobs: [name] })
        yield* expectSame(
          `claim of "${name}"`,
          taken.map((run) => [run.id, run.job, run.queue, run.key]),
          [[runId(n + 1), name, name, name]],
        )
      }
      const counted = (yield* runs.counts()).map((row) => `${row.state} ${row.count} ${row.job}`)
      yield* expectSame("counts", counted.sort(), names.map((name) => `running 1 ${name}`).sort())
    }),
  },
  {
    name: "texts > a payload comes back character by character, as input and as output",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* runs.enqueue(payloads.map((input, n) => newRun(n + 1, { input })))
      const taken = yield* claim({ limit: 100 })
      yield* expectSame(
        "claimed input",
        taken.map((run) => run.input),
        payloads,
      )
      yield* runs.settle(taken.map((run) => success(run, run.input)))
      const ended = yield* runs.get(taken.map((run) => run.id))
      yield* expectSame(
        "input",
        ended.map((run) => run.input),
        payloads,
      )
      yield* expectSame(
        "output",
        ended.map((run) => run.output),
        payloads,
      )
    }),
  },
  {
    name: "texts > a payload of 256 KiB comes back whole, as input and as output",
    run: Effect.gen(function* () {
      const large = JSON.stringify("x".repeat(256 * 1024 - 2))
      yield* enqueue(newRun(1, { input: large }))
      const run = yield* claimOne()
      yield* expectSame("claimed", run.input === large, true)
      yield* settle(success(run, large))
      const ended = yield* stored(run.id)
      yield* expectSame("input", ended.input === large, true)
      yield* expectSame("output", ended.output === large, true)
    }),
  },
  {
    name: "texts > an error comes back as it was reported, cut characters and NUL included",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const error: ErrorInfo = {
        name: "__proto__",
        message: "cut \ud83d, nul \u0000, ansi \u001b[31m, 'quote' \"double\"",
        stack: "Error\n    at <script>alert(1)</script>:1:1",
        kind: "timeout",
      }
      yield* enqueue(newRun(1))
      const run = yield* claimOne()
      yield* settle({ id: run.id, token: run.token, kind: "failed", error, retryInMillis: null })
      yield* expectSame("run", (yield* stored(run.id)).error, error)
      yield* expectSame(
        "attempt",
        (yield* runs.attempts(run.id)).map((row) => row.error),
        [error],
      )
      yield* expectSame(
        "letter",
        (yield* runs.deadLetters({ limit: 10 })).map((row) => row.error),
        [error],
      )
    }),
  },
]

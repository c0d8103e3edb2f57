// What `cancel` promises: it wins over everything that comes later, once, and says what it found.
import * as Effect from "effect/Effect"
import { runStates, isFinal } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectSame } from "../Case.ts"
import { bringTo, claim, enqueue, newRun, runId, settle, stored, success } from "../Fixtures.ts"

const living = runStates.filter((state) => !isFinal(state))

/** Cases of `cancel`. */
export const cancelCases: ReadonlyArray<Case> = [
  ...living.map((state): Case => ({
    name: `cancel > a ${state} run ends cancelled, with the reason, and is never claimed later`,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const before = yield* bringTo(1, state)
      clock.advance(1)
      const answers = yield* runs.cancel([before.id], 'Ordered by Ada; "now" ⏰')
      yield* expectSame("answer", answers, [{ id: before.id, result: "cancelled" }])
      yield* expectSame("run", yield* stored(before.id), {
        ...before,
        state: "cancelled",
        node: null,
        endedAt: clock.now(),
        reason: 'Ordered by Ada; "now" ⏰',
      })
      const others = (yield* runs.counts()).filter((row) => row.job === "report")
      yield* expectSame("counts", others, [{ job: "report", state: "cancelled", count: 1 }])
      clock.advance(120_000)
      yield* runs.promote(100)
      yield* expectSame("claim", yield* claim({ queues: [before.queue] }), [])
      yield* expectFields("still", yield* stored(before.id), { state: "cancelled" })
    }),
  })),
  {
    name: "cancel > repeated after an unknown outcome, it answers final and keeps the first reason",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1))
      yield* runs.cancel([runId(1)], "First")
      const before = yield* stored(runId(1))
      clock.advance(1_000)
      const again = yield* runs.cancel([runId(1)], "Second")
      yield* expectSame("answer", again, [{ id: runId(1), result: "final" }])
      yield* expectSame("run", yield* stored(runId(1)), before)
    }),
  },
  {
    name: "cancel > answers each id in order: cancelled, final or unknown",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* bringTo(1, "succeeded")
      yield* bringTo(2, "ready")
      const answers = yield* runs.cancel([runId(3), runId(2), runId(1), runId(2)], "Not wanted")
      yield* expectSame("answers", answers, [
        { id: runId(3), result: "unknown" },
        { id: runId(2), result: "cancelled" },
        { id: runId(1), result: "final" },
        { id: runId(2), result: "final" },
      ])
      yield* expectSame("nothing for nothing", yield* runs.cancel([], "Not wanted"), [])
    }),
  },
  {
    name: "cancel > a late result of a cancelled run is refused and releases nobody",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const run = yield* bringTo(1, "running")
      yield* enqueue(newRun(2, { job: "load", needs: [run.id] }))
      yield* runs.cancel([run.id], "Not wanted")
      yield* expectFields("answer", yield* settle(success(run, "1")), { result: "stale", state: "cancelled" })
      yield* expectFields("dependent", yield* stored(runId(2)), { state: "skipped" })
      yield* expectFields("run", yield* stored(run.id), { output: null })
    }),
  },
  {
    name: "cancel > 1,001 ids are refused",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1))
      const ids = Array.from({ length: 1_001 }, (_, n) => runId(n + 1))
      yield* expectLimit("ids", runs.cancel(ids, "Not wanted"))
      yield* expectFields("untouched", yield* stored(runId(1)), { state: "ready" })
    }),
  },
]

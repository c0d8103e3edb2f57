// What runs that need others promise: they start only when all of those have succeeded, are released exactly
// once, and never wait for something that cannot come.
import * as Effect from "effect/Effect"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  bringTo,
  claim,
  claimOne,
  enqueue,
  failing,
  newRun,
  runId,
  settle,
  statesOf,
  stored,
  success,
} from "../Fixtures.ts"

const needing = (n: number, ...needs: ReadonlyArray<number>) =>
  newRun(n, { job: "load", needs: needs.map(runId), chainId: runId(n) })

/** Cases of `needs`. */
export const dependentCases: ReadonlyArray<Case> = [
  {
    name: "needs > a run waits until its need has succeeded, then it is ready",
    run: Effect.gen(function* () {
      const answers = yield* enqueue(newRun(1), needing(2, 1))
      yield* expectFields("answer", answers[1], { result: "created", state: "blocked" })
      yield* expectFields("blocked", yield* stored(runId(2)), { waitingFor: 1, needs: [runId(1)] })
      const need = yield* claimOne({ jobs: ["report", "load"] })
      yield* expectSame("nothing else to claim", yield* claim({ jobs: ["report", "load"] }), [])
      yield* settle(success(need))
      yield* expectFields("released", yield* stored(runId(2)), {
        state: "ready",
        waitingFor: 0,
        reason: null,
      })
      yield* expectFields("claimed", yield* claimOne({ jobs: ["load"] }), { id: runId(2), attempt: 1 })
    }),
  },
  {
    name: "needs > a need that is named twice counts once",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1), needing(2, 1, 1))
      yield* expectFields("blocked", yield* stored(runId(2)), { waitingFor: 1 })
      yield* settle(success(yield* claimOne()))
      yield* expectFields("released", yield* stored(runId(2)), { state: "ready", waitingFor: 0 })
    }),
  },
  {
    name: "needs > with several needs the last success releases, in whatever order they come",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1), newRun(2), newRun(3), needing(4, 1, 2, 3))
      const taken = yield* claim()
      for (const [n, run] of taken.toReversed().entries()) {
        yield* expectFields(`before success ${n + 1}`, yield* stored(runId(4)), {
          state: "blocked",
          waitingFor: 3 - n,
        })
        yield* settle(success(run))
      }
      yield* expectFields("released", yield* stored(runId(4)), { state: "ready", waitingFor: 0 })
    }),
  },
  {
    name: "needs > a success that is reported twice releases once",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), newRun(2), needing(3, 1, 2))
      const first = yield* claimOne()
      yield* settle(success(first))
      yield* settle(success(first))
      yield* runs.settle([success(first), success(first)])
      yield* expectFields("one is left", yield* stored(runId(3)), { state: "blocked", waitingFor: 1 })
      yield* expectSame("nothing to claim", yield* claim({ jobs: ["load"] }), [])
    }),
  },
  {
    name: "needs > a need that had succeeded before is not waited for",
    run: Effect.gen(function* () {
      yield* bringTo(1, "succeeded")
      const [answer] = yield* enqueue(needing(2, 1))
      yield* expectFields("answer", answer, { state: "ready" })
      yield* enqueue(newRun(3), needing(4, 1, 3))
      yield* expectFields("half", yield* stored(runId(4)), { state: "blocked", waitingFor: 1 })
    }),
  },
  ...(["dead", "cancelled", "skipped", "expired"] as const).map((state): Case => ({
    name: `needs > a run whose need had ended ${state} is stored and skipped at once, with the reason`,
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const need = yield* bringTo(1, state)
      const now = (yield* ContractClock).now()
      const given = newRun(2, { job: "load", needs: [need.id], key: "k" })
      const [answer] = yield* enqueue(given)
      yield* expectFields("answer", answer, { id: runId(2), result: "created", state: "skipped" })
      const run = yield* stored(runId(2))
      yield* expectFields("run", run, { state: "skipped", endedAt: now, attempt: 0 })
      const reason = run.reason ?? ""
      yield* expectSame(`reason: ${reason}`, [reason.includes(need.id), reason.includes(state)], [true, true])
      const skipped = (yield* runs.counts()).filter((row) => row.job === "load")
      yield* expectSame("counts", skipped, [{ job: "load", state: "skipped", count: 1 }])
      const [again] = yield* enqueue(given)
      yield* expectFields("repeated", again, { result: "exists", state: "skipped" })
      const [free] = yield* enqueue(newRun(3, { job: "load", key: "k" }))
      yield* expectFields("its key is free", free, { id: runId(3), result: "created" })
    }),
  })),
  {
    name: "needs > a need that is dead skips its dependents, with the reason",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1, { job: "extract" }), newRun(2), needing(3, 1, 2), needing(4, 2))
      const need = yield* claimOne({ jobs: ["extract"] })
      clock.advance(5)
      yield* settle(failing(need))
      const run = yield* stored(runId(3))
      yield* expectFields("skipped", run, { state: "skipped", endedAt: clock.now() })
      yield* expectSame("reason", run.reason, `"extract" (run ${need.id}) ended dead`)
      yield* settle(success(yield* claimOne()))
      yield* expectSame("afterwards", yield* statesOf(runId(3), runId(4)), ["skipped", "ready"])
    }),
  },
  {
    name: "needs > a need that is cancelled or expires skips its dependents",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(newRun(1), needing(2, 1), newRun(3, { startWithinMillis: 1 }), needing(4, 3))
      yield* runs.cancel([runId(1)], "Not wanted")
      yield* expectSame("cancelled", yield* statesOf(runId(2)), ["skipped"])
      clock.advance(1)
      yield* claim()
      yield* expectSame("expired", yield* statesOf(runId(4)), ["skipped"])
    }),
  },
  {
    name: "needs > a retry of the need releases nothing and skips nothing",
    run: Effect.gen(function* () {
      yield* enqueue(newRun(1), needing(2, 1))
      const need = yield* claimOne()
      yield* settle(failing(need, 0))
      yield* expectFields("retrying", yield* stored(runId(2)), { state: "blocked", waitingFor: 1 })
      const again = yield* claimOne()
      yield* settle({ id: again.id, token: again.token, kind: "released" })
      yield* expectFields("released", yield* stored(runId(2)), { state: "blocked", waitingFor: 1 })
      yield* settle(success(yield* claimOne()))
      yield* expectFields("succeeded", yield* stored(runId(2)), { state: "ready" })
    }),
  },
  {
    name: "needs > a dependent with a later due time waits for that too",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      yield* enqueue(newRun(1), newRun(2, { needs: [runId(1)], delayMillis: 1_000 }))
      yield* settle(success(yield* claimOne()))
      yield* expectFields("released", yield* stored(runId(2)), { state: "scheduled" })
      clock.advance(999)
      yield* expectSame("early", yield* claim(), [])
      clock.advance(1)
      yield* expectFields("due", yield* claimOne(), { id: runId(2) })
    }),
  },
  {
    name: "needs > a chain of 1,000 is skipped to its end when its head is cancelled",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const chain = Array.from({ length: 1_000 }, (_, n) => (n === 0 ? newRun(1) : needing(n + 1, n)))
      yield* runs.enqueue(chain)
      yield* runs.cancel([runId(1)], "Not wanted")
      const counts = yield* runs.counts()
      const load = counts.filter((row) => row.job === "load")
      yield* expectSame("counts", load, [{ job: "load", state: "skipped", count: 999 }])
      const last = yield* stored(runId(1_000))
      yield* expectSame("the nearest need is the reason", last.reason?.includes(runId(999)), true)
    }),
  },
  {
    name: "needs > a diamond is released once at its end, and skipped once when a side fails",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const [base, fails] of [
        [0, false],
        [10, true],
      ] as const) {
        yield* enqueue(
          newRun(base + 1),
          needing(base + 2, base + 1),
          needing(base + 3, base + 1),
          needing(base + 4, base + 2, base + 3),
        )
        yield* settle(success(yield* claimOne()))
        const sides = yield* claim({ jobs: ["load"] })
        yield* runs.settle(sides.map((run) => (fails ? failing(run) : success(run))))
        const end = yield* stored(runId(base + 4))
        yield* expectFields("end", end, { state: fails ? "skipped" : "ready", waitingFor: fails ? 2 : 0 })
        if (!fails) yield* settle(success(yield* claimOne({ jobs: ["load"] })))
      }
      const load = (yield* runs.counts()).filter((row) => row.job === "load")
      yield* expectSame("counts", new Map(load.map((row) => [row.state, row.count])).get("skipped"), 1)
    }),
  },
  {
    name: "needs > 500 dependents of one run are released with it",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* runs.enqueue([newRun(1), ...Array.from({ length: 500 }, (_, n) => needing(n + 2, 1))])
      yield* settle(success(yield* claimOne()))
      yield* expectSame("claimed", (yield* claim({ jobs: ["load"], limit: 1_000 })).length, 500)
    }),
  },
  {
    name: "needs > a dependent that was skipped stays skipped when its need is replayed and succeeds",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1), needing(2, 1))
      yield* settle(failing(yield* claimOne()))
      yield* runs.replay([runId(1)], [runId(3)])
      yield* settle(success(yield* claimOne()))
      yield* expectSame("states", yield* statesOf(runId(1), runId(2), runId(3)), [
        "dead",
        "skipped",
        "succeeded",
      ])
    }),
  },
]

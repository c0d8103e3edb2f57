// What further filters of lists promise, and what is told of queues.
import * as Effect from "effect/Effect"
import { runStates } from "../../domain/Run.ts"
import { RunStore } from "../../ports/Store.ts"
import type { RunFilter } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectLimit, expectSame } from "../Case.ts"
import { bringTo, claim, claimOne, enqueue, failing, newRun, newRuns, runId, settle } from "../Fixtures.ts"

const listed = Effect.fnUntraced(function* (filter: Partial<RunFilter>) {
  return (yield* (yield* RunStore).list({ limit: 200, ...filter })).map(({ id }) => id)
})

const ids = (...numbers: ReadonlyArray<number>): ReadonlyArray<string> => numbers.map(runId)

const depths = Effect.flatMap(RunStore, (runs) => runs.queueDepths())

/** Cases of filters by several jobs, queue and `after`, and of `queueDepths`. */
export const filterCases: ReadonlyArray<Case> = [
  {
    name: "list > by several jobs, a queue and from an id on, alone and together",
    run: Effect.gen(function* () {
      yield* enqueue(
        ...["a", "b", "c", "a", "b", "c", "a", "__proto__"].map((job, index) =>
          newRun(index + 1, {
            job,
            queue: index % 2 === 0 ? "even" : "odd",
            chainId: runId(index < 4 ? 1 : 5),
          }),
        ),
      )
      yield* claim({ queues: ["even"], jobs: ["a", "c"], limit: 2 })
      yield* expectSame("jobs", yield* listed({ jobs: ["a", "c"] }), ids(7, 6, 4, 3, 1))
      yield* expectSame("one of them twice", yield* listed({ jobs: ["c", "a", "c"] }), ids(7, 6, 4, 3, 1))
      yield* expectSame("odd names", yield* listed({ jobs: ["__proto__", "' OR 1=1 --"] }), ids(8))
      yield* expectSame("of none", yield* listed({ jobs: ["nobody", "toString"] }), [])
      yield* expectSame("of no job at all", yield* listed({ jobs: [] }), [])
      yield* expectSame("job and jobs", yield* listed({ job: "a", jobs: ["a", "b"] }), ids(7, 4, 1))
      yield* expectSame("job outside jobs", yield* listed({ job: "c", jobs: ["a", "b"] }), [])
      yield* expectSame("queue", yield* listed({ queue: "odd" }), ids(8, 6, 4, 2))
      yield* expectSame("after", yield* listed({ after: runId(6) }), ids(8, 7))
      yield* expectSame("between", yield* listed({ after: runId(3), before: runId(6) }), ids(5, 4))
      yield* expectSame("nothing between", yield* listed({ after: runId(6), before: runId(3) }), [])
      yield* expectSame("state", yield* listed({ jobs: ["a", "c"], state: "running" }), ids(3, 1))
      yield* expectSame("states and queue", yield* listed({ queue: "even", state: "ready" }), ids(7, 5))
      yield* expectSame("chain", yield* listed({ chainId: runId(1), jobs: ["b", "c"] }), ids(3, 2))
      const all = {
        jobs: ["a", "b"],
        queue: "odd",
        state: "ready",
        after: runId(1),
        before: runId(8),
      } as const
      yield* expectSame("all", yield* listed(all), ids(4, 2))
      yield* expectSame("limited", yield* listed({ ...all, limit: 1 }), ids(4))
      yield* expectSame("queue and jobs", yield* listed({ queue: "odd", jobs: ["a", "c"] }), ids(6, 4))
    }),
  },
  {
    name: "list > several jobs in every state, and those in one state",
    run: Effect.gen(function* () {
      for (const [n, state] of runStates.entries()) {
        yield* bringTo(2 * n + 1, state, { job: "a" })
        yield* bringTo(2 * n + 2, state, { job: "b" })
      }
      for (const [n, state] of runStates.entries()) {
        yield* expectSame(state, yield* listed({ state, jobs: ["a", "b"] }), ids(2 * n + 2, 2 * n + 1))
        yield* expectSame(`${state} of one`, yield* listed({ state, jobs: ["b", "c"] }), ids(2 * n + 2))
        yield* expectSame(
          `${state} in a queue`,
          yield* listed({ state, queue: `own-${2 * n + 1}` }),
          ids(2 * n + 1),
        )
      }
    }),
  },
  {
    name: "list > pages of many jobs neither repeat nor leave out a run",
    run: Effect.gen(function* () {
      const jobOf = (n: number): string => `job-${(n * 7) % 11}`
      yield* enqueue(...newRuns(150).map((run, index) => ({ ...run, job: jobOf(index + 1) })))
      const jobs = ["job-0", "job-3", "job-4", "job-9", "none"]
      const wanted = newRuns(150).flatMap(({ id }, index) => (jobs.includes(jobOf(index + 1)) ? [id] : []))
      const seen: Array<string> = []
      for (;;) {
        const before = seen.at(-1)
        const page = yield* listed({ jobs, limit: 7, ...(before === undefined ? {} : { before }) })
        if (page.length === 0) break
        seen.push(...page)
      }
      yield* expectSame("ids", seen, wanted.toReversed())
    }),
  },
  {
    name: "list, deadLetters > of 1,000 jobs at most",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      yield* enqueue(newRun(1, { job: "job-999" }), newRun(2, { job: "job-1000" }))
      const jobs = Array.from({ length: 1_001 }, (_, n) => `job-${n}`)
      yield* expectLimit("jobs", listed({ jobs }))
      yield* expectLimit("jobs", runs.deadLetters({ jobs, limit: 10 }))
      yield* expectSame("of 1,000", yield* listed({ jobs: jobs.slice(0, 1_000) }), ids(1))
      yield* expectSame("in a state", yield* listed({ jobs: jobs.slice(1), state: "ready" }), ids(2, 1))
    }),
  },
  {
    name: "deadLetters > of several jobs, in pages",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      for (const n of [1, 2, 3, 4, 5, 6]) yield* bringTo(n, "dead", { job: ["a", "b", "c"][n % 3] ?? "" })
      const page = Effect.fnUntraced(function* (filter: {
        job?: string
        jobs?: Array<string>
        before?: string
      }) {
        return (yield* runs.deadLetters({ limit: 2, ...filter })).map((row) => row.runId)
      })
      yield* expectSame("first", yield* page({ jobs: ["a", "c"] }), ids(6, 5))
      yield* expectSame("next", yield* page({ jobs: ["c", "a"], before: runId(5) }), ids(3, 2))
      yield* expectSame("of none", yield* page({ jobs: ["nobody"] }), [])
      yield* expectSame("of no job at all", yield* page({ jobs: [] }), [])
      yield* expectSame("job and jobs", yield* page({ job: "b", jobs: ["a", "b"] }), ids(4, 1))
      yield* expectSame("job outside jobs", yield* page({ job: "c", jobs: ["a", "b"] }), [])
      yield* runs.replay([runId(6)], [runId(50)])
      yield* expectSame("without the replayed", yield* page({ jobs: ["a", "b"] }), ids(4, 3))
    }),
  },
  {
    name: "queueDepths > by queue: what is ready and since when the first of it is due, and what runs",
    run: Effect.gen(function* () {
      const clock = yield* ContractClock
      const runs = yield* RunStore
      yield* expectSame("nothing", yield* depths, [])
      const now = clock.now()
      yield* enqueue(
        newRun(1, { queue: "b", dueAt: now - 50 }),
        newRun(2, { queue: "b", dueAt: now - 200 }),
        newRun(3, { queue: "a" }),
        newRun(4, { queue: "Z", delayMillis: 100 }),
        newRun(5, { queue: "c", needs: [runId(1)] }),
      )
      yield* expectSame("enqueued", yield* depths, [
        { queue: "a", ready: 1, oldestDueAt: now, running: 0 },
        { queue: "b", ready: 2, oldestDueAt: now - 200, running: 0 },
      ])
      const run = yield* claimOne({ queues: ["b"] })
      yield* claimOne({ queues: ["a"] })
      yield* expectSame("claimed", yield* depths, [
        { queue: "a", ready: 0, oldestDueAt: null, running: 1 },
        { queue: "b", ready: 1, oldestDueAt: now - 50, running: 1 },
      ])
      yield* settle(failing(run, 1_000))
      clock.advance(100)
      yield* runs.promote(10)
      yield* expectSame("settled and promoted", yield* depths, [
        { queue: "Z", ready: 1, oldestDueAt: now + 100, running: 0 },
        { queue: "a", ready: 0, oldestDueAt: null, running: 1 },
        { queue: "b", ready: 1, oldestDueAt: now - 50, running: 0 },
      ])
      yield* runs.cancel(ids(1, 3, 4), "Not wanted")
      yield* expectSame("nothing waits", yield* depths, [])
    }),
  },
]

// What `fire` promises of a batch: each step is whole or not at all by itself, and a refusal leaves nothing of any.
import * as Effect from "effect/Effect"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import type { RunCount } from "../../ports/StoreDriver.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
import { claim, claimOne, newRun, newRuns, runId, stored } from "../Fixtures.ts"
import { decision, everySecond, fireAt, newSchedule, put, rowOf } from "./fixtures.ts"

const name = (index: number): string => `s${String(index).padStart(3, "0")}`

const sorted = (counts: ReadonlyArray<RunCount>): ReadonlyArray<RunCount> =>
  counts.toSorted((a, b) => (a.state < b.state ? -1 : 1))

/** Saved schedules that are due now. */
const savedMany = Effect.fnUntraced(function* (count: number) {
  const now = (yield* ContractClock).now()
  const at = { cursor: now - 1, nextAt: now }
  yield* put(...Array.from({ length: count }, (_, index) => newSchedule(name(index), at)))
  return { now, rows: yield* (yield* ScheduleStore).dueSchedules(1_000) }
})

/** Cases of `fire` with many steps. */
export const batchCases: ReadonlyArray<Case> = [
  {
    name: "fire > many schedules in one call: each has its run, its row and its next instant",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      // Neither a whole number of any chunk that a store may write at once, nor less than one.
      const { now, rows } = yield* savedMany(260)
      yield* expectSame(
        "due in the order of their ids",
        rows.map(({ id }) => id),
        Array.from({ length: 260 }, (_, index) => name(index)),
      )
      const fires = rows.map((row, index) =>
        fireAt(row, now, newRun(index + 1, { scheduleId: row.id, nominalAt: now, input: String(index) }), {
          zoneData: "2026c",
        }),
      )
      const answers = yield* schedules.fire(fires)
      yield* expectSame("answers", [...new Set(answers), answers.length], ["fired", 260])
      yield* expectSame("counts", sorted(yield* runs.counts()), [
        { job: "report", state: "ready", count: 260 },
      ])
      yield* expectSame("still due", yield* schedules.dueSchedules(10), [])
      for (const index of [0, 24, 25, 99, 100, 259]) {
        const run = runId(index + 1)
        yield* expectFields(name(index), yield* rowOf(name(index)), {
          version: 2,
          cursor: now,
          nextAt: now + 1_000,
          lastRunId: run,
          runCount: 1,
          zoneData: "2026c",
        })
        yield* expectSame(
          `ledger of ${name(index)}`,
          yield* schedules.occurrences({ scheduleId: name(index), limit: 10 }),
          [
            {
              scheduleId: name(index),
              ...decision(now, run, null),
              decidedAt: now,
              trigger: JSON.stringify(everySecond),
              zoneData: "2026c",
            },
          ],
        )
        yield* expectFields(`run of ${name(index)}`, yield* stored(run), {
          state: "ready",
          input: String(index),
          scheduleId: name(index),
          nominalAt: now,
          attemptMax: newRun(1).attemptMax,
        })
      }
      yield* expectSame("claimed", (yield* claim({ limit: 1_000 })).length, 260)
    }),
  },
  {
    name: "fire > a conflict of one step holds up no other, whatever kind they are",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(40)
      const [first, second, third, fourth] = rows
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) return
      yield* schedules.fire([fireAt(fourth, now, newRun(100))])
      const steps = rows.map((row, index) => fireAt(row, now, newRun(index + 1)))
      // An old version; an instant twice; a chain; decided before, under the version that is there.
      steps[0] = fireAt({ id: first.id, version: 9 }, now, newRun(1))
      steps[1] = {
        ...fireAt(second, now, newRun(2)),
        occurrences: [1, 2].map(() => decision(now, null, "missed")),
      }
      steps[2] = fireAt(third, now, newRun(3), { runs: [newRun(200), newRun(3, { needs: [runId(200)] })] })
      steps[3] = fireAt(yield* rowOf(fourth.id), now, newRun(4))
      const answers = yield* schedules.fire(steps)
      yield* expectSame("answers", answers.slice(0, 5), [
        "conflict",
        "conflict",
        "fired",
        "conflict",
        "fired",
      ])
      yield* expectSame("the rest", [...new Set(answers.slice(4))], ["fired"])
      yield* expectFields("untouched", yield* rowOf(first.id), { version: 1, runCount: 0, lastRunId: null })
      yield* expectFields("untouched too", yield* rowOf(second.id), { version: 1, lastRunId: null })
      yield* expectFields("as it was", yield* rowOf(fourth.id), { version: 2, lastRunId: runId(100) })
      yield* expectFields("blocked", yield* stored(runId(3)), { state: "blocked" })
      yield* expectSame("no run of the others", yield* runs.get([1, 2, 4].map((id) => runId(id))), [])
      yield* expectSame("counts", sorted(yield* runs.counts()), [
        { job: "report", state: "blocked", count: 1 },
        { job: "report", state: "ready", count: 38 },
      ])
      yield* expectSame("repeated", [...new Set(yield* schedules.fire(steps))], ["conflict"])
    }),
  },
  {
    name: "fire > one step that is refused leaves nothing of the others",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(3)
      const [first, second, third] = rows
      if (first === undefined || second === undefined || third === undefined) return
      const steps = [
        fireAt(first, now, newRun(1)),
        fireAt(second, now, newRun(2, { needs: [runId(99)] })),
        fireAt(third, now, newRun(3)),
      ]
      yield* expectRefused("unknown need", schedules.fire(steps))
      yield* expectSame("due", yield* schedules.dueSchedules(10), rows)
      yield* expectSame("ledger", yield* schedules.occurrences({ limit: 10 }), [])
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
    }),
  },
  {
    name: "fire > a refusal takes back all steps of a schedule that the call had done",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(1)
      const [row] = rows
      if (row === undefined) return
      const steps = [0, 1, 2].map((n) =>
        fireAt(
          { id: row.id, version: row.version + n },
          now + n,
          newRun(n + 1, n === 2 ? { needs: [runId(99)] } : {}),
        ),
      )
      yield* expectRefused("unknown need", schedules.fire(steps))
      yield* expectSame("due", yield* schedules.dueSchedules(10), rows)
      yield* expectSame("ledger", yield* schedules.occurrences({ limit: 10 }), [])
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
      yield* expectSame("counts", yield* runs.counts(), [])
    }),
  },
  {
    name: "fire > the runs of a step that is a conflict are nothing to the others",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(3)
      const [first, second, third] = rows
      if (first === undefined || second === undefined || third === undefined) return
      const late = { id: first.id, version: first.version - 1 }
      const needing = (need: number) => fireAt(third, now, newRun(3, { needs: [runId(need)] }))
      const steps = [fireAt(late, now, newRun(1)), fireAt(second, now, newRun(2)), needing(1)]
      yield* expectRefused("a need that is not stored", schedules.fire(steps))
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
      yield* expectSame("due", yield* schedules.dueSchedules(10), rows)
      const unknown = fireAt(late, now, newRun(1, { needs: [runId(99)] }))
      const answers = yield* schedules.fire([unknown, fireAt(second, now, newRun(2)), needing(2)])
      yield* expectSame("not looked at", answers, ["conflict", "fired", "fired"])
    }),
  },
  {
    name: "fire > two steps of one schedule: the second goes on where the first left it, or is a conflict",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(1)
      const [row] = rows
      if (row === undefined) return
      const next = { id: row.id, version: row.version + 1 }
      const steps = [
        fireAt(row, now, newRun(1)),
        fireAt(next, now + 1, newRun(2)),
        fireAt(next, now + 2, newRun(3)),
      ]
      yield* expectSame("answers", yield* schedules.fire(steps), ["fired", "fired", "conflict"])
      yield* expectFields("schedule", yield* rowOf(row.id), { version: 3, lastRunId: runId(2), runCount: 2 })
    }),
  },
  {
    name: "fire > in a large batch too the first of two steps of one schedule counts, whatever kind they are",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(20)
      const [row] = rows
      if (row === undefined) return
      const steps = [
        fireAt(row, now, newRun(1, { key: "k" })),
        fireAt(row, now + 1, newRun(2)),
        ...rows.slice(1).map((each, index) => fireAt(each, now, newRun(index + 3))),
      ]
      const answers = yield* schedules.fire(steps)
      yield* expectSame("answers", answers, ["fired", "conflict", ...Array(19).fill("fired")])
      yield* expectFields("schedule", yield* rowOf(row.id), { version: 2, lastRunId: runId(1) })
    }),
  },
  {
    name: "fire > a run of the batch whose id or key is there is not stored again",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(30)
      yield* runs.enqueue([newRun(1, { input: "kept" }), newRun(50, { key: "k" })])
      yield* claimOne()
      const steps = rows.map((row, index) =>
        fireAt(row, now, newRun(index + 1, index === 1 ? { key: "k" } : {})),
      )
      yield* expectSame("answers", [...new Set(yield* schedules.fire(steps))], ["fired"])
      yield* expectFields("kept", yield* stored(runId(1)), { input: "kept", state: "running" })
      yield* expectSame("by its key", yield* runs.get([runId(2)]), [])
      yield* expectSame("counts", sorted(yield* runs.counts()), [
        { job: "report", state: "ready", count: 29 },
        { job: "report", state: "running", count: 1 },
      ])
    }),
  },
  {
    name: "fire > 1,001 steps, or rows of all steps together, are refused and nothing is done",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const { now, rows } = yield* savedMany(2)
      const step = fireAt(rows[0] ?? { id: "", version: 0 }, now)
      const half = (from: number) =>
        Array.from({ length: 501 }, (_, index) => decision(from + index, null, "missed"))
      yield* expectLimit("fires", schedules.fire(Array.from({ length: 1_001 }, () => step)))
      yield* expectLimit(
        "occurrences",
        schedules.fire([0, 1_000].map((from) => ({ ...step, occurrences: half(from) }))),
      )
      yield* expectLimit("runs", schedules.fire([1, 2].map(() => ({ ...step, runs: newRuns(501) }))))
      yield* expectSame("due", yield* schedules.dueSchedules(10), rows)
      yield* expectSame("none", yield* schedules.fire([]), [])
    }),
  },
]

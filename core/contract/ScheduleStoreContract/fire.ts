// What `fire` promises: one occurrence per schedule and instant, from any number of nodes, whole or not at all.
import * as Effect from "effect/Effect"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
import { claim, enqueue, newRun, newRuns, runId, stored } from "../Fixtures.ts"
import { decision, everySecond, fireAt, fireOne, newSchedule, put, rowOf } from "./fixtures.ts"

const saved = Effect.gen(function* () {
  const now = (yield* ContractClock).now()
  yield* put(newSchedule("s", { cursor: now - 1_000, nextAt: now }))
  return yield* rowOf("s")
})

/** Cases of `fire` and `occurrences`. */
export const fireCases: ReadonlyArray<Case> = [
  {
    name: "fire > stores the runs and the ledger and moves the schedule, in one step",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const row = yield* saved
      const at = clock.now()
      clock.advance(20)
      const run = newRun(1, { scheduleId: "s", nominalAt: at, dueAt: at, input: "1" })
      yield* expectSame("answer", yield* fireOne(fireAt(row, at, run)), "fired")
      yield* expectSame("schedule", yield* rowOf("s"), {
        ...row,
        version: row.version + 1,
        cursor: at,
        nextAt: at + 1_000,
        lastRunId: run.id,
        runCount: row.runCount + 1,
      })
      yield* expectSame("ledger", yield* schedules.occurrences({ scheduleId: "s", limit: 10 }), [
        {
          scheduleId: "s",
          at,
          lastAt: at,
          count: 1,
          runId: run.id,
          reason: null,
          decidedAt: clock.now(),
          nominalAt: null,
          trigger: JSON.stringify(everySecond),
          zoneData: null,
        },
      ])
      yield* expectFields("run", yield* stored(run.id), {
        state: "ready",
        scheduleId: "s",
        nominalAt: at,
        dueAt: at,
        input: "1",
        createdAt: clock.now(),
      })
      yield* expectSame(
        "claimed",
        (yield* claim()).map((taken) => taken.id),
        [run.id],
      )
    }),
  },
  {
    name: "fire > of two planners that read the same version, one fires",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const row = yield* saved
      const at = (yield* ContractClock).now()
      const first = yield* fireOne(fireAt(row, at, newRun(1)))
      const after = yield* rowOf("s")
      const second = yield* fireOne(fireAt(row, at, newRun(2)))
      const third = yield* fireOne(fireAt(row, at + 1_000, newRun(3)))
      yield* expectSame("answers", [first, second, third], ["fired", "conflict", "conflict"])
      yield* expectSame("schedule", yield* rowOf("s"), after)
      yield* expectSame(
        "runs",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [runId(1)],
      )
      yield* expectSame("ledger", (yield* schedules.occurrences({ limit: 10 })).length, 1)
    }),
  },
  {
    name: "fire > repeated after an unknown outcome, it changes nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const row = yield* saved
      const step = fireAt(row, (yield* ContractClock).now(), newRun(1))
      yield* fireOne(step)
      const look = Effect.all([rowOf("s"), schedules.occurrences({ limit: 10 }), runs.counts()])
      const before = yield* look
      yield* expectSame("answer", yield* fireOne(step), "conflict")
      yield* expectSame("rows", yield* look, before)
    }),
  },
  {
    name: "fire > an instant that is decided is never decided again, also under a newer version",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const at = (yield* ContractClock).now()
      yield* fireOne(fireAt(yield* saved, at, newRun(1)))
      const before = yield* rowOf("s")
      const other = decision(at + 500, null, "missed")
      const again = fireAt(before, at, newRun(2))
      const step = { ...again, occurrences: [other, ...again.occurrences] }
      yield* expectSame("answer", yield* fireOne(step), "conflict")
      yield* expectSame("schedule", yield* rowOf("s"), before)
      yield* expectSame("runs", yield* runs.counts(), [{ job: "report", state: "ready", count: 1 }])
      yield* expectSame(
        "ledger",
        (yield* schedules.occurrences({ limit: 10 })).map((row) => row.runId),
        [runId(1)],
      )
    }),
  },
  {
    name: "fire > the same instant twice in one step is a conflict",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const row = yield* saved
      const step = fireAt(row, (yield* ContractClock).now(), newRun(1))
      const twice = { ...step, occurrences: [...step.occurrences, ...step.occurrences] }
      yield* expectSame("answer", yield* fireOne(twice), "conflict")
      yield* expectSame("schedule", yield* rowOf("s"), row)
      yield* expectSame("ledger", yield* schedules.occurrences({ limit: 10 }), [])
      yield* expectSame("runs", yield* claim(), [])
    }),
  },
  {
    name: "fire > two schedules may decide the same instant",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      yield* put(
        newSchedule("a", { cursor: now, nextAt: now }),
        newSchedule("b", { cursor: now, nextAt: now }),
      )
      const answers = [
        yield* fireOne(fireAt(yield* rowOf("a"), now, newRun(1))),
        yield* fireOne(fireAt(yield* rowOf("b"), now, newRun(2))),
      ]
      yield* expectSame("answers", answers, ["fired", "fired"])
      yield* expectSame(
        "ledger",
        (yield* schedules.occurrences({ limit: 10 })).map((row) => row.at),
        [now, now],
      )
    }),
  },
  {
    name: "fire > a schedule that is not there is a conflict",
    run: Effect.gen(function* () {
      const step = fireAt({ id: "nobody", version: 1 }, 0, newRun(1))
      yield* expectSame("answer", yield* fireOne(step), "conflict")
      yield* expectSame("claim", yield* claim(), [])
    }),
  },
  {
    name: "fire > many instants in one step: runs, one row for a range with a reason, and the last run",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const row = yield* saved
      const at = (yield* ContractClock).now()
      const occurrences = [
        { ...decision(at - 9_000, null, "missed"), lastAt: at - 2_000, count: 8 },
        { ...decision(at - 1_000, runId(1), null), nominalAt: at - 1_500 },
        decision(at, null, "overlap"),
      ]
      yield* fireOne({ ...fireAt(row, at, newRun(1)), occurrences, zoneData: "2026c" })
      const trigger = JSON.stringify(everySecond)
      const kept = { scheduleId: "s", decidedAt: at, trigger, zoneData: "2026c" }
      yield* expectFields("schedule", yield* rowOf("s"), { zoneData: "2026c" })
      yield* expectSame(
        "ledger",
        yield* schedules.occurrences({ scheduleId: "s", limit: 10 }),
        occurrences.map((occurrence) => ({ ...occurrence, ...kept })).toReversed(),
      )
    }),
  },
  {
    name: "fire > runs that need each other are stored as by enqueue",
    run: Effect.gen(function* () {
      const row = yield* saved
      const at = (yield* ContractClock).now()
      const chain = [newRun(1, { chainId: runId(2) }), newRun(2, { chainId: runId(2), needs: [runId(1)] })]
      yield* fireOne(fireAt(row, at, newRun(2), { runs: chain }))
      yield* expectFields("need", yield* stored(runId(1)), { state: "ready" })
      yield* expectFields("asked for", yield* stored(runId(2)), { state: "blocked", waitingFor: 1 })
    }),
  },
  {
    name: "fire > a run that cannot be stored undoes the whole step",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const row = yield* saved
      const bad = [newRun(1), newRun(2, { needs: [runId(99)] })]
      const step = fireAt(row, (yield* ContractClock).now(), newRun(1), { runs: bad })
      yield* expectRefused("unknown need", fireOne(step))
      yield* expectSame("schedule", yield* rowOf("s"), row)
      yield* expectSame("ledger", yield* schedules.occurrences({ limit: 10 }), [])
      yield* expectSame("runs", yield* runs.list({ limit: 10 }), [])
    }),
  },
  {
    name: "fire > a step without a run keeps the last run",
    run: Effect.gen(function* () {
      const at = (yield* ContractClock).now()
      yield* fireOne(fireAt(yield* saved, at, newRun(1)))
      yield* fireOne(fireAt(yield* rowOf("s"), at + 1_000))
      yield* expectFields("schedule", yield* rowOf("s"), { lastRunId: runId(1), cursor: at + 1_000 })
    }),
  },
  {
    name: "fire > a run that is there already is not stored again",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const row = yield* saved
      yield* enqueue(newRun(1))
      yield* claim()
      yield* expectSame("answer", yield* fireOne(fireAt(row, 5, newRun(1))), "fired")
      yield* expectSame("counts", yield* runs.counts(), [{ job: "report", state: "running", count: 1 }])
    }),
  },
  {
    name: "fire > 1,001 runs or occurrences are refused and nothing is decided",
    run: Effect.gen(function* () {
      const row = yield* saved
      const step = fireAt(row, 0)
      const many = Array.from({ length: 1_001 }, (_, at) => decision(at, null, "missed"))
      yield* expectLimit("runs", fireOne({ ...step, runs: newRuns(1_001) }))
      yield* expectLimit("occurrences", fireOne({ ...step, occurrences: many }))
      yield* expectSame("schedule", yield* rowOf("s"), row)
    }),
  },
  {
    name: "occurrences > newest first, in pages of 1 to 200, of one schedule or of all",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      for (const id of ["a", "b"]) {
        yield* put(newSchedule(id, { cursor: 0, nextAt: 0 }))
        const offset = id === "a" ? 0 : 5
        const occurrences = [30, 10, 20].map((ten) => decision(ten + offset, null, "missed"))
        yield* fireOne({ ...fireAt(yield* rowOf(id), 35), occurrences })
      }
      const at = Effect.fnUntraced(function* (filter: {
        scheduleId?: string
        before?: number
        limit: number
      }) {
        return (yield* schedules.occurrences(filter)).map((row) => row.at)
      })
      yield* expectSame("one", yield* at({ scheduleId: "a", limit: 2 }), [30, 20])
      yield* expectSame("its next page", yield* at({ scheduleId: "a", before: 20, limit: 2 }), [10])
      yield* expectSame("all", yield* at({ limit: 4 }), [35, 30, 25, 20])
      yield* expectSame("their next page", yield* at({ before: 20, limit: 4 }), [15, 10])
      yield* expectSame("none", yield* at({ scheduleId: "__proto__", limit: 4 }), [])
      for (const limit of [0, 201, 1.5]) yield* expectLimit("limit", at({ limit }))
    }),
  },
]

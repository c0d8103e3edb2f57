// What `backfill` promises, and the calendars that a store keeps.
import * as Effect from "effect/Effect"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectLimit, expectRefused, expectSame } from "../Case.ts"
import { newRun, newRuns, runId, stored, statesOf } from "../Fixtures.ts"
import { decision, fireAt, fireOne, newSchedule, put, rowOf } from "./fixtures.ts"

/** A schedule with a run at `start`, a missed instant 1 s before, and ten that share a row before that. */
const withLedger = Effect.gen(function* () {
  const start = (yield* ContractClock).now()
  yield* put(newSchedule("s", { cursor: start - 20_000, nextAt: start }))
  const occurrences = [
    { ...decision(start - 11_000, null, "missed"), lastAt: start - 2_000, count: 10 },
    decision(start - 1_000, null, "missed"),
    decision(start, runId(1), null),
  ]
  yield* fireOne({ ...fireAt(yield* rowOf("s"), start, newRun(1)), occurrences })
  return start
})

/** Cases of `backfill`, and of calendars. */
export const backfillCases: ReadonlyArray<Case> = [
  {
    name: "backfill > an instant with a reason, or none, gets a run; one that has a run keeps it",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = yield* withLedger
      const before = yield* rowOf("s")
      clock.advance(60_000)
      const fill = (at: number, id: number) => ({
        scheduleId: "s",
        at,
        runs: [newRun(id, { scheduleId: "s", nominalAt: at })],
      })
      const fills = [fill(start - 1_000, 2), fill(start, 3), fill(start - 50_000, 4)]
      const answers = [
        { at: start - 1_000, runId: runId(2), result: "created" },
        { at: start, runId: runId(1), result: "exists" },
        { at: start - 50_000, runId: runId(4), result: "created" },
      ]
      yield* expectSame("answers", yield* schedules.backfill(fills), answers)
      yield* expectSame("where it stands", yield* rowOf("s"), before)
      const ledger = yield* schedules.occurrences({ scheduleId: "s", limit: 10 })
      yield* expectSame(
        "ledger",
        ledger.map(({ at, runId: run, reason, count }) => [at, run, reason, count]),
        [
          [start, runId(1), null, 1],
          [start - 1_000, runId(2), null, 1],
          [start - 11_000, null, "missed", 10],
          [start - 50_000, runId(4), null, 1],
        ],
      )
      yield* expectFields("decided now", ledger[1], { decidedAt: clock.now() })
      yield* expectFields("its run", yield* stored(runId(2)), { state: "ready", nominalAt: start - 1_000 })
      const again = [fill(start - 1_000, 5), fill(start - 50_000, 6)]
      yield* expectSame(
        "repeated",
        (yield* schedules.backfill(again)).map(({ runId: run, result }) => [run, result]),
        [
          [runId(2), "exists"],
          [runId(4), "exists"],
        ],
      )
    }),
  },
  {
    name: "backfill > an instant that shares a row is counted out of it",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const start = yield* withLedger
      const fills = [start - 11_000, start - 5_000].map((at, index) => ({
        scheduleId: "s",
        at,
        runs: [newRun(index + 2, { nominalAt: at })],
      }))
      yield* schedules.backfill(fills)
      const ledger = yield* schedules.occurrences({ scheduleId: "s", limit: 10 })
      yield* expectSame(
        "ledger",
        ledger.map(({ at, runId: run, count }) => [at - start, run, count]),
        [
          [0, runId(1), 1],
          [-1_000, null, 1],
          [-5_000, runId(3), 1],
          [-10_999, null, 8],
          [-11_000, runId(2), 1],
        ],
      )
    }),
  },
  {
    name: "backfill > an instant that stands for others, which were held until then, gets one run for all of them",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const start = yield* withLedger
      const [row] = yield* schedules.schedules()
      const at = start + 1000
      const held = { at, lastAt: at, count: 5, runId: null, reason: "overlap" as const, nominalAt: at - 10 }
      const step = { scheduleId: "s", version: row?.version ?? 0, cursor: at, nextAt: null, waitsUntil: null }
      const nothing = { cancelRunId: null, runs: [], lastRunId: null, zoneData: null }
      yield* expectSame("fire", yield* schedules.fire([{ ...step, ...nothing, occurrences: [held] }]), [
        "fired",
      ])
      yield* schedules.backfill([{ scheduleId: "s", at, runs: [newRun(2, { nominalAt: at - 10 })] }])
      const ledger = yield* schedules.occurrences({ scheduleId: "s", limit: 2 })
      yield* expectSame(
        "ledger",
        ledger.map(({ at: each, lastAt, runId: run, reason, count, nominalAt }) => [
          each - start,
          lastAt - start,
          run,
          reason,
          count,
          nominalAt,
        ]),
        [
          [1000, 1000, runId(2), null, 5, at - 10],
          [0, 0, runId(1), null, 1, null],
        ],
      )
    }),
  },
  {
    name: "backfill > every instant of a shared row is counted out of it, and the last one is filled in its place",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const start = yield* withLedger
      const fill = (index: number) => ({
        scheduleId: "s",
        at: start - index * 1_000,
        runs: [newRun(index + 20)],
      })
      const shared = Effect.gen(function* () {
        const rows = yield* schedules.occurrences({ scheduleId: "s", limit: 50 })
        const row = rows.find((each) => each.reason === "missed" && each.at < start - 1_000)
        return [row?.at, row?.lastAt, row?.count]
      })
      for (const index of [7, 5, 6, 2]) yield* schedules.backfill([fill(index)])
      yield* expectSame("four", yield* shared, [start - 11_000, start - 2_000, 6])
      yield* schedules.backfill([3, 4, 8, 9, 10].map(fill))
      yield* expectSame("nine", yield* shared, [start - 11_000, start - 2_000, 1])
      yield* schedules.backfill([fill(11)])
      yield* expectSame("ten", yield* shared, [undefined, undefined, undefined])
      const own = (yield* schedules.occurrences({ scheduleId: "s", before: start - 10_000, limit: 50 }))[0]
      yield* expectFields("the last", own, { at: start - 11_000, lastAt: start - 11_000, runId: runId(31) })
    }),
  },
  {
    name: "backfill > needs are stored with their run; a schedule that is not there gets none; a refusal leaves nothing",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const start = yield* withLedger
      const chain = [newRun(10), newRun(11, { needs: [runId(10)] })]
      const bad = { scheduleId: "s", at: start - 3_000, runs: [newRun(12, { needs: [runId(99)] })] }
      const good = { scheduleId: "s", at: start - 1_000, runs: chain }
      const nobody = { scheduleId: "nobody", at: 5, runs: [newRun(13)] }
      yield* expectRefused("unknown need", schedules.backfill([good, bad]))
      yield* expectSame("no run", yield* runs.get([runId(10)]), [])
      yield* expectSame("answers", yield* schedules.backfill([good, nobody]), [
        { at: start - 1_000, runId: runId(11), result: "created" },
        { at: 5, runId: null, result: "unknown" },
      ])
      yield* expectFields("blocked", yield* stored(runId(11)), { state: "blocked" })
      yield* expectSame("nobody's run", yield* runs.get([runId(13)]), [])
      yield* expectLimit("runs", schedules.backfill([{ ...good, runs: newRuns(1_001) }]))
      yield* expectLimit(
        "fills",
        schedules.backfill(Array.from({ length: 1_001 }, () => ({ ...nobody, runs: [] }))),
      )
    }),
  },
  {
    name: "backfill > the runs of a fill that does nothing are nothing to the others",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const start = yield* withLedger
      const fill = (at: number, id: number, needs: ReadonlyArray<string> = [], scheduleId = "s") => ({
        scheduleId,
        at,
        runs: [newRun(id, { needs })],
      })
      const there = fill(start, 10, [runId(99)])
      const nobody = fill(start, 11, [runId(99)], "nobody")
      const good = fill(start - 1_000, 12)
      for (const need of [10, 11]) {
        const fills = [
          fill(start, 10),
          fill(start, 11, [], "nobody"),
          good,
          fill(start - 30_000, 13, [runId(need)]),
        ]
        yield* expectRefused(`needs ${need}`, schedules.backfill(fills))
      }
      yield* expectSame("runs", yield* statesOf(...[10, 11, 12, 13].map(runId)), [])
      const again = { ...good, runs: [newRun(14, { needs: [runId(99)] })] }
      const answers = yield* schedules.backfill([there, nobody, good, again])
      yield* expectSame(
        "answers",
        answers.map(({ result }) => result),
        ["exists", "unknown", "created", "exists"],
      )
      yield* expectSame("stored", (yield* runs.list({ limit: 10 })).length, 2)
    }),
  },
  {
    name: "calendars > kept by name, replaced and deleted",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const row = (name: string, definition: string) => ({ name, definition, fromConfig: true })
      yield* expectSame("none", yield* schedules.calendars(), [])
      yield* schedules.putCalendars([row("b", "{}"), row("a", '"x"'), row("__proto__", "1")])
      yield* schedules.putCalendars([{ ...row("b", "[]"), fromConfig: false }])
      yield* expectSame("by name", yield* schedules.calendars(), [
        row("__proto__", "1"),
        row("a", '"x"'),
        { ...row("b", "[]"), fromConfig: false },
      ])
      yield* schedules.deleteCalendars(["a", "nobody"])
      yield* expectSame(
        "deleted",
        (yield* schedules.calendars()).map(({ name }) => name),
        ["__proto__", "b"],
      )
    }),
  },
]

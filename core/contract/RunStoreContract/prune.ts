// What `prune` promises: old ended runs go, and nothing that anybody still needs.
import * as Effect from "effect/Effect"
import { finalStates } from "../../domain/Run.ts"
import { RunStore, ScheduleStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import {
  bringTo,
  claimOne,
  enqueue,
  failing,
  newRun,
  newRuns,
  runId,
  settle,
  statesOf,
  stored,
} from "../Fixtures.ts"
import {
  decision,
  everySecond,
  fireAt,
  fireOne,
  newSchedule,
  put,
  rowOf,
} from "../ScheduleStoreContract/fixtures.ts"

/** Cases of `prune`. */
export const pruneCases: ReadonlyArray<Case> = [
  {
    name: "prune > deletes what ended before the instant, its attempts and its place in the counts",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* bringTo(1, "succeeded", { job: "old" })
      yield* enqueue(newRun(2, { job: "old" }))
      const failed = yield* claimOne({ jobs: ["old"] })
      yield* settle(failing(failed, 60_000))
      yield* runs.cancel([failed.id], "Not wanted")
      clock.advance(1)
      yield* bringTo(3, "succeeded", { job: "young" })
      yield* expectSame("deleted", yield* runs.prune(clock.now(), 100), 2)
      yield* expectSame(
        "runs",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [runId(3)],
      )
      yield* expectSame("attempts", yield* runs.attempts(runId(2)), [])
      yield* expectSame("counts", yield* runs.counts(), [{ job: "young", state: "succeeded", count: 1 }])
      yield* expectSame("repeated", yield* runs.prune(clock.now(), 100), 0)
    }),
  },
  {
    name: "prune > every final state goes, nothing that lives",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      for (const [n, state] of finalStates.entries()) yield* bringTo(n + 1, state)
      for (const [n, state] of (["scheduled", "ready", "running", "retrying"] as const).entries()) {
        yield* bringTo(n + 11, state)
      }
      yield* runs.drop([runId(2)])
      clock.advance(1_000)
      yield* runs.prune(clock.now(), 1_000)
      const left = (yield* runs.list({ job: "report", limit: 200 })).map((run) => run.id)
      yield* expectSame("left", left, [14, 13, 12, 11].map(runId))
    }),
  },
  {
    name: "prune > a dead run stays while it has a letter, not once it is dropped or replayed",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      for (const n of [1, 2, 3]) yield* bringTo(n, "dead")
      yield* runs.drop([runId(1)])
      yield* runs.replay([runId(2)], [runId(4)])
      clock.advance(1)
      yield* expectSame("deleted", yield* runs.prune(clock.now(), 100), 2)
      yield* expectSame(
        "left",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [4, 3].map(runId),
      )
      yield* expectSame(
        "letters",
        (yield* runs.deadLetters({ limit: 10 })).map((row) => row.runId),
        [runId(3)],
      )
      yield* expectSame("attempts", (yield* runs.attempts(runId(3))).length, 1)
    }),
  },
  {
    name: "prune > with a run that was replayed its letter goes, too",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* bringTo(1, "dead")
      yield* runs.replay([runId(1)], [runId(2)])
      clock.advance(1)
      yield* expectSame("deleted", yield* runs.prune(clock.now(), 100), 1)
      const again = yield* runs.replay([runId(1)], [runId(3)])
      yield* expectSame("replay", again, [{ runId: runId(1), newRunId: null, result: "unknown" }])
    }),
  },
  {
    name: "prune > a run stays while a run that has not ended needs it",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* bringTo(1, "succeeded")
      yield* enqueue(newRun(2), newRun(3, { job: "load", needs: [runId(1), runId(2)] }))
      clock.advance(1)
      yield* expectSame("held", yield* runs.prune(clock.now(), 100), 0)
      yield* runs.cancel([runId(3)], "Not wanted")
      clock.advance(1)
      yield* expectSame("free", yield* runs.prune(clock.now(), 100), 2)
      yield* expectSame("left", yield* statesOf(runId(1), runId(2), runId(3)), ["ready"])
    }),
  },
  {
    name: "prune > at most the limit, the oldest first",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      yield* enqueue(...newRuns(5))
      for (const n of [1, 2, 3, 4, 5]) {
        yield* runs.cancel([runId(n)], "Not wanted")
        clock.advance(1)
      }
      yield* expectSame("first", yield* runs.prune(clock.now(), 2), 2)
      yield* expectSame(
        "left",
        (yield* runs.list({ limit: 10 })).map((run) => run.id),
        [5, 4, 3].map(runId),
      )
      yield* expectSame(
        "rest",
        [yield* runs.prune(clock.now(), 2), yield* runs.prune(clock.now(), 2)],
        [2, 1],
      )
    }),
  },
  {
    name: "prune > a schedule's last run stays, and ledger rows decided before the instant go",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* schedules.putSchedules([
        {
          id: "s",
          job: "report",
          trigger: { kind: "every", periodMillis: 1_000, startAt: null },
          input: null,
          overlap: "allow",
          fromConfig: true,
          cursor: start,
          nextAt: start,
          zoneData: null,
          createdAt: start,
        },
      ])
      for (const n of [1, 2]) {
        const [row] = yield* schedules.schedules()
        const at = start + n
        yield* fireOne({
          scheduleId: "s",
          version: row?.version ?? -1,
          cursor: at,
          nextAt: at + 1,
          waitsUntil: null,
          cancelRunId: null,
          occurrences: [decision(at, runId(n), null)],
          runs: [newRun(n, { scheduleId: "s", nominalAt: at })],
          lastRunId: runId(n),
          zoneData: null,
        })
        clock.advance(10)
      }
      yield* runs.cancel([1, 2].map(runId), "Not wanted")
      clock.advance(10)
      yield* expectSame("deleted", yield* runs.prune(clock.now(), 100), 1)
      yield* expectFields("last run", yield* stored(runId(2)), { state: "cancelled" })
      const ledger = (yield* schedules.occurrences({ limit: 10 })).map((row) => row.runId)
      yield* expectSame("ledger: the row of a run that is there stays", ledger, [runId(2)])
    }),
  },
  {
    name: "prune > a ledger row that stays keeps its trigger, although the schedule has another one now",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* put(newSchedule("s", { cursor: start - 1, nextAt: start }))
      yield* fireOne(fireAt(yield* rowOf("s"), start, newRun(1, { scheduleId: "s" })))
      const trigger = { kind: "every", periodMillis: 5_000, startAt: null } as const
      yield* put(newSchedule("s", { cursor: start, nextAt: null }, { trigger }))
      clock.advance(60_000)
      yield* runs.prune(clock.now(), 100)
      const texts = (yield* schedules.occurrences({ limit: 10 })).map((row) => row.trigger)
      yield* expectSame("triggers", texts, [JSON.stringify(everySecond)])
    }),
  },
  {
    name: "prune > ledger rows decided at the instant or later stay",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const start = clock.now()
      yield* schedules.putSchedules([
        {
          id: "s",
          job: "report",
          trigger: { kind: "at", at: start },
          input: null,
          overlap: "allow",
          fromConfig: true,
          cursor: start,
          nextAt: start,
          zoneData: null,
          createdAt: start,
        },
      ])
      const [row] = yield* schedules.schedules()
      yield* fireOne({
        scheduleId: "s",
        version: row?.version ?? -1,
        cursor: start,
        nextAt: null,
        waitsUntil: null,
        cancelRunId: null,
        occurrences: [decision(start - 5_000, null, "missed"), decision(start + 10, null, "paused")],
        runs: [],
        lastRunId: null,
        zoneData: null,
      })
      yield* runs.prune(start, 100)
      yield* expectSame("ledger", (yield* schedules.occurrences({ limit: 10 })).length, 2)
      yield* runs.prune(start + 10, 100)
      const instants = (yield* schedules.occurrences({ limit: 10 })).map(({ at }) => at)
      yield* expectSame("an instant after it", instants, [start + 10])
    }),
  },
]

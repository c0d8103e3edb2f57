// What a store promises of the values that it keeps, whatever its database makes of texts and numbers by itself: names
// that are nearly alike are different ones, nothing is cut, and a far instant is that instant.
import * as Effect from "effect/Effect"
import type { ErrorInfo } from "../domain/Run.ts"
import type { Trigger } from "../domain/Schedule.ts"
import { NodeStore, RunStore, ScheduleStore } from "../ports/Store.ts"
import type { Enqueued } from "../ports/StoreDriver.ts"
import { type Case, ContractClock, expectFields, expectSame } from "./Case.ts"
import { claim, claimOne, enqueue, join, newRun, runId, settle, severalNodes, stored } from "./Fixtures.ts"
import { beginFlow, expanding, flowOf, step, viewOf } from "./FlowStoreContract/fixtures.ts"
import { fireAt, newSchedule, put, rowOf } from "./ScheduleStoreContract/fixtures.ts"

// They differ in case, in blanks at an end, in an accent or how it is written, in a symbol beyond 16 bits.
const alike = ["name", "NAME", "name ", " name", "n\u00e4me", "na\u0308me", "name\u{1f550}", "name\u{1f551}"]

// The two differ in their last character only; each takes three bytes of UTF-8.
const longest = (length: number): ReadonlyArray<string> =>
  ["\u6642", "\u523b"].map((last) => "\u6642".repeat(length - 1) + last)

// The longest that an engine asks a store for.
const names = [...alike, ...longest(128)]
const keys = [...alike, ...longest(512)]

const ids = (answers: ReadonlyArray<Pick<Enqueued, "id">>): ReadonlyArray<string> =>
  answers.map(({ id }) => id)

const numbered = (list: ReadonlyArray<unknown>, from: number): ReadonlyArray<string> =>
  list.map((_, index) => runId(from + index))

/** The same runs under each name; each is found by its own. */
const jobsAndQueues = Effect.gen(function* () {
  const runs = yield* RunStore
  const ofJobs = yield* enqueue(...names.map((job, n) => newRun(n + 1, { job, key: "k" })))
  yield* expectSame("jobs", ids(ofJobs), numbered(names, 1))
  yield* enqueue(...names.map((queue, n) => newRun(n + 101, { queue, job: "other" })))
  for (const [n, name] of names.entries()) {
    yield* expectSame(`list of "${name}"`, ids(yield* runs.list({ job: name, limit: 200 })), [runId(n + 1)])
    const ofJob = yield* claim({ jobs: [name] })
    yield* expectFields(`of job "${name}"`, ofJob[0], { id: runId(n + 1), job: name })
    const ofQueue = yield* claim({ jobs: ["other"], queues: [name] })
    yield* expectFields(`of queue "${name}"`, ofQueue[0], { id: runId(n + 101), queue: name })
    yield* expectSame("each is one", [ofJob.length, ofQueue.length], [1, 1])
  }
  const counted = (yield* runs.counts()).map(({ job, state, count }) => `${job} ${state} ${count}`)
  const expected = [...names.map((name) => `${name} running 1`), `other running ${names.length}`]
  yield* expectSame("counts", counted.sort(), expected.sort())
})

const distinctSchedules = Effect.gen(function* () {
  const schedules = yield* ScheduleStore
  const now = (yield* ContractClock).now()
  // The texts of their triggers are nearly alike, too.
  const triggerOf = (name: string): Trigger => ({ kind: "cron", expression: name, zone: "UTC" })
  yield* put(
    ...names.map((id) => newSchedule(id, { cursor: now - 1, nextAt: now }, { trigger: triggerOf(id) })),
  )
  const due = yield* schedules.dueSchedules(100)
  yield* expectSame("due", due.map(({ id }) => id).sort(), [...names].sort())
  const answers = yield* schedules.fire(due.map((row, n) => fireAt(row, now, newRun(n + 1))))
  yield* expectSame("fired", [...new Set(answers)], ["fired"])
  for (const [n, { id }] of due.entries()) {
    const ledger = yield* schedules.occurrences({ scheduleId: id, limit: 10 })
    const seen = ledger.map(({ scheduleId, runId, trigger }) => [scheduleId, runId, trigger])
    yield* expectSame(`ledger of "${id}"`, seen, [[id, runId(n + 1), JSON.stringify(triggerOf(id))]])
  }
  yield* schedules.deleteSchedules(["name"])
  yield* expectSame("the others stay", (yield* schedules.schedules()).length, names.length - 1)
})

/** Cases of values, wherever a store keeps them. */
export const valueContract: ReadonlyArray<Case> = [
  { name: "names > jobs and queues that are nearly alike are different ones", run: jobsAndQueues },
  {
    name: "names > keys that are nearly alike are different ones",
    run: Effect.gen(function* () {
      yield* enqueue(...keys.map((key, n) => newRun(n + 1, { key })))
      const again = yield* enqueue(...keys.map((key, n) => newRun(n + 101, { key })))
      yield* expectSame("held by", ids(again), numbered(keys, 1))
    }),
  },
  {
    name: "names > schedules that are nearly alike are different ones, with different triggers",
    run: distinctSchedules,
  },
  {
    name: "names > flows that are nearly alike have each its own steps",
    run: Effect.gen(function* () {
      for (const [n, name] of names.entries())
        yield* beginFlow(n + 1, flowOf([step(`s${n}`)], { name, version: "1" }))
      for (const [n, name] of names.entries()) {
        const { expansion } = yield* viewOf(runId(n + 1))
        const steps = expansion.kind === "flow" ? expansion.definition.steps.map(({ id }) => id) : []
        yield* expectSame(`steps of "${name}"`, steps, [`s${n}`])
      }
    }),
  },
  {
    name: "names > calendars that are nearly alike are different ones",
    run: Effect.gen(function* () {
      const schedules = yield* ScheduleStore
      const rows = names.map((name, n) => ({ name, definition: String(n), fromConfig: true }))
      yield* schedules.putCalendars(rows)
      const kept = (yield* schedules.calendars()).map(({ name, definition }) => `${definition} ${name}`)
      yield* expectSame("calendars", kept.sort(), names.map((name, n) => `${n} ${name}`).sort())
    }),
  },
  {
    name: "names > nodes that are nearly alike are different ones",
    skip: severalNodes,
    run: Effect.gen(function* () {
      for (const id of alike) yield* join(id)
      const nodes = (yield* (yield* NodeStore).nodes()).map(({ id }) => id)
      yield* expectSame("nodes", nodes.sort(), [...alike].sort())
    }),
  },
  {
    name: "texts > errors, reasons, notes and inputs as long as an engine makes them come back whole",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const now = (yield* ContractClock).now()
      const words = `\u{1f550}${longest(2_046)[0]}`
      const error: ErrorInfo = { name: "E", message: words, stack: words + words, kind: "error" }
      yield* enqueue(newRun(1), newRun(2, { job: "other" }))
      const { id, token } = yield* claimOne()
      yield* settle({ id, token, kind: "failed", error, retryInMillis: null })
      yield* expectFields("error", yield* stored(id), { error })
      yield* expectFields("attempt", (yield* runs.attempts(id))[0], { error })
      yield* expectFields("letter", (yield* runs.deadLetters({ limit: 1 }))[0], { error })
      yield* runs.cancel([runId(2)], words)
      yield* expectFields("reason", yield* stored(runId(2)), { reason: words })
      const input = JSON.stringify("x".repeat(256 * 1024 - 2))
      yield* put(newSchedule("s", { cursor: now, nextAt: now }, { input }))
      yield* schedules.pauseSchedule("s", true, words)
      yield* expectFields("note", yield* rowOf("s"), { pausedNote: words, input })
      yield* schedules.putCalendars([{ name: "c", definition: input, fromConfig: true }])
      yield* expectFields("calendar", (yield* schedules.calendars())[0], { definition: input })
    }),
  },
  {
    name: "texts > a flow of a thousand steps comes back whole",
    run: Effect.gen(function* () {
      const idOf = (n: number): string => `${"s".repeat(100)}${n}`
      const chain = Array.from({ length: 1_000 }, (_, n) => step(idOf(n), n === 0 ? [] : [idOf(n - 1)]))
      const expansion = flowOf(chain)
      yield* enqueue(newRun(1))
      yield* settle(expanding(yield* claimOne(), expansion))
      yield* expectSame("definition", (yield* viewOf(runId(1))).expansion, expansion)
    }),
  },
  {
    name: "needs > come back in their order",
    run: Effect.gen(function* () {
      const needs = [3, 1, 2].map(runId)
      yield* enqueue(newRun(1), newRun(2), newRun(3), newRun(4, { needs }))
      yield* expectFields("run", yield* stored(runId(4)), { needs })
    }),
  },
  {
    name: "numbers > priorities, attempts and instants of the year 9999 are kept as they are",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const schedules = yield* ScheduleStore
      const clock = yield* ContractClock
      const far = 253_402_300_799_999
      const given = { priority: -1_000, attemptMax: 100_000, nominalAt: far }
      yield* enqueue(newRun(1, { ...given, dueAt: far }), newRun(2, { ...given, priority: 1_000 }), newRun(3))
      yield* expectFields("far", yield* stored(runId(1)), { ...given, dueAt: far, state: "scheduled" })
      yield* expectSame("due", yield* runs.dueWithin(clock.now(), far, 10), [far])
      yield* expectSame("the highest first", ids(yield* claim()), [2, 3].map(runId))
      const at = { cursor: far - 1, nextAt: far }
      yield* put(newSchedule("s", at))
      yield* expectFields("schedule", yield* rowOf("s"), at)
      yield* expectSame("next", yield* schedules.nextScheduleAt(), far)
    }),
  },
]

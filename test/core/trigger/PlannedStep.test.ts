// What is left of a step whose instants are decided in part.
import { expect, test } from "vitest"
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Fire } from "../../../core/ports/StoreDriver.ts"
import { patternOf } from "../../../core/trigger/PatternSlots.ts"
import { withoutDecided } from "../../../core/trigger/PlannedStep.ts"

const runOf = (id: string): NewRun => ({
  id,
  job: "j",
  queue: "default",
  input: null,
  dueAt: 0,
  delayMillis: 0,
  priority: 0,
  attemptMax: 1,
  key: null,
  startWithinMillis: null,
  scheduleId: null,
  nominalAt: null,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: null,
  step: null,
})
const rowOf = (at: number, runId: string | null) => {
  const reason = runId === null ? ("missed" as const) : null
  return { at, lastAt: at, count: 1, runId, reason, nominalAt: null }
}
const step: Fire = {
  scheduleId: "s",
  version: 1,
  cursor: 4,
  nextAt: 5,
  waitsUntil: null,
  cancelRunId: "before",
  occurrences: [rowOf(1, null), rowOf(2, "b"), rowOf(3, "c"), rowOf(4, null)],
  runs: [runOf("b needs"), runOf("b"), runOf("c needs"), runOf("c")],
  lastRunId: "c",
  zoneData: null,
}
const planned = { fire: step, otherwise: null, many: new Map() }
const left = (...decided: ReadonlyArray<number>) => {
  const { occurrences, runs, lastRunId, cancelRunId } = withoutDecided(planned, new Set(decided))
  return [occurrences.map(({ at }) => at), runs.map(({ id }) => id), lastRunId, cancelRunId]
}

test("what is decided goes with the runs that it would have had, and with those that these need", () => {
  expect(left()).toEqual([[1, 2, 3, 4], ["b needs", "b", "c needs", "c"], "c", "before"])
  expect(left(2)).toEqual([[1, 3, 4], ["c needs", "c"], "c", "before"])
  expect(left(1, 3)).toEqual([[2, 4], ["b needs", "b"], "b", "before"])
})

test("without a run nothing is replaced, and the last run stays", () => {
  expect(left(2, 3)).toEqual([[1, 4], [], null, null])
  expect(withoutDecided(planned, new Set([1, 2, 3, 4]))).toMatchObject({
    cursor: 4,
    nextAt: 5,
    version: 1,
  })
})

test("a last run that is none after all does not end the schedule", () => {
  const over = { ...step, nextAt: null }
  const otherwise = { cursor: 3, nextAt: 4, waitsUntil: null }
  expect(withoutDecided({ ...planned, fire: over, otherwise }, new Set([3]))).toMatchObject(otherwise)
  expect(withoutDecided({ ...planned, fire: over, otherwise }, new Set([1]))).toMatchObject({
    cursor: 4,
    nextAt: null,
  })
})

test("a row for many counts what has no row of its own, and begins and ends with such an instant", () => {
  const every10 = patternOf({ kind: "every", periodMillis: 10, startAt: 0 }, 0)
  const many = { at: 10, lastAt: 50, count: 5, runId: null, reason: "missed" as const, nominalAt: null }
  const fire = { ...step, occurrences: [many, rowOf(60, null)], runs: [], lastRunId: null }
  const rows = (...decided: ReadonlyArray<number>) =>
    withoutDecided(
      { fire, otherwise: null, many: new Map([[10, every10]]) },
      new Set(decided),
    ).occurrences.map(({ at, lastAt, count }) => [at, lastAt, count])
  expect(rows()).toEqual([
    [10, 50, 5],
    [60, 60, 1],
  ])
  // A run by hand at an instant that is none of the pattern.
  expect(rows(33)).toEqual([
    [10, 50, 5],
    [60, 60, 1],
  ])
  expect(rows(10, 60)).toEqual([[20, 50, 4]])
  expect(rows(30, 60)).toEqual([[10, 50, 4]])
  expect(rows(20, 40, 50, 60)).toEqual([[10, 30, 2]])
  expect(rows(10, 20, 40, 50, 60)).toEqual([[30, 30, 1]])
  expect(rows(10, 20, 30, 40, 50, 60)).toEqual([])
})

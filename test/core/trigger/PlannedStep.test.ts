// What is left of a step whose instants are decided in part.
import { expect, test } from "vitest"
import type { NewRun } from "../../../core/domain/Run.ts"
import type { Fire } from "../../../core/ports/StoreDriver.ts"
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
const left = (...decided: ReadonlyArray<number>) => {
  const { occurrences, runs, lastRunId, cancelRunId } = withoutDecided(
    { fire: step, otherwise: null },
    (at) => decided.includes(at),
  )
  return [occurrences.map(({ at }) => at), runs.map(({ id }) => id), lastRunId, cancelRunId]
}

test("what is decided goes with the runs that it would have had, and with those that these need", () => {
  expect(left()).toEqual([[1, 2, 3, 4], ["b needs", "b", "c needs", "c"], "c", "before"])
  expect(left(2)).toEqual([[1, 3, 4], ["c needs", "c"], "c", "before"])
  expect(left(1, 3)).toEqual([[2, 4], ["b needs", "b"], "b", "before"])
})

test("without a run nothing is replaced, and the last run stays", () => {
  expect(left(2, 3)).toEqual([[1, 4], [], null, null])
  expect(withoutDecided({ fire: step, otherwise: null }, () => true)).toMatchObject({
    cursor: 4,
    nextAt: 5,
    version: 1,
  })
})

test("a last run that is none after all does not end the schedule", () => {
  const over = { ...step, nextAt: null }
  const otherwise = { cursor: 3, nextAt: 4, waitsUntil: null }
  expect(withoutDecided({ fire: over, otherwise }, (at) => at === 3)).toMatchObject(otherwise)
  expect(withoutDecided({ fire: over, otherwise }, (at) => at === 1)).toMatchObject({
    cursor: 4,
    nextAt: null,
  })
})

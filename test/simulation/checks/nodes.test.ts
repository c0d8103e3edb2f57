// The checks of liveness, stops and limits can fail: a node that leaves work to stand, goes on after it was told to stop or
// asks for too much is told, and one that does well is not.
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Expansion } from "../../../core/domain/Flow.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { limitChecks } from "./limits.ts"
import { livenessChecks } from "./liveness.ts"
import { definition, lost, slots, stage, type Stage } from "./Stage.ts"
import { stopChecks } from "./stops.ts"

const alive = (scene: Stage): Stage => {
  scene.join("n1")
  return scene
}

test.each<[string, (stage: Stage) => void, number, RegExp]>([
  ["a run that is due", ({ enqueue }) => enqueue(newRun(1)), 4, /is ready and wanted for 4\d* ms, and node0/],
  [
    "a retry that is due",
    ({ enqueue, claim, settle, check, seat }) => {
      enqueue(newRun(1))
      const [run] = claim() as [Run]
      check.assigned?.(seat, run)
      settle(lost(run, 1000))
    },
    5,
    /is retrying and wanted/,
  ],
  [
    "a flow run that is over its deadline",
    ({ enqueue, claim, settle, check, seat }) => {
      enqueue(newRun(1, { job: "flow" }))
      const [{ id, token }] = claim() as [Run]
      const slow: Expansion = { kind: "flow", definition: { ...definition, timeoutMillis: 1000 } }
      settle({ id, token, kind: "expanded", expansion: slow, retryInMillis: null })
      for (const run of claim()) check.assigned?.(seat, run)
    },
    5,
    /flow .* is blocked and wanted/,
  ],
  [
    "a run whose claim the node never heard of",
    ({ enqueue, claim }) => {
      enqueue(newRun(1))
      claim()
    },
    4,
    /is carried by node0, which has not known of it/,
  ],
  [
    "an attempt that ended and is not settled",
    ({ enqueue, claim, check, seat }) => {
      enqueue(newRun(1))
      const [run] = claim() as [Run]
      check.assigned?.(seat, run)
      check.reported?.(seat, run)
    },
    4,
    /ended on node0 \d+ ms ago and is not settled/,
  ],
  [
    "a run that a dead node left behind",
    ({ join, enqueue, claim }) => {
      join("n2")
      enqueue(newRun(1))
      claim("n2")
    },
    5,
    /is left behind by n2/,
  ],
])("I10: %s is not left to stand", (_, story, seconds, expected) => {
  const scene = alive(stage(livenessChecks))
  story(scene)
  const renew = (): void => void scene.renew("n1")
  scene.pass(seconds - 1, renew)
  expect(scene.told()).toEqual([])
  scene.pass(2, renew)
  expect(scene.told().join("\n")).toMatch(expected)
  // A node that a call of it has failed is given time to recover.
  const disturbed = alive(stage(livenessChecks))
  story(disturbed)
  disturbed.pass(seconds + 1, () => {
    disturbed.renew("n1")
    disturbed.seat.calmSince = disturbed.world.elapsed
  })
  expect(disturbed.told()).toEqual([])
})

test("I10: a run may wait while all slots are taken, and while a cancelled handler does not listen", () => {
  const scene = alive(stage(livenessChecks))
  const { enqueue, claim, check, seat, pass, renew, told, runs } = scene
  enqueue(newRun(1), newRun(2), newRun(3))
  for (const run of claim("n1", slots)) check.assigned?.(seat, run)
  pass(8, () => renew("n1"))
  expect(told()).toEqual([])
  Effect.runSync(runs.cancel([runId(1)], "Not wanted"))
  pass(7, () => renew("n1"))
  expect(told()).toEqual([])
  pass(5, () => renew("n1"))
  expect(told().join("\n")).toMatch(/is ready and wanted/)
})

test.each<[string, (stage: Stage) => void, RegExp]>([
  ["asks for more work", ({ check, seat }) => check.sent?.(seat, "claim"), /asked for work 100 ms after/],
  [
    "begins a run",
    ({ check, seat, enqueue, claim }) => {
      enqueue(newRun(1))
      check.assigned?.(seat, claim()[0] as Run)
    },
    /began run .* 100 ms after/,
  ],
  [
    "leaves with a run",
    ({ check, seat, enqueue, claim }) => {
      enqueue(newRun(1))
      claim()
      check.drained?.(seat)
    },
    /has drained after 100 ms, and carries run/,
  ],
  [
    "takes longer than its grace period",
    ({ check, seat, world }) => {
      world.runUntil(world.elapsed + 1000)
      check.drained?.(seat)
    },
    /drained in 1100 ms with a grace period of 500 ms/,
  ],
])("I13: a node that drains and %s", (_, story, expected) => {
  const scene = stage(stopChecks)
  const { world, check, seat, engine, told } = scene
  world.runUntil(5000)
  check.drains?.(seat, engine)
  seat.isDraining = true
  world.runUntil(5100)
  check.sent?.(seat, "settle")
  expect(told()).toEqual([])
  story(scene)
  expect(told().join("\n")).toMatch(expected)
})

test("I13: a node that drains in time with empty hands is right", () => {
  const { world, check, seat, engine, told } = stage(stopChecks)
  world.runUntil(5000)
  check.drains?.(seat, engine)
  world.runUntil(5400)
  check.drained?.(seat)
  expect(told()).toEqual([])
})

test("I14: a call that is over a limit, one that is refused, and a node with more runs than slots", () => {
  const { enqueue, claim, told, load, pass, runs } = stage(limitChecks)
  enqueue(...Array.from({ length: 1000 }, (_, n) => newRun(n + 1)))
  claim("n1", 1000)
  // By hand, and not over a limit: the right answer to somebody.
  expect(() => Effect.runSync(runs.replay([runId(1)], []))).toThrow()
  load.carried = slots
  pass(1)
  expect(told()).toEqual([])
  expect(() => enqueue(...Array.from({ length: 1001 }, (_, n) => newRun(n + 2000)))).toThrow()
  load.carried = slots + 1
  pass(1)
  expect(told()).toEqual([
    "I14 enqueue was asked for 1001 rows, more than 1000",
    "I14 enqueue was refused: runs: 1001 rows are more than 1000 in one call",
    "I14 node0 carries 3 runs and has 2 slots",
  ])
})

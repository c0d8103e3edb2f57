// The checks of requests and attempts can fail: a store that keeps other books than ours is told, an honest one is not.
import * as Cause from "effect/Cause"
import { expect, test } from "vitest"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { EngineStopped } from "../../../core/domain/Errors.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { type Spoil, WatchedRuns } from "../Ground.ts"
import { attemptChecks } from "./attempts.ts"
import { requestChecks } from "./requests.ts"
import { after, change, error, lost, rewriting, stage, type Stage } from "./Stage.ts"

const failTwice = ({ enqueue, claim, settle }: Stage): void => {
  enqueue(newRun(1, { attemptMax: 2 }))
  for (const run of claim()) settle(lost(run))
  for (const run of claim()) settle(lost(run))
}
const loseOnce = (acknowledged: boolean) => (scene: Stage) => {
  const { enqueue, claim, join, reclaim, world } = scene
  join("n1")
  enqueue(newRun(1))
  claim("n1", 1, acknowledged)
  world.runUntil(world.elapsed + 3000)
  reclaim("n2")
}

test.each<[string, Spoil, (stage: Stage) => void, RegExp]>([
  [
    "an attempt that is counted twice",
    rewriting((next) => (next.state === "running" ? { ...next, attempt: next.attempt + 1 } : next)),
    failTwice,
    /I5 .* begins attempt 2 after 0 that failed/,
  ],
  [
    "a loss after the start that uses no attempt",
    rewriting((next) => (next.state === "retrying" ? { ...next, state: "ready", attempt: 0 } : next)),
    loseOnce(true),
    /I5 .* was lost after its start, and no attempt was used/,
  ],
  [
    "a loss before the start that uses an attempt",
    rewriting((next) =>
      next.state === "ready" && next.losses > 0 ? { ...next, state: "retrying", attempt: 1 } : next,
    ),
    loseOnce(false),
    /I5 .* was lost before its start, and attempt 1 was used/,
  ],
  [
    "an attempt that nobody tells of",
    { driver: after("settle", (table) => void table.entries.get(runId(1))?.attempts.splice(1)) },
    failTwice,
    /I8 .* tells of 1 failed attempts, there were 2/,
  ],
  [
    "an attempt with another's node",
    {
      driver: after("settle", (table) => {
        const attempts = table.entries.get(runId(1))?.attempts ?? []
        for (const [place, each] of attempts.entries()) attempts[place] = { ...each, node: "n7" }
      }),
    },
    failTwice,
    /I8 .* tells of attempt 1 by n7 under 1/,
  ],
  [
    "an attempt with another error",
    {
      driver: after("settle", (table) => {
        const attempts = table.entries.get(runId(1))?.attempts ?? []
        for (const [place, each] of attempts.entries())
          attempts[place] = { ...each, error: { ...error, message: "Something else" } }
      }),
    },
    failTwice,
    /I8 .* has another error of attempt 1 than it failed with/,
  ],
  [
    "a letter with another story",
    {
      driver: after("settle", (table) => {
        const letter = table.letters.get(runId(1))
        if (letter !== undefined) table.letters.set(runId(1), { ...letter, attempt: 7 })
      }),
    },
    failTwice,
    /I8 .* has a letter that tells another story/,
  ],
])("attempts: %s", (_, spoil, story, expected) => {
  const honest = stage(attemptChecks)
  story(honest)
  honest.check.end?.()
  expect(honest.told()).toEqual([])
  const spoiled = stage(attemptChecks, spoil)
  story(spoiled)
  spoiled.check.end?.()
  expect(spoiled.told().join("\n")).toMatch(expected)
})

test("attempts: a run is lost five times before its start, and no more", () => {
  const scene = stage(
    attemptChecks,
    rewriting((next) => (next.state === "dead" ? { ...next, state: "ready" } : next)),
  )
  const { enqueue, claim, join, reclaim, world, told } = scene
  enqueue(newRun(1))
  for (let n = 1; n <= 6; n++) {
    expect(told()).toEqual([])
    join(`n${n}`)
    claim(`n${n}`, 1, false)
    world.runUntil(world.elapsed + 3000)
    reclaim("other")
  }
  expect(told().join("\n")).toMatch(/I5 .* was lost 6 times before its start/)
})

const asking = (scene: ReturnType<typeof stage<ReturnType<typeof requestChecks>>>) => {
  const request = { job: "report", input: '{"n":1}', id: runId(1), priority: 0, delayMillis: 1000 }
  const told = scene.check.asked(request)
  const [answer] = scene.enqueue(
    newRun(1, { input: request.input, delayMillis: 1000, startWithinMillis: 500 }),
  )
  return { ...told, answer: answer as NonNullable<typeof answer> }
}

test.each<[string, Spoil, RegExp]>([
  [
    "is stored with another input",
    {
      table: () =>
        new (class extends WatchedRuns {
          override insert(...[run, ...rest]: Parameters<WatchedRuns["insert"]>) {
            return super.insert({ ...run, input: "2" }, ...rest)
          }
        })(),
    },
    /I1 .* has input 2 instead of \{"n":1\}/,
  ],
  [
    "is not stored at all",
    { driver: after("enqueue", (table) => void table.entries.delete(runId(1))) },
    /I1 .* was acknowledged and is gone/,
  ],
  [
    "is stored a second time",
    { driver: after("enqueue", (table) => void table.insert(table.entries.get(runId(1))?.run as Run)) },
    /I1 .* was stored a second time/,
  ],
  [
    "expires before its time",
    {
      driver: after("claim", (table, now) => {
        if (table.entries.get(runId(1))?.run.state === "scheduled")
          change(table, runId(1), { state: "expired", endedAt: now }, now)
      }),
    },
    /I9 .* expired 1500 ms early/,
  ],
])("I1: a request that %s", (_, spoil, expected) => {
  for (const bad of [false, true]) {
    const scene = stage(requestChecks, bad ? spoil : {})
    const { answered, answer } = asking(scene)
    answered(answer)
    scene.claim()
    scene.check.end?.()
    if (bad) expect(scene.told().join("\n")).toMatch(expected)
    else expect(scene.told()).toEqual([])
  }
})

test("I9: a run that starts after its time to start", () => {
  const late = rewriting((next) =>
    next.state === "expired" ? { ...next, state: "running", node: "n1" } : next,
  )
  const scene = stage(requestChecks, late)
  asking(scene)
  scene.world.runUntil(1700)
  scene.claim()
  expect(scene.told().join("\n")).toMatch(/I9 .* was started 200 ms after its time to start/)
})

test("I1: a request that was refused and is there, and one that nobody knows of", () => {
  const refused = new EngineStopped({ field: "engine", reason: "it stops", next: "Wait." })
  for (const [cause, expected] of [
    [Cause.fail(refused), [`I1 ${runId(1)} of report is there, and was refused`]],
    [Cause.fail(new Error("no answer")), []],
  ] as const) {
    const scene = stage(requestChecks)
    asking(scene).failed(cause)
    scene.check.end?.()
    expect(scene.told()).toEqual(expected)
  }
})

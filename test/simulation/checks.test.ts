// Each check of the simulation can fail: a store, or a node, that breaks one promise is told by the check that watches
// over it, and an honest one is not.
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { newRun, runId } from "../../core/contract/Fixtures.ts"
import { EngineStopped } from "../../core/domain/Errors.ts"
import type { Expansion, FlowDefinition } from "../../core/domain/Flow.ts"
import type { Settlement } from "../../core/domain/Outcome.ts"
import type { NewRun, Run } from "../../core/domain/Run.ts"
import type { EngineService } from "../../core/engine/Engine.ts"
import { FlowStore, NodeStore, RunStore } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { attemptChecks } from "./checks/attempts.ts"
import type { Check, Scene } from "./checks/Check.ts"
import { flowChecks } from "./checks/flows.ts"
import { limitChecks } from "./checks/limits.ts"
import { livenessChecks } from "./checks/liveness.ts"
import { requestChecks } from "./checks/requests.ts"
import { stopChecks } from "./checks/stops.ts"
import type { Seat } from "./Fleet.ts"
import { makeGround, type Spoil, WatchedRuns } from "./Ground.ts"
import { swarmOf } from "./Swarm.ts"
import { Watch } from "./Watch.ts"
import { World } from "./World.ts"

const leaseMillis = 2000
const pollMillis = 1000
const slots = 2

/** A store under one check, which one node uses. */
const stage = <C extends Check>(checkOf: (scene: Scene) => C, spoil: Spoil = {}) => {
  const world = new World(1, Date.UTC(2024, 5, 12))
  const watch = new Watch(world, { history: false })
  const swarm = { ...swarmOf(1), leaseMillis, pollMillis, slots, graceMillis: 500 }
  const ground = makeGround(
    world,
    { saw: (call, answer, refusal) => check.saw?.(call, answer, refusal) },
    spoil,
  )
  const load = { carried: 0, slots, waitingInWheel: 0 }
  const engine = { node: () => "n1", load: () => load } as EngineService
  const seat: Seat = {
    name: "node0",
    lane: world.lane("node0"),
    engine,
    link: { cut: null },
    isDraining: false,
    calmSince: 0,
    underWay: 0,
    stop: () => {},
  }
  const check = checkOf({ world, watch, swarm, ground, isStormy: () => false, seats: () => [seat] })
  const run = Effect.runSync
  const runs = Context.get(ground.services, RunStore)
  const nodes = Context.get(ground.services, NodeStore)
  const flows = Context.get(ground.services, FlowStore)
  const told = (): ReadonlyArray<string> =>
    watch.violations.map(({ invariant, what }) => `${invariant} ${what}`)
  const claim = (node = "n1", limit = 10, acknowledged = true) =>
    run(
      runs.claim({
        node,
        queues: ["default"],
        jobs: ["report", "flow"],
        limit,
        acknowledged,
        expanding: ["flow"],
      }),
    )
  const settle = (...settlements: ReadonlyArray<Settlement>) => run(runs.settle(settlements))
  const join = (id: string) => run(nodes.join({ id, host: "node0", pid: 1, runtime: "test" }, leaseMillis))
  /** Moves time second by second, as a simulation does. */
  const pass = (seconds: number, each: () => void = () => {}): void => {
    for (let second = 0; second < seconds; second++) {
      world.runUntil(world.elapsed + 1000)
      each()
      check.everySecond?.()
    }
  }
  return {
    world,
    ground,
    seat,
    engine,
    load,
    check,
    runs,
    flows,
    told,
    claim,
    settle,
    join,
    pass,
    enqueue: (...rows: ReadonlyArray<NewRun>) => run(runs.enqueue(rows)),
    renew: (id: string) => run(nodes.renew(id, leaseMillis)),
    reclaim: (self: string) => run(runs.reclaim(self, 10)),
  }
}
type Stage = ReturnType<typeof stage>

const won = ({ id, token }: Run): Settlement => ({ id, token, kind: "succeeded", output: `"${id}"` })
const error = { name: "Oops", message: "It broke", kind: "error" } as const
const lost = ({ id, token }: Run, retryInMillis: number | null = 0): Settlement => ({
  id,
  token,
  kind: "failed",
  error,
  retryInMillis,
})

/** Does something more than it was asked, after it has done that. */
const after =
  (operation: keyof StoreDriver, more: (table: WatchedRuns, now: number) => void) =>
  (honest: StoreDriver, { table }: { readonly table: WatchedRuns }): StoreDriver => ({
    ...honest,
    [operation]: (...args: ReadonlyArray<unknown>) => {
      const answer = (honest[operation] as (...all: ReadonlyArray<unknown>) => unknown)(...args)
      more(table, honest.now() as number)
      return answer
    },
  })
const change = (table: WatchedRuns, id: string, fields: Partial<Run>, now: number): void => {
  const entry = table.entries.get(id)
  if (entry !== undefined) table.put(entry, { ...entry.run, ...fields }, now)
}
/** Changes rows on their way into the table. */
const rewriting = (rewrite: (next: Run, isFlow: boolean) => Run): Spoil => ({
  table: () =>
    new (class extends WatchedRuns {
      override put(...[entry, next, ...rest]: Parameters<WatchedRuns["put"]>): void {
        super.put(entry, rewrite(next, entry.flow !== null), ...rest)
      }
    })(),
})

const step = (id: string, needs: ReadonlyArray<string>) => ({
  id,
  needs,
  job: "report",
  queue: "default",
  priority: 0,
  attemptMax: 2,
})
const definition: FlowDefinition = {
  name: "flow",
  version: "1",
  output: "b",
  failFast: false,
  timeoutMillis: null,
  steps: [step("a", []), step("b", ["a"]), step("c", ["a"])],
}
const expansion: Expansion = { kind: "flow", definition }

const chain = ({ enqueue, claim, settle }: Stage): void => {
  enqueue(newRun(1), newRun(2, { needs: [runId(1)] }))
  settle(...claim().map(won))
  settle(...claim().map(won))
}
const flow = (
  { enqueue, claim, settle }: Stage,
  ends: ReadonlyArray<(run: Run) => Settlement> = [won],
): void => {
  enqueue(newRun(1, { job: "flow" }))
  const [parent] = claim() as [Run]
  settle({ id: parent.id, token: parent.token, kind: "expanded", expansion, retryInMillis: null })
  for (let turn = 0; turn < 4; turn++) settle(...claim().map(ends[turn] ?? won))
}
const parentOf = (table: WatchedRuns): Run | undefined => table.entries.get(runId(1))?.run
const childrenOf = (table: WatchedRuns): ReadonlyArray<Run> =>
  [...table.entries.values()].map(({ run }) => run).filter(({ parentId }) => parentId !== null)

test.each<[string, Spoil, (stage: Stage) => void, RegExp]>([
  [
    "a dependent that is released at once",
    {
      driver: after("enqueue", (table, now) =>
        change(table, runId(2), { state: "ready", waitingFor: 0 }, now),
      ),
    },
    chain,
    /was released, and .* did not succeed/,
  ],
  [
    "a dependent that is never released",
    {
      driver: after("settle", (table, now) =>
        change(table, runId(2), { state: "blocked", waitingFor: 1 }, now),
      ),
    },
    ({ enqueue, claim, settle }) => {
      enqueue(newRun(1), newRun(2, { needs: [runId(1)] }))
      settle(...claim().map(won))
    },
    /is blocked, and all its needs have succeeded/,
  ],
  [
    "a dependent that is skipped though its need succeeded",
    rewriting((next) =>
      next.id === runId(2) && next.state === "ready" ? { ...next, state: "skipped" } : next,
    ),
    chain,
    /was skipped, and its needs may succeed still/,
  ],
  [
    "a step that is started twice",
    {
      driver: after("settle", (table) => {
        const [first] = childrenOf(table)
        if (first?.state === "ready") table.insert({ ...first, id: runId(99) })
      }),
    },
    flow,
    /was made for step "a" a second time/,
  ],
  [
    "a step that is started before its rule holds",
    {
      driver: after("settle", (table) => {
        const [first] = childrenOf(table)
        if (first?.state === "ready") table.insert({ ...first, id: runId(99), step: 1 })
      }),
    },
    flow,
    /was made for step "b" while it is blocked by its rule/,
  ],
  [
    "a counter that is one too high",
    rewriting((next) =>
      next.id === runId(1) && next.state === "blocked" ? { ...next, waitingFor: next.waitingFor + 1 } : next,
    ),
    flow,
    /waits for 3 steps, and counts 4/,
  ],
  [
    "a cancelled flow run whose steps go on",
    {
      driver: after("claim", (table, now) => {
        const isBlocked = parentOf(table)?.state === "blocked"
        if (isBlocked) change(table, runId(1), { state: "cancelled", endedAt: now }, now)
      }),
    },
    flow,
    /is cancelled, and its step "a" is running/,
  ],
  [
    "a flow run with the output of another step",
    rewriting((next, isFlow) => (isFlow && next.state === "succeeded" ? { ...next, output: '"x"' } : next)),
    flow,
    /has the output "x" instead of/,
  ],
  [
    "a flow run that succeeds though a step failed",
    rewriting((next, isFlow) => (isFlow && next.state === "dead" ? { ...next, state: "succeeded" } : next)),
    (scene) => flow(scene, [(run) => lost(run, null)]),
    /succeeded, and a step of it failed/,
  ],
  [
    "a flow run that fails while its steps go on",
    rewriting((next, isFlow) =>
      isFlow && next.state === "blocked" && next.waitingFor === 2 ? { ...next, state: "dead", error } : next,
    ),
    flow,
    /failed with 2 steps open and no fault/,
  ],
])("I6: %s", (_, spoil, story, expected) => {
  const honest = stage(flowChecks)
  story(honest)
  honest.check.end?.()
  expect(honest.told()).toEqual([])
  const spoiled = stage(flowChecks, spoil)
  story(spoiled)
  expect(spoiled.told().join("\n")).toMatch(expected)
})

test("I6: a mark by hand counts as the end of its step, for the check as for the store", () => {
  const scene = stage(flowChecks)
  const { enqueue, claim, settle, flows, told } = scene
  enqueue(newRun(1, { job: "flow" }))
  const [parent] = claim() as [Run]
  settle({ id: parent.id, token: parent.token, kind: "expanded", expansion, retryInMillis: null })
  Effect.runSync(
    flows.markStep({ runId: parent.id, step: "b", end: "succeeded", reason: "By hand", output: '"mine"' }),
  )
  settle(...claim().map(won))
  settle(...claim().map(won))
  scene.check.end?.()
  expect(parentOf(scene.ground.table)).toMatchObject({ state: "succeeded", output: '"mine"' })
  expect(told()).toEqual([])
})

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

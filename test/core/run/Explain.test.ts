// One sentence for each state of a run, and for each thing that keeps a ready one from starting. Runs are brought
// into their states by the transitions that stores apply.
import { describe, expect, test } from "vitest"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import { type ErrorInfo, type NewRun, type Run, type RunState, runStates } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import type { Expansion, StepState } from "../../../core/domain/Flow.ts"
import type { FlowView, NodeRow } from "../../../core/ports/StoreDriver.ts"
import { explain, type RunFacts } from "../../../core/run/Explain.ts"

const words = { at: (millis: number) => `T+${millis}`, span: (millis: number) => `${millis} ms` }
const node: NodeRow = { id: "n1", host: "h", pid: 1, runtime: "r", startedAt: 0, expiresAt: 20_000 }
const now = 10_000
const fresh = (fields: Partial<NewRun> = {}, waitingFor = 0): Run =>
  Transition.enqueued(newRun(1, fields), waitingFor, 0)
const must = (run: Run | null): Run => {
  if (run === null) throw new Error("The transition is refused")
  return run
}
const error: ErrorInfo = { name: "Oops", message: "It broke", kind: "error" }
const claimed = (run = fresh(), acknowledged = true): Run =>
  must(Transition.claimed(run, "n1", acknowledged, 1000))
const failed = (run: Run, retryInMillis: number | null): Run =>
  must(Transition.failed(run, run.token, error, retryInMillis, 2000))

const facts = (run: Run, more: Partial<RunFacts> = {}): RunFacts => ({
  run,
  needs: [],
  nodes: [node],
  readyCount: 1,
  runningCount: 0,
  jobs: null,
  slots: null,
  now,
  ...more,
})
const why = (run: Run, more: Partial<RunFacts> = {}): string => explain(facts(run, more), words).why

describe("explain > a run that waits", () => {
  test("in a queue that is paused, with the note; one that is too late is told so first", () => {
    const paused = { queue: "mail", note: "the server moves", by: "ann", at: 500 }
    const run = fresh({ queue: "mail" })
    expect(explain(facts(run, { paused, nodes: [] }), words)).toEqual({
      why: 'Ready for 10000 ms; queue "mail" is paused since T+500 (the server moves)',
      next: "Let it go on: uhrwerk queue resume mail",
    })
    expect(why(run, { paused: { ...paused, note: null } })).toMatch(/is paused since T\+500$/)
    expect(why(claimed(run), { paused })).not.toMatch(/paused/)
    expect(why({ ...run, expiresAt: 9000 }, { paused })).toMatch(/its time to start has passed/)
  })
  test("for its time, after a failure, after a snooze", () => {
    expect(why(fresh({ dueAt: 12_000 }))).toBe("Waits for its time: due at T+12000, in 2000 ms")
    expect(why(failed(claimed(), 9000))).toBe(
      "Attempt 1 of 3 failed: Oops: It broke; the next one is due at T+11000, in 1000 ms",
    )
    expect(why(must(Transition.snoozed(claimed(), 1, 10_000, 2000)))).toBe(
      "Its handler snoozed it at attempt 1 of 3: due again at T+12000, in 2000 ms",
    )
  })

  const view = (expansion: Expansion, run: Run, steps: FlowView["steps"]): FlowView => ({
    run,
    expansion,
    round: 1,
    deadlineAt: null,
    steps,
  })
  const work = { job: "etl/x", queue: "default", priority: 0, attemptMax: 3 }
  const etl: Expansion = {
    kind: "flow",
    definition: {
      name: "etl",
      version: "1",
      output: null,
      failFast: false,
      timeoutMillis: null,
      steps: ["a", "b", "c", "d"].map((id) => ({ id, needs: [], ...work })),
    },
  }
  const list: Expansion = { kind: "map", step: work, items: ["1", "2"], failFast: false }
  const at = (state: StepState, n: number | null = null) => ({
    state,
    runId: n === null ? null : runId(n),
    reason: null,
  })

  test("for its steps, or the items of its list, with those that are under way", () => {
    const run = must(Transition.expanded(claimed(fresh({ job: "etl" })), 1, 3))
    const steps = [at("succeeded", 2), at("released", 3), at("blocked"), at("blocked")]
    expect(explain(facts(run, { flow: view(etl, run, steps) }), words)).toEqual({
      why: 'Waits for 3 of 4 steps; under way: "b", at attempt 1 of 3',
      next: `Why that one waits: uhrwerk run explain ${runId(3)}`,
    })
    const items = [at("released", 2), at("released", 3)]
    expect(why(run, { flow: view(list, run, items) })).toBe(
      "Waits for 2 of 2 items; under way: item 0, item 1, at attempt 1 of 3",
    )
  })

  test("as a step of a flow run or an item of a list, it says of which", () => {
    const parent = must(Transition.expanded(claimed(fresh({ job: "etl" })), 1, 3))
    const run = fresh({ job: "etl/c", dueAt: 12_000, parentId: parent.id, step: 2 })
    expect(explain(facts(run, { parent: view(etl, parent, []) }), words)).toEqual({
      why: 'Step "c" of run "etl": waits for its time: due at T+12000, in 2000 ms',
      next: `The whole: uhrwerk run explain ${parent.id}`,
    })
    const dead = failed(claimed({ ...run, dueAt: 0, state: "ready" }), null)
    const told = explain(facts(dead, { parent: view(list, parent, []) }), words)
    expect(told.why).toMatch(/^Item 2 of run "etl": dead at T\+2000/)
    // It has no letter that could be replayed.
    expect(told.next).toBe(`The whole: uhrwerk run explain ${parent.id}`)
  })

  test("a dead flow run is re-run from what failed", () => {
    const run = must(Transition.stepsFailed(must(Transition.expanded(claimed(), 1, 1)), error, null, 2000))
    expect(explain(facts(run, { flow: view(etl, run, []) }), words).next).toBe(
      `Run what failed again when the cause is mended: uhrwerk flow rerun ${run.id} --from-failed`,
    )
  })

  test("for the runs that it needs, with their states", () => {
    const needs = [
      { ...fresh({ job: "a", dueAt: 12_000 }), id: runId(7) },
      failed(claimed(fresh({ job: "b" })), 9000),
      must(Transition.succeeded(claimed(fresh({ job: "c" })), 1, null, 2000)),
    ]
    const run = fresh({ needs: [runId(7), runId(8), runId(9)] }, 2)
    expect(explain(facts(run, { needs }), words)).toEqual({
      why: 'Waits for 2 of the 3 runs that it needs: "a" (scheduled for T+12000), "b" (retrying for T+11000)',
      next: `Why that one waits: uhrwerk run explain ${runId(7)}`,
    })
    const many = Array.from({ length: 9 }, () => fresh({ job: "a" }))
    expect(why(fresh({ needs: many.map(({ id }) => id) }, 9), { needs: many })).toMatch(/ and 4 more$/)
  })

  test.each<[string, Partial<RunFacts>, Partial<NewRun>, RegExp]>([
    ["nobody ever joined", { nodes: [] }, {}, /^Ready for 10000 ms; no engine is running on this store$/],
    [
      "the last lease ended",
      { nodes: [{ ...node, expiresAt: 9000 }] },
      {},
      /no engine is running on this store: the last lease ended 1000 ms ago$/,
    ],
    ["nobody knows the job", { jobs: new Set(["other"]) }, {}, /no job named "report" is in the config/],
    [
      "all slots are taken",
      { slots: 8, runningCount: 8, readyCount: 3 },
      {},
      /all 8 slots are taken, and 3 runs are/,
    ],
    [
      "the only slot is taken",
      { slots: 1, runningCount: 1 },
      {},
      /the only slot is taken, and 1 run is ready$/,
    ],
    [
      "two engines have slots",
      { slots: 1, nodes: [node, node], runningCount: 1 },
      {},
      /an engine is running, and has/,
    ],
    [
      "it became ready just now",
      { now: 500 },
      {},
      /an engine is running and starts it when it has a free slot$/,
    ],
    [
      "its time to start passed",
      {},
      { startWithinMillis: 5000 },
      /its time to start has passed, and an engine that looks/,
    ],
    [
      "slots are not known",
      { runningCount: 2 },
      {},
      /no free slot for it \(2 running, 1 ready\) or no job "report"$/,
    ],
    [
      "no worker takes it",
      { workers: { why: "no worker is connected", next: "Start one" }, slots: 1, runningCount: 1 },
      {},
      /^Ready for 10000 ms; no worker is connected$/,
    ],
    [
      "a worker has room",
      { workers: null, slots: 1, runningCount: 1 },
      {},
      /; a worker that fits has room, and is given it when its engine looks$/,
    ],
    [
      "no engine is there to ask a worker",
      { workers: { why: "no worker is connected", next: "Start one" }, nodes: [] },
      {},
      /; no engine is running on this store$/,
    ],
  ])("for a slot: %s", (_, more, fields, sentence) => {
    expect(why(fresh(fields), more)).toMatch(sentence)
  })

  test("with its time behind it has the same gates", () => {
    expect(why(fresh({ dueAt: 4000 }), { nodes: [] })).toBe(
      "Waits for its time: due at T+4000, which was 6000 ms ago; no engine is running on this store",
    )
  })
})

describe("explain > a run that runs", () => {
  test("says since when and where, and whether that node is still there", () => {
    const usual = 'Runs since T+1000, for 9000 ms, on node "n1", at attempt 1 of 3'
    expect(why(claimed())).toBe(usual)
    expect(why(claimed(fresh(), false))).toMatch(/^Is on its way to a worker since T\+1000/)
    const ended = { ...node, expiresAt: 9000 }
    expect(explain(facts(claimed(), { nodes: [ended] }), words)).toEqual({
      why: `${usual}; but its lease ended 1000 ms ago, and no engine is running that could take it back`,
      next: "Start one: uhrwerk dev",
    })
    expect(why(claimed(), { nodes: [{ ...node, id: "n2" }] })).toBe(
      `${usual}; but that node is gone, and another engine takes the run back`,
    )
  })
})

describe("explain > a run that ended", () => {
  test("succeeded", () => {
    expect(why(must(Transition.succeeded(claimed(), 1, null, 2500)))).toBe(
      "Succeeded at T+2500, at attempt 1 of 3, in 1500 ms",
    )
  })

  test("is dead: out of attempts, for good, or lost", () => {
    const replay = `Run it again when the cause is mended: uhrwerk dead replay ${runId(1)}`
    const all = { ...claimed(), attempt: 3 }
    expect(explain(facts(failed(all, 100)), words)).toEqual({
      why: "Dead at T+2000, because all 3 attempts failed, the last one with Oops: It broke",
      next: replay,
    })
    expect(why(failed(claimed(fresh({ attemptMax: 1 })), 100))).toBe(
      "Dead at T+2000, because its only attempt failed: Oops: It broke",
    )
    expect(why(failed(claimed(), null))).toBe(
      "Dead at T+2000, because attempt 1 of 3 failed for good: Oops: It broke",
    )
    const often = { ...claimed(fresh(), false), losses: Transition.lossMax }
    expect(why(must(Transition.lost(often, { ...error, kind: "lost" }, 2000)))).toBe(
      "Dead at T+2000, because it was lost 6 times before its start was acknowledged: Oops: It broke",
    )
  })

  test("without running: skipped, cancelled, expired", () => {
    const need = failed(claimed(fresh({ job: "a" })), null)
    const reason = `"a" (run ${need.id}) ended dead`
    const skipped = must(Transition.needFailed(fresh({ needs: [need.id] }, 1), reason, 2000))
    expect(explain(facts(skipped, { needs: [need] }), words)).toEqual({
      why: `Skipped at T+2000: ${reason}`,
      next: `Why that one: uhrwerk run explain ${need.id}`,
    })
    expect(why(must(Transition.cancelled(fresh(), "Not wanted", 2000)))).toBe(
      "Cancelled at T+2000: Not wanted",
    )
    expect(why(must(Transition.expired(fresh({ startWithinMillis: 1500 }), 2000)))).toBe(
      "Expired at T+2000 without a start: it was to start before T+1500",
    )
  })
})

test("explain > every state has its sentence, also where little is known", () => {
  for (const state of runStates) {
    const bare = { ...fresh(), state: state satisfies RunState }
    expect(why(bare, { nodes: [] })).toMatch(/^[A-Z][^]{10,}[^.]$/)
  }
})

// The checker of flow runs finds nothing in what a right engine leaves behind, and each of its checks finds what it is
// for: one thing in otherwise right evidence is made wrong.
import { describe, expect, test } from "vitest"
import type { FlowStep, StepEnd } from "../../core/domain/Flow.ts"
import type { Run } from "../../core/domain/Run.ts"
import { enqueued } from "../../core/domain/Transition.ts"
import { expectedOf } from "../core/flow/model.ts"
import { checkFlows } from "./flowChecker.ts"
import type { FlowEvidence, StepLine, View } from "./flowEvidence.ts"
import { endOf, inner, innerPlan, itemsOf, outcomesOf, outer, plan, type Planned } from "./flowPlan.ts"

const t0 = Date.UTC(2026, 0, 1)

const newRun = (id: string, job: string, more: Partial<Run>): Run => {
  const given = {
    id,
    job,
    queue: "default",
    input: null,
    dueAt: t0,
    delayMillis: 0,
    priority: 0,
    attemptMax: 5,
  }
  const none = {
    key: null,
    startWithinMillis: null,
    scheduleId: null,
    nominalAt: null,
    chainId: null,
    replayOf: null,
  }
  return { ...enqueued({ ...given, ...none, needs: [], parentId: null, step: null }, 0, t0), ...more }
}

/** What a right engine leaves behind of a flow run: a step after the other, in the order of the plan. */
const leave = (id: string, n: number): Omit<FlowEvidence, "counts"> => {
  const runs: Array<Run> = []
  const views: Array<View> = []
  const lines: Array<StepLine> = []
  let clock = t0

  const expand = (
    run: Run,
    kind: View["kind"],
    name: string | null,
    steps: ReadonlyArray<FlowStep>,
    outcomes: ReadonlyMap<string, StepEnd>,
  ): Run => {
    const model = expectedOf(steps, outcomes)
    const made = new Map<string, Run>()
    for (const [place, step] of steps.entries()) {
      if (!model.ran.has(step.id)) continue
      const own = newRun(`${run.id}.${step.id}`, kind === "map" ? `${run.job}[]` : `${name}/${step.id}`, {
        parentId: run.id,
        step: place,
        attempt: 1,
        token: 1,
        startedAt: ++clock,
      })
      const done = execute(own, step, model.states.get(step.id) as StepEnd, made, model.states)
      made.set(step.id, done)
      runs.push(done)
    }
    views.push({
      runId: run.id,
      kind,
      name,
      round: 1,
      steps: steps.map((step) => ({
        id: step.id,
        state: model.states.get(step.id) as StepEnd,
        runId: made.get(step.id)?.id ?? null,
      })),
    })
    const outputs = [...made.values()].map(({ output }) => output)
    const output = kind === "map" ? `[${outputs.join()}]` : (outputs.at(-1) ?? null)
    const isGood = model.run === "succeeded"
    return { ...run, state: isGood ? "succeeded" : "dead", output: isGood ? output : null, endedAt: ++clock }
  }

  const execute = (
    run: Run,
    step: FlowStep,
    end: StepEnd,
    made: ReadonlyMap<string, Run>,
    ends: ReadonlyMap<string, StepEnd>,
  ): Run => {
    const { kind = "step" } = step as Partial<Planned>
    if (kind === "flow") return expand(run, "flow", inner, innerPlan, new Map())
    if (kind === "map") {
      const items = itemsOf(n)
      const steps = items.map((_, place) => ({ id: String(place), needs: [] }))
      return expand(run, "map", null, steps, new Map(items.map((does, at) => [String(at), endOf(does)])))
    }
    if (end === "skipped") return { ...run, state: "skipped", endedAt: ++clock }
    const read = step.needs.flatMap((need) => {
      const output = made.get(need)?.output ?? null
      return ends.get(need) === "succeeded" && output !== null ? [[need, JSON.parse(output) as unknown]] : []
    })
    const states = Object.fromEntries(step.needs.map((need) => [need, ends.get(need) as StepEnd]))
    lines.push({ kind: "start", id: run.id, token: 1, needs: Object.fromEntries(read) as {}, states })
    if (end === "failed") return { ...run, state: "dead", endedAt: ++clock }
    const output = { of: run.id }
    lines.push({ kind: "end", id: run.id, token: 1, output })
    return { ...run, state: "succeeded", output: JSON.stringify(output), endedAt: ++clock }
  }

  const root = newRun(id, outer, { input: JSON.stringify({ n }), attempt: 1, token: 1, startedAt: t0 })
  const ended = expand(root, "flow", outer, plan, outcomesOf(n))
  const letter = {
    runId: id,
    job: outer,
    diedAt: clock,
    attempt: 1,
    error: { name: "StepsFailed" },
    replayedBy: null,
  }
  return {
    sent: [{ id, n }],
    runs: [ended, ...runs],
    views,
    lines,
    letters: ended.state === "dead" ? [letter as FlowEvidence["letters"][number]] : [],
  }
}

const countsOf = (runs: ReadonlyArray<Run>): FlowEvidence["counts"] =>
  [...Map.groupBy(runs, ({ job, state }) => `${job} ${state}`).values()].map((some) => ({
    job: some[0]!.job,
    state: some[0]!.state,
    count: some.length,
  }))

// In the one nothing fails; in the other all does that can, and the condition does not hold.
const [good, bad] = [leave("good", 1), leave("bad", 126)]
const right: FlowEvidence = {
  sent: [...good.sent, ...bad.sent],
  runs: [...good.runs, ...bad.runs],
  views: [...good.views, ...bad.views],
  lines: [...good.lines, ...bad.lines],
  letters: [...good.letters, ...bad.letters],
  counts: countsOf([...good.runs, ...bad.runs]),
}

/** Right evidence with one run changed, and the counts to match. */
const withRun = (id: string, change: Partial<Run>): FlowEvidence => {
  const runs = right.runs.map((run) => (run.id === id ? { ...run, ...change } : run))
  return { ...right, runs, counts: countsOf(runs) }
}
const moreRuns = (...more: ReadonlyArray<Run>): FlowEvidence => {
  const runs = [...right.runs, ...more]
  return { ...right, runs, counts: countsOf(runs) }
}
const withView = (runId: string, change: (view: View) => View): FlowEvidence => ({
  ...right,
  views: right.views.map((view) => (view.runId === runId ? change(view) : view)),
})
const withStep = (runId: string, id: string, change: Partial<View["steps"][number]>): FlowEvidence =>
  withView(runId, (view) => ({
    ...view,
    steps: view.steps.map((step) => (step.id === id ? { ...step, ...change } : step)),
  }))
const withLines = (change: (line: StepLine) => ReadonlyArray<StepLine>): FlowEvidence => ({
  ...right,
  lines: right.lines.flatMap(change),
})
const start = (id: string, token: number): StepLine => ({ kind: "start", id, token, needs: {}, states: {} })
const runOf = (id: string): Run => right.runs.find((run) => run.id === id) as Run

describe("checker of flow runs", () => {
  test("finds nothing in right evidence", () => {
    expect(checkFlows(right)).toEqual([])
    // It has all that the plan can bring about.
    expect(runOf("good").state).toBe("succeeded")
    expect(runOf("bad").state).toBe("dead")
    expect(runOf("bad.list").state).toBe("dead")
    expect(runOf("bad.gate").state).toBe("skipped")
  })

  const wrong: ReadonlyArray<readonly [string, FlowEvidence, string]> = [
    [
      "a flow run that was lost",
      { ...right, sent: [...right.sent, { id: "lost", n: 3 }] },
      "what was sent is there, and has expanded once: run lost has no row",
    ],
    [
      "a flow run that never expanded",
      { ...right, views: right.views.filter(({ runId }) => runId !== "good") },
      "run good has no steps",
    ],
    ["a flow run that expanded again", withView("good", (view) => ({ ...view, round: 2 })), "is in round 2"],
    [
      "a flow run that lacks a step",
      withView("good", (view) => ({ ...view, steps: view.steps.slice(1) })),
      "has other steps than the plan",
    ],
    ["a run that hangs", withRun("good.join", { state: "ready" }), "nothing is stuck: run good.join"],
    ["a step that hangs", withStep("good", "join", { state: "released" }), 'step "join" of good is released'],
    [
      "a step that was never reached",
      withStep("bad", "spoilt", { state: "blocked" }),
      'nothing is stuck: step "spoilt" of bad is blocked',
    ],
    [
      "a step that ended otherwise",
      withStep("bad", "spoilt", { state: "skipped" }),
      'each step ends as the model says: step "spoilt" of bad is skipped, not upstream_failed',
    ],
    [
      "a flow run that ended otherwise",
      withRun("bad", { state: "succeeded" }),
      "each flow run ends as the model says: run bad is succeeded, not dead",
    ],
    [
      "a list that ended otherwise",
      withRun("bad.list", { state: "succeeded" }),
      "each flow run ends as the model says: run bad.list is succeeded, not dead",
    ],
    [
      "a join that was released twice",
      moreRuns({ ...runOf("good.join"), id: "again" }),
      "a step has one run, a step that is not to run has none: run good, step 12 has two runs",
    ],
    [
      "a run that no step knows",
      moreRuns({ ...runOf("good.join"), id: "again", step: 99 }),
      'run again of "night/join" is not the run of its step',
    ],
    [
      "a run of a step that was not to run",
      withStep("bad", "spoilt", { runId: "bad.sour" }),
      'step "spoilt" of bad has run bad.sour',
    ],
    ["a step without a run", withStep("good", "join", { runId: null }), 'step "join" of good has no run'],
    ["the run of another flow run", withStep("good", "join", { runId: "bad.join" }), "which is another's"],
    [
      "a step that is not what its run is",
      withRun("good.sum", { state: "dead" }),
      'the outcome of a step is that of its run: step "sum" of good is succeeded, its run dead',
    ],
    [
      "a start after the recorded end",
      { ...right, lines: [...right.lines, start("good.join", 2)] },
      "ended with token 1 and was started with 2",
    ],
    [
      "success without a return",
      withLines((line) => (line.kind === "end" && line.id === "good.tail3" ? [] : [line])),
      "succeeded, and its function did not return",
    ],
    [
      "an output of another attempt",
      withLines((line) =>
        line.kind === "end" && line.id === "good.tail3" ? [{ ...line, output: { of: "other" } }] : [line],
      ),
      "keeps another output than it returned",
    ],
    [
      "a failure that had returned",
      { ...right, lines: [...right.lines, { kind: "end", id: "bad.sour", token: 1, output: 1 }] },
      "is dead, and its function returned",
    ],
    [
      "a failure that nothing caused",
      withLines((line) => (line.id === "bad.sour" ? [] : [line])),
      "is dead, and never began",
    ],
    [
      "a step whose condition did not hold, and that began",
      { ...right, lines: [...right.lines, start("bad.gate", 1)] },
      "was skipped, and began",
    ],
    [
      "an output that changed on its way",
      withLines((line) =>
        line.kind === "start" && line.id === "good.join"
          ? [{ ...line, needs: { ...line.needs, fan7: { of: "other" } } }]
          : [line],
      ),
      'a step reads what was recorded: run good.join of "night/join" read another output of "fan7"',
    ],
    [
      "an output that did not arrive",
      withLines((line) =>
        line.kind === "start" && line.id === "good.join" ? [{ ...line, needs: {} }] : [line],
      ),
      'read another output of "fan0"',
    ],
    [
      "a need that was seen to end otherwise",
      withLines((line) =>
        line.kind === "start" && line.id === "bad.cleanup"
          ? [{ ...line, states: { risky: "skipped" } }]
          : [line],
      ),
      'saw "risky" skipped, and it is failed',
    ],
    [
      "a join that began too early by the log",
      {
        ...right,
        lines: [
          ...right.lines.filter(({ id }) => id !== "good.fan9"),
          ...right.lines.filter(({ id }) => id === "good.fan9"),
        ],
      },
      'a step begins after what it waits for: run good.join of "night/join" began before "fan9"',
    ],
    [
      "a join that was claimed too early",
      withRun("good.join", { startedAt: t0 }),
      'a step begins after what it waits for: run good.join of "night/join" began before "fan0"',
    ],
    [
      "a list whose output is another",
      withRun("good.list", { output: "[]" }),
      "has another output than its steps",
    ],
    [
      "a flow within whose output is another",
      withRun("good.nested", { output: "null" }),
      "has another output than its steps",
    ],
    [
      "a token that does not grow",
      { ...right, lines: [...right.lines, start("good.join", 1)] },
      "was started again with token 1",
    ],
    ["too many attempts", withRun("good.join", { attempt: 6 }), "used 6 of 5 attempts"],
    ["a missing letter", { ...right, letters: [] }, "run bad is dead and has no letter"],
    [
      "a letter twice",
      { ...right, letters: [...right.letters, ...right.letters] },
      "run bad has two letters",
    ],
    [
      "a letter of a step",
      { ...right, letters: right.letters.flatMap((each) => [each, { ...each, runId: "bad.sour" }]) },
      "run bad.sour has a letter, and is no flow run that died",
    ],
    ["a wrong count", { ...right, counts: right.counts.slice(1) }, "0 kept, 1 rows"],
  ]
  test.each(wrong)("finds %s", (_, evidence, problem) => {
    expect(checkFlows(evidence)).toContainEqual(expect.stringContaining(problem))
  })
})

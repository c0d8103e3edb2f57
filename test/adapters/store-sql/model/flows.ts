// Operations on flows, and the flows themselves: of every rule, with and without fail-fast, and lists.
import { type Expansion, type StepPlan, triggerRules } from "../../../../core/domain/Flow.ts"
import { fingerprint } from "../../../../core/domain/Ids.ts"
import { jobs, type Made, operation, queues, type World } from "./world.ts"

const stepIds = ["x", "y", "z", "__proto__", "", "w", "v"].map((id, place) => (id === "" ? `s${place}` : id))

/** What a run expands into: something new, or what another run expanded into. */
export const expansionOf = (world: World): Expansion => {
  const { choice, memory } = world
  if (memory.expansions.length > 0 && choice.percent(30)) return choice.of(memory.expansions)
  const expansion = choice.percent(25) ? mapOf(world) : flowOf(world)
  const whole = choice.percent(80) ? expansion : { ...expansion, input: choice.of([null, '"given"']) }
  memory.expansions.push(whole)
  return whole
}

const stepJob = ({ choice }: World) => ({
  job: choice.of(choice.percent(20) ? ["flow"] : jobs),
  queue: choice.percent(85) ? "default" : choice.of(queues),
  priority: choice.percent(80) ? 0 : choice.int(-1, 1),
  attemptMax: choice.int(1, 2),
})

const flowOf = (world: World): Expansion => {
  const { choice } = world
  const steps: ReadonlyArray<StepPlan> = stepIds.slice(0, choice.int(0, 6)).map((id, place) => ({
    id,
    needs: stepIds.slice(0, place).filter(() => choice.percent(40)),
    ...stepJob(world),
    ...(choice.percent(50) ? { rule: choice.of(triggerRules) } : {}),
    ...(choice.percent(25) ? { allowFailure: true } : {}),
  }))
  const content = {
    steps,
    output: steps.length > 0 && choice.percent(50) ? choice.of(steps).id : null,
    failFast: choice.percent(25),
    timeoutMillis: choice.of([null, null, 1_000, 20_000]),
  }
  // A version stands for all that is in it.
  return {
    kind: "flow",
    definition: { name: "f", version: fingerprint(JSON.stringify(content)), ...content },
  }
}

const mapOf = (world: World): Expansion => {
  const { choice } = world
  return {
    kind: "map",
    step: stepJob(world),
    items: choice.list(0, 4, () => choice.of([null, "1", '"two"'])),
    failFast: choice.percent(30),
  }
}

const plan = { job: "a", queue: "default", priority: 0, attemptMax: 1 }
const withSteps = (steps: ReadonlyArray<StepPlan>, output: string | null = null): Expansion => ({
  kind: "flow",
  definition: { name: "bad", version: "1", steps, output, failFast: false, timeoutMillis: null },
})

/** What nothing can run by. */
export const badExpansions: ReadonlyArray<Expansion> = [
  withSteps([{ id: "x", needs: ["y"], ...plan }]),
  withSteps([{ id: "x", needs: ["x"], ...plan }]),
  withSteps([
    { id: "x", needs: [], ...plan },
    { id: "x", needs: [], ...plan },
  ]),
  withSteps([{ id: "x", needs: [], ...plan }], "y"),
  { kind: "map", step: plan, items: Array(1_001).fill(null), failFast: false },
]

/** Without a flow run there is not much to ask. */
const isVain = ({ choice, flows }: World): boolean => flows.length === 0 && choice.percent(85)

export const stepInputs = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice } = world
  const steps = world.runs.filter(({ parentId }) => parentId !== null).map(({ id }) => id)
  return operation("stepInputs", [...choice.some(steps, 5), world.anyId()])
}

export const flowOfRun = (world: World): Made | null =>
  isVain(world) ? null : operation("flowOf", world.flowId())

const anyStep = ({ choice }: World): string =>
  choice.percent(40) ? choice.of(["0", "1"]) : choice.of(stepIds)

const endedFlow = (world: World): string => {
  const { choice } = world
  const ended = world.flows.filter(({ endedAt, parentId }) => endedAt !== null && parentId === null)
  return ended.length > 0 && choice.percent(90) ? choice.of(ended).id : world.flowId()
}

export const rerunFlow = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice } = world
  const from = choice.percent(60)
    ? choice.of(["failed", "skipped"] as const)
    : choice.some(stepIds.slice(0, 3), 2)
  const runId = endedFlow(world)
  const again = world.runs.filter(({ replayOf }) => replayOf === runId)
  const taken = choice.percent(50) && again.length > 0 ? choice.of(again).id : world.anyId()
  return operation("rerunFlow", runId, choice.percent(25) ? taken : world.newId(), from)
}

export const markStep = (world: World): Made | null => {
  if (isVain(world)) return null
  const { choice } = world
  const waiting = world.runs.filter(({ state, attempt }) => state === "blocked" && attempt > 0)
  return operation("markStep", {
    runId: waiting.length > 0 && choice.percent(85) ? choice.of(waiting).id : world.flowId(),
    step: anyStep(world),
    end: choice.of(["succeeded", "skipped"]),
    reason: "Done by hand",
    output: choice.of([null, '"by hand"']),
  })
}

// Calls that a store must refuse, and of which it must do nothing.
import type { Expansion, StepPlan } from "../../../../core/domain/Flow.ts"
import { jobs, type Made, queues, refusedOne, type World } from "./world.ts"

const plan = { job: "a", queue: "default", priority: 0, attemptMax: 1 }
const flow = (steps: ReadonlyArray<StepPlan>, output: string | null = null): Expansion => ({
  kind: "flow",
  definition: { name: "bad", version: "1", steps, output, failFast: false, timeoutMillis: null },
})

const badExpansions: ReadonlyArray<Expansion> = [
  flow([{ id: "x", needs: ["y"], ...plan }]),
  flow([{ id: "x", needs: ["x"], ...plan }]),
  flow([
    { id: "x", needs: [], ...plan },
    { id: "x", needs: [], ...plan },
  ]),
  flow([{ id: "x", needs: [], ...plan }], "y"),
  { kind: "map", step: plan, items: Array(1_001).fill(null), failFast: false },
]

/** One such call; `null` when what it would be made of is not there. */
export const refusal = (world: World): Made | null => {
  const { choice, schedules } = world
  const limit = choice.of([0, 1_001, 1.5])
  const page = { limit: choice.of([0, 201, -1]) }
  const unknown = "nowhere"
  const many = Array<string>(1_001).fill("id")
  const [row] = schedules
  const running = world.runIn("running")
  const [dead] = world.letters
  const [flowRun] = world.flows
  return choice.of<() => Made | null>([
    () => refusedOne("enqueue", [world.newRun(), world.newRun({ needs: [unknown] })]),
    () => refusedOne("enqueue", Array(1_001).fill(world.newRun())),
    () => refusedOne("claim", { node: "n1", queues, jobs, limit, acknowledged: true }),
    () => refusedOne("started", Array(1_001).fill({ id: "id", token: 1 })),
    () =>
      running === undefined
        ? null
        : refusedOne("settle", [
            { id: running.id, token: running.token, kind: "expanded", expansion: choice.of(badExpansions), retryInMillis: null },
          ]),
    () => refusedOne("promote", limit),
    () => refusedOne("dueWithin", 0, 1, 100_001),
    () => refusedOne("carried", "n1", limit),
    () => refusedOne("reclaim", "n1", limit),
    () => refusedOne("cancel", many, "Not wanted"),
    () => refusedOne("get", many),
    () => refusedOne("list", page),
    () => refusedOne("deadLetters", page),
    () => (dead === undefined ? null : refusedOne("replay", [dead], [world.runs[0]?.id ?? ""])),
    () => refusedOne("replay", ["id"], []),
    () => refusedOne("drop", many),
    () => refusedOne("prune", world.now, limit),
    () => refusedOne("stepInputs", many),
    () => (flowRun === undefined ? null : refusedOne("rerunFlow", flowRun.id, world.newId(), [unknown])),
    () => refusedOne("putSchedules", Array(1_001).fill(null)),
    () => refusedOne("deleteSchedules", many),
    () => refusedOne("dueSchedules", limit),
    () => (row === undefined ? null : refusedOne("fire", [{
      scheduleId: row.id, version: row.version, cursor: row.cursor, nextAt: null, waitsUntil: null, cancelRunId: row.lastRunId,
      occurrences: [], runs: [world.newRun(), world.newRun({ needs: [unknown] })], lastRunId: null, zoneData: null,
    }])),
    () => row === undefined ? null : refusedOne("backfill", [{ scheduleId: row.id, at: row.cursor + 250, runs: [world.newRun({ needs: [unknown] })] }]),
    () => refusedOne("occurrences", page),
    () => refusedOne("putCalendars", Array(1_001).fill(null)),
    () => refusedOne("deleteCalendars", many),
  ])()
}

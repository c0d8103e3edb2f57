// Calls that a store must refuse, and of which it must do nothing.
import type { PutCredential, PutRecord } from "../../../../core/ports/StoreDriver.ts"
import { badExpansions } from "./flows.ts"
import { jobs, type Made, queues, refusedOne, type World } from "./world.ts"

const credential = {
  id: "k1",
  kind: "worker",
  name: "edge",
  hash: "0".repeat(64),
  scope: "{}",
  expiresAt: null,
} as const

const badFields: ReadonlyArray<Partial<PutCredential>> = [
  { id: "" },
  { kind: "person" as "api" },
  { name: "n".repeat(256) },
  { hash: "A".repeat(64) },
  { scope: "s".repeat(65_537) },
  { expiresAt: 0.5 },
]

const record = { kind: "note", id: "a", body: "{}", expiresAt: null, expected: null } as const

const badRecords: ReadonlyArray<Partial<PutRecord>> = [
  { kind: "" },
  { kind: "Note" },
  { id: "" },
  { id: "ö" },
  { body: "ö".repeat(131_073) },
  { expiresAt: 0.5 },
  { expected: -1 },
]

/** One such call; `null` when what it would be made of is not there. */
export const refusal = (world: World): Made | null => {
  const { choice, schedules } = world
  const limit = choice.of([0, 1_001, 1.5])
  const page = { limit: choice.of([0, 201, -1]) }
  // With a key of a run that is there it would be that run, whatever it needs.
  const needing = () => [world.newRun({ key: null }), world.newRun({ key: null, needs: ["nowhere"] })]
  const unknown = "nowhere"
  const many = Array<string>(1_001).fill("id")
  const [row] = schedules
  // One that expands for the first time: a later round keeps to what the first began with.
  const running = world.runs.find(
    ({ id, state }) => state === "running" && !world.flows.some((run) => run.id === id),
  )
  const [dead] = world.letters
  const [flowRun] = world.flows
  return choice.of<() => Made | null>([
    () => refusedOne("enqueue", needing()),
    () => refusedOne("enqueue", Array(1_001).fill(world.newRun())),
    () => refusedOne("claim", { node: "n1", queues, jobs, limit, acknowledged: true }),
    () =>
      refusedOne(
        "started",
        many.map((id) => ({ id, token: 1 })),
      ),
    () =>
      running === undefined
        ? null
        : refusedOne("settle", [
            {
              id: running.id,
              token: running.token,
              kind: "expanded",
              expansion: choice.of(badExpansions),
              retryInMillis: null,
            },
          ]),
    () => refusedOne("promote", limit),
    () => refusedOne("dueWithin", 0, 1, 100_001),
    () => refusedOne("carried", "n1", limit),
    () =>
      refusedOne(
        "adopt",
        "n1",
        many.map((id) => ({ id, token: 1 })),
      ),
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
    () =>
      row === undefined
        ? null
        : refusedOne("fire", [
            {
              scheduleId: row.id,
              version: row.version,
              cursor: row.cursor,
              nextAt: null,
              waitsUntil: null,
              cancelRunId: row.lastRunId,
              occurrences: [],
              runs: needing(),
              lastRunId: null,
              zoneData: null,
            },
          ]),
    () =>
      row === undefined
        ? null
        : refusedOne("backfill", [{ scheduleId: row.id, at: row.cursor + 250, runs: needing() }]),
    () => refusedOne("occurrences", page),
    () => refusedOne("putCalendars", Array(1_001).fill(null)),
    () => refusedOne("deleteCalendars", many),
    () => refusedOne("reportWorkers", "n1", "ö".repeat(524_289)),
    () => refusedOne("putCredential", { ...credential, ...choice.of(badFields) }),
    () => refusedOne("deleteCredentials", many),
    () => refusedOne("list", { jobs: many, limit: 1 }),
    () => refusedOne("deadLetters", { jobs: many, limit: 1 }),
    () => refusedOne("putRecords", [record, { ...record, ...choice.of(badRecords) }]),
    () =>
      refusedOne(
        "putRecords",
        many.map((id) => ({ ...record, id })),
      ),
    () => refusedOne("records", { kind: "note", order: "ascending", limit }),
    () => refusedOne("deleteRecords", "note", many),
    () => refusedOne("pruneRecords", limit),
  ])()
}

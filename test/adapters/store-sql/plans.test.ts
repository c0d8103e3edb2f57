// What SQLite does for each operation: every statement is recorded while it is executed, over a store with rows in
// every state, and its plan must use the index that is made for it and read no history from end to end.
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type Database, openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import { newCredential } from "../../../core/contract/CredentialStoreContract.ts"
import { newRecord } from "../../../core/contract/RecordStoreContract.ts"
import { failure, newRun, runId } from "../../../core/contract/Fixtures.ts"
import { stepRunId } from "../../../core/domain/Ids.ts"
import { type RunState, runStates } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { now } from "./folder.ts"

let database: Database
let store: StoreDriver
let executed: Array<string> = []
beforeAll(async () => {
  const opened = openDatabase({ file: ":memory:" })
  database = opened
  // As the database, but it remembers what was executed.
  const recording: Database = {
    ...opened,
    prepare: (sql) => {
      const statement = opened.prepare(sql)
      return new Proxy(statement, {
        get: (target, name) => {
          const value = target[name as keyof typeof target] as unknown
          if (typeof value !== "function") return value
          return (...args: ReadonlyArray<never>): unknown => {
            executed.push(sql)
            return (value as (...all: ReadonlyArray<never>) => unknown).apply(target, [...args])
          }
        },
      })
    },
  }
  store = driverOver(recording, { file: ":memory:", now })
  await store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 5000)
  await store.enqueue([newRun(1), newRun(2), newRun(3, { key: "k", delayMillis: 1000 })])
  await store.enqueue([newRun(4, { startWithinMillis: 1 }), newRun(5, { needs: [runId(1)] })])
  const schedule = { id: "s", job: "report", input: null, overlap: "skip", fromConfig: true } as const
  const place = { cursor: now() - 1, nextAt: now(), zoneData: null, createdAt: now() }
  const trigger = { kind: "after", delayMillis: 1 } as const
  await store.putSchedules([{ ...schedule, trigger, ...place }])
  const many = Array.from({ length: 20 }, (_, index) => ({ ...schedule, id: `m${index}`, trigger, ...place }))
  await store.putSchedules(many)
})
afterAll(() => database.close())

// States of which a job has an index of its own.
const ofAJob: Partial<Record<RunState, RegExp>> = {
  succeeded: /runs_job \(job=\?/,
  dead: /runs_otherwise \(job=\? AND state=\?/,
  cancelled: /runs_otherwise \(job=\? AND state=\?/,
  skipped: /runs_otherwise \(job=\? AND state=\?/,
  expired: /runs_otherwise \(job=\? AND state=\?/,
}

const step = { version: 1, cursor: now(), nextAt: null, waitsUntil: null, cancelRunId: null, zoneData: null }

/** An instant with its run. */
const decided = (id: number) => ({
  occurrences: [{ at: now(), lastAt: now(), count: 1, runId: runId(id), reason: null, nominalAt: null }],
  runs: [newRun(id, { scheduleId: "s" })],
  lastRunId: runId(id),
})

const plan = { job: "step", queue: "default", priority: 0, attemptMax: 1 }
const expansion = {
  kind: "flow",
  definition: {
    name: "night",
    version: "1",
    steps: [
      { id: "a", needs: [], ...plan },
      { id: "b", needs: ["a"], ...plan },
      { id: "c", needs: ["b"], ...plan },
    ],
    output: "c",
    failFast: false,
    timeoutMillis: 1000,
  },
} as const

/** A new run that has expanded. */
let flowCount = 0
const expanded = async (): Promise<string> => {
  const id = runId(1000 + flowCount++)
  await store.enqueue([newRun(999 + flowCount, { job: "night" })])
  await store.claim({ ...claim, jobs: ["night"] })
  await store.settle([{ id, token: 1, kind: "expanded", expansion, retryInMillis: null }])
  return id
}

/** Claims all steps that are ready, and settles them. */
const endSteps = async (): Promise<void> => {
  const held = await store.claim({ ...claim, jobs: ["step"] })
  await store.settle(held.map(({ id, token }) => ({ id, token, kind: "succeeded", output: null })))
}

/** The plans of all that one call executes, a line each. */
const plansOf = async (call: () => unknown): Promise<ReadonlyArray<string>> => {
  executed = []
  await call()
  const statements = executed.filter((sql) => !/^(begin|commit|rollback)/.test(sql))
  return statements.flatMap((sql) =>
    database
      .prepare(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => String(detail)),
  )
}

// Named through another index or the primary key; tables that are small by nature may be read as they are.
const scans = (plans: ReadonlyArray<string>): ReadonlyArray<string> =>
  plans.filter(
    (plan) =>
      /^SCAN (?!.*USING (COVERING )?INDEX)/.test(plan) &&
      !/^SCAN (json_each|nodes|v$|\(|\d|CONSTANT)/.test(plan),
  )

const claim = { node: "n1", queues: ["default"], jobs: ["report"], limit: 10, acknowledged: true }

describe("the index that is made for it is used", () => {
  const uses: ReadonlyArray<[string, () => unknown, ReadonlyArray<string | RegExp>]> = [
    [
      "claim",
      () => store.claim({ ...claim, limit: 2 }),
      ["runs_expiring", "runs_scheduled", "runs_retrying", /runs_ready \(queue=\?/],
    ],
    [
      "claim of several queues",
      () => store.claim({ ...claim, queues: ["default", "other"], limit: 1, jobs: ["none"] }),
      ["runs_ready"],
    ],
    [
      "claim of jobs that expand",
      () => store.claim({ ...claim, jobs: ["other"], expanding: ["other"] }),
      [/runs_ready \(queue=\?/],
    ],
    [
      "promote",
      () => store.promote(100),
      ["runs_expiring", "runs_scheduled (due_at<?)", "runs_retrying (due_at<?)"],
    ],
    [
      "dueWithin",
      () => store.dueWithin(0, 9e15, 10),
      ["runs_scheduled (due_at>?", "runs_retrying (due_at>?"],
    ],
    ["carried", () => store.carried("n1", 10), ["runs_running (node=?)"]],
    ["started", () => store.started([{ id: runId(1), token: 1 }]), ["runs_id (id=?)"]],
    ["adopt", () => store.adopt("n1", [{ id: runId(1), token: 1 }]), ["runs_id (id=?)"]],
    [
      "settle as lost",
      () => store.settle([{ id: runId(1), token: 9, kind: "released", loss: true }]),
      ["runs_id (id=?)"],
    ],
    [
      "reportWorkers",
      () => store.reportWorkers("n1", "[]"),
      [/nodes USING (COVERING )?INDEX sqlite_autoindex_nodes_1 \(id=\?\)/],
    ],
    ["putCredential", () => store.putCredential(newCredential(1)), ["SCAN credentials"]],
    ["deleteCredentials", () => store.deleteCredentials(["c1"]), ["credentials_1 (id=?)"]],
    [
      "settle as succeeded",
      () => store.settle([{ id: runId(1), token: 1, kind: "succeeded", output: null }]),
      ["runs_id (id=?)", "PRIMARY KEY (need_id=?)"],
    ],
    [
      "settle as failed",
      () => store.settle([{ id: runId(2), token: 1, kind: "failed", error: failure, retryInMillis: null }]),
      ["runs_id (id=?)"],
    ],
    ["reclaim", () => store.reclaim("n2", 10), ["runs_running"]],
    ["cancel by id", () => store.cancel([runId(3)], "why"), ["runs_id (id=?)"]],
    ["get", () => store.get([runId(3)]), ["runs_id (id=?)"]],
    ["attempts", () => store.attempts(runId(2)), ["attempts_run (run_id=?)"]],
    ["enqueue of an id that is there", () => store.enqueue([newRun(1)]), ["runs_id (id=?)"]],
    [
      "enqueue of a key that is in use",
      () => store.enqueue([newRun(90, { key: "u", delayMillis: 9 }), newRun(91, { key: "u" })]),
      ["runs_key (job=? AND key=?)"],
    ],
    ["list of a job", () => store.list({ job: "report", limit: 10 }), ["runs_job (job=? AND id>? AND id<?)"]],
    ["list of all", () => store.list({ limit: 10 }), ["runs_id (id>? AND id<?)"]],
    ["list of a queue", () => store.list({ queue: "default", limit: 10 }), ["runs_id (id>? AND id<?)"]],
    [
      "list of several jobs",
      () => store.list({ jobs: ["report", "other"], limit: 10 }),
      [
        /runs USING COVERING INDEX runs_job \(job=\? AND id>\? AND id<\?\)/,
        /runs USING INDEX runs_job \(job=\? AND id>\? AND id<\?\)/,
      ],
    ],
    [
      "list of several jobs that ended otherwise",
      () => store.list({ jobs: ["report", "other"], state: "dead", limit: 10 }),
      [/runs_otherwise \(job=\? AND state=\? AND id>\? AND id<\?\)/],
    ],
    [
      "list of several jobs that wait",
      () => store.list({ jobs: ["report", "other"], state: "ready", limit: 10 }),
      ["runs_ready"],
    ],
    ["list of a chain", () => store.list({ chainId: runId(1), limit: 10 }), ["runs_chain (chain_id=?)"]],
    [
      "dead letters of several jobs",
      () => store.deadLetters({ jobs: ["report", "other"], limit: 10 }),
      [/dead_letters_1 \(run_id<\?\)/],
    ],
    [
      "queueDepths",
      () => store.queueDepths(),
      ["runs USING COVERING INDEX runs_ready", "runs USING INDEX runs_running"],
    ],
    [
      "putRecords",
      () => store.putRecords([newRecord("a"), newRecord("b", { expected: 0 })]),
      ["records_id (kind=? AND id=?)"],
    ],
    [
      "records",
      () => store.records({ kind: "note", prefix: "a", order: "descending", limit: 10 }),
      ["records_id (kind=? AND id>? AND id<?)"],
    ],
    ["deleteRecords", () => store.deleteRecords("note", ["a"]), ["records_id (kind=? AND id=?)"]],
    [
      "removal of expired records",
      () => store.pruneRecords(10),
      ["records_expiring (expires_at>? AND expires_at<?)"],
    ],
    ["dead letters", () => store.deadLetters({ limit: 10 }), [/dead_letters_1 \(run_id<\?\)/]],
    ["replay", () => store.replay([runId(2)], [runId(92)]), ["(run_id=?)", "runs_id (id=?)"]],
    [
      "dueSchedules",
      () => store.dueSchedules(10),
      ["schedules_next (next_at>? AND next_at<?)", "schedules_waiting", "runs_id (id=?)"],
    ],
    ["nextScheduleAt", () => store.nextScheduleAt(), ["schedules_next"]],
    [
      "fire",
      () =>
        store.fire([
          { ...step, ...decided(93), scheduleId: "s" },
          ...Array.from({ length: 20 }, (_, index) => ({
            ...step,
            ...decided(100 + index),
            scheduleId: `m${index}`,
          })),
        ]),
      ["(id=?)"],
    ],
    [
      "fire of one step",
      () => store.fire([{ ...step, ...decided(95), scheduleId: "s", version: 2 }]),
      ["(id=?)", "occurrences_schedule (schedule_id=? AND at=?)"],
    ],
    [
      "backfill",
      () => store.backfill([{ scheduleId: "s", at: 7, runs: [newRun(94)] }]),
      [
        "(id=?)",
        "occurrences_schedule (schedule_id=? AND at=?)",
        "occurrences_schedule (schedule_id=? AND at<?)",
      ],
    ],
    ["deleteSchedules", () => store.deleteSchedules(["m0"]), ["(id=?)"]],
    [
      "the ledger of a schedule",
      () => store.occurrences({ scheduleId: "s", limit: 10 }),
      ["occurrences_schedule (schedule_id=? AND at<?)"],
    ],
    ["the ledger of all", () => store.occurrences({ limit: 10 }), ["occurrences_at (at<?)"]],
    [
      "settle as expanded",
      expanded,
      ["definitions_version (name=? AND version=?)", "expansions_run (run_id=?)", "runs_id (id=?)"],
    ],
    [
      "settle of steps",
      endSteps,
      ["expansions_run (run_id=?)", "PRIMARY KEY (expansion_id=? AND step=?)", "runs_id (id=?)"],
    ],
    ["dueWithin of deadlines", () => store.dueWithin(0, 9e15, 10), ["expansions_deadline (deadline_at>?"]],
    [
      "promote over deadlines",
      () => store.promote(10),
      ["expansions_deadline (deadline_at>? AND deadline_at<?)"],
    ],
    [
      "stepInputs",
      async () => store.stepInputs([stepRunId(await expanded(), 1, 1)]),
      ["expansions_run (run_id=?)", "runs_id (id=?)"],
    ],
    [
      "flowOf",
      async () => store.flowOf(await expanded()),
      ["s USING PRIMARY KEY (expansion_id=?)", "r USING INDEX runs_id (id=?)"],
    ],
    [
      "markStep",
      async () =>
        store.markStep({ runId: await expanded(), step: "a", end: "skipped", reason: "no", output: null }),
      ["PRIMARY KEY (expansion_id=? AND step=?)"],
    ],
    [
      "rerunFlow",
      async () => {
        const id = await expanded()
        await store.cancel([id], "why")
        return store.rerunFlow(id, runId(2000 + flowCount), "failed")
      },
      ["PRIMARY KEY (expansion_id=?)", "dead_letters_1 (run_id=?)"],
    ],
    [
      "prune of a flow run",
      async () => {
        await store.cancel([await expanded()], "why")
        await store.prune(now() + 1, 100)
      },
      ["expansions_run (run_id=?)", "expansions_definition (definition_id=?)", "steps_kept (run_id=?)"],
    ],
    [
      "prune",
      () => store.prune(now() + 1, 100),
      [
        "INTEGER PRIMARY KEY (rowid<?)",
        "dead_letters_1 (run_id=?)",
        "schedules USING PRIMARY KEY (id=?)",
        "occurrences_at (at<?)",
        "schedules_trigger (trigger_id=?)",
      ],
    ],
  ]
  test.each(uses)("%s", async (name, call, indexes) => {
    const plans = await plansOf(call)
    const text = plans.join("\n")
    for (const index of indexes) {
      if (typeof index === "string") expect(text).toContain(index)
      else expect(text).toMatch(index)
    }
    // Whether anybody waits for anything is one look at the first row there is; and a list that is given is read.
    const given = "SCAN wanted VIRTUAL TABLE"
    const read = scans(plans).filter((scan) => scan !== "SCAN dependents" && !scan.startsWith(given))
    // The first young row ends this one, and what is before it is removed right after.
    expect([...new Set(read)]).toEqual(name.startsWith("prune") ? ["SCAN runs"] : [])
  })

  test.each(
    runStates.map((state): [RunState, RegExp] => [
      state,
      state === "succeeded" ? /runs_id \(id>\? AND id<\?\)/ : new RegExp(`runs_${state}\\b`),
    ]),
  )("list of state %s", async (state, index) => {
    for (const filter of [{}, { job: "report" }]) {
      const plans = await plansOf(() => store.list({ ...filter, state, limit: 10 }))
      const ofJob = "job" in filter ? ofAJob[state] : undefined
      expect(plans.join("\n")).toMatch(ofJob ?? index)
      expect(scans(plans)).toEqual([])
    }
  })

  test("a list of jobs that the store knows is not read again, however long it is", async () => {
    const jobs = ["none", "neither"]
    const first = await plansOf(() => store.claim({ ...claim, jobs }))
    expect(first.filter((line) => line.includes("json_each"))).not.toEqual([])
    for (const known of [jobs, [...jobs]]) {
      const again = await plansOf(() => store.claim({ ...claim, jobs: known }))
      expect(again.filter((line) => line.includes("json_each"))).toEqual([])
      expect(again.join("\n")).toContain("wanted_jobs_1 FOR IN-OPERATOR")
    }
    await store.enqueue([newRun(500, { job: "neither" }), newRun(501, { job: "late" })])
    expect(await store.claim({ ...claim, jobs: ["late"] })).toMatchObject([{ job: "late" }])
    expect(await store.claim({ ...claim, jobs })).toMatchObject([{ job: "neither" }])
  })

  test("what many steps of a flow run need is read once for all of them", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`)
    const steps = [
      ...names.map((id) => ({ id, needs: [], ...plan, job: "wide step" })),
      ...names.map((id) => ({ id: `${id}-behind`, needs: names, ...plan })),
    ]
    const id = runId(400)
    await store.enqueue([newRun(400, { job: "wide" })])
    await store.claim({ ...claim, jobs: ["wide"] })
    const wide = { ...expansion, definition: { ...expansion.definition, name: "wide", steps, output: null } }
    await store.settle([{ id, token: 1, kind: "expanded", expansion: wide, retryInMillis: null }])
    const held = await store.claim({ ...claim, jobs: ["wide step"], limit: 50 })
    await store.settle(
      held.map((run) => ({ id: run.id, token: 1, kind: "succeeded", output: `"${run.step}"` })),
    )
    executed = []
    const inputs = await store.stepInputs(names.map((_, index) => stepRunId(id, 50 + index, 1)))
    expect(executed.length).toBeLessThan(8)
    expect(inputs).toHaveLength(50)
    for (const { needs } of inputs)
      expect(needs).toEqual(names.map((name, at) => ({ id: name, state: "succeeded", output: `"${at}"` })))
  })

  test("no index is there that no operation uses", async () => {
    const indexes = database
      .prepare("select name from sqlite_schema where type = 'index' and sql is not null")
      .all()
      .map(({ name }) => String(name))
    const all: Array<string> = []
    for (const [, call] of uses) all.push(...(await plansOf(call)))
    for (const state of runStates) all.push(...(await plansOf(() => store.list({ state, limit: 10 }))))
    const text = all.join("\n")
    // It also keeps a key from being used twice, and a chain's index serves long histories.
    // The plan of an upsert does not name the index that finds what is there, nor that of an insert what it looks in.
    expect(indexes.filter((name) => !text.includes(name))).toEqual(["triggers_text", "credentials_name"])
  })
})

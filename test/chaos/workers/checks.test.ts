// The checks of the chaos run with workers find nothing in what a right server leaves behind, and each finds what it is
// for: one thing in otherwise right evidence is made wrong.
import { describe, expect, test } from "vitest"
import type { Attempt, Run } from "../../../core/domain/Run.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { failureText, judge, mostAtOnce } from "./checks.ts"
import type { Incident, Story } from "./evidence.ts"
import { overlapsOf } from "./overlap.ts"
import { reportOf, textOf } from "./report.ts"
import { requeuesOf } from "./requeue.ts"

const t0 = Date.UTC(2026, 0, 1)
const [killed, silent, halfCut, broken, probeA, probeB] = [1, 2, 3, 4, 5, 6].map(
  (n) => `0199a1b2-0000-7000-8000-00000000000${n}`,
) as [string, string, string, string, string, string]

const run = (id: string, token: number, pid: number, more: Partial<Run> = {}): Run => ({
  id,
  job: "work",
  queue: "default",
  input: null,
  dueAt: t0,
  delayMillis: 0,
  priority: 0,
  attemptMax: 20,
  key: null,
  expiresAt: null,
  scheduleId: null,
  nominalAt: null,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: null,
  step: null,
  state: "succeeded",
  createdAt: t0,
  attempt: token,
  losses: 0,
  token,
  node: null,
  waitingFor: 0,
  startedAt: t0 + 10,
  startAcknowledged: true,
  endedAt: t0 + 90_000,
  output: JSON.stringify({ pid, token }),
  error: null,
  reason: null,
  ...more,
})
type Line = Story["effects"][number]
const start = (id: string, worker: string, pid: number, token: number, at: number): Line => ({
  kind: "start",
  id,
  worker,
  pid,
  token,
  attempt: token,
  dueAt: t0,
  at,
})
const end = (id: string, worker: string, pid: number, token: number, at: number, ok = true): Line => ({
  kind: "end",
  id,
  worker,
  pid,
  token,
  ok,
  at,
})
const failed = (runId: string, endedAt: number, error: Attempt["error"]): Attempt => ({
  runId,
  attempt: 1,
  token: 1,
  node: "n",
  startedAt: t0,
  endedAt,
  error,
})
const lost = (runId: string, endedAt: number): Attempt =>
  failed(runId, endedAt, { name: "LeaseLost", message: "The worker was lost", kind: "lost" })
const incident = (
  kind: Incident["kind"],
  worker: string | null,
  pid: number | null,
  from: number,
  to: number,
  more: Partial<Incident> = {},
): Incident => ({ kind, worker, pid, from, to, what: `${kind} of ${worker}`, ...more })
const view = (name: string): WorkerView => ({
  name,
  node: "n",
  status: "alive",
  runtime: "node",
  version: "1",
  jobs: ["work"],
  unable: [],
  queues: null,
  labels: {},
  slots: 1,
  prefetch: 0,
  inHand: 0,
  load: null,
  credential: null,
  address: "127.0.0.1",
  connectedAt: t0,
  heardAt: t0,
})
const life = (worker: string, pid: number, to = t0 + 200_000) => ({
  worker,
  pid,
  runtime: "node",
  from: t0,
  to,
})
const text = (token: number): string => failureText("Broken for ever", token)

// Worker "a" (process 11) is killed with one run in hand, which goes on in "b" (12). Then "b" is frozen for 20 s with
// another one; "c" (13) takes it. A connection of "c" is ended so that only the server knows, with a third one in hand,
// which "d" (14) takes. One run fails for good, and at the end all four slots are taken at once.
const killedAt = t0 + 1000
const frozenAt = t0 + 20_000
const halfAt = t0 + 50_000
const probeAt = t0 + 80_000
const right: Story = {
  ledger: [killed, silent, halfCut, broken, probeA, probeB].flatMap((id) => [
    { kind: "send", id, mode: id === broken ? "refused" : "slow", dueAt: null } as const,
    { kind: "ack", id } as const,
  ]),
  effects: [
    start(killed, "a", 11, 1, t0 + 20),
    start(killed, "b", 12, 2, killedAt + 950),
    end(killed, "b", 12, 2, killedAt + 1500),
    start(broken, "d", 14, 1, t0 + 9000),
    end(broken, "d", 14, 1, t0 + 9010, false),
    start(silent, "b", 12, 1, frozenAt - 1000),
    start(silent, "c", 13, 2, frozenAt + 15_100),
    end(silent, "c", 13, 2, frozenAt + 16_000),
    // It was frozen in the middle, and ends when its run has long been another's.
    end(silent, "b", 12, 1, frozenAt + 20_100),
    start(halfCut, "c", 13, 1, halfAt - 1000),
    start(halfCut, "d", 14, 2, halfAt + 950),
    end(halfCut, "d", 14, 2, halfAt + 3000),
    end(halfCut, "c", 13, 1, halfAt + 10_700, false),
    start(probeA, "c", 13, 1, probeAt),
    start(probeB, "d", 14, 1, probeAt + 10),
    end(probeA, "c", 13, 1, probeAt + 500),
    end(probeB, "d", 14, 1, probeAt + 510),
  ],
  aborts: [{ kind: "abort", id: halfCut, worker: "c", pid: 13, token: 1, at: halfAt + 10_690 }],
  runs: [
    run(killed, 2, 12),
    run(silent, 2, 13),
    run(halfCut, 2, 14),
    run(broken, 1, 14, { state: "dead", output: null }),
    run(probeA, 1, 13),
    run(probeB, 1, 14),
  ],
  attempts: [
    lost(killed, killedAt + 900),
    failed(broken, t0 + 9020, { name: "NonRetryable", message: text(1), kind: "error" }),
    lost(silent, frozenAt + 15_050),
    lost(halfCut, halfAt + 900),
  ],
  letters: [
    {
      runId: broken,
      job: "work",
      queue: "default",
      attempt: 1,
      error: { name: "NonRetryable", message: text(1), kind: "error" },
      diedAt: t0 + 9020,
    } as unknown as Story["letters"][number],
  ],
  occurrences: [],
  schedules: [],
  counts: [
    { job: "work", state: "succeeded", count: 5 },
    { job: "work", state: "dead", count: 1 },
  ],
  incidents: [
    incident("killWorker", "a", 11, killedAt, killedAt + 50),
    incident("freeze", "b", 12, frozenAt, frozenAt + 20_000),
    incident("halfOpen", "c", 13, halfAt, halfAt + 12_000, { side: "server" }),
  ],
  lives: [life("a", 11, killedAt + 5), life("b", 12), life("c", 13), life("d", 14)],
  probe: { ids: [probeA, probeB], slots: 2 },
  workers: ["a", "b", "c", "d"].map((name, place) => ({ ...view(name), slots: place < 2 ? 0 : 1 })),
  memory: [{ first: 90, most: 120, last: 110 }],
  badStops: [],
  bars: { closedMillis: 1000, silentMillis: 16_000, slackMillis: 0 },
}

const found = (wrong: Partial<Story>): ReadonlyArray<string> =>
  judge({ ...right, ...wrong }).flatMap(({ name, violations }) =>
    violations.map((what) => `${name}: ${what}`),
  )

const changed = (id: string, token: number, kind: Line["kind"], change: Partial<Line>): ReadonlyArray<Line> =>
  right.effects
    .map((line) =>
      line.id === id && line.token === token && line.kind === kind ? ({ ...line, ...change } as Line) : line,
    )
    .toSorted((a, b) => a.at - b.at)

test("what a right server leaves behind is right", () => {
  expect(found({})).toEqual([])
  const names = judge(right).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

describe("a planted violation is found", () => {
  const [first, second] = right.runs as [Run, Run]
  const cases: ReadonlyArray<readonly [name: string, wrong: Partial<Story>, what: RegExp]> = [
    [
      "an acknowledged run without a row",
      { ledger: [...right.ledger, { kind: "ack", id: "gone" }] },
      /run gone was acknowledged and has no row/,
    ],
    [
      "a success of an old token",
      { runs: [first, { ...second, output: JSON.stringify({ pid: 12, token: 1 }) }, ...right.runs.slice(2)] },
      /keeps what token 1 brought[^]*late outcome of token 1 was accepted/,
    ],
    [
      "a success that its holder did not bring",
      { runs: [{ ...first, output: JSON.stringify({ pid: 13, token: 2 }) }, ...right.runs.slice(1)] },
      /succeeded by process 13, which did not do it/,
    ],
    [
      "a failure of another token",
      {
        attempts: right.attempts.map((each) =>
          each.runId === broken ? { ...each, error: { ...each.error, message: text(2) } } : each,
        ),
      },
      /the failure of token 2 is accounted to token 1/,
    ],
    [
      "a token that was begun twice",
      { effects: [start(killed, "c", 13, 1, t0 + 30), ...right.effects] },
      /was started 2 times, by 13,11/,
    ],
    [
      "a late start by a worker that nothing held up",
      { effects: [...right.effects, start(killed, "d", 14, 1, killedAt + 60_000)] },
      /was begun late with token 1 by "d", for no reason/,
    ],
    [
      "a killed worker's run that was taken back too late",
      {
        attempts: right.attempts.map((each) =>
          each.runId === killed ? { ...each, endedAt: killedAt + 1100 } : each,
        ),
      },
      /taken back 1100 ms after a killWorker/,
    ],
    [
      "a silent worker's run that was taken back too late",
      {
        attempts: right.attempts.map((each) =>
          each.runId === silent ? { ...each, endedAt: frozenAt + 16_100 } : each,
        ),
      },
      /taken back 16100 ms after a freeze/,
    ],
    [
      "a killed worker's run that was not taken back",
      { attempts: right.attempts.slice(1), runs: [{ ...first, attempt: 1 }, ...right.runs.slice(1)] },
      /was not taken back after a killWorker/,
    ],
    [
      "a loss for no reason",
      { incidents: right.incidents.slice(0, 2) },
      new RegExp(`run ${halfCut}, token 1, was lost for no reason`),
    ],
    [
      "a handler that goes on beside the next attempt",
      {
        effects: changed(killed, 1, "start", { worker: "d", pid: 14 }).concat(
          end(killed, "d", 14, 1, killedAt + 2000, false),
        ),
      },
      /token 1 was at work in "d" 1050 ms beside the next attempt/,
    ],
    [
      "one that goes on longer than a cut that only the server saw allows",
      { effects: changed(halfCut, 1, "end", { at: halfAt + 11_400 }) },
      /at work in "c" 10450 ms beside the next attempt/,
    ],
    [
      "one that goes on when its process was thawed",
      { effects: changed(silent, 1, "end", { at: frozenAt + 21_000 }) },
      /at work in "b" 5900 ms beside the next attempt/,
    ],
    [
      "a process that never ended a handler, and lives",
      {
        effects: right.effects.filter(
          (line) => line.id !== halfCut || line.pid !== 13 || line.kind !== "end",
        ),
      },
      /at work in "c"/,
    ],
    ["a slot that did not come back", { probe: { ...right.probe, slots: 3 } }, /2 of 3 slots could be taken/],
    [
      "slots that are taken one after the other only",
      { effects: changed(probeB, 1, "start", { at: probeAt + 505 }) },
      /1 of 2 slots could be taken/,
    ],
    ["a worker that is missing", { workers: right.workers.slice(1) }, /3 of 3 workers are alive/],
    [
      "a worker with runs in hand",
      { workers: right.workers.map((each) => (each.name === "c" ? { ...each, inHand: 2 } : each)) },
      /"c" has 2 runs in hand/,
    ],
    [
      "a worker that is suspect",
      { workers: right.workers.map((each) => (each.name === "a" ? { ...each, status: "suspect" } : each)) },
      /3 of 4 workers are alive/,
    ],
    [
      "a run that is left running",
      { runs: [{ ...first, state: "running", endedAt: null, output: null }, ...right.runs.slice(1)] },
      /1 runs are running[^]*is running at the end/,
    ],
    ["a server that grew", { memory: [{ first: 90, most: 2000, last: 1900 }] }, /a server took 2000 MiB/],
    ["a server that nobody looked at", { memory: [] }, /nobody looked at it/],
    [
      "more attempts than allowed",
      { runs: [{ ...first, attemptMax: 1 }, ...right.runs.slice(1)] },
      /used 2 of 1 attempts/,
    ],
    ["an attempt without its row", { attempts: right.attempts.slice(1) }, /has errors of/],
    ["two letters of one run", { letters: [...right.letters, ...right.letters] }, /has two letters/],
    [
      "counts that are not those of the rows",
      { counts: [{ job: "work", state: "succeeded", count: 7 }] },
      /7 kept, 5 rows/,
    ],
    ["a stop that did not end well", { badStops: ["process 12 ended with 1"] }, /process 12 ended with 1/],
  ]
  test.each(cases)("%s", (_, wrong, what) => {
    expect(found(wrong).join("\n")).toMatch(what)
  })
})

test("a fault counts for the bar unless the server was not well meanwhile", () => {
  const [requeue] = requeuesOf(right)
  const counted = { cause: "closed", runId: killed, token: 1, kind: "killWorker", counts: true }
  expect(requeue).toEqual({ ...counted, takenMillis: 900, startedMillis: 950 })
  for (const from of [killedAt - 9000, killedAt + 1500]) {
    const incidents = [...right.incidents, incident("killServer", null, 9, from, from + 500)]
    expect(requeuesOf({ ...right, incidents })[0]?.counts).toBe(false)
  }
  const long = [...right.incidents, incident("stopServer", null, 9, killedAt + 3000, killedAt + 4000)]
  expect(requeuesOf({ ...right, incidents: long })[0]?.counts).toBe(true)
  // What the worker had ended before, what had just begun, and what was lost before is not of this fault.
  for (const effects of [
    [...right.effects, end(killed, "a", 11, 1, killedAt - 10)],
    changed(killed, 1, "start", { at: killedAt - 100 }),
  ])
    expect(requeuesOf({ ...right, effects }).map(({ runId }) => runId)).not.toContain(killed)
})

test("overlaps are told with what allows them", () => {
  expect(overlapsOf(right)).toEqual([
    { runId: silent, token: 1, worker: "b", millis: 5000, allowedBy: "freeze" },
    { runId: halfCut, token: 1, worker: "c", millis: 9750, allowedBy: "halfOpen" },
  ])
  expect(mostAtOnce(right)).toBe(2)
})

test("a violation is told with the whole history of its run", () => {
  const wrong = { ...right, attempts: right.attempts.slice(1) }
  const checks = judge(wrong)
  const said = textOf(reportOf(wrong, { seed: 7, seconds: 30, checks }))
  expect(said).toContain("FAIL")
  expect(said).toContain(`history of run ${killed}`)
  expect(said).toContain('start in "a", process 11, token 1, attempt 1')
  expect(said).toContain("killWorker of a")
  expect(said).not.toContain(`history of run ${probeA}`)
  expect(textOf(reportOf(right, { seed: 7, seconds: 30, checks: judge(right) }))).toContain("0 violations")
})

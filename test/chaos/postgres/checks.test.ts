// The checks of the chaos run find nothing in what a right cluster leaves behind, and each finds what it is for: one thing
// in otherwise right evidence is made wrong.
import { describe, expect, test } from "vitest"
import type { Attempt, Run } from "../../../core/domain/Run.ts"
import type { Occurrence, ScheduleRow } from "../../../core/domain/Schedule.ts"
import { judge } from "./checks.ts"
import type { Incident, NodeLine, Story } from "./evidence.ts"
import { recoveriesOf } from "./recovery.ts"
import { reportOf, textOf } from "./report.ts"

const t0 = Date.UTC(2026, 0, 1)
const [first, second, third] = [1, 2, 3].map((n) => `0199a1b2-0000-7000-8000-00000000000${n}`) as [
  string,
  string,
  string,
]

const run = (id: string, more: Partial<Run> = {}): Run => ({
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
  attempt: 1,
  losses: 0,
  token: 1,
  node: null,
  waitingFor: 0,
  startedAt: t0 + 10,
  startAcknowledged: true,
  endedAt: t0 + 20,
  output: JSON.stringify({ pid: 11, token: 1 }),
  error: null,
  reason: null,
  ...more,
})
const start = (id: string, pid: number, token: number, at: number): NodeLine => ({
  kind: "start",
  id,
  pid,
  token,
  attempt: token,
  dueAt: t0,
  at,
})
const end = (id: string, pid: number, token: number, at: number, ok = true): NodeLine => ({
  kind: "end",
  id,
  pid,
  token,
  ok,
  at,
})
const lost = (runId: string, node: string, endedAt: number): Attempt => ({
  runId,
  attempt: 1,
  token: 1,
  node,
  startedAt: t0,
  endedAt,
  error: { name: "LeaseLost", message: `Node "${node}" was lost`, kind: "lost" },
})
const incident = (kind: Incident["kind"], pid: number | null, from: number, to: number): Incident => ({
  kind,
  pid,
  from,
  to,
  what: `${kind} of ${pid}`,
})
const schedule = {
  id: "tick-0",
  job: "tick-0",
  trigger: { kind: "cron", expression: "* * * * * *", zone: "UTC" },
  overlap: "allow",
  createdAt: t0 - 300,
} as ScheduleRow
const decided = (at: number, more: Partial<Occurrence> = {}): Occurrence => ({
  scheduleId: "tick-0",
  at,
  lastAt: at,
  count: 1,
  runId: null,
  reason: "missed",
  decidedAt: at,
  nominalAt: null,
  trigger: null,
  zoneData: null,
  ...more,
})
const tick = run(third, { job: "tick-0", scheduleId: "tick-0", nominalAt: t0 })

// Process 11 is killed with one run in hand, which goes on in process 12; process 12 is frozen later, and process 13 takes
// what it carried; and a schedule has a run for its first second and one row for the three after it.
const killedAt = t0 + 100
const right: Story = {
  ledger: [first, second].flatMap((id) => [
    { kind: "send", id, mode: "slow", dueAt: null } as const,
    { kind: "ack", id } as const,
  ]),
  effects: [
    start(third, 11, 1, t0 + 5),
    end(third, 11, 1, t0 + 6),
    start(first, 11, 1, t0 + 20),
    start(first, 12, 2, killedAt + 4800),
    end(first, 12, 2, killedAt + 4900),
    start(second, 12, 1, t0 + 20_000),
    start(second, 13, 2, t0 + 26_000),
    end(second, 13, 2, t0 + 26_100),
    // It was frozen in the middle, and ends when its run has long been another's.
    end(second, 12, 1, t0 + 30_000),
  ],
  runs: [
    run(first, { attempt: 2, token: 2, output: JSON.stringify({ pid: 12, token: 2 }) }),
    run(second, { attempt: 2, token: 2, output: JSON.stringify({ pid: 13, token: 2 }) }),
    tick,
  ],
  attempts: [lost(first, "a", killedAt + 4700), lost(second, "b", t0 + 25_900)],
  letters: [],
  occurrences: [
    decided(t0, { runId: third, reason: null }),
    decided(t0 + 1000, { lastAt: t0 + 3000, count: 3 }),
  ],
  schedules: [schedule],
  counts: [
    { job: "work", state: "succeeded", count: 2 },
    { job: "tick-0", state: "succeeded", count: 1 },
  ],
  incidents: [
    incident("kill", 11, killedAt, killedAt + 50),
    incident("freeze", 12, t0 + 20_100, t0 + 30_000),
  ],
  pidOf: new Map([
    ["a", 11],
    ["b", 12],
  ]),
  refused: [{ pid: 12, id: second }],
  badStops: [],
  pausedAt: t0 + 4000,
  barMillis: 6000,
}

const found = (wrong: Partial<Story>): ReadonlyArray<string> =>
  judge({ ...right, ...wrong }).flatMap(({ name, violations }) =>
    violations.map((what) => `${name}: ${what}`),
  )

test("what a right cluster leaves behind is right", () => {
  expect(found({})).toEqual([])
  const names = judge(right).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

describe("a planted violation is found", () => {
  const cases: ReadonlyArray<readonly [name: string, wrong: Partial<Story>, what: RegExp]> = [
    [
      "an acknowledged run without a row",
      { ledger: [...right.ledger, { kind: "ack", id: "gone" }] },
      /run gone was acknowledged and has no row/,
    ],
    [
      "a second without a row",
      {
        occurrences: right.occurrences
          .filter(({ at }) => at === t0)
          .concat(decided(t0 + 2000, { lastAt: t0 + 3000, count: 2 })),
      },
      /lacks 1 seconds before/,
    ],
    ["a second with two rows", { occurrences: [...right.occurrences, decided(t0 + 2000)] }, /twice/],
    ["seconds that were not decided at the end", { pausedAt: t0 + 60_000 }, /lacks what is after/],
    [
      "a first second that is missing",
      { schedules: [{ ...schedule, createdAt: t0 - 5000 }] },
      /lacks \d seconds before/,
    ],
    [
      "a row that counts more than it spans",
      {
        occurrences: [...right.occurrences.slice(0, 1), decided(t0 + 1000, { lastAt: t0 + 3000, count: 4 })],
      },
      /counts 4 seconds/,
    ],
    [
      "a row with neither run nor reason",
      { occurrences: [decided(t0, { reason: null }), ...right.occurrences.slice(1)] },
      /a run and a reason, or neither/,
    ],
    [
      "an outcome of an old token",
      {
        runs: [
          right.runs[0] as Run,
          { ...(right.runs[1] as Run), output: JSON.stringify({ pid: 12, token: 1 }) },
          tick,
        ],
      },
      /keeps what token 1 brought.*|late outcome of token 1 was accepted/,
    ],
    [
      "a success that its holder did not bring",
      {
        runs: [
          { ...(right.runs[0] as Run), output: JSON.stringify({ pid: 13, token: 2 }) },
          right.runs[1] as Run,
          tick,
        ],
      },
      /succeeded by process 13, which did not do it/,
    ],
    [
      "a token that two processes had",
      { effects: [...right.effects.slice(0, 3), start(first, 13, 1, t0 + 30), ...right.effects.slice(3)] },
      /was started 2 times, by 11,13/,
    ],
    [
      "a late start by a node that nothing had held up",
      { effects: [...right.effects, start(first, 13, 1, killedAt + 5000)] },
      /was started late with token 1 by process 13, for no reason/,
    ],
    [
      "a recovery that took longer than the lease and a second",
      {
        effects: right.effects.map((line) =>
          line.id === first && line.token === 2 ? { ...line, at: line.at + 1300 } : line,
        ),
      },
      /started 6100 ms after the kill/,
    ],
    [
      "a run that was lost and did not go on",
      { effects: right.effects.filter(({ id, token }) => id !== first || token === 1) },
      /was lost and not started again/,
    ],
    [
      "a run that is left running",
      {
        runs: [
          { ...(right.runs[0] as Run), state: "running", endedAt: null, output: null },
          ...right.runs.slice(1),
        ],
      },
      /is running at the end/,
    ],
    ["an attempt without its row", { attempts: right.attempts.slice(1) }, /has errors of/],
    [
      "counts that are not those of the rows",
      { counts: [{ job: "work", state: "succeeded", count: 3 }, ...right.counts.slice(1)] },
      /3 kept, 2 rows/,
    ],
    ["a stop that did not end well", { badStops: ["process 12 ended with 1"] }, /process 12 ended with 1/],
  ]
  test.each(cases)("%s", (_, wrong, what) => {
    expect(found(wrong).join("\n")).toMatch(what)
  })

  test("many freezes of which nothing came too late prove nothing", () => {
    const freezes = [20_100, 40_000, 60_000, 80_000].map((from) =>
      incident("freeze", 12, t0 + from, t0 + from + 9000),
    )
    expect(found({ incidents: [...right.incidents.slice(0, 1), ...freezes], refused: [] }).join()).toMatch(
      /no late settlement that could have been refused/,
    )
    expect(found({ incidents: [...right.incidents.slice(0, 1), ...freezes] })).toEqual([])
  })
})

test("a kill counts for the bar unless something else disturbs those that go on", () => {
  const [recovery] = recoveriesOf(right).recoveries
  expect(recovery).toEqual({ runId: first, pid: 11, takenMillis: 4700, millis: 4800, counts: true })
  for (const other of [
    incident("database", null, killedAt + 1000, killedAt + 3000),
    incident("freeze", 13, killedAt - 9000, killedAt - 1000),
  ])
    expect(recoveriesOf({ ...right, incidents: [...right.incidents, other] }).recoveries[0]?.counts).toBe(
      false,
    )
  // Without the node's row it is known by what its handlers wrote.
  expect(recoveriesOf({ ...right, pidOf: new Map() }).recoveries[0]).toEqual(recovery)
  // What it had lost before it was killed is not what the kill left behind.
  const earlier = right.attempts.map((attempt) => ({ ...attempt, endedAt: killedAt - 1 }))
  expect(recoveriesOf({ ...right, attempts: earlier }).recoveries).toEqual([])
  const before = incident("cut", 13, killedAt - 9000, killedAt - 2500)
  expect(recoveriesOf({ ...right, incidents: [...right.incidents, before] }).recoveries[0]?.counts).toBe(true)
})

test("a violation is told with the whole history of its run", () => {
  const wrong = { ...right, effects: right.effects.filter(({ id, token }) => id !== first || token === 1) }
  const checks = judge(wrong)
  const text = textOf(reportOf(wrong, { seed: 7, seconds: 30, faults: { kill: 1, freeze: 1 }, checks }))
  expect(text).toContain("FAIL")
  expect(text).toContain(`history of run ${first}`)
  expect(text).toContain("start in process 11, token 1, attempt 1")
  expect(text).toContain("recorded as lost")
  expect(text).toContain("kill of 11")
  expect(text).not.toContain(`history of run ${third}`)
  const fine = textOf(reportOf(right, { seed: 7, seconds: 30, faults: {}, checks: judge(right) }))
  expect(fine).toContain("0 violations")
})

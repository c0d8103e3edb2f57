// The checker finds nothing in what a right engine leaves behind, and each of its checks finds what it is for:
// one thing in otherwise right evidence is made wrong.
import { describe, expect, test } from "vitest"
import type { Attempt, ErrorInfo, Run } from "../../core/domain/Run.ts"
import { check } from "./checker.ts"
import type { EffectLine, Evidence } from "./evidence.ts"

const t0 = Date.UTC(2026, 0, 1)

const run = (id: string, job: string, more: Partial<Run> = {}): Run => ({
  id,
  job,
  queue: "default",
  input: null,
  dueAt: t0,
  delayMillis: 0,
  priority: 0,
  attemptMax: 3,
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
  output: null,
  error: null,
  reason: null,
  ...more,
})
const error = (name: string, kind: ErrorInfo["kind"] = "error"): ErrorInfo => ({ name, message: name, kind })
const failed = (runId: string, attempt: number, why: ErrorInfo): Attempt => ({
  runId,
  attempt,
  token: attempt,
  node: "n",
  startedAt: t0,
  endedAt: t0 + 5,
  error: why,
})
const start = (id: string, token = 1, more: Partial<EffectLine> = {}): EffectLine =>
  ({ kind: "start", id, attempt: token, token, dueAt: t0, at: t0 + 10, ...more }) as EffectLine
const end = (id: string, token = 1, ok = true): EffectLine => ({ kind: "end", id, token, ok, at: t0 + 12 })
const fired = (at: number, runId: string) => ({
  scheduleId: "tick",
  at,
  lastAt: at,
  count: 1,
  runId,
  reason: null,
  decidedAt: at,
  trigger: null,
  nominalAt: null,
  zoneData: null,
})

const right: Evidence = {
  ledger: [
    { kind: "send", id: "good", mode: "ok", dueAt: t0 },
    { kind: "ack", id: "good" },
    { kind: "send", id: "again", mode: "flaky", dueAt: null },
    { kind: "ack", id: "again" },
    { kind: "send", id: "bad", mode: "broken", dueAt: null },
    { kind: "ack", id: "bad" },
    // Sent, killed before the acknowledgement, and never stored: nobody was promised anything.
    { kind: "send", id: "unheard", mode: "ok", dueAt: null },
  ],
  effects: [
    start("good"),
    end("good"),
    start("again", 1),
    start("again", 2),
    end("again", 2),
    ...[1, 2, 3].flatMap((token) => [start("bad", token), end("bad", token, false)]),
    start("need"),
    end("need"),
    start("after"),
    end("after"),
    start("refused"),
    end("refused", 1, false),
    start("tick1", 1, { dueAt: t0, at: t0 + 1 }),
    end("tick1"),
    start("tick2", 1, { dueAt: t0 + 500, at: t0 + 501 }),
    end("tick2"),
  ],
  runs: [
    run("good", "work"),
    run("again", "work", { attempt: 2, token: 2 }),
    run("bad", "work", { state: "dead", attempt: 3, token: 3, error: error("Broken") }),
    run("need", "extract"),
    run("after", "report", { needs: ["need"], startedAt: t0 + 20, endedAt: t0 + 30 }),
    run("refused", "extract", { state: "dead", error: error("NonRetryable") }),
    run("left", "report", { needs: ["refused"], state: "skipped", attempt: 0, token: 0, startedAt: null }),
    run("tick1", "tick", { scheduleId: "tick", nominalAt: t0 }),
    run("tick2", "tick", {
      scheduleId: "tick",
      nominalAt: t0 + 500,
      createdAt: t0 + 500,
      startedAt: t0 + 500,
      endedAt: t0 + 520,
    }),
  ],
  attempts: [
    failed("again", 1, error("LeaseLost", "lost")),
    ...[1, 2, 3].map((attempt) => failed("bad", attempt, error("Broken"))),
    failed("refused", 1, error("NonRetryable")),
  ],
  letters: [
    { runId: "bad", job: "work", diedAt: t0, attempt: 3, error: error("Broken"), replayedBy: null },
    {
      runId: "refused",
      job: "extract",
      diedAt: t0,
      attempt: 1,
      error: error("NonRetryable"),
      replayedBy: null,
    },
  ],
  occurrences: [
    fired(t0, "tick1"),
    // Three instants in one row, and one by itself.
    { ...fired(t0 + 100, ""), lastAt: t0 + 300, count: 3, runId: null, reason: "missed" },
    { ...fired(t0 + 400, ""), runId: null, reason: "overlap" },
    fired(t0 + 500, "tick2"),
  ],
  schedules: [
    {
      id: "tick",
      job: "tick",
      trigger: { kind: "every", periodMillis: 100, startAt: null },
      input: null,
      overlap: "skip",
      waitsUntil: null,
      pausedNote: null,
      resumedAt: null,
      runCount: 2,
      zoneData: null,
      fromConfig: true,
      version: 3,
      cursor: t0 + 500,
      nextAt: t0 + 600,
      pausedAt: null,
      createdAt: t0,
      lastRunId: "tick2",
    },
  ],
  counts: [
    { job: "work", state: "succeeded", count: 2 },
    { job: "work", state: "dead", count: 1 },
    { job: "extract", state: "succeeded", count: 1 },
    { job: "extract", state: "dead", count: 1 },
    { job: "report", state: "succeeded", count: 1 },
    { job: "report", state: "skipped", count: 1 },
    { job: "tick", state: "succeeded", count: 2 },
  ],
}

/** Right evidence with one run changed. */
const withRun = (id: string, change: Partial<Run>): Evidence => ({
  ...right,
  runs: right.runs.map((each) => (each.id === id ? { ...each, ...change } : each)),
})
const without = <K extends "runs" | "occurrences" | "letters" | "attempts" | "effects">(
  part: K,
  gone: (item: Evidence[K][number]) => boolean,
): Evidence => ({
  ...right,
  [part]: (right[part] as ReadonlyArray<Evidence[K][number]>).filter((item) => !gone(item)),
})
const withEffects = (...lines: ReadonlyArray<EffectLine>): Evidence => ({
  ...right,
  effects: [...right.effects, ...lines],
})
const withOccurrences = (change: (rows: Evidence["occurrences"]) => Evidence["occurrences"]): Evidence => ({
  ...right,
  occurrences: change(right.occurrences),
})

describe("checker", () => {
  test("finds nothing in right evidence", () => expect(check(right)).toEqual([]))

  const wrong: ReadonlyArray<readonly [string, Evidence, string]> = [
    ["a lost run", without("runs", ({ id }) => id === "good"), "run good has no row"],
    ["a run twice", { ...right, runs: [...right.runs, run("good", "work")] }, "run good has two rows"],
    ["a run that still runs", withRun("good", { state: "running" }), '"work" is running at the end'],
    ["a run that still waits", withRun("again", { state: "ready" }), '"work" is ready at the end'],
    ["a wrong ending", withRun("bad", { state: "succeeded" }), '"broken", ended succeeded'],
    [
      "death of a run that nothing killed",
      withRun("good", { state: "dead" }),
      'run good of "work", "ok", ended dead',
    ],
    [
      "success without execution",
      without("effects", (line) => line.kind === "end" && line.id === "good"),
      "no handler ended well",
    ],
    ["a start after the end", withEffects(start("good", 2)), "was started with 2"],
    ["an attempt over the limit in the row", withRun("bad", { attempt: 4 }), "used 4 of 3 attempts"],
    [
      "an attempt over the limit in the log",
      withEffects(start("bad", 4), end("bad", 4, false)),
      "used 4 of 3 attempts",
    ],
    ["a token that does not grow", withEffects(start("again", 2)), "was started again with token 2"],
    ["a missing error", without("attempts", ({ attempt }) => attempt === 2), "has errors of 1,3"],
    [
      "an empty error",
      {
        ...right,
        attempts: right.attempts.map((each) => ({ ...each, error: { ...each.error, message: "" } })),
      },
      "an attempt without a message",
    ],
    ["a missing letter", without("letters", ({ runId }) => runId === "bad"), "is dead and has no letter"],
    ["a letter of the living", withRun("bad", { state: "succeeded" }), "has a letter and is succeeded"],
    [
      "a letter twice",
      { ...right, letters: [...right.letters, ...right.letters] },
      "run bad has two letters",
    ],
    [
      "a letter of another attempt",
      { ...right, letters: right.letters.map((letter) => ({ ...letter, attempt: 2 })) },
      "does not tell of its last attempt",
    ],
    ["an early death", withRun("bad", { attemptMax: 9 }), "is dead with attempts left"],
    [
      "an early start by the run's due time",
      withEffects(start("tick2", 2, { dueAt: t0 + 900, at: t0 + 899 })),
      "started 1 ms before it was due",
    ],
    [
      "an early start by the ledger",
      { ...right, ledger: [{ kind: "send", id: "good", mode: "ok", dueAt: t0 + 11 }] },
      "before it was asked for",
    ],
    [
      "a dependent whose need failed",
      { ...withRun("left", { state: "succeeded" }), effects: [...right.effects, start("left"), end("left")] },
      "what it needs did not succeed",
    ],
    [
      "a dependent that started before its need ended",
      {
        ...right,
        effects: [start("after"), end("after"), ...right.effects.slice(0, 12), ...right.effects.slice(14)],
      },
      "started before its need need had ended",
    ],
    ["a dependent claimed too soon", withRun("after", { startedAt: t0 + 19 }), "was claimed before its need"],
    [
      "a dependent skipped for nothing",
      withRun("after", { state: "skipped" }),
      "was skipped, and all that it needs succeeded",
    ],
    ["a doubled occurrence", withOccurrences((rows) => [...rows, ...rows.slice(-1)]), "is decided twice"],
    [
      "an instant that a range decides as well",
      withOccurrences((rows) =>
        rows.map((row) => (row.count === 3 ? { ...row, count: 4, lastAt: t0 + 400 } : row)),
      ),
      "is decided twice",
    ],
    [
      "a lost occurrence",
      withOccurrences((rows) => rows.filter(({ reason }) => reason !== "overlap")),
      "lacks 1 instants",
    ],
    [
      "a range with a hole",
      withOccurrences((rows) => rows.filter(({ count }) => count === 1)),
      "lacks 3 instants",
    ],
    [
      "a range that counts wrong",
      withOccurrences((rows) => rows.map((row) => (row.count === 3 ? { ...row, count: 2 } : row))),
      "counts 2 up to",
    ],
    [
      "an instant off the grid",
      withOccurrences((rows) =>
        rows.map((row) => (row.runId === "tick2" ? { ...row, at: row.at + 1 } : row)),
      ),
      "is off the grid",
    ],
    [
      "an instant with two runs",
      { ...right, runs: [...right.runs, run("tick3", "tick", { scheduleId: "tick", nominalAt: t0 })] },
      "has two runs",
    ],
    [
      "a run beside the one before",
      withRun("tick1", { endedAt: t0 + 501 }),
      "was made while run tick1 of its schedule was alive",
    ],
    ["a fired instant without its run", without("runs", ({ id }) => id === "tick1"), "has no run"],
    [
      "a run without its instant",
      withOccurrences((rows) => rows.filter(({ runId }) => runId !== "tick1")),
      "has no occurrence",
    ],
    [
      "an instant with neither run nor reason",
      withOccurrences((rows) => rows.map((row) => ({ ...row, reason: null }))),
      "has run and reason, or none",
    ],
    ["a wrong count", { ...right, counts: right.counts.slice(1) }, "succeeded work: 0 kept, 2 rows"],
  ]
  test.each(wrong)("finds %s", (_, evidence, problem) => {
    expect(check(evidence)).toContainEqual(expect.stringContaining(problem))
  })
})

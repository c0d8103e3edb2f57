// Every state against every operation: what is legal leads exactly where the table of ARCHITECTURE says, all else is
// refused, and the row that went in is never touched. Then random lives of a run, from fixed seeds.
import { describe, expect, test } from "vitest"
import { newRun } from "../../../core/contract/Fixtures.ts"
import { type ErrorInfo, finalStates, isFinal, type Run, type RunState } from "../../../core/domain/Run.ts"
import { runStates } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"

const now = 1_800_000_000_000
const error: ErrorInfo = Object.freeze({ name: "Error", message: "It broke", kind: "error" })

const deepFreeze = <A>(value: A): A => {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze)
  return value
}

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** "States of a run" in ARCHITECTURE, row by row; "snoozed (through scheduled)" is running -> scheduled. */
const table: Readonly<Record<RunState, ReadonlyArray<RunState>>> = {
  blocked: ["scheduled", "ready", "skipped", "cancelled", "succeeded", "retrying", "dead"],
  scheduled: ["ready", "expired", "cancelled"],
  ready: ["running", "expired", "cancelled"],
  running: ["succeeded", "retrying", "dead", "ready", "scheduled", "cancelled", "blocked", "skipped"],
  retrying: ["ready", "expired", "cancelled"],
  succeeded: [],
  dead: [],
  cancelled: [],
  skipped: [],
  expired: [],
}

const byText = (a: string | null, b: string | null): number => (String(a) < String(b) ? -1 : 1)

type Operation = (run: Run, at: number) => Run | null

/** All operations of the module, with every kind of argument that matters. */
const operations: Readonly<Record<string, ReadonlyArray<Operation>>> = {
  needMet: [(run, at) => Transition.needMet(run, at)],
  needFailed: [(run, at) => Transition.needFailed(run, "A need failed", at)],
  promoted: [(run, at) => Transition.promoted(run, at)],
  claimed: [
    (run, at) => Transition.claimed(run, "n2", true, at),
    (run, at) => Transition.claimed(run, "n2", false, at),
  ],
  startAcknowledged: [(run) => Transition.startAcknowledged(run, run.token)],
  succeeded: [(run, at) => Transition.succeeded(run, run.token, '"out"', at)],
  failed: [
    (run, at) => Transition.failed(run, run.token, error, 5000, at),
    (run, at) => Transition.failed(run, run.token, error, 0, at),
    (run, at) => Transition.failed(run, run.token, error, null, at),
  ],
  declined: [(run, at) => Transition.declined(run, run.token, "Not today", at)],
  expanded: [
    (run) => Transition.expanded(run, run.token, 0),
    (run) => Transition.expanded(run, run.token, 3),
  ],
  stepEnded: [(run) => Transition.stepEnded(run, 2), (run) => Transition.stepEnded(run, 1)],
  stepsSucceeded: [(run, at) => Transition.stepsSucceeded(run, "[1]", at)],
  stepsFailed: [
    (run, at) => Transition.stepsFailed(run, error, 5000, at),
    (run, at) => Transition.stepsFailed(run, error, 0, at),
    (run, at) => Transition.stepsFailed(run, error, null, at),
  ],
  snoozed: [(run, at) => Transition.snoozed(run, run.token, 100, at)],
  released: [(run) => Transition.released(run, run.token)],
  lostUnstarted: [(run, at) => Transition.lostUnstarted(run, run.token, at)],
  adopted: [
    (run) => Transition.adopted(run, run.token, "n2"),
    (run) => Transition.adopted(run, run.token, "n1"),
  ],
  lost: [(run, at) => Transition.lost(run, { ...error, kind: "lost" }, at)],
  cancelled: [(run, at) => Transition.cancelled(run, "Not wanted", at)],
  expired: [(run, at) => Transition.expired(run, at)],
}

/** Where each operation leads from each state; what is not here must be refused. */
const leads: Readonly<Record<string, Readonly<Partial<Record<RunState, ReadonlyArray<RunState>>>>>> = {
  needMet: { blocked: ["blocked", "ready", "scheduled"] },
  needFailed: { blocked: ["skipped"] },
  promoted: { scheduled: ["expired", "ready"], retrying: ["expired", "ready"] },
  claimed: { ready: ["running"] },
  startAcknowledged: { running: ["running"] },
  succeeded: { running: ["succeeded"] },
  failed: { running: ["dead", "retrying"] },
  declined: { running: ["skipped"] },
  expanded: { running: ["blocked"] },
  stepEnded: { blocked: ["blocked"] },
  stepsSucceeded: { blocked: ["succeeded"] },
  stepsFailed: { blocked: ["dead", "retrying"] },
  snoozed: { running: ["scheduled"] },
  released: { running: ["ready"] },
  lostUnstarted: { running: ["dead", "ready"] },
  adopted: { running: ["running"] },
  lost: { running: ["dead", "ready", "retrying"] },
  cancelled: {
    blocked: ["cancelled"],
    scheduled: ["cancelled"],
    ready: ["cancelled"],
    running: ["cancelled"],
    retrying: ["cancelled"],
  },
  expired: { scheduled: ["expired"], ready: ["expired"], retrying: ["expired"] },
}

const row = (state: RunState, fields: Partial<Run> = {}): Run =>
  deepFreeze({
    ...newRun(1),
    dueAt: now - 10,
    expiresAt: null,
    state,
    createdAt: now - 1000,
    attempt: state === "running" || state === "retrying" || state === "succeeded" || state === "dead" ? 1 : 0,
    losses: 0,
    token: 3,
    node: state === "running" ? "n1" : null,
    waitingFor: state === "blocked" ? 1 : 0,
    startedAt: state === "running" ? now - 5 : null,
    startAcknowledged: state === "running",
    endedAt: isFinal(state) ? now - 1 : null,
    output: null,
    error: null,
    reason: null,
    ...fields,
  })

/** Rows of a state, in every combination that an operation looks at. */
const rows = (state: RunState): Array<Run> => {
  const found: Array<Run> = []
  for (const dueAt of [now - 1, now, now + 1])
    for (const expiresAt of [null, now - 1, now, now + 1])
      for (const waitingFor of state === "blocked" ? [1, 2] : [0])
        for (const attempt of state === "running" ? [1, 2, 3] : [0, 1, 3])
          for (const losses of [0, Transition.lossMax - 1, Transition.lossMax])
            for (const startAcknowledged of [true, false])
              found.push(row(state, { dueAt, expiresAt, waitingFor, attempt, losses, startAcknowledged }))
  return found
}

/** The states that `operation` leads to from `state`; checks on the way what holds for every change. */
const reached = (state: RunState, operation: ReadonlyArray<Operation>): Array<RunState | null> => {
  const states = new Set<RunState | null>()
  for (const run of rows(state)) {
    const before = JSON.stringify(run)
    for (const apply of operation) {
      const next = apply(run, now)
      expect(JSON.stringify(run)).toBe(before)
      states.add(next === null ? null : next.state)
      if (next !== null) checkChange(run, next)
    }
  }
  return [...states].sort(byText)
}

const same = [
  "id",
  "job",
  "queue",
  "input",
  "delayMillis",
  "priority",
  "attemptMax",
  "key",
  "expiresAt",
  "scheduleId",
  "nominalAt",
  "chainId",
  "needs",
  "replayOf",
  "parentId",
  "step",
  "createdAt",
] as const

/** What holds for each change, whatever it is. */
const checkChange = (run: Run, next: Run): void => {
  const what = `${run.state} -> ${next.state}`
  expect(next, what).not.toBe(run)
  expect([...table[run.state], run.state], what).toContain(next.state)
  if (isFinal(run.state)) throw new Error(`${what}: a final state was left`)
  for (const key of same) expect(next[key], `${what}: ${key}`).toBe(run[key])
  expect(next.attempt, what).toBeLessThanOrEqual(run.attemptMax)
  expect(next.attempt, what).toBeGreaterThanOrEqual(0)
  expect(next.losses, what).toBeGreaterThanOrEqual(run.losses)
  expect(next.losses, what).toBeLessThanOrEqual(Transition.lossMax + (isFinal(next.state) ? 1 : 0))
  const isClaim = run.state === "ready" && next.state === "running"
  expect(next.token, what).toBe(isClaim ? run.token + 1 : run.token)
  expect(next.node !== null, what).toBe(next.state === "running")
  expect(next.endedAt, what).toBe(isFinal(next.state) ? now : null)
  expect(next.waitingFor === 0 || ["blocked", "skipped", "cancelled"].includes(next.state), what).toBe(true)
}

describe("Transition > the table", () => {
  test("`allowed` is the table of ARCHITECTURE", () => {
    expect(Object.keys(Transition.allowed).sort()).toEqual([...runStates].sort())
    for (const state of runStates)
      expect([...Transition.allowed[state]].sort(), state).toEqual([...table[state]].sort())
  })

  test("the cases know every operation of the module", () => {
    const makers = new Set(["enqueued", "replay", "rerun", "isOverdue", "settled"])
    const exported = Object.entries(Transition).filter(
      ([name, value]) => typeof value === "function" && !makers.has(name),
    )
    expect(exported.map(([name]) => name).sort()).toEqual(Object.keys(operations).sort())
    expect(Object.keys(leads).sort()).toEqual(Object.keys(operations).sort())
  })

  for (const state of runStates) {
    for (const [name, operation] of Object.entries(operations)) {
      const expected = leads[name]?.[state]
      test(`${state} x ${name}: ${expected === undefined ? "refused" : expected.join(", ")}`, () => {
        const found = reached(state, operation)
        if (expected === undefined) expect(found).toEqual([null])
        else expect(found.filter((each) => each !== null)).toEqual([...expected].sort())
      })
    }

    test(`${state}: all operations together reach what is allowed, and nothing else`, () => {
      const found = new Set(Object.values(operations).flatMap((operation) => reached(state, operation)))
      found.delete(null)
      const stays = state === "blocked" || state === "running" ? [state] : []
      expect([...found].sort(byText)).toEqual([...table[state], ...stays].sort(byText))
    })
  }

  test("final is final", () => {
    expect(finalStates.map((state) => table[state])).toEqual([[], [], [], [], []])
    expect(runStates.filter(isFinal)).toEqual([...finalStates])
    for (const state of finalStates)
      for (const operation of Object.values(operations)) expect(reached(state, operation)).toEqual([null])
  })
})

describe("Transition > a new run", () => {
  const first = (fields: Parameters<typeof newRun>[1], waitingFor = 0): Run =>
    Transition.enqueued(deepFreeze(newRun(1, fields)), waitingFor, now)

  test("it is ready when due, scheduled when not, blocked while it waits", () => {
    expect(first({}).state).toBe("ready")
    expect(first({ dueAt: now }).state).toBe("ready")
    expect(first({ dueAt: now - 1 }).state).toBe("ready")
    expect(first({ dueAt: now + 1 }).state).toBe("scheduled")
    expect(first({ delayMillis: 1 })).toMatchObject({ state: "scheduled", dueAt: now + 1 })
    expect(first({ dueAt: now - 5, delayMillis: 60_000 })).toMatchObject({ state: "ready", dueAt: now - 5 })
    expect(first({ dueAt: now + 1 }, 2)).toMatchObject({ state: "blocked", waitingFor: 2 })
  })

  test("its time to start counts from its due time, by the store's clock", () => {
    expect(first({ startWithinMillis: 100 }).expiresAt).toBe(now + 100)
    expect(first({ startWithinMillis: 100, delayMillis: 50 }).expiresAt).toBe(now + 150)
    expect(first({ startWithinMillis: 100, dueAt: now - 500, delayMillis: 50 }).expiresAt).toBe(now - 400)
    expect(first({ startWithinMillis: 0 }).expiresAt).toBe(now)
    expect(first({}).expiresAt).toBeNull()
  })

  test("it has used nothing", () => {
    expect(first({})).toMatchObject({ attempt: 0, losses: 0, token: 0, node: null, startedAt: null })
    expect(first({})).toMatchObject({ startAcknowledged: false, endedAt: null, output: null, error: null })
  })

  test("a replay is due now with fresh attempts, linked to the dead run, and takes no key", () => {
    const dead = row("dead", {
      attempt: 3,
      losses: 2,
      input: '{"a":1}',
      key: "k",
      chainId: "c",
      needs: ["x"],
      expiresAt: now - 5,
      scheduleId: "s",
      nominalAt: now - 100,
      priority: 4,
      queue: "mail",
      error,
    })
    const before = JSON.stringify(dead)
    const again = Transition.replay(dead, "new", now)
    expect(JSON.stringify(dead)).toBe(before)
    expect(again).toMatchObject({ id: "new", replayOf: dead.id, state: "ready", dueAt: now, createdAt: now })
    expect(again).toMatchObject({ attempt: 0, losses: 0, token: 0, error: null, key: null, needs: [] })
    expect(again).toMatchObject({ chainId: null, scheduleId: null, expiresAt: null, nominalAt: now - 100 })
    expect(again).toMatchObject({
      job: dead.job,
      queue: "mail",
      input: '{"a":1}',
      priority: 4,
      attemptMax: 3,
    })
  })
})

describe("Transition > runs that expand", () => {
  const expanded = Transition.expanded(row("running", { attempt: 2 }), 3, 5) as Run

  test("it waits for its steps without a node, and keeps token, attempt and start", () => {
    expect(expanded).toEqual({
      ...row("running", { attempt: 2 }),
      state: "blocked",
      node: null,
      waitingFor: 5,
    })
    expect(Transition.stepEnded(expanded, 4)).toEqual({ ...expanded, waitingFor: 4 })
  })

  test("waiting for needs and waiting for steps are not mistaken for each other", () => {
    expect(Transition.needMet(expanded, now)).toBeNull()
    expect(Transition.needFailed(expanded, "A need failed", now)).toBeNull()
    const blocked = Transition.enqueued(newRun(1), 2, now)
    expect(Transition.stepEnded(blocked, 1)).toBeNull()
    expect(Transition.stepsSucceeded(blocked, null, now)).toBeNull()
    expect(Transition.stepsFailed(blocked, error, 0, now)).toBeNull()
  })

  test("steps that ended well clear the error of an earlier round, those that did not are the error", () => {
    const second = { ...expanded, error }
    expect(Transition.stepsSucceeded(second, "[1]", now)).toMatchObject({
      output: "[1]",
      error: null,
      waitingFor: 0,
    })
    const retrying = Transition.stepsFailed(expanded, error, 250, now)
    expect(retrying).toMatchObject({ state: "retrying", error, dueAt: now + 250, waitingFor: 0, attempt: 2 })
    expect(Transition.stepsFailed({ ...expanded, attempt: 3 }, error, 250, now)).toMatchObject({
      state: "dead",
    })
    expect(Transition.stepsFailed(expanded, error, null, now)).toMatchObject({ state: "dead", error })
  })

  test("a re-run is a new run that has expanded, at its first attempt, without what belongs to the old one", () => {
    const fields = {
      attempt: 3,
      losses: 2,
      input: "1",
      key: "k",
      chainId: "c",
      needs: ["x"],
      expiresAt: now,
      token: 9,
    }
    const old = row("dead", { ...fields, scheduleId: "s", nominalAt: now - 100, error, startedAt: now - 50 })
    const again = Transition.rerun(old, "new", now + 5)
    expect(again).toMatchObject({
      id: "new",
      replayOf: old.id,
      state: "blocked",
      createdAt: now + 5,
      attempt: 1,
    })
    expect(again).toMatchObject({
      startedAt: now + 5,
      endedAt: null,
      token: 0,
      losses: 0,
      error: null,
      input: "1",
    })
    expect(again).toMatchObject({ key: null, chainId: null, needs: [], expiresAt: null, scheduleId: null })
    expect(Transition.stepEnded(again, 1)).not.toBeNull()
  })
})

describe("Transition > tokens and bounds", () => {
  const held: Readonly<Record<string, (run: Run, token: number) => Run | null>> = {
    startAcknowledged: (run, token) => Transition.startAcknowledged(run, token),
    succeeded: (run, token) => Transition.succeeded(run, token, null, now),
    failed: (run, token) => Transition.failed(run, token, error, 1, now),
    declined: (run, token) => Transition.declined(run, token, "Not today", now),
    expanded: (run, token) => Transition.expanded(run, token, 1),
    snoozed: (run, token) => Transition.snoozed(run, token, 1, now),
    released: (run, token) => Transition.released(run, token),
    lostUnstarted: (run, token) => Transition.lostUnstarted(run, token, now),
    adopted: (run, token) => Transition.adopted(run, token, "n2"),
  }
  for (const [name, apply] of Object.entries(held)) {
    test(`${name} is refused under any token but the run's own`, () => {
      const run = row("running")
      for (const token of [0, 2, 4, -1, 3.5, Number.NaN, Number.POSITIVE_INFINITY])
        expect(apply(run, token), String(token)).toBeNull()
      expect(apply(run, 3)).not.toBeNull()
    })
  }

  test("a claim waits for the due time, takes one attempt and gives a new token", () => {
    expect(Transition.claimed(row("ready", { dueAt: now + 1 }), "n2", true, now)).toBeNull()
    expect(Transition.claimed(row("ready", { dueAt: now }), "n2", false, now)).toMatchObject({
      node: "n2",
      attempt: 1,
      token: 4,
      startedAt: now,
      startAcknowledged: false,
    })
  })

  test("a claim beyond the attempt limit is refused", () => {
    for (const attemptMax of [1, 2, 25]) {
      expect(
        Transition.claimed(row("ready", { attemptMax, attempt: attemptMax }), "n2", true, now),
      ).toBeNull()
      const last = Transition.claimed(row("ready", { attemptMax, attempt: attemptMax - 1 }), "n2", true, now)
      expect(last?.attempt).toBe(attemptMax)
    }
  })

  test("a failure of the last attempt is dead, whatever the caller believes", () => {
    const run = row("running", { attempt: 3, attemptMax: 3 })
    expect(Transition.failed(run, 3, error, 1000, now)).toMatchObject({ state: "dead", error, attempt: 3 })
  })

  test("a retry is due after its delay and keeps the error, a success clears it", () => {
    const retrying = Transition.failed(row("running"), 3, error, 1000, now)
    expect(retrying).toMatchObject({ state: "retrying", dueAt: now + 1000, error, attempt: 1 })
    const done = Transition.succeeded(row("running", { error }), 3, "1", now)
    expect(done).toMatchObject({ state: "succeeded", error: null, output: "1" })
  })

  test("a snooze and a release give the attempt back", () => {
    const run = row("running", { attempt: 2 })
    expect(Transition.snoozed(run, 3, 250, now)).toMatchObject({
      state: "scheduled",
      attempt: 1,
      dueAt: now + 250,
    })
    expect(Transition.released(run, 3)).toMatchObject({ state: "ready", attempt: 1 })
  })

  test("a loss before the start gives the attempt back at most lossMax times, then the run is dead", () => {
    let run = row("ready", { token: 0 })
    for (let losses = 1; losses <= Transition.lossMax; losses++) {
      const running = Transition.claimed(run, "n1", false, now) as Run
      run = Transition.lost(running, error, now) as Run
      expect(run).toMatchObject({ state: "ready", attempt: 0, losses, token: losses })
    }
    const running = Transition.claimed(run, "n1", false, now) as Run
    expect(Transition.lost(running, error, now)).toMatchObject({
      state: "dead",
      losses: Transition.lossMax + 1,
      error,
    })
  })

  test("a release that is a loss counts with those of nodes, whether its start was acknowledged or not", () => {
    let run = row("ready", { token: 0 })
    for (let losses = 1; losses <= Transition.lossMax; losses++) {
      const running = Transition.claimed(run, "n1", losses % 2 === 0, now) as Run
      run = Transition.lostUnstarted(running, running.token, now) as Run
      expect(run).toMatchObject({ state: "ready", attempt: 0, losses, token: losses, node: null })
    }
    const running = Transition.claimed(run, "n1", false, now) as Run
    const dead = Transition.lostUnstarted(running, running.token, now)
    expect(dead).toMatchObject({ state: "dead", losses: Transition.lossMax + 1, attempt: 1 })
    expect(dead?.error?.kind).toBe("lost")
    expect(Transition.lost(running, error, now)).toEqual({ ...dead, error })
  })

  test("who adopts a run changes its node and nothing else", () => {
    const run = row("running", { startAcknowledged: false, attempt: 2, losses: 3 })
    expect(Transition.adopted(run, run.token, "n2")).toEqual({ ...run, node: "n2" })
  })

  test("a settlement is its kind's change, with the error of an attempt that ended by it", () => {
    const run = row("running", { attempt: 1, attemptMax: 3 })
    const { id, token } = run
    const of = (settlement: Parameters<typeof Transition.settled>[1], of = run) =>
      Transition.settled(of, settlement, now)
    expect(of({ id, token, kind: "succeeded", output: "1" })).toEqual({
      next: Transition.succeeded(run, token, "1", now),
      error: null,
    })
    const failed = { id, token, kind: "failed", error, retryInMillis: 5 } as const
    expect(of(failed)).toEqual({ next: Transition.failed(run, token, error, 5, now), error })
    expect(of({ id, token, kind: "snoozed", delayMillis: 7 })?.next).toEqual(
      Transition.snoozed(run, token, 7, now),
    )
    expect(of({ id, token, kind: "declined", reason: "no" })?.next.reason).toBe("no")
    for (const loss of [undefined, false])
      expect(of({ id, token, kind: "released", ...(loss === undefined ? {} : { loss }) })).toEqual({
        next: Transition.released(run, token),
        error: null,
      })
    const lost = { id, token, kind: "released", loss: true } as const
    expect(of(lost)).toEqual({ next: Transition.lostUnstarted(run, token, now), error: null })
    const often = row("running", { losses: Transition.lossMax })
    const last = of(lost, often)
    expect(last?.next.state).toBe("dead")
    expect(last?.error).toEqual(last?.next.error)
    expect(of({ ...failed, token: token + 1 })).toBeNull()
  })

  test("a loss after the start uses the attempt: due at once, or dead with the last one", () => {
    const run = row("running", { startAcknowledged: true, attempt: 2, attemptMax: 3 })
    expect(Transition.lost(run, error, now)).toMatchObject({
      state: "retrying",
      dueAt: now,
      attempt: 2,
      losses: 0,
    })
    expect(Transition.lost({ ...run, attempt: 3 }, error, now)).toMatchObject({ state: "dead", attempt: 3 })
  })

  test("of due and overdue, overdue wins; its instant itself is too late", () => {
    expect(Transition.promoted(row("scheduled", { expiresAt: now }), now)?.state).toBe("expired")
    expect(Transition.promoted(row("scheduled", { expiresAt: now + 1 }), now)?.state).toBe("ready")
    expect(Transition.isOverdue(row("ready", { expiresAt: now }), now)).toBe(true)
    expect(Transition.isOverdue(row("ready", { expiresAt: null }), now)).toBe(false)
  })

  test("a cancelled running run has no token that still holds", () => {
    const run = Transition.cancelled(row("running"), "Not wanted", now) as Run
    expect(run).toMatchObject({ state: "cancelled", reason: "Not wanted", node: null })
    for (const apply of Object.values(held)) expect(apply(run, run.token)).toBeNull()
  })

  test("a run with several needs starts with the last one", () => {
    let run = Transition.enqueued(newRun(1), 3, now)
    run = Transition.needMet(run, now) as Run
    run = Transition.needMet(run, now) as Run
    expect(run).toMatchObject({ state: "blocked", waitingFor: 1 })
    expect(Transition.needMet(run, now)).toMatchObject({ state: "ready", waitingFor: 0 })
    expect(Transition.needMet(deepFreeze({ ...run, dueAt: now + 1 }), now)?.state).toBe("scheduled")
  })
})

describe("Transition > random lives", () => {
  test("attempts stay in their limit, losses bounded, tokens grow, and final is final", () => {
    const names = Object.keys(operations)
    const rare = new Set(["cancelled", "expired", "succeeded", "needFailed", "declined", "stepsSucceeded"])
    const ends = new Map<RunState, number>()
    for (let seed = 1; seed <= 2000; seed++) {
      const random = seeded(seed)
      const attemptMax = 1 + Math.floor(random() * 4)
      let time = now
      let run = Transition.enqueued(newRun(1, { attemptMax }), Math.floor(random() * 3), time)
      const tokens = new Set<number>()
      let acknowledgedStarts = 0
      for (let step = 0; step < 120; step++) {
        time += Math.floor(random() * 200)
        // Without the ends that anybody may ask for at any time, lives are longer.
        const name = names[Math.floor(random() * names.length)] as string
        if (rare.has(name) && random() < 0.9) continue
        const choices = operations[name] as ReadonlyArray<Operation>
        const next = (choices[Math.floor(random() * choices.length)] as Operation)(deepFreeze(run), time)
        if (isFinal(run.state)) expect(next, `seed ${seed}`).toBeNull()
        if (next === null) continue
        expect(next.attempt, `seed ${seed}`).toBeLessThanOrEqual(attemptMax)
        expect(next.attempt, `seed ${seed}`).toBeGreaterThanOrEqual(0)
        expect(next.losses, `seed ${seed}`).toBeLessThanOrEqual(Transition.lossMax + 1)
        if (name === "claimed") {
          expect(tokens.has(next.token), `seed ${seed}`).toBe(false)
          expect(next.token, `seed ${seed}`).toBeGreaterThan(run.token)
          tokens.add(next.token)
        } else expect(next.token, `seed ${seed}`).toBe(run.token)
        if (name === "failed" || name === "stepsFailed" || (name === "lost" && run.startAcknowledged))
          acknowledgedStarts++
        run = next
      }
      // Each failure and each loss after the start used up an attempt of its own.
      expect(acknowledgedStarts, `seed ${seed}`).toBeLessThanOrEqual(attemptMax)
      ends.set(run.state, (ends.get(run.state) ?? 0) + 1)
    }
    for (const state of ["dead", "succeeded", "cancelled", "skipped", "expired"] as const)
      expect(ends.get(state) ?? 0, state).toBeGreaterThan(10)
  })
})

// The two sides, one rule at a time: what is refused and with which code, what is counted, what time does.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import {
  closeCodes,
  closeOf,
  closeReason,
  firstWaitMillis,
  laterMillis,
  reconnectAfter,
  waitMaxMillis,
  waitMillis,
} from "../../../core/protocol/Close.ts"
import { decode } from "../../../core/protocol/Codec.ts"
import { admit, deny, greet, greetOffer } from "../../../core/protocol/Greeting.ts"
import { helloMillis, lostMillis, suspectMillis } from "../../../core/protocol/Limits.ts"
import type { Assign, Hello, Message, Welcome } from "../../../core/protocol/Message.ts"
import { openServer } from "../../../core/protocol/ServerOpen.ts"
import { stepServer } from "../../../core/protocol/ServerSession.ts"
import {
  canRun,
  freeSlots,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "../../../core/protocol/ServerState.ts"
import { checkTerms, defaultTerms } from "../../../core/protocol/Terms.ts"
import { agree, negotiate, nextOffer, spokenVersions } from "../../../core/protocol/Version.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import {
  makeWorker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
  leaseEndAt,
  workerWakeAt,
} from "../../../core/protocol/WorkerState.ts"
import { Choice } from "../../common/random.ts"

const at = (now: number, random = 0.5) => ({ now, at: 1_000_000 + now, random })
const hello: Hello = {
  type: "hello",
  id: "w1",
  worker: "w-1",
  incarnation: "i1",
  connection: 1,
  session: null,
  runtime: "test",
  version: "1",
  jobs: ["a", "b"],
  slots: 2,
  capabilities: ["resume", "flows", "unheardOf"],
  inHand: [],
}
const assignment: Assign = {
  type: "assign",
  id: "s9",
  run: "r1",
  attempt: 1,
  token: 1,
  job: "a",
  queue: "default",
  input: null,
  attemptMax: 3,
  timeoutMillis: null,
  dueAt: 0,
  lateMillis: 0,
  nominalAt: null,
  schedule: null,
  needs: [],
  step: null,
}
const assigned = (run: string, job = "a"): ServerEvent => {
  const { type: _, id: __, ...assign } = assignment
  return { kind: "assign", assign: { ...assign, run, job } }
}
const ofRun = (run: string) => ({ run, attempt: 1, token: 1 })
const success = (id: string, run: string): Message => ({
  type: "result",
  id,
  ...ofRun(run),
  outcome: { kind: "succeeded", output: null },
})
const heard = (message: Message, connection = 1): ServerEvent => ({ kind: "message", connection, message })
const frame = (text: string, connection = 1): ServerEvent => {
  const refused = decode(text, "worker")
  if (Result.isSuccess(refused)) throw new Error("it was taken")
  return { kind: "refused", connection, refused: refused.failure }
}
const sent = (effects: ReadonlyArray<ServerEffect | WorkerEffect>): ReadonlyArray<Message> =>
  effects.flatMap((effect) => (effect.kind === "send" ? [effect.message] : []))
const kindsOf = (effects: ReadonlyArray<{ readonly kind: string }>): ReadonlyArray<string> =>
  effects.map(({ kind }) => kind)
const codeOf = (effects: ReadonlyArray<ServerEffect | WorkerEffect>): number | undefined =>
  effects.flatMap((effect) => (effect.kind === "close" ? [effect.code] : []))[0]
const server = (given: Partial<Hello> = {}): ServerState =>
  openServer(
    { terms: defaultTerms("n"), session: "S1", connection: 1, hello: { ...hello, ...given }, verdicts: [] },
    at(0),
  ).state

describe("greeting > bad first moments", () => {
  const first = (text: string) => greet(decode(text, "worker"))
  test("silence after the upgrade", () => expect(greet(null)).toMatchObject({ kind: "close", code: 4408 }))
  test("no hello, but another message", () =>
    expect(first(JSON.stringify(success("w1", "r1")))).toMatchObject({ kind: "close", code: 4400 }))
  test("an unknown message first", () =>
    expect(first('{"type":"greet","id":"x"}')).toMatchObject({ kind: "close", code: 4400 }))
  test("bad JSON first", () => expect(first("{")).toMatchObject({ kind: "close", code: 4400 }))
  test("a hello with a missing field", () =>
    expect(first('{"type":"hello","id":"w1"}')).toMatchObject({
      kind: "close",
      code: 4400,
      error: { field: "hello.worker", of: "w1" },
    }))
  test("a frame over the limit first", () =>
    expect(first(`"${"x".repeat(1_048_576)}"`)).toMatchObject({ kind: "close", code: 1009 }))
  test("a hello", () => expect(first(JSON.stringify(hello))).toEqual({ kind: "hello", hello }))
  test("a denied token", () =>
    expect(deny("token", "é".repeat(200))).toMatchObject({ kind: "close", code: 4401 }))

  test.each([
    [["uhrwerk.worker.v1"], null],
    [["other", "uhrwerk.worker.v1"], null],
    [[], 4406],
    [["uhrwerk.worker.v0"], 4406],
    [["uhrwerk.worker.v2"], 4406],
    [["x"], 4406],
  ])("a worker that offers %j", (offered, code) => {
    const greeted = greetOffer(offered)
    expect(greeted === null ? null : greeted.kind === "close" && greeted.code).toBe(code)
  })

  test("whose hello it is", () => {
    const known = { session: "S1", incarnation: "i1", ordinal: 1, phase: "open" } as const
    const again = { ...hello, connection: 2 }
    expect(admit(hello, undefined)).toBe("fresh")
    expect(admit(again, known)).toBe("resume")
    expect(admit(again, { ...known, phase: "over" })).toBe("fresh")
    expect(admit(hello, known)).toBe("outdated")
    expect(admit(hello, { ...known, phase: "over" })).toBe("outdated")
    expect(admit({ ...again, capabilities: [] }, known)).toBe("replace")
    expect(admit({ ...hello, incarnation: "i2" }, known)).toBe("replace")
  })
})

describe("version", () => {
  test("the newest in common of N and N-1", () => {
    const of = (...versions: ReadonlyArray<number>) => versions.map((version) => `uhrwerk.worker.v${version}`)
    expect(Result.getOrThrow(negotiate(of(3, 2), 3))).toBe(3)
    expect(Result.getOrThrow(negotiate(of(2), 3))).toBe(2)
    expect(Result.isFailure(negotiate(of(1), 3))).toBe(true)
    expect(Result.isFailure(negotiate(of(4), 3))).toBe(true)
    expect(spokenVersions(1)).toEqual([1])
    expect(nextOffer(3, 3)).toBe(2)
    expect(nextOffer(2, 3)).toBe(null)
  })
  test("capabilities that both name", () =>
    expect(agree(["resume", "flows"], ["flows", "x"])).toEqual(["flows"]))
})

describe("terms", () => {
  const terms = defaultTerms("n")
  test("those that a server has by itself are sound", () =>
    expect(Result.getOrThrow(checkTerms(terms))).toBe(terms))
  test.each([
    ["heartbeatMillis", 99],
    ["heartbeatMillis", Number.NaN],
    ["suspectMillis", 9_999],
    ["lostMillis", 11_000],
    ["graceMillis", -1],
    ["graceMillis", 15_001],
    ["resendMillis", 0],
  ] as const)("%s of %d is refused", (field, value) => {
    expect(checkTerms({ ...terms, [field]: value })).toMatchObject({ failure: { field } })
  })
})

describe("close", () => {
  test("a worker sends only codes that every client can send", () => {
    for (const [code, { from }] of closeCodes)
      if (from === "worker") expect(code === 1000 || code >= 4000).toBe(true)
  })
  test("our own codes are known, and what is unknown is tried again", () => {
    for (const code of Object.values(closeOf)) expect(closeCodes.has(code)).toBe(true)
    expect([reconnectAfter(0), reconnectAfter(1006), reconnectAfter(4999), reconnectAfter(4401)]).toEqual([
      "soon",
      "soon",
      "later",
      "never",
    ])
  })
  test("the wait is between nothing and a bound that doubles up to 30 s", () => {
    const choice = new Choice(3)
    for (let tries = 0; tries < 40; tries++) {
      const bound = Math.min(waitMaxMillis, firstWaitMillis * 2 ** tries)
      expect(waitMillis(tries, 0, "soon")).toBe(0)
      expect(waitMillis(tries, choice.random(), "soon")).toBeLessThan(bound)
      expect(waitMillis(tries, 0.999_999, "soon")).toBeGreaterThan(bound * 0.99)
      expect(waitMillis(tries, 0, "later")).toBe(laterMillis)
    }
  })
  test("200 workers that lost their server at once come back apart", () => {
    const choice = new Choice(4)
    const waits = Array.from({ length: 200 }, () => waitMillis(4, choice.random(), "soon"))
    const buckets = new Map<number, number>()
    for (const wait of waits)
      buckets.set(Math.floor(wait / 1_000), (buckets.get(Math.floor(wait / 1_000)) ?? 0) + 1)
    expect(Math.max(...buckets.values())).toBeLessThan(60)
  })
  test("a reason has at most 123 bytes, and no half characters", () => {
    for (const text of ["é".repeat(100), "🌍".repeat(60), "x".repeat(500), "short"]) {
      const reason = closeReason(text)
      expect(new TextEncoder().encode(reason).length).toBeLessThanOrEqual(123)
      expect(reason.isWellFormed()).toBe(true)
    }
    expect(closeReason("short")).toBe("short")
  })
})

describe("server session > bad input", () => {
  test.each([
    ["bad JSON", "{", 4400],
    ["an unknown type", '{"type":"greet","id":"x"}', undefined],
    ["a missing field", '{"type":"bye","id":"x"}', 4400],
    ["10,000 levels", "[".repeat(10_000), 4400],
    ["a frame over the limit", `"${"x".repeat(1_048_576)}"`, 1009],
  ])("%s is answered with an error, and ends the connection or not", (_, text, code) => {
    const state = server()
    const effects = stepServer(state, frame(text), at(1))
    expect(sent(effects).map(({ type }) => type)).toEqual(["error"])
    expect(codeOf(effects)).toBe(code)
    expect(state.phase).toBe(code === undefined ? "open" : "cut")
  })

  test("a foreign run, a wrong attempt and a wrong token are stale, and nothing is stored", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    for (const wrong of [{ run: "r2" }, { attempt: 2 }, { token: 2 }]) {
      const effects = stepServer(state, heard({ ...success("w2", "r1"), ...wrong } as Message), at(2))
      expect(kindsOf(effects)).toEqual(["send"])
      expect(sent(effects)).toMatchObject([{ type: "ack", acks: [{ result: "stale" }] }])
    }
    expect(state.held.get("r1 1")?.state).toBe("sent")
  })

  test("a replayed settlement is told what became of it, and is not stored again", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    expect(kindsOf(stepServer(state, heard(success("w2", "r1")), at(2)))).toEqual(["outcome"])
    expect(stepServer(state, heard(success("w2", "r1")), at(3))).toEqual([])
    stepServer(state, { kind: "settled", run: "r1", token: 1, result: "settled" }, at(4))
    const effects = stepServer(state, heard(success("w2", "r1")), at(5))
    expect(kindsOf(effects)).toEqual(["send"])
    expect(sent(effects)).toMatchObject([{ acks: [{ result: "settled" }] }])
  })

  test("progress and lines of a foreign run go nowhere", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    const progress: Message = { type: "progress", id: "w2", ...ofRun("r1"), percent: 1 }
    expect(kindsOf(stepServer(state, heard(progress), at(2)))).toEqual(["report"])
    expect(stepServer(state, heard({ ...progress, run: "r2" }), at(2))).toEqual([])
    expect(stepServer(state, heard({ ...progress, token: 2 }), at(2))).toEqual([])
  })

  test("a flood ends with 4429; outcomes of what it was given are not counted", () => {
    const state = server({ slots: 1_000 })
    for (let run = 0; run < 1_000; run++) stepServer(state, assigned(`r${run}`), at(0))
    for (let run = 0; run < 1_000; run++)
      expect(kindsOf(stepServer(state, heard(success("w", `r${run}`)), at(0)))).toEqual(["outcome"])
    const beat: Message = { type: "heartbeat", id: "w", at: 0 }
    let answered = 0
    while (answered < 5_000 && codeOf(stepServer(state, heard(beat), at(0))) === undefined) answered++
    expect(answered).toBe(2_000)
    expect(state.phase).toBe("cut")
  })

  test("a flood of frames that cannot be read ends with 4429 too", () => {
    const state = server()
    const codes = Array.from({ length: 300 }, () =>
      codeOf(stepServer(state, frame('{"type":"greet","id":"x"}'), at(0))),
    )
    expect(codes.filter((code) => code !== undefined)).toEqual([4429])
  })

  test("acknowledgements are free while they say something new, and counted after that", () => {
    const state = server({ slots: 1_000 })
    for (let run = 0; run < 1_000; run++) stepServer(state, assigned(`r${run}`), at(0))
    const ack = (run: string, result: "waiting" | "started"): ServerEvent =>
      heard({ type: "ack", id: "w", acks: [{ ...ofRun(run), result }] })
    for (const result of ["waiting", "started"] as const)
      for (let run = 0; run < 1_000; run++)
        expect(codeOf(stepServer(state, ack(`r${run}`, result), at(0)))).toBeUndefined()
    let taken = 0
    while (taken < 5_000 && codeOf(stepServer(state, ack("r1", "waiting"), at(0))) === undefined) taken++
    expect(taken).toBe(2_000)
  })

  test("coming back is no way round the limit", () => {
    const state = server()
    const beat: Message = { type: "heartbeat", id: "w", at: 0 }
    let taken = 0
    for (let connection = 1; connection < 10; connection++) {
      while (codeOf(stepServer(state, heard(beat, connection), at(0))) === undefined) taken++
      const next = connection + 1
      stepServer(state, { kind: "resume", connection: next, hello: { ...hello, connection: next } }, at(0))
    }
    expect(taken).toBe(200)
  })

  test("an attempt that is named with another number is not the one that is held", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    stepServer(state, heard({ type: "ack", id: "w", acks: [{ ...ofRun("r1"), result: "started" }] }), at(0))
    const inHand = [{ run: "r1", attempt: 2, token: 1, state: "running" as const }]
    const effects = stepServer(
      state,
      { kind: "resume", connection: 2, hello: { ...hello, connection: 2, inHand } },
      at(1),
    )
    expect(sent(effects)).toMatchObject([{ inHand: [{ verdict: "stale" }] }])
    expect(effects.at(-1)).toMatchObject({ kind: "lost", run: "r1", attempt: 1 })
  })

  test("the allowance comes back with time", () => {
    const state = server()
    const beat: Message = { type: "heartbeat", id: "w", at: 0 }
    for (let second = 0; second < 20; second++)
      for (let each = 0; each < 100; each++)
        expect(codeOf(stepServer(state, heard(beat), at(second * 1_000)))).toBeUndefined()
  })

  test("a second hello ends the connection, the same one once more does not", () => {
    const state = server()
    expect(stepServer(state, heard(hello), at(1))).toEqual([])
    expect(codeOf(stepServer(state, heard({ ...hello, connection: 2 }), at(1)))).toBe(4400)
  })

  test("an expansion without the capability is refused", () => {
    const expanded: Message = {
      ...success("w2", "r1"),
      outcome: {
        kind: "expanded",
        retryable: true,
        expansion: {
          kind: "map",
          items: [],
          failFast: true,
          step: { job: "a", queue: "q", priority: 0, attemptMax: 1 },
        },
      },
    } as Message
    for (const [capabilities, code] of [
      [["resume"], 4400],
      [["flows"], undefined],
    ] as const) {
      const state = server({ capabilities })
      stepServer(state, assigned("r1"), at(1))
      expect(codeOf(stepServer(state, heard(expanded), at(2)))).toBe(code)
    }
  })

  test("a missing handler: the run goes back, the job is not offered again", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    const refused: Message = {
      type: "ack",
      id: "w2",
      acks: [{ ...ofRun("r1"), result: "refused", reason: "noHandler" }],
    }
    expect(stepServer(state, heard(refused), at(2))).toMatchObject([
      { kind: "release", reason: "noHandler", run: "r1", loss: false },
    ])
    expect([canRun(state, "a"), canRun(state, "b"), canRun(state, "c")]).toEqual([false, true, false])
    expect(freeSlots(state)).toBe(2)
  })

  test("a name that is taken: the older session ends with 4409, its runs are given back or lost", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    stepServer(state, assigned("r2"), at(1))
    stepServer(state, heard({ type: "ack", id: "w2", acks: [{ ...ofRun("r1"), result: "started" }] }), at(2))
    const effects = stepServer(state, { kind: "end", close: "replaced", reason: "the name" }, at(3))
    expect(codeOf(effects)).toBe(4409)
    expect(effects.filter(({ kind }) => kind !== "close")).toMatchObject([
      { kind: "lost", run: "r1" },
      { kind: "release", run: "r2" },
      { kind: "over" },
    ])
    expect(stepServer(state, heard(success("w3", "r1")), at(4))).toEqual([])
  })

  test("a new session of the same process: what its hello names as begun stays, though nobody had heard of it", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    stepServer(state, assigned("r2"), at(1))
    const named = [{ ...ofRun("r1"), state: "ended" as const }]
    const end: ServerEvent = { kind: "end", close: "replaced", reason: "again", keep: true, named }
    expect(stepServer(state, end, at(2)).filter(({ kind }) => kind !== "close")).toMatchObject([
      { kind: "started", run: "r1" },
      { kind: "release", run: "r2" },
      { kind: "over" },
    ])
  })

  test("a frame of an older connection does nothing", () => {
    const state = server()
    stepServer(state, { kind: "resume", connection: 2, hello: { ...hello, connection: 2 } }, at(1))
    expect(stepServer(state, heard({ type: "bye", id: "w", reason: "" }, 1), at(2))).toEqual([])
    expect(stepServer(state, { kind: "closed", connection: 1 }, at(2))).toEqual([])
    expect(state.phase).toBe("open")
  })

  test("an assignment that fits no frame ends its run for good", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    const effects = stepServer(state, { kind: "unsendable", run: "r1", token: 1, reason: "too large" }, at(1))
    expect(effects).toMatchObject([
      { kind: "outcome", outcome: { kind: "failed", retryable: false, error: { kind: "payload" } } },
    ])
  })
})

describe("server session > slots and time", () => {
  test("free slots follow from what is held, and never leak", () => {
    const choice = new Choice(9)
    const state = server({ slots: 3, prefetch: 2 })
    for (let round = 0; round < 500; round++) {
      const run = `r${round}`
      if (freeSlots(state) > 0) stepServer(state, assigned(run), at(round))
      const held = [...state.held.values()]
      const entry = choice.of(held)
      if (choice.percent(50)) {
        stepServer(state, heard(success("w", entry.run)), at(round))
        stepServer(state, { kind: "settled", run: entry.run, token: 1, result: "settled" }, at(round))
      }
      expect(freeSlots(state)).toBe(5 - state.held.size)
      expect(state.recent.size).toBeLessThanOrEqual(26)
    }
  })

  test("what comes without a free slot is handed back at once", () => {
    const state = server({ slots: 1 })
    stepServer(state, assigned("r1"), at(1))
    expect(kindsOf(stepServer(state, assigned("r2"), at(1)))).toEqual(["release"])
  })

  test("a worker that refused for want of room is asked again after its next heartbeat", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(1))
    stepServer(
      state,
      heard({ type: "ack", id: "w", acks: [{ ...ofRun("r1"), result: "refused", reason: "full" }] }),
      at(2),
    )
    expect(freeSlots(state)).toBe(0)
    stepServer(state, heard({ type: "heartbeat", id: "w", at: 0, slots: 1 }), at(3))
    expect(freeSlots(state)).toBe(1)
  })

  test("silence: suspect after 10 s, lost after 15 s, and a sign of life between mends it", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    stepServer(state, heard({ type: "ack", id: "w2", acks: [{ ...ofRun("r1"), result: "started" }] }), at(0))
    // At first for what might not be acknowledged, which is nothing any more.
    expect(serverWakeAt(state)).toBe(5_000)
    expect(stepServer(state, { kind: "tick" }, at(5_000))).toEqual([])
    expect(serverWakeAt(state)).toBe(suspectMillis)
    expect(stepServer(state, { kind: "tick" }, at(suspectMillis - 1))).toEqual([])
    expect(stepServer(state, { kind: "tick" }, at(suspectMillis))).toEqual([
      { kind: "status", status: "suspect" },
    ])
    expect(freeSlots(state)).toBe(0)
    const life: Message = { type: "heartbeat", id: "w3", at: 0 }
    expect(kindsOf(stepServer(state, heard(life), at(12_000)))).toEqual(["status", "send"])
    expect(freeSlots(state)).toBe(1)
    stepServer(state, { kind: "tick" }, at(12_000 + suspectMillis))
    expect(serverWakeAt(state)).toBe(12_000 + lostMillis)
    const effects = stepServer(state, { kind: "tick" }, at(12_000 + lostMillis))
    expect(codeOf(effects)).toBe(4410)
    expect(kindsOf(effects)).toEqual(["close", "lost", "over"])
  })

  test("a cut: the runs wait for the grace, and not longer", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    stepServer(state, { kind: "closed", connection: 1 }, at(500))
    expect(serverWakeAt(state)).toBe(1_300)
    expect(stepServer(state, { kind: "tick" }, at(1_299))).toEqual([])
    expect(stepServer(state, { kind: "tick" }, at(1_300))).toMatchObject([
      { kind: "release", loss: true },
      { kind: "over" },
    ])
  })

  test("what was decided without the worker is settled once, whatever the worker says later", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    const outcome = { kind: "snoozed", delayMillis: 1_000 } as const
    const decide = { kind: "decide", run: "r1", token: 1, outcome } as const
    expect(stepServer(state, decide, at(1))).toMatchObject([{ kind: "outcome", run: "r1", outcome }])
    expect(stepServer(state, decide, at(2))).toEqual([])
  })

  test("a worker without resume: at once", () => {
    const state = server({ capabilities: [] })
    stepServer(state, assigned("r1"), at(0))
    expect(kindsOf(stepServer(state, { kind: "closed", connection: 1 }, at(500)))).toEqual([
      "release",
      "over",
    ])
  })

  test("an outcome that is being stored when the session ends is neither lost nor handed back", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    stepServer(state, heard(success("w", "r1")), at(1))
    stepServer(state, { kind: "closed", connection: 1 }, at(2))
    expect(kindsOf(stepServer(state, { kind: "tick" }, at(5_000)))).toEqual(["over"])
  })

  test("a cancel comes again, more and more seldom, until the end is there", () => {
    const state = server()
    stepServer(state, assigned("r1"), at(0))
    stepServer(state, heard({ type: "ack", id: "w", acks: [{ ...ofRun("r1"), result: "started" }] }), at(0))
    stepServer(state, { kind: "stop", run: "r1", token: 1, reason: "cancelled" }, at(0))
    const times: Array<number> = []
    for (let now = 0; now <= 200_000; now += 1_000) {
      stepServer(state, heard({ type: "heartbeat", id: "w", at: 0 }), at(now))
      if (sent(stepServer(state, { kind: "tick" }, at(now))).some(({ type }) => type === "cancel"))
        times.push(now)
    }
    expect(times).toEqual([5_000, 15_000, 35_000, 75_000, 135_000, 195_000])
    stepServer(state, heard(success("w", "r1")), at(200_000))
    expect(sent(stepServer(state, { kind: "tick" }, at(400_000))).some(({ type }) => type === "cancel")).toBe(
      false,
    )
  })
})

const welcome: Welcome = {
  type: "welcome",
  id: "s1",
  session: "S1",
  resumed: false,
  node: "n",
  now: 0,
  heartbeatMillis: 5_000,
  suspectMillis: 10_000,
  leaseMillis: 14_000,
  graceMillis: 1_000,
  frameBytesMax: 1_048_576,
  payloadBytesMax: 262_144,
  messagesPerSecondMax: 100,
  capabilities: ["resume"],
  inHand: [],
}
const told = (message: Message, connection = 1): WorkerEvent => ({ kind: "message", connection, message })
const worker = (slots = 1, prefetch = 0): WorkerState => {
  const { type: _, id: __, session: ___, connection: ____, inHand: _____, ...who } = hello
  const state = makeWorker({ ...who, slots, prefetch }, at(0))
  stepWorker(state, { kind: "tick" }, at(0))
  stepWorker(state, { kind: "opened", connection: 1 }, at(0))
  stepWorker(state, told(welcome), at(0))
  return state
}
const over = (run: string, token = 1): WorkerEvent => ({
  kind: "ended",
  run,
  token,
  outcome: { kind: "succeeded", output: null },
})

describe("worker session", () => {
  test("acknowledges the start before it begins", () => {
    const effects = stepWorker(worker(), told(assignment), at(1))
    expect(kindsOf(effects)).toEqual(["send", "begin"])
    expect(sent(effects)).toMatchObject([{ acks: [{ result: "started" }] }])
  })

  test("what has no slot waits, what has no room is refused, and each is begun in its turn", () => {
    const state = worker(1, 1)
    stepWorker(state, told(assignment), at(1))
    expect(sent(stepWorker(state, told({ ...assignment, run: "r2" }), at(2)))).toMatchObject([
      { acks: [{ run: "r2", result: "waiting" }] },
    ])
    expect(sent(stepWorker(state, told({ ...assignment, run: "r3" }), at(3)))).toMatchObject([
      { acks: [{ run: "r3", result: "refused", reason: "full" }] },
    ])
    expect(kindsOf(stepWorker(state, over("r1"), at(4)))).toEqual(["send", "send", "begin"])
  })

  test("begins no token twice, also long after its end", () => {
    const state = worker()
    stepWorker(state, told(assignment), at(1))
    stepWorker(state, over("r1"), at(2))
    stepWorker(state, told({ type: "ack", id: "s", acks: [{ ...ofRun("r1"), result: "settled" }] }), at(3))
    expect(sent(stepWorker(state, told(assignment), at(4)))).toMatchObject([
      { acks: [{ result: "refused", reason: "over" }] },
    ])
    expect(kindsOf(stepWorker(state, told({ ...assignment, token: 2, attempt: 2 }), at(5)))).toContain(
      "begin",
    )
  })

  test("a newer attempt of a run waits until the handler of the older one is gone", () => {
    const state = worker(2)
    stepWorker(state, told(assignment), at(1))
    const newer = stepWorker(state, told({ ...assignment, token: 2, attempt: 2 }), at(2))
    expect(kindsOf(newer)).toEqual(["stop", "send"])
    // One that is older than one that waits would be begun after it.
    const late = told({ ...assignment, id: "s7", token: 3, attempt: 3 })
    stepWorker(state, late, at(2))
    const between = stepWorker(state, told({ ...assignment, token: 2, attempt: 2 }), at(2))
    expect(sent(between)).toMatchObject([{ acks: [{ token: 2, result: "refused", reason: "over" }] }])
    expect(kindsOf(stepWorker(state, over("r1", 1), at(3)))).toEqual(["send", "begin"])
  })

  test("an end is told again after 5, 10, 20 ... 60 s until it is acknowledged", () => {
    const state = worker()
    stepWorker(state, told(assignment), at(0))
    stepWorker(state, over("r1"), at(0))
    const times: Array<number> = []
    for (let now = 1_000; now <= 200_000; now += 1_000) {
      const effects = stepWorker(state, { kind: "tick" }, at(now))
      if (sent(effects).some(({ type }) => type === "result")) times.push(now)
      for (const message of sent(effects))
        if (message.type === "heartbeat")
          stepWorker(state, told({ type: "heartbeat", id: "s", at: 0, of: message.id }), at(now))
    }
    expect(times).toEqual([5_000, 15_000, 35_000, 75_000, 135_000, 195_000])
    stepWorker(
      state,
      told({ type: "ack", id: "s", acks: [{ ...ofRun("r1"), result: "settled" }] }),
      at(200_000),
    )
    expect(state.hand.size).toBe(0)
  })

  test("cut off longer than its lease it stops its handlers, before the server gives their runs away", () => {
    const state = worker()
    stepWorker(state, told(assignment), at(1))
    // The server is heard, but answers no heartbeat: it may not hear us.
    let stopped = 0
    for (let now = 1_000; stopped === 0; now += 1_000) {
      stepWorker(state, told({ type: "heartbeat", id: "s", at: 0 }), at(now))
      const effects = stepWorker(state, { kind: "tick" }, at(now))
      if (kindsOf(effects).includes("stop")) stopped = now
    }
    expect(stopped).toBeLessThan(lostMillis)
    expect(state.phase).toBe("off")
  })

  test("after a cut it stops its handlers when the grace is over, and begins nothing", () => {
    const state = worker(1, 1)
    stepWorker(state, told(assignment), at(0))
    stepWorker(state, told({ ...assignment, run: "r2" }), at(0))
    stepWorker(state, { kind: "closed", connection: 1, code: 1006 }, at(100, 0.999))
    expect(workerWakeAt(state)).toBe(599)
    stepWorker(state, { kind: "tick" }, at(599))
    expect(workerWakeAt(state)).toBe(1_100)
    expect(stepWorker(state, { kind: "tick" }, at(1_100))).toEqual([
      { kind: "stop", run: "r1", token: 1, reason: "leaseLost" },
    ])
    expect([...state.hand.keys()]).toEqual(["r1 1"])
    expect(kindsOf(stepWorker(state, over("r1"), at(1_200)))).toEqual([])
  })

  test("no welcome in time: it tries again", () => {
    const { type: _, id: __, session: ___, connection: ____, inHand: _____, ...who } = hello
    const state = makeWorker(who, at(0))
    stepWorker(state, { kind: "tick" }, at(0))
    stepWorker(state, { kind: "opened", connection: 1 }, at(0))
    expect(codeOf(stepWorker(state, { kind: "tick" }, at(2 * helloMillis)))).toBe(4408)
    expect(kindsOf(stepWorker(state, { kind: "tick" }, at(3 * helloMillis)))).toEqual(["connect"])
  })

  test.each([
    [1006, 1_100],
    [1012, 4_100],
  ])("after close code %i handlers go on until %i, and are told then", (code, end) => {
    const again = makeWorker(worker().who, at(0))
    stepWorker(again, { kind: "tick" }, at(0))
    stepWorker(again, { kind: "opened", connection: 1 }, at(0))
    stepWorker(again, told({ ...welcome, restartMillis: 4_000 }), at(0))
    stepWorker(again, told(assignment), at(1))
    stepWorker(again, { kind: "closed", connection: 1, code }, at(100))
    expect(leaseEndAt(again)).toBe(end)
    expect(kindsOf(stepWorker(again, { kind: "tick" }, at(end - 1)))).not.toContain("stop")
    expect(kindsOf(stepWorker(again, { kind: "tick" }, at(end)))).toContain("stop")
  })

  test.each([4401, 4403, 4406, 4409, 1000])("close code %i ends it, and its handlers are told", (code) => {
    const state = worker()
    stepWorker(state, told(assignment), at(1))
    const effects = stepWorker(state, { kind: "closed", connection: 1, code }, at(2))
    expect(effects).toMatchObject([{ kind: "stop" }, { kind: "over", code }])
    expect(workerWakeAt(state)).toBe(Number.POSITIVE_INFINITY)
  })

  test.each([
    [1006, 0],
    [0, 0],
    [1012, 0],
    [1013, 5_000],
    [4400, 5_000],
    [4429, 5_000],
    [4410, 0],
  ])("close code %i: another try after %i ms and a random time", (code, least) => {
    const state = worker()
    stepWorker(state, { kind: "closed", connection: 1, code }, at(100, 0))
    expect(state.connectAt).toBe(100 + least)
  })

  test("tries grow apart, and begin anew only after a connection that lasted, or a restart", () => {
    const state = worker()
    const waits: Array<number> = []
    let now = 0
    const round = (open: number, code = 1006): void => {
      now += open
      stepWorker(state, { kind: "closed", connection: state.connection, code }, at(now, 0.999_999))
      waits.push(state.connectAt - now)
      now = state.connectAt
      stepWorker(state, { kind: "tick" }, at(now))
      stepWorker(state, { kind: "opened", connection: state.connection }, at(now))
      stepWorker(state, told(welcome, state.connection), at(now))
    }
    for (const open of [10, 10, 10, 29_999, 30_000, 10]) round(open)
    round(10, 1012)
    expect(waits).toEqual([499, 999, 1_999, 3_999, 499, 999, 499])
  })

  test("a server that sends nonsense is told so and left", () => {
    const state = worker()
    const refused = decode('{"type":"assign","id":"s1"}', "server")
    if (Result.isSuccess(refused)) throw new Error("it was taken")
    const effects = stepWorker(state, { kind: "refused", connection: 1, refused: refused.failure }, at(1))
    expect(sent(effects)).toMatchObject([{ type: "error", of: "s1", field: "assign.run" }])
    expect(codeOf(effects)).toBe(4400)
  })

  test("a drain hands back what waits, lets the rest end, stops it after its time, and says bye", () => {
    const state = worker(1, 1)
    stepWorker(state, told(assignment), at(0))
    stepWorker(state, told({ ...assignment, run: "r2" }), at(0))
    const drain = stepWorker(state, { kind: "drain", graceMillis: 3_000, reason: "SIGTERM" }, at(100))
    expect(sent(drain)).toMatchObject([
      { type: "result", run: "r2", outcome: { kind: "released" } },
      { type: "drain" },
    ])
    expect(sent(stepWorker(state, told({ ...assignment, run: "r3" }), at(200)))).toMatchObject([
      { acks: [{ result: "refused", reason: "draining" }] },
    ])
    stepWorker(state, told({ type: "ack", id: "s", acks: [{ ...ofRun("r2"), result: "settled" }] }), at(300))
    expect(workerWakeAt(state)).toBe(3_100)
    const end = stepWorker(state, { kind: "tick" }, at(3_100))
    expect(end).toMatchObject([
      { kind: "stop", run: "r1", reason: "drain" },
      { kind: "send", message: { type: "result", run: "r1", outcome: { kind: "released" } } },
    ])
    const bye = stepWorker(
      state,
      told({ type: "ack", id: "s", acks: [{ ...ofRun("r1"), result: "settled" }] }),
      at(3_200),
    )
    expect(sent(bye)).toMatchObject([{ type: "bye" }])
    expect(kindsOf(stepWorker(state, { kind: "closed", connection: 1, code: 1000 }, at(3_300)))).toEqual([
      "over",
    ])
  })

  test("a handler that runs on after the end of its attempt takes a slot, and its run is not begun beside it", () => {
    const state = worker(2)
    stepWorker(state, told(assignment), at(0))
    const timeout = stepWorker(state, { ...over("r1"), runsOn: true } as WorkerEvent, at(1))
    expect(sent(timeout)).toMatchObject([{ type: "result", run: "r1" }])
    stepWorker(state, told({ type: "ack", id: "s", acks: [{ ...ofRun("r1"), result: "settled" }] }), at(2))
    expect(sent(stepWorker(state, told({ ...assignment, token: 2, attempt: 2 }), at(3)))).toMatchObject([
      { acks: [{ result: "waiting" }] },
    ])
    expect(kindsOf(stepWorker(state, told({ ...assignment, run: "r2" }), at(4)))).toContain("begin")
    expect(sent(stepWorker(state, { kind: "tick" }, at(5_000)))).toMatchObject([
      { type: "heartbeat", slots: 1, running: 2 },
    ])
    expect(stepWorker(state, over("r1"), at(5_100))).toMatchObject([
      { kind: "send", message: { acks: [{ run: "r1", token: 2, result: "started" }] } },
      { kind: "begin" },
    ])
  })

  test("a second drain shortens the first one, and does not put it off", () => {
    const state = worker()
    stepWorker(state, told(assignment), at(0))
    const drain = (graceMillis: number, now: number): void =>
      void stepWorker(state, { kind: "drain", graceMillis, reason: "SIGTERM" }, at(now))
    drain(3_000, 0)
    drain(30_000, 100)
    expect(workerWakeAt(state)).toBe(3_000)
    drain(0, 200)
    expect(stepWorker(state, { kind: "tick" }, at(200))).toMatchObject([
      { kind: "stop", run: "r1", reason: "drain" },
      { kind: "send", message: { type: "result", outcome: { kind: "released" } } },
    ])
  })

  test("a drain that nobody answers ends all the same", () => {
    const state = worker()
    stepWorker(state, told(assignment), at(0))
    stepWorker(state, { kind: "drain", graceMillis: 1_000, reason: "SIGTERM" }, at(0))
    let ended = Number.POSITIVE_INFINITY
    for (let now = 0; now < 60_000 && ended > now; now += 500)
      if (kindsOf(stepWorker(state, { kind: "tick" }, at(now))).includes("over")) ended = now
    expect(ended).toBe(6_000)
  })
})

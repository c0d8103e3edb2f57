// At least one message of each type, with every field used somewhere; and what a fuzzer makes of them.
import type { Message, Side } from "../../../core/protocol/Message.ts"
import { Choice } from "../../common/random.ts"

const key = { run: "01997f3e-8a00-7000-8000-000000000001", attempt: 1, token: 7 }
const stepJob = { job: "etl.load", queue: "default", priority: 0, attemptMax: 3 }
const definition = {
  name: "etl",
  version: "v1",
  steps: [
    { id: "a", needs: [], ...stepJob },
    { id: "b", needs: ["a"], rule: "all_done", allowFailure: true, ...stepJob },
  ],
  output: "b",
  failFast: false,
  timeoutMillis: 60_000,
} as const

export const samples: ReadonlyArray<{ readonly from: Side; readonly message: Message }> = [
  {
    from: "worker",
    message: {
      type: "hello",
      id: "w1",
      token: "uhr_worker_1_secret",
      worker: "w-1",
      incarnation: "0b1c2d3e4f",
      connection: 2,
      session: "S1",
      runtime: "bun 1.4.5",
      version: "1.2.0",
      jobs: ["mail.digest", "etl.load"],
      queues: ["default"],
      slots: 4,
      prefetch: 2,
      labels: { region: "eu", gpu: 2, spot: true },
      capabilities: ["resume", "flows"],
      inHand: [{ ...key, state: "running" }],
    },
  },
  {
    from: "server",
    message: {
      type: "welcome",
      id: "s1",
      session: "S1",
      resumed: true,
      node: "n1",
      now: 1_790_000_000_000,
      heartbeatMillis: 5_000,
      suspectMillis: 10_000,
      leaseMillis: 14_000,
      graceMillis: 1_000,
      restartMillis: 4_000,
      frameBytesMax: 1_048_576,
      payloadBytesMax: 262_144,
      messagesPerSecondMax: 100,
      capabilities: ["resume"],
      inHand: [{ ...key, verdict: "keep" }],
    },
  },
  {
    from: "server",
    message: {
      type: "assign",
      id: "s2",
      ...key,
      job: "mail.digest",
      queue: "default",
      input: '{"user":12345678901234567890}',
      attemptMax: 5,
      timeoutMillis: 60_000,
      dueAt: 1_790_000_000_000,
      lateMillis: 12,
      nominalAt: 1_790_000_000_000,
      schedule: "mail.digest",
      needs: [{ job: "extract", output: '{"rows":10}' }],
      step: {
        place: 1,
        parent: "01997f3e-8a00-7000-8000-000000000000",
        input: null,
        needs: [{ id: "a", state: "succeeded", output: "[1,2]" }],
      },
    },
  },
  {
    from: "worker",
    message: {
      type: "ack",
      id: "w2",
      acks: [
        { ...key, result: "started" },
        { ...key, token: 8, result: "refused", reason: "full" },
      ],
    },
  },
  { from: "server", message: { type: "ack", id: "s3", acks: [{ ...key, result: "settled" }] } },
  { from: "worker", message: { type: "progress", id: "w3", ...key, percent: 12.5, note: "half an eighth" } },
  {
    from: "worker",
    message: {
      type: "log",
      id: "w4",
      ...key,
      lines: [{ at: 1_790_000_000_001, level: "info", text: "sending 🌍" }],
      dropped: 3,
    },
  },
  {
    from: "worker",
    message: { type: "heartbeat", id: "w5", at: 1_790_000_000_002, slots: 4, running: 1, load: 0.7 },
  },
  { from: "server", message: { type: "heartbeat", id: "s4", at: 1_790_000_000_003, of: "w5" } },
  {
    from: "worker",
    message: { type: "result", id: "w6", ...key, outcome: { kind: "succeeded", output: '{"sent":3}' } },
  },
  {
    from: "worker",
    message: { type: "result", id: "w7", ...key, outcome: { kind: "snoozed", delayMillis: 500 } },
  },
  { from: "worker", message: { type: "result", id: "w8", ...key, outcome: { kind: "released" } } },
  {
    from: "worker",
    message: { type: "result", id: "w9", ...key, outcome: { kind: "declined", reason: "no rows" } },
  },
  {
    from: "worker",
    message: {
      type: "result",
      id: "w10",
      ...key,
      outcome: { kind: "expanded", expansion: { kind: "flow", definition, input: "{}" }, retryable: true },
    },
  },
  {
    from: "worker",
    message: {
      type: "result",
      id: "w11",
      ...key,
      outcome: {
        kind: "expanded",
        expansion: { kind: "map", step: stepJob, items: ["1", null], failFast: true, input: null },
        retryable: false,
      },
    },
  },
  {
    from: "worker",
    message: {
      type: "failure",
      id: "w12",
      ...key,
      error: { name: "TypeError", message: "x is undefined", stack: "at f", kind: "error" },
      retryable: true,
      retryAfterMillis: 120_000,
    },
  },
  { from: "server", message: { type: "cancel", id: "s5", ...key, reason: "cancelled" } },
  { from: "server", message: { type: "drain", id: "s6", graceMillis: 30_000, reason: "deploy" } },
  { from: "worker", message: { type: "drain", id: "w13", graceMillis: 30_000, reason: "SIGTERM" } },
  { from: "worker", message: { type: "bye", id: "w14", reason: "drained" } },
  {
    from: "server",
    message: { type: "error", id: "s7", code: "badField", message: "Wrong", of: "w6", field: "result.token" },
  },
  { from: "worker", message: { type: "error", id: "w15", code: "unknownType", message: "What is this" } },
]

type Json = null | boolean | number | string | Array<Json> | { [key: string]: Json }

const texts = [
  "",
  " ",
  "a",
  "é",
  "🌍",
  "\ud800",
  "\u0000",
  "x".repeat(64),
  "x".repeat(65),
  "🌍".repeat(128),
  "{}",
  "[",
  "a b",
]
const scalars: ReadonlyArray<Json> = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  0.5,
  100,
  101,
  1e15,
  2 ** 53,
  2 ** 53 - 1,
  1e308,
]

const anything = (choice: Choice, depth: number): Json => {
  const kind = choice.int(0, depth > 0 ? 5 : 2)
  if (kind <= 1) return choice.of(scalars)
  if (kind === 2)
    return choice.of(texts) + (choice.percent(5) ? "y".repeat(choice.of([126, 127, 2047, 4096])) : "")
  if (kind === 3) return [...choice.list(0, 3, () => anything(choice, depth - 1))]
  const names = ["__proto__", "constructor", "toString", "kind", "type", "id", "a", "", "run"]
  // Parsed, so that `__proto__` is a key like any other.
  return JSON.parse(
    `{${choice.list(0, 3, () => `${JSON.stringify(choice.of(names))}:${JSON.stringify(anything(choice, depth - 1))}`).join(",")}}`,
  ) as Json
}

/** A JSON value with one to three changes somewhere in it. */
export const mutated = (choice: Choice, value: unknown): Json => {
  const copy = structuredClone(value) as Json
  let out = copy
  for (let changes = choice.int(1, 3); changes > 0; changes--) out = changed(choice, out)
  // Once through JSON, as a frame goes: -0, lone surrogates and all.
  return JSON.parse(JSON.stringify(out)) as Json
}

const changed = (choice: Choice, value: Json): Json => {
  if (typeof value !== "object" || value === null || choice.percent(12)) return anything(choice, 2)
  if (Array.isArray(value)) {
    if (value.length === 0 || choice.percent(30))
      return [...value, ...(value.length > 0 ? value : [anything(choice, 1)])]
    const at = choice.int(0, value.length - 1)
    return value.map((each, place) => (place === at ? changed(choice, each) : each))
  }
  const names = Object.keys(value)
  if (names.length === 0 || choice.percent(15))
    return { ...value, [choice.of(["extra", "prototype", "x"])]: anything(choice, 2) }
  const name = choice.of(names)
  if (choice.percent(25))
    return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name)) as Json
  return { ...value, [name]: changed(choice, value[name] as Json) }
}

/** A frame with a few characters changed, cut off, doubled or put in. */
export const garbled = (choice: Choice, frame: string): string => {
  const at = choice.int(0, frame.length)
  const to = Math.min(frame.length, at + choice.int(0, 12))
  switch (choice.int(0, 4)) {
    case 0:
      return frame.slice(0, at)
    case 1:
      return frame.slice(0, at) + frame.slice(to)
    case 2:
      return frame.slice(0, to) + frame.slice(at)
    case 3:
      return (
        frame.slice(0, at) +
        choice.of(["{", "}", "[", "]", '"', "\\", ",", ":", "\u0000", "1e999", "\ud800"]) +
        frame.slice(at)
      )
    default:
      return (
        frame.slice(0, at) + choice.of(['\\"', "null", "-", "[[[[", '{"a":'].concat(texts)) + frame.slice(to)
      )
  }
}

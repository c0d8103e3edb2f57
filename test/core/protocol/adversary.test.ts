// Each side against a peer that says anything at any time: well-formed messages in any order, replayed, with foreign
// runs and tokens. Nothing is thrown, nothing grows without a bound, and every attempt has exactly one fate.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { encode } from "../../../core/protocol/Codec.ts"
import type { Assign, Hello, Message } from "../../../core/protocol/Message.ts"
import { openServer } from "../../../core/protocol/ServerOpen.ts"
import { stepServer } from "../../../core/protocol/ServerSession.ts"
import {
  freeSlots,
  type ServerEffect,
  type ServerEvent,
  serverWakeAt,
} from "../../../core/protocol/ServerState.ts"
import { keyOf } from "../../../core/protocol/Shapes.ts"
import { defaultTerms } from "../../../core/protocol/Terms.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import {
  makeWorker,
  runningOf,
  type WorkerEffect,
  type WorkerEvent,
} from "../../../core/protocol/WorkerState.ts"
import { Choice } from "../../common/random.ts"
import { samples } from "./samples.ts"

const runs = ["r1", "r2", "r3", "r4"]
const anyKey = (choice: Choice) => ({
  run: choice.of(runs),
  attempt: choice.int(1, 3),
  token: choice.int(1, 3),
})

/** A message of one side, about runs that exist, or nearly. */
const anyMessage = (choice: Choice, from: "server" | "worker"): Message => {
  // What ends a session comes seldom, or nothing else would come to pass.
  const rare = choice.percent(3)
  const { message } = choice.of(
    samples.filter(
      (each) => each.from === from && (rare || !["bye", "hello", "drain"].includes(each.message.type)),
    ),
  )
  const id = `x${choice.int(1, 99)}`
  if (message.type === "ack") {
    const results = ["waiting", "started", "refused", "settled", "stale"] as const
    const reasons = ["full", "noHandler", "draining", "over"]
    const acks = choice.list(0, 3, () => ({
      ...anyKey(choice),
      result: choice.of(results),
      ...(choice.percent(50) ? { reason: choice.of(reasons) } : {}),
    }))
    return { ...message, id, acks }
  }
  if (message.type === "heartbeat")
    return { ...message, id, slots: choice.int(0, 3), of: `w${choice.int(1, 50)}` }
  if (message.type === "welcome") {
    const inHand = choice.list(0, 3, () => ({
      ...anyKey(choice),
      verdict: choice.of(["keep", "settled", "stale"] as const),
    }))
    return { ...message, id, inHand, graceMillis: choice.of([0, 1_000]) }
  }
  if (message.type === "drain") return { ...message, id, graceMillis: choice.of([0, 500, 60_000]) }
  if (message.type === "assign") return { ...message, ...anyKey(choice), id, job: choice.of(["a", "c"]) }
  return "run" in message ? { ...message, ...anyKey(choice), id } : { ...message, id }
}

const hello: Hello = {
  type: "hello",
  id: "w1",
  worker: "w-1",
  incarnation: "i1",
  connection: 1,
  session: null,
  runtime: "",
  version: "",
  jobs: ["a"],
  slots: 2,
  prefetch: 1,
  capabilities: ["resume", "flows"],
  inHand: [],
}

const assignment = samples.flatMap(({ message }) => (message.type === "assign" ? [message] : []))[0] as Assign

const fates = new Set(["outcome", "release", "lost"])

/** One hostile worker's life; answers what went wrong, and counts what happened. */
const againstWorker = (seed: number, seen: Map<string, number>): ReadonlyArray<string> => {
  const choice = new Choice(seed)
  const problems: Array<string> = []
  const given = new Map<string, number>()
  let now = 0
  let connection = 1
  const moment = () => ({ now, at: now, random: choice.random() })
  const opened = openServer(
    { terms: defaultTerms("n"), session: "S", connection, hello, verdicts: [] },
    moment(),
  )
  const { state } = opened
  const take = (effects: ReadonlyArray<ServerEffect>): void => {
    for (const effect of effects) {
      if (effect.kind === "send" && Result.isFailure(encode(effect.message)))
        problems.push("it sent what nobody takes")
      seen.set(effect.kind, (seen.get(effect.kind) ?? 0) + 1)
      if (!fates.has(effect.kind)) continue
      const key = keyOf(effect as { readonly run: string; readonly token: number })
      if (!given.has(key)) problems.push(`${effect.kind} of ${key}, which was never given`)
      given.set(key, (given.get(key) ?? 0) + 1)
    }
  }
  const token = new Map<string, number>()
  const act = (): ServerEvent => {
    const run = choice.of(runs)
    switch (choice.int(0, 11)) {
      case 0:
      case 1: {
        const next = (token.get(run) ?? 0) + 1
        token.set(run, next)
        given.set(keyOf({ run, token: next }), 0)
        const { type: _, id: __, ...assign } = assignment
        return { kind: "assign", assign: { ...assign, run, attempt: next, token: next } }
      }
      case 2:
        return {
          kind: "settled",
          run,
          token: choice.int(1, 3),
          result: choice.of(["settled", "stale"] as const),
        }
      case 3:
        return { kind: "stop", run, token: choice.int(1, 3), reason: "cancelled" }
      case 4:
        now += choice.of([1, 400, 6_000])
        return { kind: "tick" }
      case 5:
        return choice.percent(70)
          ? { kind: "tick" }
          : { kind: "closed", connection: choice.percent(80) ? connection : connection - 1 }
      case 6:
        if (choice.percent(60)) return { kind: "tick" }
        connection++
        return {
          kind: "resume",
          connection,
          hello: {
            ...hello,
            connection,
            inHand: [
              ...choice.list(0, 4, () => ({
                ...anyKey(choice),
                state: choice.of(["waiting", "running", "ended"] as const),
              })),
            ],
          },
        }
      default:
        return { kind: "message", connection, message: anyMessage(choice, "worker") }
    }
  }
  for (let step = 0; step < 120; step++) {
    take(stepServer(state, act(), moment()))
    if (state.held.size > 3 + runs.length) problems.push(`${state.held.size} are held`)
    if (freeSlots(state) < 0 || Number.isNaN(serverWakeAt(state)))
      problems.push("slots or time make no sense")
  }
  take(stepServer(state, { kind: "end", close: "server", reason: "the end" }, moment()))
  for (const [key, count] of given) if (count !== 1) problems.push(`${key} has ${count} fates`)
  if (state.held.size > 0) problems.push("something is held after the end")
  return problems
}

/** A worker's life with a hostile server. */
const againstServer = (seed: number, seen: Map<string, number>): ReadonlyArray<string> => {
  const choice = new Choice(seed)
  const problems: Array<string> = []
  const handlers = new Set<string>()
  const begun = new Set<string>()
  let now = 0
  const moment = () => ({ now, at: now, random: choice.random() })
  const { type: _, id: __, session: ___, connection: ____, inHand: _____, ...who } = hello
  const state = makeWorker(who, moment())
  const take = (effects: ReadonlyArray<WorkerEffect>): void => {
    for (const effect of effects) {
      if (effect.kind === "send" && Result.isFailure(encode(effect.message)))
        problems.push("it sent what nobody takes")
      seen.set(effect.kind, (seen.get(effect.kind) ?? 0) + 1)
      if (effect.kind === "stop" && !handlers.has(keyOf(effect)))
        problems.push(`${keyOf(effect)} does not run`)
      if (effect.kind !== "begin") continue
      const key = keyOf(effect.assign)
      if (begun.has(key)) problems.push(`${key} was begun twice`)
      begun.add(key)
      handlers.add(key)
    }
  }
  const act = (): WorkerEvent => {
    const { connection } = state
    switch (choice.int(0, 7)) {
      case 0:
        now += choice.of([1, 400, 6_000])
        return { kind: "tick" }
      case 1:
        return { kind: "opened", connection }
      case 2: {
        const key = [...handlers][0]
        if (key === undefined) return { kind: "tick" }
        handlers.delete(key)
        const [run = "", token = ""] = key.split(" ")
        return { kind: "ended", run, token: Number(token), outcome: { kind: "succeeded", output: null } }
      }
      case 3:
        return choice.percent(80)
          ? { kind: "tick" }
          : { kind: "closed", connection, code: choice.of([1006, 1012, 4400, 4410, 4429]) }
      default:
        return { kind: "message", connection, message: anyMessage(choice, "server") }
    }
  }
  for (let step = 0; step < 150; step++) {
    take(stepWorker(state, act(), moment()))
    if (state.hand.size > 3) problems.push(`${state.hand.size} in hand`)
    if (runningOf(state) > handlers.size) problems.push("it counts handlers that do not run")
    if (handlers.size > 2) problems.push(`${handlers.size} handlers in 2 slots`)
  }
  return problems
}

describe("sessions > a hostile peer", () => {
  // All that can happen did happen, and often: else the walks prove nothing.
  const often = (seen: ReadonlyMap<string, number>, kinds: ReadonlyArray<string>): void => {
    for (const kind of kinds) expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(300)
  }
  test("a worker that says anything: every attempt has one fate", () => {
    const seen = new Map<string, number>()
    for (let seed = 0; seed < 3_000; seed++) expect(againstWorker(seed, seen), `seed ${seed}`).toEqual([])
    often(seen, ["outcome", "release", "lost", "started", "report", "send", "close", "over", "status"])
  })
  test("a server that says anything: no attempt is begun twice, no slot is used twice", () => {
    const seen = new Map<string, number>()
    for (let seed = 0; seed < 3_000; seed++) expect(againstServer(seed, seen), `seed ${seed}`).toEqual([])
    often(seen, ["begin", "stop", "send", "connect", "close", "acknowledged"])
  })
})

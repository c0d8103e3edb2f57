// A server, a worker, a store and the network between them as one value that can be copied: every step that any of
// them might take next is an action, so that a test can take them in any order. Frames pass through the real codec.
import * as Result from "effect/Result"
import { decode, encode } from "../../../core/protocol/Codec.ts"
import { admit } from "../../../core/protocol/Greeting.ts"
import type { Hello, Message } from "../../../core/protocol/Message.ts"
import { openServer } from "../../../core/protocol/ServerOpen.ts"
import { stepServer } from "../../../core/protocol/ServerSession.ts"
import {
  freeSlots,
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
  serverWakeAt,
} from "../../../core/protocol/ServerState.ts"
import { keyOf, type Verdict } from "../../../core/protocol/Shapes.ts"
import { defaultTerms } from "../../../core/protocol/Terms.ts"
import { stepWorker } from "../../../core/protocol/WorkerSession.ts"
import {
  makeWorker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
  workerWakeAt,
} from "../../../core/protocol/WorkerState.ts"

/** A run as the store has it. */
export interface StoredRun {
  token: number
  attempt: number
  state: "ready" | "running" | "done" | "cancelled"
  /** Tokens under which an outcome was applied: at most one. */
  readonly applied: Array<number>
}

type Item = { readonly frame: string } | { readonly close: number }

/** One connection: what is on its way, and who still believes in it. */
interface Connection {
  readonly toServer: Array<Item>
  readonly toWorker: Array<Item>
  /** Cut: nothing goes in or out any more. */
  cut: boolean
  serverKnows: boolean
  workerKnows: boolean
}

/** How much of each trouble may still come. */
export interface Budget {
  cuts: number
  drops: number
  repeats: number
  ticks: number
  cancels: number
  drains: number
  restarts: number
  /** Handlers that fail once, so that the run is tried again. */
  failures: number
}

export interface World {
  now: number
  readonly budget: Budget
  readonly runs: Map<string, StoredRun>
  worker: WorkerState
  server: ServerState | null
  sessions: number
  readonly connections: Map<number, Connection>
  /** Handlers that run, by attempt; and every start there ever was. */
  readonly handlers: Set<string>
  readonly begun: Array<string>
  /** Outcomes that the store was asked to apply and has not answered. */
  readonly settling: Array<{ run: string; attempt: number; token: number; kind: string }>
  readonly problems: Array<string>
  /** What is done wrong on purpose. */
  bug: Bug | null
}

/** Wrong sessions, to see that the checks notice: a worker that forgets its ends when it is cut off; a server that
 * forgets what it settled, takes a late hello for a new one, sends nothing again, or acknowledges before it stores. */
export const bugs = [
  "forgetsEnds",
  "forgetsSettled",
  "takesLateHello",
  "sendsOnce",
  "acknowledgesEarly",
] as const
export type Bug = (typeof bugs)[number]

export const noTrouble: Budget = {
  cuts: 0,
  drops: 0,
  repeats: 0,
  ticks: 0,
  cancels: 0,
  drains: 0,
  restarts: 0,
  failures: 0,
}

export const makeWorld = (
  runs: number,
  worker: { readonly slots: number; readonly prefetch: number; readonly resume?: boolean },
  budget: Partial<Budget>,
): World => {
  const world = emptyWorld(runs, worker, budget)
  act(world, "connect")
  return world
}

const emptyWorld = (
  runs: number,
  worker: { readonly slots: number; readonly prefetch: number; readonly resume?: boolean },
  budget: Partial<Budget>,
): World => ({
  now: 0,
  budget: { ...noTrouble, ...budget },
  runs: new Map(
    Array.from({ length: runs }, (_, index): [string, StoredRun] => [
      `r${index + 1}`,
      { token: 0, attempt: 0, state: "ready", applied: [] },
    ]),
  ),
  worker: makeWorker(
    {
      worker: "w",
      incarnation: "i1",
      runtime: "test",
      version: "1",
      jobs: ["j"],
      slots: worker.slots,
      prefetch: worker.prefetch,
      capabilities: worker.resume === false ? [] : ["resume"],
    },
    { now: 0, at: 0, random: 0.5 },
  ),
  server: null,
  sessions: 0,
  connections: new Map(),
  handlers: new Set(),
  begun: [],
  settling: [],
  problems: [],
  bug: null,
})

const moment = (world: World): Moment => ({ now: world.now, at: 0, random: 0.5 })
const terms = defaultTerms("n")

const connectionOf = (world: World, number: number): Connection => world.connections.get(number) as Connection

const put = (world: World, number: number, to: "toServer" | "toWorker", item: Item): void => {
  const connection = connectionOf(world, number)
  if (!connection.cut) connection[to].push(item)
}

const frameOf = (message: Message): string => Result.getOrThrow(encode(message))

const claimed = (world: World, run: string): StoredRun => world.runs.get(run) as StoredRun

/** Takes back a run: its token is outdated with the next claim. */
const takeBack = (world: World, run: string, token: number): void => {
  const row = claimed(world, run)
  if (row.state === "running" && row.token === token) row.state = "ready"
}

export const toServer = (world: World, event: ServerEvent): void => {
  if (world.server === null) return
  serverEffects(world, stepServer(world.server, event, moment(world)))
  if (world.bug === "forgetsSettled") world.server.recent.clear()
  if (world.bug === "sendsOnce") world.server.againAt = Number.POSITIVE_INFINITY
}

const serverEffects = (world: World, effects: ReadonlyArray<ServerEffect>): void => {
  for (const effect of effects) {
    switch (effect.kind) {
      case "send":
        put(world, effect.connection, "toWorker", { frame: frameOf(effect.message) })
        break
      case "close": {
        put(world, effect.connection, "toWorker", { close: effect.code })
        connectionOf(world, effect.connection).serverKnows = true
        break
      }
      case "outcome":
        world.settling.push({
          run: effect.run,
          attempt: effect.attempt,
          token: effect.token,
          kind: effect.outcome.kind,
        })
        if (world.bug === "acknowledgesEarly")
          toServer(world, { kind: "settled", run: effect.run, token: effect.token, result: "settled" })
        break
      case "release":
      case "lost":
        takeBack(world, effect.run, effect.token)
        break
      default:
    }
  }
}

export const toWorker = (world: World, event: WorkerEvent): void => {
  workerEffects(world, stepWorker(world.worker, event, moment(world)))
  if (world.bug !== "forgetsEnds" || event.kind !== "closed") return
  for (const [key, entry] of world.worker.hand) if (entry.state === "ended") world.worker.hand.delete(key)
}

const workerEffects = (world: World, effects: ReadonlyArray<WorkerEffect>): void => {
  for (const effect of effects) {
    switch (effect.kind) {
      case "connect":
        world.connections.set(effect.connection, {
          toServer: [],
          toWorker: [],
          cut: false,
          serverKnows: false,
          workerKnows: false,
        })
        break
      case "send":
        put(world, effect.connection, "toServer", { frame: frameOf(effect.message) })
        break
      case "close": {
        put(world, effect.connection, "toServer", { close: effect.code })
        connectionOf(world, effect.connection).workerKnows = true
        break
      }
      case "begin": {
        const key = keyOf(effect.assign)
        if (world.begun.includes(key)) world.problems.push(`${key} was begun twice`)
        for (const other of world.handlers)
          if (other.startsWith(`${effect.assign.run} `))
            world.problems.push(`${key} was begun while ${other} runs`)
        world.begun.push(key)
        world.handlers.add(key)
        const { slots } = world.worker.who
        if (world.handlers.size > slots)
          world.problems.push(`${world.handlers.size} handlers in ${slots} slots`)
        if (world.worker.phase !== "open") world.problems.push(`${key} was begun without a connection`)
        break
      }
      case "over":
        if (world.worker.drain?.self !== true) world.problems.push(`the worker ended: ${effect.reason}`)
        break
      case "acknowledged": {
        const applied = claimed(world, effect.run).applied.includes(effect.token)
        if (applied !== (effect.result === "settled"))
          world.problems.push(
            `${keyOf(effect)} was called ${effect.result}, applied: ${applied ? "yes" : "no"}`,
          )
        break
      }
      default:
    }
  }
}

/** The server's part of a hello: whose session is it. */
const hello = (world: World, number: number, message: Hello): void => {
  const { server } = world
  const isLate = world.bug !== "takesLateHello"
  const known = server === null ? undefined : { ...server, ordinal: isLate ? server.ordinal : 0 }
  const admitted = admit(message, known)
  if (admitted === "outdated") {
    put(world, number, "toWorker", { close: 4409 })
    connectionOf(world, number).serverKnows = true
    return
  }
  if (admitted === "resume") return toServer(world, { kind: "resume", connection: number, hello: message })
  if (admitted === "replace") toServer(world, { kind: "end", close: "replaced", reason: "a new session" })
  const verdicts = message.inHand.map(({ run, attempt, token }): Verdict => {
    const row = claimed(world, run)
    const keep = row.state === "running" && row.token === token
    return { run, attempt, token, verdict: keep ? "keep" : row.applied.includes(token) ? "settled" : "stale" }
  })
  // What nobody holds any more goes back: a server that restarts knows only what its workers name.
  const kept = new Set(verdicts.filter(({ verdict }) => verdict === "keep").map(keyOf))
  for (const [run, row] of world.runs)
    if (row.state === "running" && !kept.has(keyOf({ run, token: row.token }))) {
      const settles = world.settling.some((each) => each.run === run && each.token === row.token)
      if (!settles) row.state = "ready"
    }
  const opened = openServer(
    { terms, session: `S${++world.sessions}`, connection: number, hello: message, verdicts },
    moment(world),
  )
  world.server = opened.state
  serverEffects(world, opened.effects)
}

const receiveAtServer = (world: World, number: number, item: Item): void => {
  const connection = connectionOf(world, number)
  if ("close" in item) {
    connection.serverKnows = true
    return toServer(world, { kind: "closed", connection: number })
  }
  if (connection.serverKnows) return
  const read = decode(item.frame, "worker")
  if (Result.isFailure(read)) {
    world.problems.push(`the server refused ${item.frame}: ${read.failure.message}`)
    return
  }
  // A connection that has said hello belongs to its session.
  const isBound = world.server?.connection === number
  if (read.success.type === "hello" && !isBound) hello(world, number, read.success)
  else toServer(world, { kind: "message", connection: number, message: read.success })
}

const receiveAtWorker = (world: World, number: number, item: Item): void => {
  const connection = connectionOf(world, number)
  if (connection.workerKnows) return
  if ("close" in item) {
    connection.workerKnows = true
    return toWorker(world, { kind: "closed", connection: number, code: item.close })
  }
  const read = decode(item.frame, "server")
  if (Result.isFailure(read)) world.problems.push(`the worker refused ${item.frame}: ${read.failure.message}`)
  else toWorker(world, { kind: "message", connection: number, message: read.success })
}

const serverWake = (world: World): number =>
  world.server === null ? Number.POSITIVE_INFINITY : serverWakeAt(world.server)

/** What could happen next: names, each to be done by `act`. `calm`: nothing that costs of the budget. */
export const actions = (world: World, calm: boolean): ReadonlyArray<string> => {
  const { budget, worker, server } = world
  const out: Array<string> = []
  for (const [number, connection] of world.connections) {
    const isNew = worker.phase === "connecting" && worker.connection === number
    if (connection.cut) {
      if (!connection.workerKnows) out.push(`workerNotices ${number}`)
      if (!connection.serverKnows) out.push(`serverNotices ${number}`)
      continue
    }
    if (isNew) out.push(`accept ${number}`)
    for (const to of ["toServer", "toWorker"] as const) {
      const head = connection[to][0]
      if (head === undefined) continue
      out.push(`deliver ${to} ${number}`)
      if (calm || "close" in head) continue
      if (budget.drops > 0) out.push(`drop ${to} ${number}`)
      if (budget.repeats > 0) out.push(`repeat ${to} ${number}`)
    }
    if (!calm && budget.cuts > 0 && !(connection.serverKnows && connection.workerKnows))
      out.push(`cut ${number}`)
  }
  for (const key of world.handlers) {
    out.push(`end ${key}`)
    if (!calm && budget.failures > 0) out.push(`fail ${key}`)
  }
  if (world.settling.length > 0) out.push("settle")
  if (server !== null && freeSlots(server) > 0)
    for (const [run, row] of world.runs) if (row.state === "ready") out.push(`assign ${run}`)
  if (!calm && budget.cancels > 0)
    for (const [run, row] of world.runs) if (row.state === "running") out.push(`cancel ${run}`)
  if (!calm && budget.drains > 0) out.push("drainWorker", "drainServer")
  if (!calm && budget.restarts > 0 && server !== null) out.push("restart")
  if (server === null && (!calm || out.length === 0))
    if ([...world.runs.values()].some(({ state }) => state === "running")) out.push("reclaim")
  if (!calm && worker.phase === "off") out.push("connect")
  const wakes = Math.min(serverWake(world), workerWakeAt(worker))
  if ((calm ? out.length === 0 : budget.ticks > 0) && Number.isFinite(wakes)) out.push("tick")
  return out
}

const spend = (world: World, what: keyof Budget): void => {
  if (world.budget[what] > 0) world.budget[what]--
}

/** Does one of `actions`. */
export const act = (world: World, action: string): void => {
  const [what = "", first = "", second = ""] = action.split(" ")
  const number = Number(second === "" ? first : second)
  switch (what) {
    case "accept":
      return toWorker(world, { kind: "opened", connection: number })
    case "deliver":
    case "repeat":
    case "drop": {
      const connection = connectionOf(world, number)
      const queue = connection[first as "toServer" | "toWorker"]
      const item = queue[0] as Item
      if (what !== "repeat") queue.shift()
      if (what === "drop") return spend(world, "drops")
      if (what === "repeat") spend(world, "repeats")
      return first === "toServer"
        ? receiveAtServer(world, number, item)
        : receiveAtWorker(world, number, item)
    }
    case "cut": {
      spend(world, "cuts")
      const connection = connectionOf(world, number)
      connection.cut = true
      connection.toServer.length = 0
      connection.toWorker.length = 0
      return
    }
    case "workerNotices":
      connectionOf(world, number).workerKnows = true
      return toWorker(world, { kind: "closed", connection: number, code: 1006 })
    case "serverNotices":
      connectionOf(world, number).serverKnows = true
      return toServer(world, { kind: "closed", connection: number })
    case "end":
    case "fail": {
      const token = Number(second)
      world.handlers.delete(`${first} ${second}`)
      if (what === "fail") spend(world, "failures")
      return toWorker(world, {
        kind: "ended",
        run: first,
        token,
        outcome:
          what === "end"
            ? { kind: "succeeded", output: `"${first}"` }
            : {
                kind: "failed",
                error: { name: "E", message: "m", kind: "error" },
                retryable: true,
                retryAfterMillis: null,
              },
      })
    }
    case "settle": {
      const { run, token, kind } = world.settling.shift() as World["settling"][number]
      const row = claimed(world, run)
      let result: "settled" | "stale" = row.applied.includes(token) ? "settled" : "stale"
      if (row.state === "running" && row.token === token) {
        result = "settled"
        row.applied.push(token)
        row.state = kind === "succeeded" ? "done" : "ready"
        if (kind === "released") row.attempt--
      }
      return toServer(world, { kind: "settled", run, token, result })
    }
    case "assign": {
      const row = claimed(world, first)
      row.state = "running"
      row.token++
      row.attempt++
      return toServer(world, {
        kind: "assign",
        assign: {
          run: first,
          attempt: row.attempt,
          token: row.token,
          job: "j",
          queue: "q",
          input: null,
          attemptMax: 9,
          timeoutMillis: null,
          dueAt: 0,
          lateMillis: 0,
          nominalAt: null,
          schedule: null,
          needs: [],
          step: null,
        },
      })
    }
    case "cancel": {
      spend(world, "cancels")
      const row = claimed(world, first)
      row.state = "cancelled"
      return toServer(world, { kind: "stop", run: first, token: row.token, reason: "cancelled" })
    }
    case "drainWorker":
      spend(world, "drains")
      return toWorker(world, { kind: "drain", graceMillis: 2_000, reason: "SIGTERM" })
    case "drainServer":
      spend(world, "drains")
      return toServer(world, { kind: "drain", graceMillis: 2_000, reason: "deploy" })
    case "restart":
      spend(world, "restarts")
      world.server = null
      // What the dead server asked of the store is done, and nobody hears the answer.
      for (const { run, token, kind } of world.settling.splice(0)) {
        const row = claimed(world, run)
        if (row.state !== "running" || row.token !== token) continue
        row.applied.push(token)
        row.state = kind === "succeeded" ? "done" : "ready"
      }
      for (const connection of world.connections.values()) {
        connection.serverKnows = true
        connection.cut = true
        connection.toServer.length = 0
        connection.toWorker.length = 0
      }
      return
    case "reclaim":
      // No server came back in time to hear of its workers: their runs go to others.
      for (const row of world.runs.values()) if (row.state === "running") row.state = "ready"
      return
    case "connect": {
      world.now = Math.max(world.now, world.worker.connectAt)
      toServer(world, { kind: "tick" })
      return toWorker(world, { kind: "tick" })
    }
    case "tick": {
      spend(world, "ticks")
      world.now = Math.max(world.now, Math.min(serverWake(world), workerWakeAt(world.worker)))
      toServer(world, { kind: "tick" })
      return toWorker(world, { kind: "tick" })
    }
    default:
      throw new Error(`no action "${action}"`)
  }
}

/** A text that is the same for worlds that behave the same: times are relative, ids and counters left out. */
export const fingerprint = (world: World): string => {
  const relative = (key: string, value: unknown): unknown => {
    if (value instanceof Map) return [...value]
    if (value instanceof Set) return [...value]
    if (key === "messages" || key === "now" || key === "sessions" || key === "countedAt") return undefined
    if (typeof value === "number" && (key.endsWith("At") || key === "at"))
      return Number.isFinite(value) ? Math.round(value - world.now) : "never"
    if (key === "frame") return (value as string).replaceAll(/"(id|of)":"[sw]\d+"/g, "")
    return value
  }
  return JSON.stringify(world, relative)
}

/** Nothing is left to do. */
const isSettled = (world: World): boolean =>
  // A worker that drains gives up in the end, and says so.
  (world.worker.hand.size === 0 || world.worker.phase === "over") &&
  (world.server === null || world.server.held.size === 0) &&
  world.handlers.size === 0 &&
  world.settling.length === 0 &&
  [...world.runs.values()].every(({ state }) =>
    world.worker.phase === "over" ? state !== "running" : state === "done" || state === "cancelled",
  )

/** Goes on without further trouble until nothing is left to do; a world that does not get there has a problem. */
export const complete = (from: World): World => {
  const world = structuredClone(from)
  for (let steps = 0; steps < 400; steps++) {
    if (isSettled(world)) return world
    const next = actions(world, true)
    if (next.length === 0) break
    act(world, next[0] as string)
  }
  if (!isSettled(world)) world.problems.push("it does not come to an end")
  return world
}

/** Copies a world and does one thing in the copy. */
export const after = (world: World, action: string): World => {
  const copy = structuredClone(world)
  act(copy, action)
  return copy
}

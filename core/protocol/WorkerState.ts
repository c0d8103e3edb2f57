// What a worker knows of itself and its server, what can happen to it, and what follows. How, is in WorkerSession.ts.
import type { Outcome } from "../domain/Outcome.ts"
import type { StopReason } from "../ports/Executor.ts"
import type { Refused } from "./Codec.ts"
import type { Assign, Hello, Message, Sent, Welcome } from "./Message.ts"
import type { SentEnded } from "./Outcomes.ts"
import type { Moment } from "./ServerState.ts"
import type { AttemptKey } from "./Shapes.ts"
import { helloMillis } from "./Limits.ts"

/** What a worker says of itself in every hello. */
export type Introduction = Omit<Hello, "type" | "id" | "session" | "connection" | "inHand">

/** An attempt that it was given, until its end is acknowledged. */
export interface InHandEntry extends AttemptKey {
  state: "waiting" | "running" | "ended"
  /** While it waits: what its handler will be given. */
  assign: Assign | null
  /** Why its handler was told to stop. */
  told: StopReason | null
  /** Its result or failure. */
  ended: SentEnded | null
  /** When that is sent again, and the wait until then. */
  againAt: number
  againMillis: number
}

/** A worker's side of its session. It belongs to whoever holds it: `step` changes it in place. Plain data. */
export interface WorkerState {
  readonly who: Introduction
  /** `off`: no connection, the next try is at `connectAt`; `over`: it has ended for good. */
  phase: "off" | "connecting" | "greeting" | "open" | "over"
  connection: number
  connectAt: number
  tries: number
  /** The session to resume, and its terms; `null` before the first welcome. */
  welcome: Welcome | null
  readonly hand: Map<string, InHandEntry>
  /** Handlers that run for nobody: their attempt is another's. They still take a slot. */
  readonly strays: Set<string>
  /** The newest token that was begun, by run: none is begun twice. The oldest are forgotten. */
  readonly begun: Map<string, number>
  /** It takes nothing more. `self`: and ends after that; otherwise its server asked for it. */
  drain: { readonly self: boolean; readonly endAt: number } | null
  saidBye: boolean
  /** Its lease is over: nothing is begun until the next welcome. */
  letGo: boolean
  openedAt: number
  heardAt: number
  cutAt: number
  /** How long after that the handlers may go on. */
  cutMillis: number
  /** When the latest message that the server has answered was sent. */
  provenAt: number
  /** Heartbeats without an answer. */
  readonly beats: Array<{ readonly id: string; readonly at: number }>
  beatAt: number
  againAt: number
  messages: number
}

export type WorkerEvent =
  /** The connection of the latest `connect` is there. */
  | { readonly kind: "opened"; readonly connection: number }
  /** It is gone, or never came. */
  | { readonly kind: "closed"; readonly connection: number; readonly code: number }
  | { readonly kind: "message"; readonly connection: number; readonly message: Message }
  | { readonly kind: "refused"; readonly connection: number; readonly refused: Refused }
  /**
   * A handler ended; with `runsOn` only its attempt has, as it does not obey: it takes a slot until it is said to have
   * ended once more, and no other attempt of its run is begun beside it.
   */
  | {
      readonly kind: "ended"
      readonly run: string
      readonly token: number
      readonly outcome: Outcome
      readonly runsOn?: true
    }
  | { readonly kind: "report"; readonly report: Extract<Sent, { readonly type: "progress" | "log" }> }
  | { readonly kind: "drain"; readonly graceMillis: number; readonly reason: string }
  | { readonly kind: "tick" }

export type WorkerEffect =
  /** Open a connection, which has this number from now on. */
  | { readonly kind: "connect"; readonly connection: number }
  | { readonly kind: "send"; readonly connection: number; readonly message: Message }
  | { readonly kind: "close"; readonly connection: number; readonly code: number; readonly reason: string }
  /** Call the handler. */
  | { readonly kind: "begin"; readonly assign: Assign }
  /** Tell the handler to stop. */
  | { readonly kind: "stop"; readonly run: string; readonly token: number; readonly reason: StopReason }
  /** An end is known to the server. */
  | ({ readonly kind: "acknowledged"; readonly result: "settled" | "stale" } & AttemptKey)
  /** It has ended; `code` is that of the last connection. */
  | { readonly kind: "over"; readonly code: number; readonly reason: string }

/** A worker that has not connected yet; the first `tick` makes it try. */
export const makeWorker = (who: Introduction, { now }: Moment): WorkerState => ({
  who,
  phase: "off",
  connection: 0,
  connectAt: now,
  tries: 0,
  welcome: null,
  hand: new Map(),
  strays: new Set(),
  begun: new Map(),
  drain: null,
  saidBye: false,
  letGo: false,
  openedAt: now,
  heardAt: now,
  cutAt: now,
  cutMillis: 0,
  provenAt: now,
  beats: [],
  beatAt: Number.POSITIVE_INFINITY,
  againAt: Number.POSITIVE_INFINITY,
  messages: 0,
})

/** How many handlers run, those that run for nobody included. */
export const runningOf = (state: WorkerState): number => {
  let running = state.strays.size
  for (const { state: at } of state.hand.values()) if (at === "running") running++
  return running
}

/** Until when its handlers may run without another answer of the server. */
export const leaseEndAt = (state: WorkerState): number => {
  if (state.welcome === null) return Number.POSITIVE_INFINITY
  const silent = state.provenAt + state.welcome.leaseMillis
  const isCut = state.phase !== "open"
  return isCut ? Math.min(silent, state.cutAt + state.cutMillis) : silent
}

/** When the next `tick` is due, on the clock of `Moment.now`. */
export const workerWakeAt = (state: WorkerState): number => {
  if (state.phase === "over") return Number.POSITIVE_INFINITY
  const lease = state.letGo ? Number.POSITIVE_INFINITY : leaseEndAt(state)
  const drain = state.drain === null ? Number.POSITIVE_INFINITY : drainWakeAt(state, state.drain)
  const always = Math.min(lease, drain)
  switch (state.phase) {
    case "off":
      return Math.min(always, state.connectAt)
    case "connecting":
    case "greeting":
      return Math.min(always, state.openedAt + 2 * helloMillis)
    case "open":
      return Math.min(
        always,
        state.beatAt,
        state.againAt,
        state.heardAt + (state.welcome?.suspectMillis ?? 0),
      )
  }
}

/** How long a worker that drains still tries to tell its outcomes after the time for its handlers. */
export const farewellMillis = 5_000

const drainWakeAt = (
  state: WorkerState,
  drain: { readonly self: boolean; readonly endAt: number },
): number => {
  for (const entry of state.hand.values())
    if (entry.state === "running" && entry.told !== "drain") return drain.endAt
  return drain.self ? drain.endAt + farewellMillis : Number.POSITIVE_INFINITY
}

// What a server knows of one worker, what can happen to it, and what follows. How, is in ServerSession.ts.
import type { Outcome } from "../domain/Outcome.ts"
import type { StopReason } from "../ports/Executor.ts"
import type { CloseName } from "./Close.ts"
import type { Refused } from "./Codec.ts"
import type { Assign, Hello, Message, MessageOf } from "./Message.ts"
import type { AttemptKey } from "./Shapes.ts"
import type { Terms } from "./Terms.ts"

/** The time of an event. */
export interface Moment {
  /** Milliseconds of a clock that never steps: all spans are measured with it. */
  readonly now: number
  /** Epoch milliseconds, for people and other machines. */
  readonly at: number
  /** In [0, 1), for jitter. */
  readonly random: number
}

/** An attempt that the worker was given. */
export interface Held extends AttemptKey {
  /** `sent`: not acknowledged; `waiting`: taken, not begun; `started`: begun; `settling`: its outcome is on its way. */
  state: "sent" | "waiting" | "started" | "settling"
  readonly job: string | null
  /** To be sent again while it is not acknowledged. */
  assign: Omit<Assign, "id"> | null
  /** Why it was told to stop. */
  told: StopReason | null
  /** When what it has not acknowledged is sent again, and the wait until then. */
  againAt: number
  againMillis: number
}

/** A session. It belongs to whoever holds it: `step` changes it in place. Plain data, so it can be copied. */
export interface ServerState {
  readonly terms: Terms
  readonly session: string
  readonly worker: string
  readonly incarnation: string
  /** `cut`: without a connection, until `endAt`; `over`: nothing is held and nothing comes any more. */
  phase: "open" | "cut" | "over"
  connection: number
  /** Which connection of its process this is, as its hello says. */
  ordinal: number
  jobs: ReadonlySet<string>
  /** Jobs that it refused for want of a handler. */
  readonly unable: Set<string>
  capabilities: ReadonlyArray<string>
  slots: number
  prefetch: number
  draining: boolean
  /** By when the server's own drain is over; `null`: it does not drain. */
  drainEndAt: number | null
  suspect: boolean
  /** It refused a run for want of room: it is asked again after its next heartbeat or end of a run. */
  full: boolean
  readonly held: Map<string, Held>
  /** What became of settled attempts whose acknowledgement may not have arrived; the oldest are forgotten. */
  readonly recent: Map<string, "settled" | "stale">
  heardAt: number
  endAt: number
  /** Not before this is there anything to send again. */
  againAt: number
  /** Messages that it may still send, and since when they were counted. */
  allowance: number
  countedAt: number
  messages: number
}

export type ServerEvent =
  | { readonly kind: "message"; readonly connection: number; readonly message: Message }
  | { readonly kind: "refused"; readonly connection: number; readonly refused: Refused }
  /** The connection is gone, for whatever reason. */
  | { readonly kind: "closed"; readonly connection: number }
  /** The same worker says hello on another connection. */
  | { readonly kind: "resume"; readonly connection: number; readonly hello: Hello }
  | { readonly kind: "assign"; readonly assign: Omit<Assign, "type" | "id"> }
  /** `encode` refused the assignment: its run cannot be told to any worker. */
  | { readonly kind: "unsendable"; readonly run: string; readonly token: number; readonly reason: string }
  /** It was decided without the worker how the attempt ends, such as by a limit of time that it does not obey. */
  | { readonly kind: "decide"; readonly run: string; readonly token: number; readonly outcome: Outcome }
  | { readonly kind: "stop"; readonly run: string; readonly token: number; readonly reason: StopReason }
  /** The store has answered to an `outcome`. */
  | {
      readonly kind: "settled"
      readonly run: string
      readonly token: number
      readonly result: "settled" | "stale"
    }
  | { readonly kind: "drain"; readonly graceMillis: number; readonly reason: string }
  /**
   * The session ends now: its name was taken, its token revoked, the server stops. With `keep` the attempts that were
   * begun stay as they are in the store: whoever comes next adopts them from the worker's hello, or reclaims them.
   * `named`: what that hello says, if it is there already; it may have begun more than was heard of.
   */
  | {
      readonly kind: "end"
      readonly close: CloseName
      readonly reason: string
      readonly keep?: true
      readonly named?: Hello["inHand"]
    }
  | { readonly kind: "tick" }

export type ServerEffect =
  | { readonly kind: "send"; readonly connection: number; readonly message: Message }
  | { readonly kind: "close"; readonly connection: number; readonly code: number; readonly reason: string }
  /** The store is to know that the attempt has begun. */
  | ({ readonly kind: "started" } & AttemptKey)
  /** To settle; answered by `settled`. */
  | ({ readonly kind: "outcome"; readonly outcome: Outcome } & AttemptKey)
  /**
   * It was not begun: no attempt is used. `loss`: nobody said so, the worker vanished with it; such losses need a bound
   * of their own, or a run whose arrival kills workers would go round for ever.
   */
  | ({ readonly kind: "release"; readonly reason: string; readonly loss: boolean } & AttemptKey)
  /** It was begun, and nobody knows how it ended: the attempt is used. */
  | ({ readonly kind: "lost"; readonly reason: string } & AttemptKey)
  | { readonly kind: "report"; readonly message: MessageOf<"progress"> | MessageOf<"log"> }
  | { readonly kind: "status"; readonly status: "alive" | "suspect" | "draining" | "cut" }
  | { readonly kind: "over"; readonly reason: string }

/** How many more runs it takes now. Derived from what it has, never counted up and down. */
export const freeSlots = (state: ServerState): number =>
  state.phase === "open" && !state.draining && !state.suspect && !state.full
    ? Math.max(0, capacity(state) - state.held.size)
    : 0

/** How many runs it may have in hand. */
export const capacity = (state: ServerState): number => state.slots + state.prefetch

/** Whether it has a handler for this job, as far as is known. */
export const canRun = (state: ServerState, job: string): boolean =>
  state.jobs.has(job) && !state.unable.has(job)

/** When the next `tick` is due, on the clock of `Moment.now`. */
export const serverWakeAt = (state: ServerState): number => {
  if (state.phase === "over") return Number.POSITIVE_INFINITY
  if (state.phase === "cut") return state.endAt
  const { suspectMillis, lostMillis } = state.terms
  const drainEndAt = state.drainEndAt ?? Number.POSITIVE_INFINITY
  return Math.min(drainEndAt, state.againAt, state.heardAt + (state.suspect ? lostMillis : suspectMillis))
}

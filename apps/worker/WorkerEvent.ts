// What a worker tells whoever listens, and what can be asked of it. Instants are epoch milliseconds of its own clock.
import type { ErrorInfo } from "../../core/domain/Run.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import type { StopReason } from "../../core/ports/Executor.ts"
import type { WorkerEnd } from "./WorkerEnd.ts"

/** Which attempt is meant. */
export interface AttemptView {
  readonly run: string
  readonly job: string
  readonly attempt: number
  readonly token: number
}

/** Something that happened. Listeners are called in place and must be quick; what they throw is dropped. */
export type WorkerEvent =
  /** There is a session; `resumed`: the one of before goes on. */
  | { readonly kind: "connected"; readonly node: string; readonly session: string; readonly resumed: boolean }
  /** The connection is gone; handlers go on, and the next try is made after this long. */
  | {
      readonly kind: "lost"
      readonly code: number
      readonly reason: string
      readonly retryInMillis: number
    }
  /** A try to connect failed. */
  | { readonly kind: "unreachable"; readonly reason: string; readonly retryInMillis: number }
  | ({ readonly kind: "started" } & AttemptView)
  /** The attempt has ended, and is told to the server until that knows. */
  | ({
      readonly kind: "ended"
      readonly outcome: Outcome["kind"]
      readonly error: ErrorInfo | null
      readonly durationMillis: number
    } & AttemptView)
  /** The server knows the end. `stale`: it was not applied, as the attempt was another's or over. */
  | {
      readonly kind: "acknowledged"
      readonly run: string
      readonly attempt: number
      readonly token: number
      readonly result: "settled" | "stale"
    }
  /** A handler was told to stop. */
  | ({ readonly kind: "stopping"; readonly reason: StopReason } & AttemptView)
  | ({ readonly kind: "log"; readonly line: string } & AttemptView)
  | ({
      readonly kind: "progress"
      readonly percent: number | null
      readonly note: string | null
    } & AttemptView)
  /** Lines of `ctx.log` were thrown away: there were more than may be sent. */
  | { readonly kind: "dropped"; readonly lines: number }
  /** It takes nothing more: it ends, or its server does. */
  | { readonly kind: "draining"; readonly by: "worker" | "server"; readonly graceMillis: number }
  /** Something failed that ends no attempt. */
  | { readonly kind: "trouble"; readonly doing: string; readonly error: string }
  | { readonly kind: "over"; readonly end: WorkerEnd }

/** How a worker is. */
export interface WorkerStatus {
  readonly name: string
  /** `connecting`: no session yet, or none any more; `over`: it has ended. */
  readonly phase: "connecting" | "connected" | "over"
  readonly draining: boolean
  /** The server that it is connected to, or was last. */
  readonly node: string | null
  readonly session: string | null
  readonly jobs: ReadonlyArray<string>
  readonly slots: number
  /** Handlers that run, those that nobody waits for included. */
  readonly running: number
  /** Handlers that run on after the end of their attempts. */
  readonly strays: number
  /** Attempts that it was given and whose end is not acknowledged. */
  readonly inHand: ReadonlyArray<{
    readonly run: string
    readonly attempt: number
    readonly token: number
    readonly state: "waiting" | "running" | "ended"
  }>
}

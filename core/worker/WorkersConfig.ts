// What an engine is told about the workers that may connect to it, and what can be asked of it about them.
import type * as Effect from "effect/Effect"
import type { OnConnection, UpgradeRequest } from "../ports/Transport.ts"
import type { Terms } from "../protocol/Terms.ts"
import type { WorkerView } from "./WorkerView.ts"

/** What a connection is allowed. */
export interface Grant {
  /** Id of the credential, by which it can be revoked; `null`: none was asked for. */
  readonly id: string | null
  /** Queues whose runs it may be given; `null`: all. */
  readonly queues: ReadonlyArray<string> | null
}

/** Whether a connection is taken. `token`: close 4401; `notAllowed`: 4403; `tryLater`: 1013; `server`: 4500. */
export type Admission =
  | { readonly kind: "granted"; readonly grant: Grant }
  | {
      readonly kind: "denied"
      readonly close: "token" | "notAllowed" | "tryLater" | "server"
      /** Starts in lower case, without a full stop; told to the peer. */
      readonly reason: string
    }

/** How workers are served; spans in milliseconds. */
export interface WorkersConfig {
  /** Asked once a connection. `token` is that of the Authorization header, else that of hello. */
  readonly admit: (asked: {
    readonly token: string | null
    readonly worker: string
    readonly request: UpgradeRequest
  }) => Effect.Effect<Admission>
  readonly terms?: Partial<Omit<Terms, "node">>
  /** New sessions a second; more are told to come later. Default 200. */
  readonly hellosPerSecondMax?: number
}

/** An attempt that a worker has in hand. */
export interface InHandView {
  readonly run: string
  readonly attempt: number
  readonly token: number
  readonly job: string
  readonly state: "sent" | "waiting" | "started" | "settling"
}

/** The engine's desk for workers: takes their connections, gives them runs, settles what they report. */
export interface Desk {
  /** To be handed to a transport that speaks the protocol's subprotocols. */
  readonly onConnection: OnConnection
  /** All workers with a session on this node, by name. */
  readonly list: () => ReadonlyArray<WorkerView>
  readonly inHandOf: (worker: string) => ReadonlyArray<InHandView>
  /** Lets a worker finish, hand back and go, to come again elsewhere; `false`: there is none of this name. */
  readonly drain: (worker: string, graceMillis: number, reason: string) => boolean
  /** Ends its session now; what it had begun is lost, as if it had vanished. `false`: there is none of this name. */
  readonly disconnect: (worker: string, reason: string) => boolean
  /** Ends every session whose credential is not among these, also those that came without one (4401). */
  readonly keepOnly: (credentials: ReadonlySet<string>) => void
}

// What is written down of a conversation, and how it is shown to people.
import type { UpgradeRequest } from "../../core/ports/Transport.ts"
import type { Message } from "../../core/protocol/Message.ts"

/** One thing that happened; `at` is of the monotonic clock, in milliseconds. */
export type Entry =
  | {
      readonly kind: "opened"
      readonly at: number
      readonly connection: number
      readonly request: UpgradeRequest
    }
  /** A frame of the worker. `message`: null for one that is none; `refused` says why. `lost`: it was passed over. */
  | {
      readonly kind: "heard"
      readonly at: number
      readonly connection: number
      readonly frame: string
      readonly message: Message | null
      readonly lost: boolean
      readonly refused: string | null
    }
  /** A frame of the server; `lost`: it was not sent. */
  | {
      readonly kind: "said"
      readonly at: number
      readonly connection: number
      readonly frame: string
      readonly lost: boolean
    }
  | {
      readonly kind: "closed"
      readonly at: number
      readonly connection: number
      readonly code: number
      readonly reason: string
    }
  | {
      readonly kind: "exited"
      readonly at: number
      readonly code: number | null
      readonly signal: string | null
    }
  | { readonly kind: "note"; readonly at: number; readonly text: string }

const frameMax = 240

const cut = (frame: string): string =>
  frame.length > frameMax ? `${frame.slice(0, frameMax)}… (${frame.length} characters)` : frame

// A worker may say its token in hello; it need not be in anybody's terminal.
const hidden = (frame: string): string => frame.replace(/"token":"[^"]*"/g, '"token":"..."')

/** One line about it, without its time. */
export const showEntry = (entry: Entry): string => {
  switch (entry.kind) {
    case "opened":
      return `connection ${entry.connection} opened`
    case "heard":
      return `worker ${cut(hidden(entry.frame))}${entry.lost ? " (passed over)" : ""}${entry.refused === null ? "" : ` (refused: ${entry.refused})`}`
    case "said":
      return `server ${cut(entry.frame)}${entry.lost ? " (lost)" : ""}`
    case "closed":
      return `connection ${entry.connection} closed with ${entry.code}${entry.reason === "" ? "" : ` "${entry.reason}"`}`
    case "exited":
      return entry.signal === null
        ? `the process ended with code ${entry.code}`
        : `the process ended by ${entry.signal}`
    case "note":
      return `(${entry.text})`
  }
}

// What a server grants its workers; `welcome` tells them.
import { payloadBytesMax } from "../domain/Payload.ts"
import * as Limits from "./Limits.ts"
import type { Sent } from "./Message.ts"
import type { Verdict } from "./Shapes.ts"
import { capabilities } from "./Version.ts"

/** A server's terms. All spans in milliseconds. */
export interface Terms {
  readonly node: string
  readonly heartbeatMillis: number
  readonly suspectMillis: number
  readonly lostMillis: number
  /** 0: the runs of a worker are taken back as soon as its connection is cut. */
  readonly graceMillis: number
  readonly resendMillis: number
  readonly frameBytesMax: number
  readonly payloadBytesMax: number
  readonly messagesPerSecondMax: number
  readonly capabilities: ReadonlyArray<string>
}

/** The terms of a server that says nothing else. */
export const defaultTerms = (node: string): Terms => ({
  node,
  heartbeatMillis: Limits.heartbeatMillis,
  suspectMillis: Limits.suspectMillis,
  lostMillis: Limits.lostMillis,
  graceMillis: Limits.graceMillis,
  resendMillis: Limits.resendMillis,
  frameBytesMax: Limits.frameBytesMax,
  payloadBytesMax,
  messagesPerSecondMax: Limits.messagesPerSecondMax,
  capabilities,
})

/** The welcome that says them. A worker's lease is over a margin before the server takes its runs back. */
export const welcomeOf = (
  terms: Terms,
  given: {
    readonly session: string
    readonly resumed: boolean
    readonly at: number
    readonly capabilities: ReadonlyArray<string>
    readonly inHand: ReadonlyArray<Verdict>
  },
): Sent => ({
  type: "welcome",
  session: given.session,
  resumed: given.resumed,
  node: terms.node,
  now: given.at,
  heartbeatMillis: terms.heartbeatMillis,
  suspectMillis: terms.suspectMillis,
  leaseMillis: Math.max(0, terms.lostMillis - Limits.leaseMarginMillis),
  graceMillis: given.capabilities.includes("resume") ? terms.graceMillis : 0,
  frameBytesMax: terms.frameBytesMax,
  payloadBytesMax: terms.payloadBytesMax,
  messagesPerSecondMax: terms.messagesPerSecondMax,
  capabilities: given.capabilities,
  inHand: given.inHand,
})

// What a server grants its workers; `welcome` tells them.
import * as Result from "effect/Result"
import { InvalidInput } from "../domain/Errors.ts"
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
  /** How long they wait after this server has stopped; 0 with a `graceMillis` of 0. */
  readonly restartMillis: number
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
  restartMillis: Limits.restartMillis,
  resendMillis: Limits.resendMillis,
  frameBytesMax: Limits.frameBytesMax,
  payloadBytesMax,
  messagesPerSecondMax: Limits.messagesPerSecondMax,
  capabilities,
})

/** How long a worker may go on unanswered: over a margin before the server takes its runs back. */
const leaseMillisOf = ({ lostMillis }: Terms): number =>
  Math.floor(lostMillis - Math.min(Limits.leaseMarginMillis, lostMillis / 4))

/**
 * Refuses terms under which sound workers would lose their runs: a heartbeat must fit twice into the time until a
 * worker is suspect, that into the lease, and the grace into the time until it is lost.
 */
export const checkTerms = (terms: Terms): Result.Result<Terms, InvalidInput> => {
  const { heartbeatMillis, suspectMillis, lostMillis, graceMillis, resendMillis } = terms
  const refuse = (field: string, reason: string, next: string) =>
    Result.fail(new InvalidInput({ field, reason, next }))
  if (!(heartbeatMillis >= 100)) return refuse("heartbeatMillis", "it is less than 100 ms", "Use 5000.")
  if (!(suspectMillis >= 2 * heartbeatMillis))
    return refuse("suspectMillis", "it is less than two heartbeats", `Use ${2 * heartbeatMillis} or more.`)
  if (!(leaseMillisOf(terms) > suspectMillis))
    return refuse(
      "lostMillis",
      `its lease of ${leaseMillisOf(terms)} ms is not longer than suspectMillis`,
      `Use ${3 * heartbeatMillis} or more.`,
    )
  if (!(graceMillis >= 0 && graceMillis <= lostMillis))
    return refuse("graceMillis", `it is not between 0 and lostMillis (${lostMillis})`, "Use 800.")
  if (!(terms.restartMillis >= 0 && terms.restartMillis <= lostMillis))
    return refuse("restartMillis", `it is not between 0 and lostMillis (${lostMillis})`, "Use 4000.")
  if (!(resendMillis >= 100)) return refuse("resendMillis", "it is less than 100 ms", "Use 5000.")
  return Result.succeed(terms)
}

/** The welcome that says them. */
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
  leaseMillis: leaseMillisOf(terms),
  graceMillis: given.capabilities.includes("resume") ? terms.graceMillis : 0,
  restartMillis: given.capabilities.includes("resume") ? terms.restartMillis : 0,
  frameBytesMax: terms.frameBytesMax,
  payloadBytesMax: terms.payloadBytesMax,
  messagesPerSecondMax: terms.messagesPerSecondMax,
  capabilities: given.capabilities,
  inHand: given.inHand,
})

// The first moments of a connection, as the server sees them: silence, or a first message. Then it is decided whose
// connection it is: a new session, one that goes on, or one that takes another's place. Pure.
import * as Result from "effect/Result"
import type { Refused } from "./Codec.ts"
import { type CloseName, closeOf, closeReason } from "./Close.ts"
import type { Hello, Message } from "./Message.ts"
import { negotiate } from "./Version.ts"

/** What follows from the first message: its hello is to be checked, or the connection ends. */
export type Greeted =
  | { readonly kind: "hello"; readonly hello: Hello }
  | { readonly kind: "close"; readonly code: number; readonly reason: string; readonly error: Refused | null }

const close = (name: CloseName, reason: string, error: Refused | null = null): Greeted => ({
  kind: "close",
  code: closeOf[name],
  reason: closeReason(reason),
  error,
})

/** What becomes of a connection that offers these subprotocols: `null`: go on, and wait for hello. */
export const greetOffer = (offered: ReadonlyArray<string>): Greeted | null => {
  const version = negotiate(offered)
  return Result.isSuccess(version) ? null : close("protocol", version.failure)
}

/** What follows from the first message, or from its absence for `helloMillis` (`null`). */
export const greet = (first: Result.Result<Message, Refused> | null): Greeted => {
  if (first === null) return close("silence", "no hello in time")
  if (Result.isFailure(first)) {
    const { code, message, close: number } = first.failure
    if (number === null) return close("badMessage", `hello must come first: ${code}`, first.failure)
    return { kind: "close", code: number, reason: closeReason(message), error: first.failure }
  }
  return first.success.type === "hello"
    ? { kind: "hello", hello: first.success }
    : close("badMessage", `hello must come first, not "${first.success.type}"`)
}

/** How a hello is denied after its check. */
export const deny = (
  name: "token" | "notAllowed" | "tooMany" | "tryLater" | "restart" | "server",
  reason: string,
): Greeted => close(name, reason)

/** What is known of a session under the worker's name, begun with the same token as the one that says hello now. */
export interface Known {
  readonly session: string
  readonly incarnation: string
  readonly ordinal: number
  readonly phase: "open" | "cut" | "over"
}

/**
 * What a checked hello is to a session of the same worker name. `resume`: it is of the same process. `replace`: another
 * process has the name now, or this one cannot resume; the old session ends at once, its open
 * connection with 4409, and a new one begins. `fresh`: there was none, or it has ended. `outdated`: the same process has
 * come back since, and this hello was late on a connection that it gave up: that one is closed, with nothing changed.
 */
export const admit = (
  hello: Hello,
  known: Known | undefined,
): "resume" | "replace" | "fresh" | "outdated" => {
  if (known === undefined) return "fresh"
  if (known.incarnation === hello.incarnation && known.ordinal >= hello.connection) return "outdated"
  if (known.phase === "over") return "fresh"
  // The welcome that told the session may have been lost: the process is what counts, and it says what it has.
  return known.incarnation === hello.incarnation && hello.capabilities.includes("resume")
    ? "resume"
    : "replace"
}

// Refusals of messages that are well formed and out of place.
import { closeOf } from "./Close.ts"
import { Refused } from "./Codec.ts"
import type { Message } from "./Message.ts"

const refusal = (message: Message, field: string, reason: string, next: string): Refused =>
  new Refused({ code: "badField", field, reason, next, of: message.id, close: closeOf.badMessage })

/** A hello on a connection that had one. */
export const secondHello = (message: Message): Refused =>
  refusal(message, "type", "hello came before on this connection", "Say hello once, as the first message.")

/** An expansion of a worker that did not say that it knows flows. */
export const noFlows = (message: Message): Refused =>
  refusal(
    message,
    "result.outcome.kind",
    '"expanded" needs the capability "flows" on both sides',
    'Name "flows" in hello, and use it if welcome names it too.',
  )

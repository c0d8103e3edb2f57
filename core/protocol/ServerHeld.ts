// What happens to the attempts that a session holds, and how it speaks: the small moves of ServerSession.ts.
import type { Outcome } from "../domain/Outcome.ts"
import { type CloseName, closeOf, closeReason } from "./Close.ts"
import { resendMaxMillis } from "./Limits.ts"
import type { Message, Sent } from "./Message.ts"
import { capacity, type Held, type Moment, type ServerEffect, type ServerState } from "./ServerState.ts"
import type { AttemptKey } from "./Shapes.ts"

export type Effects = Array<ServerEffect>

/** An attempt that is held from now on. */
export const held = (key: AttemptKey, at: Held["state"], job: string | null): Held => ({
  run: key.run,
  attempt: key.attempt,
  token: key.token,
  state: at,
  job,
  assign: null,
  told: null,
  againAt: Number.POSITIVE_INFINITY,
  againMillis: 0,
})

/** Which attempt it is. */
export const keyIn = ({ run, attempt, token }: AttemptKey): AttemptKey => ({ run, attempt, token })

/** Sends, where there is a connection. */
export const send = (state: ServerState, message: Sent, effects: Effects): void => {
  if (state.phase !== "open") return
  const { type, ...rest } = message
  const whole = { type, id: `s${++state.messages}`, ...rest } as Message
  effects.push({ kind: "send", connection: state.connection, message: whole })
}

/** Closes the connection. */
export const closing = (state: ServerState, name: CloseName, reason: string, effects: Effects): void => {
  effects.push({
    kind: "close",
    connection: state.connection,
    code: closeOf[name],
    reason: closeReason(reason),
  })
}

/** The worker has begun it. */
export const begun = (entry: Held, effects: Effects): void => {
  if (entry.state !== "sent" && entry.state !== "waiting") return
  entry.state = "started"
  taken(entry)
  effects.push({ kind: "started", ...keyIn(entry) })
}

/** The worker has it. */
export const taken = (entry: Held): void => {
  if (entry.state === "sent") entry.state = "waiting"
  entry.assign = null
  if (entry.told === null) entry.againAt = Number.POSITIVE_INFINITY
}

/** Sends what the worker has not acknowledged, the assignment or that it is to stop, and once more later. */
export const again = (state: ServerState, entry: Held, { now }: Moment, effects: Effects): void => {
  const { run, attempt, token, told } = entry
  if (told !== null) send(state, { type: "cancel", run, attempt, token, reason: told }, effects)
  else if (entry.assign !== null) send(state, entry.assign, effects)
  entry.againMillis = Math.min(resendMaxMillis, entry.againMillis * 2 || state.terms.resendMillis)
  entry.againAt = now + entry.againMillis
  state.againAt = Math.min(state.againAt, entry.againAt)
}

/** Holds it no more, and says what that means for the run; `loss`: see the effect `release`. */
export const giveUp = (
  state: ServerState,
  key: string,
  entry: Held,
  reason: string,
  loss: boolean,
  effects: Effects,
): void => {
  state.held.delete(key)
  // Its outcome is on its way to the store and counts.
  if (entry.state === "settling") return
  if (entry.state === "started") effects.push({ kind: "lost", reason, ...keyIn(entry) })
  else effects.push({ kind: "release", reason, loss, ...keyIn(entry) })
}

/** The end of the session: whatever is held is given up. */
export const finish = (state: ServerState, reason: string, loss: boolean, effects: Effects): void => {
  for (const [key, entry] of state.held) giveUp(state, key, entry, reason, loss, effects)
  state.phase = "over"
  effects.push({ kind: "over", reason })
}

/** The connection is gone; what is held waits for the worker to resume, where it can. */
export const cut = (state: ServerState, { now }: Moment, effects: Effects): void => {
  if (state.phase !== "open") return
  const grace = state.capabilities.includes("resume") ? state.terms.graceMillis : 0
  if (grace === 0) return finish(state, "the connection was cut", true, effects)
  state.phase = "cut"
  state.endAt = now + grace
  effects.push({ kind: "status", status: "cut" })
}

/** Its outcome goes to the store. */
export const settle = (entry: Held, outcome: Outcome, effects: Effects): void => {
  entry.state = "settling"
  entry.assign = null
  entry.againAt = Number.POSITIVE_INFINITY
  effects.push({ kind: "outcome", outcome, ...keyIn(entry) })
}

/** Messages a second that it may send of its own accord. */
export const rateOf = (state: ServerState): number =>
  Math.max(state.terms.messagesPerSecondMax, capacity(state))

// What the messages of a worker do to its session, and what too many of them do.
import { closeReason } from "./Close.ts"
import type { Refused } from "./Codec.ts"
import type { Ack, Ended, Message } from "./Message.ts"
import { outcomeOf } from "./Outcomes.ts"
import { noFlows, secondHello } from "./Refusals.ts"
import {
  begun,
  closing,
  cut,
  type Effects,
  finish,
  giveUp,
  keyIn,
  rateOf,
  send,
  settle,
  taken,
} from "./ServerHeld.ts"
import type { Held, Moment, ServerState } from "./ServerState.ts"
import { keyOf } from "./Shapes.ts"

/** What a message of the worker does. */
export const hears = (state: ServerState, message: Message, moment: Moment, effects: Effects): void => {
  state.heardAt = moment.now
  if (state.suspect) {
    state.suspect = false
    effects.push({ kind: "status", status: "alive" })
  }
  if (!isCaused(state, message) && !spends(state, moment)) return tooMany(state, moment, effects)
  switch (message.type) {
    case "ack":
      for (const each of message.acks) acknowledged(state, each, effects)
      break
    case "result":
    case "failure":
      ended(state, message, moment, effects)
      break
    case "progress":
    case "log":
      // One that comes after the end, or of a foreign run, changes nothing.
      if (state.held.get(keyOf(message))?.attempt === message.attempt)
        effects.push({ kind: "report", message })
      break
    case "heartbeat":
      if (message.slots !== undefined) state.slots = message.slots
      state.full = false
      send(state, { type: "heartbeat", at: moment.at, of: message.id }, effects)
      break
    case "drain":
      state.draining = true
      effects.push({ kind: "status", status: "draining" })
      break
    case "bye":
      // After a server's own drain the worker looks for another one.
      closing(state, state.drainEndAt === null ? "done" : "restart", "bye", effects)
      finish(state, `the worker said bye: ${message.reason}`, false, effects)
      break
    case "hello":
      // The very same one is no more than a repetition.
      if (message.connection !== state.ordinal) refusedFrame(state, secondHello(message), moment, effects)
      break
    default:
  }
}

/** Whether our own messages caused it: each assignment has one outcome, and a few acknowledgements that say more. */
const isCaused = (state: ServerState, message: Message): boolean => {
  if (message.type === "ack") return message.acks.some((each) => saysMore(state.held.get(keyOf(each)), each))
  if (message.type !== "result" && message.type !== "failure") return false
  const entry = state.held.get(keyOf(message))
  return entry !== undefined && entry.state !== "settling"
}

const saysMore = (entry: Held | undefined, { result }: Ack["acks"][number]): boolean =>
  entry?.state === "sent" || (entry?.state === "waiting" && result !== "waiting")

/** Counts a message; `false`: there were too many. A second's worth may be saved up twice. */
const spends = (state: ServerState, { now }: Moment): boolean => {
  const rate = rateOf(state)
  state.allowance = Math.min(2 * rate, state.allowance + ((now - state.countedAt) * rate) / 1000)
  state.countedAt = now
  if (state.allowance < 1) return false
  state.allowance--
  return true
}

const tooMany = (state: ServerState, moment: Moment, effects: Effects): void => {
  closing(state, "tooMany", `more than ${rateOf(state)} messages a second`, effects)
  cut(state, moment, effects)
}

/** Answers what cannot be read, and ends the connection where the refusal says so. */
export const refusedFrame = (
  state: ServerState,
  refused: Refused,
  moment: Moment,
  effects: Effects,
): void => {
  state.heardAt = moment.now
  if (!spends(state, moment)) return tooMany(state, moment, effects)
  send(state, refused.answer, effects)
  if (refused.close === null) return
  effects.push({
    kind: "close",
    connection: state.connection,
    code: refused.close,
    reason: closeReason(refused.message),
  })
  cut(state, moment, effects)
}

const acknowledged = (
  state: ServerState,
  { run, attempt, token, result, reason = "refused" }: Ack["acks"][number],
  effects: Effects,
): void => {
  const key = keyOf({ run, token })
  const entry = state.held.get(key)
  if (entry === undefined || entry.attempt !== attempt) return
  if (result === "waiting") taken(entry)
  else if (result === "started") begun(entry, effects)
  else if (result === "refused" && entry.state !== "settling") {
    // What it said before may have been lost: asking again at once would go on for ever.
    if (reason === "draining") state.draining = true
    if (reason === "full") state.full = true
    if (reason === "noHandler" && entry.job !== null) state.unable.add(entry.job)
    giveUp(state, key, entry, reason, false, effects)
  }
}

const ended = (state: ServerState, message: Ended, moment: Moment, effects: Effects): void => {
  const key = keyOf(message)
  const entry = state.held.get(key)
  if (entry === undefined || entry.attempt !== message.attempt) {
    // Not this worker's, or told before: what became of it is said, and nothing is changed.
    const result = state.recent.get(key) ?? "stale"
    send(state, { type: "ack", acks: [{ ...keyIn(message), result }] }, effects)
    return
  }
  if (entry.state === "settling") return
  const outcome = outcomeOf(message)
  if (outcome.kind === "expanded" && !state.capabilities.includes("flows"))
    return refusedFrame(state, noFlows(message), moment, effects)
  settle(entry, outcome, effects)
}

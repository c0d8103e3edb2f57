// What the messages of its server do to a worker.
import type { Assign, Message, MessageOf, Welcome } from "./Message.ts"
import { endedOf } from "./Outcomes.ts"
import type { Moment } from "./ServerState.ts"
import { keyOf } from "./Shapes.ts"
import { frameBytesMax } from "./Limits.ts"
import {
  abandon,
  acknowledge,
  beat,
  beginNext,
  type Effects,
  finishEntry,
  nextBeatAt,
  send,
  sendEnded,
  startDrain,
} from "./WorkerHand.ts"
import type { WorkerState } from "./WorkerState.ts"

/** What a message of the server does. */
export const hears = (state: WorkerState, message: Message, moment: Moment, effects: Effects): void => {
  if (state.phase === "greeting") {
    // Before the welcome nothing is known of the session, so nothing else counts.
    if (message.type === "welcome") welcomed(state, message, moment, effects)
    return
  }
  if (state.phase !== "open") return
  state.heardAt = moment.now
  switch (message.type) {
    case "assign":
      assigned(state, message, moment, effects)
      break
    case "ack":
      for (const { result, run, attempt, token } of message.acks) {
        const entry = state.hand.get(keyOf({ run, token }))
        if (entry === undefined || (result !== "settled" && result !== "stale")) continue
        abandon(state, entry, effects)
        effects.push({ kind: "acknowledged", run, attempt, token, result })
      }
      break
    case "heartbeat": {
      const answered = state.beats.findIndex(({ id }) => id === message.of)
      if (answered < 0) break
      state.provenAt = state.beats[answered]?.at ?? state.provenAt
      state.beats.splice(0, answered + 1)
      break
    }
    case "cancel":
      cancelled(state, message, moment, effects)
      break
    case "drain":
      startDrain(state, { self: false, endAt: moment.now + message.graceMillis }, moment, effects)
      break
    default:
  }
  beginNext(state, effects)
}

const welcomed = (state: WorkerState, welcome: Welcome, moment: Moment, effects: Effects): void => {
  const { now } = moment
  state.phase = "open"
  state.welcome = welcome
  state.heardAt = now
  // The server answered the hello, so it knew of us when that was sent.
  state.provenAt = state.openedAt
  state.letGo = false
  state.saidBye = false
  if (state.drain?.self === false) state.drain = null
  state.againAt = Number.POSITIVE_INFINITY
  for (const { run, attempt, token, verdict } of welcome.inHand) {
    const entry = state.hand.get(keyOf({ run, token }))
    if (entry === undefined || verdict === "keep") continue
    abandon(state, entry, effects)
    effects.push({ kind: "acknowledged", run, attempt, token, result: verdict })
  }
  for (const entry of state.hand.values()) {
    entry.againMillis = 0
    if (entry.state === "ended") sendEnded(state, entry, moment, effects)
  }
  if (state.drain !== null) {
    const graceMillis = Math.max(0, Math.ceil(state.drain.endAt - now))
    send(state, { type: "drain", graceMillis, reason: "the worker stops" }, effects)
  }
  state.beatAt = nextBeatAt(moment, welcome.heartbeatMillis)
  // Slots that handlers of nobody take are not in the hello.
  if (state.strays.size > 0) beat(state, moment, effects)
  beginNext(state, effects)
}

const assigned = (state: WorkerState, assign: Assign, moment: Moment, effects: Effects): void => {
  const key = keyOf(assign)
  const entry = state.hand.get(key)
  if (entry !== undefined) {
    // It comes again because our acknowledgement did not arrive.
    if (entry.state === "ended") sendEnded(state, entry, moment, effects)
    else acknowledge(state, entry, entry.state === "running" ? "started" : "waiting", effects)
    return
  }
  const refused = refusal(state, assign)
  if (refused !== null) return acknowledge(state, assign, "refused", effects, refused)
  const { run, attempt, token } = assign
  // A newer token of a run that is in hand: the older one is over, and its handler is told.
  for (const older of state.hand.values())
    if (older.run === run && older.token < token) abandon(state, older, effects)
  state.hand.set(key, {
    run,
    attempt,
    token,
    state: "waiting",
    assign,
    told: null,
    ended: null,
    againAt: Number.POSITIVE_INFINITY,
    againMillis: 0,
  })
  beginNext(state, effects)
  if (state.hand.get(key)?.state === "waiting") acknowledge(state, assign, "waiting", effects)
}

const refusal = (state: WorkerState, { run, token, job }: Assign): string | null => {
  const { who } = state
  if ((state.begun.get(run) ?? 0) >= token) return "over"
  // One that is behind a newer one, which waits for a handler to end, would be begun after it.
  for (const other of state.hand.values()) if (other.run === run && other.token > token) return "over"
  if (state.drain !== null) return "draining"
  if (!who.jobs.includes(job)) return "noHandler"
  return state.hand.size >= who.slots + (who.prefetch ?? 0) ? "full" : null
}

const cancelled = (
  state: WorkerState,
  cancel: MessageOf<"cancel">,
  moment: Moment,
  effects: Effects,
): void => {
  const entry = state.hand.get(keyOf(cancel))
  if (entry === undefined) return acknowledge(state, cancel, "refused", effects, "over")
  if (entry.state === "waiting")
    finishEntry(state, entry, endedOf(entry, { kind: "released" }, frameBytesMax), moment, effects)
  if (entry.state !== "running" || entry.told !== null) return
  entry.told = cancel.reason
  effects.push({ kind: "stop", run: entry.run, token: entry.token, reason: cancel.reason })
}

// One worker as the server sees it, from its first hello over all its connections until its runs are settled or taken
// back. A pure machine: an event and the time go in, effects come out; who holds it does the sending and the storing.
// It promises: an outcome goes to the store at most once per attempt held, and only of attempts that this worker was
// given; an assignment, a cancel and an acknowledgement that got lost come again; what ends with the session is handed
// back (`release`: not begun) or reported (`lost`: begun), each attempt exactly once.
import { textMax } from "./Limits.ts"
import type { Assign } from "./Message.ts"
import { payloadFailure } from "./Outcomes.ts"
import { again, begun, closing, cut, type Effects, finish, held, keyIn, send, settle } from "./ServerHeld.ts"
import { hears, refusedFrame } from "./ServerHears.ts"
import { greeted } from "./ServerOpen.ts"
import {
  capacity,
  freeSlots,
  type Moment,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
} from "./ServerState.ts"
import { keyOf } from "./Shapes.ts"

/**
 * What an event does to a session. Never throws; an event that does not fit the phase does nothing, but that an
 * attempt which cannot be given is always handed back.
 */
export const stepServer = (
  state: ServerState,
  event: ServerEvent,
  moment: Moment,
): ReadonlyArray<ServerEffect> => {
  const effects: Effects = []
  if (state.phase === "over") {
    if (event.kind === "assign") assign(state, event.assign, moment, effects)
    return effects
  }
  // What a connection that was given up still delivers is of no interest: its worker says it again.
  if ("connection" in event && event.kind !== "resume" && event.connection !== state.connection)
    return effects
  switch (event.kind) {
    case "message":
      if (state.phase === "open") hears(state, event.message, moment, effects)
      break
    case "refused":
      if (state.phase === "open") refusedFrame(state, event.refused, moment, effects)
      break
    case "closed":
      cut(state, moment, effects)
      break
    case "resume":
      if (state.phase === "open") closing(state, "replaced", "a newer connection of the same worker", effects)
      state.connection = event.connection
      state.phase = "open"
      greeted(state, event.hello, true, moment, effects)
      break
    case "assign":
      assign(state, event.assign, moment, effects)
      break
    case "unsendable":
      unsendable(state, event, effects)
      break
    case "decide": {
      const entry = state.held.get(keyOf(event))
      if (entry !== undefined && entry.state !== "settling") settle(entry, event.outcome, effects)
      break
    }
    case "stop":
      stop(state, event, moment, effects)
      break
    case "settled":
      settled(state, event, effects)
      break
    case "drain":
      state.draining = true
      state.drainEndAt = moment.now + event.graceMillis
      send(
        state,
        { type: "drain", graceMillis: event.graceMillis, reason: event.reason.slice(0, textMax) },
        effects,
      )
      break
    case "end":
      if (state.phase === "open") closing(state, event.close, event.reason, effects)
      if (event.keep === true) {
        for (const each of event.named ?? []) {
          const entry = state.held.get(keyOf(each))
          if (entry !== undefined && each.state !== "waiting") begun(entry, effects)
        }
        for (const [key, entry] of state.held) if (entry.state === "started") state.held.delete(key)
      }
      finish(state, event.reason, false, effects)
      break
    case "tick":
      tick(state, moment, effects)
  }
  return effects
}

const assign = (
  state: ServerState,
  given: Omit<Assign, "type" | "id">,
  moment: Moment,
  effects: Effects,
): void => {
  const key = keyOf(given)
  if (state.held.has(key) || state.recent.has(key)) return
  const entry = held(given, "sent", given.job)
  if (freeSlots(state) === 0) {
    const reason = state.phase === "open" ? "the worker takes nothing now" : "the worker is not connected"
    effects.push({ kind: "release", reason, loss: false, ...keyIn(entry) })
    return
  }
  entry.assign = { type: "assign", ...given }
  state.held.set(key, entry)
  again(state, entry, moment, effects)
}

const unsendable = (
  state: ServerState,
  { run, token, reason }: Extract<ServerEvent, { readonly kind: "unsendable" }>,
  effects: Effects,
): void => {
  const entry = state.held.get(keyOf({ run, token }))
  if (entry?.state === "sent") settle(entry, payloadFailure(reason), effects)
}

const stop = (
  state: ServerState,
  { run, token, reason }: Extract<ServerEvent, { readonly kind: "stop" }>,
  moment: Moment,
  effects: Effects,
): void => {
  const entry = state.held.get(keyOf({ run, token }))
  if (entry === undefined || entry.state === "settling" || entry.told !== null) return
  entry.told = reason
  entry.againMillis = 0
  again(state, entry, moment, effects)
}

const settled = (
  state: ServerState,
  { run, token, result }: Extract<ServerEvent, { readonly kind: "settled" }>,
  effects: Effects,
): void => {
  const key = keyOf({ run, token })
  const entry = state.held.get(key)
  if (entry?.state !== "settling") return
  state.held.delete(key)
  state.full = false
  state.recent.set(key, result)
  // A worker cannot have more unacknowledged ends than it may have in hand; an outcome of a run that comes later
  // shows that it has read all acknowledgements before its assignment.
  const most = 2 * capacity(state) + 16
  for (const oldest of state.recent.keys()) {
    if (state.recent.size <= most) break
    state.recent.delete(oldest)
  }
  send(state, { type: "ack", acks: [{ ...keyIn(entry), result }] }, effects)
}

const tick = (state: ServerState, moment: Moment, effects: Effects): void => {
  const { now } = moment
  const silent = now - state.heardAt
  if (state.phase === "cut") {
    if (now >= state.endAt) finish(state, "the worker did not resume in time", true, effects)
    return
  }
  if (state.drainEndAt !== null && now >= state.drainEndAt) {
    closing(state, "restart", "the time to drain is over", effects)
    return finish(state, "the time to drain is over", false, effects)
  }
  if (silent >= state.terms.lostMillis) {
    closing(state, "leaseLost", `no sign of life for ${Math.floor(silent)} ms`, effects)
    return finish(state, "the worker was silent for too long", true, effects)
  }
  if (silent >= state.terms.suspectMillis && !state.suspect) {
    state.suspect = true
    effects.push({ kind: "status", status: "suspect" })
  }
  if (now < state.againAt) return
  state.againAt = Number.POSITIVE_INFINITY
  for (const entry of state.held.values()) {
    if (entry.againAt <= now) again(state, entry, moment, effects)
    else state.againAt = Math.min(state.againAt, entry.againAt)
  }
}

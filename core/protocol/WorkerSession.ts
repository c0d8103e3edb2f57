// A worker's side, over all its connections and sessions. A pure machine: an event and the time go in, effects come
// out; who holds it does the sending and calls the handlers. It promises: no attempt is begun twice; every end of an
// attempt is told until the server has acknowledged it, over any number of reconnects; nothing is begun without a
// connection; handlers are told to stop before the server gives their runs to others, as far as clocks can tell.
import { closeOf, closeReason, reconnectAfter, stableMillis, waitMillis } from "./Close.ts"
import { endedOf } from "./Outcomes.ts"
import type { Moment } from "./ServerState.ts"
import { keyOf } from "./Shapes.ts"
import { frameBytesMax, helloMillis, textMax } from "./Limits.ts"
import {
  beat,
  beginNext,
  type Effects,
  finishEntry,
  sayBye,
  send,
  sendEnded,
  startDrain,
  stopHandlers,
} from "./WorkerHand.ts"
import { hears } from "./WorkerHears.ts"
import {
  farewellMillis,
  leaseEndAt,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerState,
} from "./WorkerState.ts"

/** What an event does to a worker. Never throws; an event that does not fit the phase does nothing. */
export const stepWorker = (
  state: WorkerState,
  event: WorkerEvent,
  moment: Moment,
): ReadonlyArray<WorkerEffect> => {
  const effects: Effects = []
  if (state.phase === "over") return effects
  if ("connection" in event && event.connection !== state.connection) return effects
  switch (event.kind) {
    case "opened":
      if (state.phase === "connecting") opened(state, moment, effects)
      break
    case "closed":
      if (state.phase !== "off") closed(state, event.code, moment, effects)
      break
    case "message":
      hears(state, event.message, moment, effects)
      break
    case "refused":
      if (state.phase !== "open" && state.phase !== "greeting") break
      send(state, event.refused.answer, effects)
      if (event.refused.close !== null) closeAs(state, "badMessage", event.refused.message, moment, effects)
      break
    case "ended": {
      const key = keyOf(event)
      const entry = state.hand.get(key)
      const largest = state.welcome?.frameBytesMax ?? frameBytesMax
      if (entry?.state === "running") {
        if (event.runsOn === true) state.strays.add(key)
        finishEntry(state, entry, endedOf(entry, event.outcome, largest), moment, effects)
      } else if (event.runsOn !== true) state.strays.delete(key)
      beginNext(state, effects)
      break
    }
    case "report":
      if (state.phase === "open" && state.hand.get(keyOf(event.report))?.state === "running")
        send(state, event.report, effects)
      break
    case "drain":
      startDrain(state, { self: true, endAt: moment.now + event.graceMillis }, moment, effects)
      if (state.phase === "open")
        send(
          state,
          { type: "drain", graceMillis: event.graceMillis, reason: event.reason.slice(0, textMax) },
          effects,
        )
      break
    case "tick":
      tick(state, moment, effects)
  }
  sayBye(state, effects)
  if (state.phase === "off" && state.drain?.self === true && state.hand.size === 0)
    over(state, closeOf.done, "drained", effects)
  return effects
}

const opened = (state: WorkerState, { now }: Moment, effects: Effects): void => {
  state.phase = "greeting"
  state.openedAt = now
  const inHand = [...state.hand.values()].map((each) => {
    const { run, attempt, token, state: at } = each
    return { run, attempt, token, state: at }
  })
  const session = state.welcome?.session ?? null
  send(state, { type: "hello", ...state.who, connection: state.connection, session, inHand }, effects)
}

/** The connection is gone: what comes next is in its code. */
const closed = (state: WorkerState, code: number, moment: Moment, effects: Effects): void => {
  const { now, random } = moment
  const wasOpen = state.phase === "open"
  // Both sides notice most cuts at once. One that the server saw before us costs an overlap, not a wrong outcome.
  if (wasOpen) {
    state.cutAt = now
    state.cutMillis = graceAfter(state, code)
  }
  const next = reconnectAfter(code)
  state.phase = "off"
  state.beats.length = 0
  if (next === "never") return over(state, code, reconnectReason(code), effects)
  // A restart was announced, and what is in hand is kept for a few seconds only.
  if (wasOpen && (code === closeOf.restart || now - state.openedAt >= stableMillis)) state.tries = 0
  state.connectAt = now + waitMillis(state.tries++, random, next)
  if (wasOpen && state.cutMillis === 0) letGo(state, effects)
}

/** A server that restarts leaves what was begun to the one that comes after it. */
const graceAfter = ({ welcome }: WorkerState, code: number): number =>
  (code === closeOf.restart ? welcome?.restartMillis : undefined) ?? welcome?.graceMillis ?? 0

const reconnectReason = (code: number): string =>
  code === closeOf.done ? "the server closed the session" : `the server closed with ${code}`

const over = (state: WorkerState, code: number, reason: string, effects: Effects): void => {
  stopHandlers(state, "leaseLost", effects)
  state.phase = "over"
  effects.push({ kind: "over", code, reason })
}

/** Closes the connection, and goes on as if it were gone already. */
const closeAs = (
  state: WorkerState,
  name: "silence" | "badMessage" | "done",
  reason: string,
  moment: Moment,
  effects: Effects,
): void => {
  const code = closeOf[name]
  effects.push({ kind: "close", connection: state.connection, code, reason: closeReason(reason) })
  closed(state, code, moment, effects)
}

/** Its runs may be given to others now: what waits is forgotten, and every handler is told. */
const letGo = (state: WorkerState, effects: Effects): void => {
  state.letGo = true
  for (const [key, entry] of state.hand) if (entry.state === "waiting") state.hand.delete(key)
  stopHandlers(state, "leaseLost", effects)
}

const tick = (state: WorkerState, moment: Moment, effects: Effects): void => {
  const { now } = moment
  if (!state.letGo && now >= leaseEndAt(state)) {
    letGo(state, effects)
    // The next welcome says what still holds.
    if (state.phase === "open")
      closeAs(state, "silence", "no heartbeat was answered in time", moment, effects)
  }
  if (state.drain !== null && now >= state.drain.endAt) {
    for (const entry of state.hand.values()) {
      if (entry.state !== "running") continue
      effects.push({ kind: "stop", run: entry.run, token: entry.token, reason: "drain" })
      // It may go on for a while, deaf; the run need not wait for it.
      state.strays.add(keyOf(entry))
      finishEntry(state, entry, endedOf(entry, { kind: "released" }, frameBytesMax), moment, effects)
    }
    if (state.drain.self && now >= state.drain.endAt + farewellMillis) {
      if (state.phase !== "off")
        effects.push({ kind: "close", connection: state.connection, code: closeOf.done, reason: "drained" })
      return over(state, closeOf.done, "drained, not all outcomes are acknowledged", effects)
    }
  }
  if (state.phase === "off" && now >= state.connectAt) {
    state.phase = "connecting"
    state.openedAt = now
    effects.push({ kind: "connect", connection: ++state.connection })
  } else if (state.phase === "open") tickOpen(state, moment, effects)
  else if (state.phase !== "off" && now >= state.openedAt + 2 * helloMillis)
    closeAs(state, "silence", "no welcome in time", moment, effects)
}

const tickOpen = (state: WorkerState, moment: Moment, effects: Effects): void => {
  const { now } = moment
  const silent = now - state.heardAt
  if (silent >= (state.welcome?.suspectMillis ?? 0))
    return closeAs(state, "silence", `no sign of life for ${Math.floor(silent)} ms`, moment, effects)
  if (now >= state.beatAt) beat(state, moment, effects)
  if (now < state.againAt) return
  state.againAt = Number.POSITIVE_INFINITY
  for (const entry of state.hand.values()) {
    if (entry.state !== "ended") continue
    if (entry.againAt <= now) sendEnded(state, entry, moment, effects)
    else state.againAt = Math.min(state.againAt, entry.againAt)
  }
}

// What happens to the attempts that a worker has in hand, and how it speaks: the small moves of WorkerSession.ts.
import type { StopReason } from "../ports/Executor.ts"
import { beatGridMillis, frameBytesMax, inHandMax, resendMaxMillis, resendMillis } from "./Limits.ts"
import type { Ack, Message, Sent } from "./Message.ts"
import { endedOf, type SentEnded } from "./Outcomes.ts"
import type { Moment } from "./ServerState.ts"
import { type AttemptKey, keyOf } from "./Shapes.ts"
import { type InHandEntry, runningOf, type WorkerEffect, type WorkerState } from "./WorkerState.ts"

export type Effects = Array<WorkerEffect>

/** Sends, and answers the id of what was sent. */
export const send = (state: WorkerState, message: Sent, effects: Effects): string => {
  const { type, ...rest } = message
  const id = `w${++state.messages}`
  effects.push({ kind: "send", connection: state.connection, message: { type, id, ...rest } as Message })
  return id
}

/** Acknowledges an assignment. */
export const acknowledge = (
  state: WorkerState,
  { run, attempt, token }: AttemptKey,
  result: Ack["acks"][number]["result"],
  effects: Effects,
  reason?: string,
): void => {
  const entry = { run, attempt, token, result, ...(reason === undefined ? {} : { reason }) }
  send(state, { type: "ack", acks: [entry] }, effects)
}

/** Begins what waits, in its order, while there are slots; the start is acknowledged before it. */
export const beginNext = (state: WorkerState, effects: Effects): void => {
  if (state.phase !== "open" || state.drain !== null || state.letGo) return
  let free = state.who.slots - runningOf(state)
  for (const entry of state.hand.values()) {
    if (free <= 0) return
    const { assign } = entry
    if (entry.state !== "waiting" || assign === null || isBusy(state, entry.run)) continue
    free--
    entry.state = "running"
    entry.assign = null
    remember(state, entry)
    acknowledge(state, entry, "started", effects)
    effects.push({ kind: "begin", assign })
  }
}

/** Whether an older attempt of this run is still at work here: two at once would do its effects twice. */
const isBusy = (state: WorkerState, run: string): boolean => {
  for (const entry of state.hand.values()) if (entry.run === run && entry.state === "running") return true
  for (const key of state.strays) if (key.startsWith(`${run} `)) return true
  return false
}

const remember = (state: WorkerState, { run, token }: AttemptKey): void => {
  state.begun.delete(run)
  state.begun.set(run, token)
  for (const oldest of state.begun.keys()) {
    if (state.begun.size <= 2 * inHandMax) return
    state.begun.delete(oldest)
  }
}

/** An attempt has ended: that is told until it is acknowledged. */
export const finishEntry = (
  state: WorkerState,
  entry: InHandEntry,
  ended: SentEnded,
  moment: Moment,
  effects: Effects,
): void => {
  entry.state = "ended"
  entry.assign = null
  entry.ended = ended
  if (state.phase === "open") sendEnded(state, entry, moment, effects)
}

/** Tells an end, and once more later. */
export const sendEnded = (
  state: WorkerState,
  entry: InHandEntry,
  { now }: Moment,
  effects: Effects,
): void => {
  if (entry.ended === null) return
  send(state, entry.ended, effects)
  entry.againMillis = Math.min(resendMaxMillis, entry.againMillis * 2 || resendMillis)
  entry.againAt = now + entry.againMillis
  state.againAt = Math.min(state.againAt, entry.againAt)
}

/** Tells every handler to stop that was not told before; their ends still count while their tokens hold. */
export const stopHandlers = (state: WorkerState, reason: StopReason, effects: Effects): void => {
  for (const entry of state.hand.values()) {
    if (entry.state !== "running" || entry.told !== null) continue
    entry.told = reason
    effects.push({ kind: "stop", run: entry.run, token: entry.token, reason })
  }
}

/** The attempt is another's or over: its handler, if it runs, runs for nobody. */
export const abandon = (state: WorkerState, entry: InHandEntry, effects: Effects): void => {
  const key = keyOf(entry)
  state.hand.delete(key)
  if (entry.state !== "running") return
  state.strays.add(key)
  if (entry.told === null)
    effects.push({ kind: "stop", run: entry.run, token: entry.token, reason: "leaseLost" })
}

/** Takes nothing more; what waits goes back unbegun. */
export const startDrain = (
  state: WorkerState,
  drain: NonNullable<WorkerState["drain"]>,
  moment: Moment,
  effects: Effects,
): void => {
  // Its own end is not taken back by a server that drains, and not put off.
  if (state.drain?.self === true && !(drain.self && drain.endAt < state.drain.endAt)) return
  state.drain = drain
  for (const entry of state.hand.values())
    if (entry.state === "waiting")
      finishEntry(state, entry, endedOf(entry, { kind: "released" }, frameBytesMax), moment, effects)
}

/** Says bye when nothing is in hand any more. */
export const sayBye = (state: WorkerState, effects: Effects): void => {
  if (state.phase !== "open" || state.drain === null || state.saidBye || state.hand.size > 0) return
  state.saidBye = true
  send(state, { type: "bye", reason: state.drain.self ? "the worker stops" : "the server drains" }, effects)
}

/** A sign of life. */
export const beat = (state: WorkerState, { now, at }: Moment, effects: Effects): void => {
  const slots = Math.max(0, state.who.slots - state.strays.size)
  const id = send(state, { type: "heartbeat", at, slots, running: runningOf(state) }, effects)
  state.beats.push({ id, at: now })
  // Only the latest can prove something: a server that answers late answers the others too.
  if (state.beats.length > 4) state.beats.shift()
  state.beatAt = nextBeatAt({ now, at }, state.welcome?.heartbeatMillis ?? 0)
}

/**
 * When the next sign of life is due: where the wall clock shows a whole tenth of a second, up to that much early. Workers
 * that each keep their own rhythm wake their server once for each of them, and that is what an idle one costs.
 */
export const nextBeatAt = ({ now, at }: Pick<Moment, "now" | "at">, heartbeatMillis: number): number =>
  heartbeatMillis < 10 * beatGridMillis
    ? now + heartbeatMillis
    : now + heartbeatMillis - ((at + heartbeatMillis) % beatGridMillis)

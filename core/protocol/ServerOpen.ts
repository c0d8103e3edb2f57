// How a session begins and goes on: a hello against what the server holds.
import type { Hello } from "./Message.ts"
import { again, begun, type Effects, giveUp, held, rateOf, send, taken } from "./ServerHeld.ts"
import type { Moment, ServerEffect, ServerState } from "./ServerState.ts"
import { keyOf, type Verdict } from "./Shapes.ts"
import { type Terms, welcomeOf } from "./Terms.ts"
import { agree } from "./Version.ts"

/**
 * Begins a session for a checked hello. `verdicts` are the store's word on attempts that the worker has in hand from
 * before: what it may `keep` is held again, what is `settled` is told so, and all else is stale.
 */
export const openServer = (
  given: {
    readonly terms: Terms
    readonly session: string
    readonly connection: number
    readonly hello: Hello
    readonly verdicts: ReadonlyArray<Verdict>
  },
  moment: Moment,
): { readonly state: ServerState; readonly effects: ReadonlyArray<ServerEffect> } => {
  const { terms, session, connection, hello } = given
  const state: ServerState = {
    terms,
    session,
    worker: hello.worker,
    incarnation: hello.incarnation,
    phase: "open",
    connection,
    ordinal: hello.connection,
    jobs: new Set(),
    unable: new Set(),
    capabilities: [],
    slots: 0,
    prefetch: 0,
    draining: false,
    drainEndAt: null,
    suspect: false,
    full: false,
    held: new Map(),
    recent: new Map(),
    heardAt: moment.now,
    endAt: 0,
    againAt: Number.POSITIVE_INFINITY,
    allowance: 0,
    countedAt: moment.now,
    messages: 0,
  }
  for (const { verdict, ...key } of given.verdicts) {
    if (verdict === "keep") state.held.set(keyOf(key), held(key, "waiting", null))
    else state.recent.set(keyOf(key), verdict)
  }
  const effects: Effects = []
  greeted(state, hello, false, moment, effects)
  return { state, effects }
}

/** The attempts of a hello against what is held: both sides know the same when the welcome is there. */
export const greeted = (
  state: ServerState,
  hello: Hello,
  resumed: boolean,
  moment: Moment,
  effects: Effects,
): void => {
  state.ordinal = hello.connection
  state.jobs = new Set(hello.jobs)
  state.unable.clear()
  state.slots = hello.slots
  state.prefetch = hello.prefetch ?? 0
  state.capabilities = agree(state.terms.capabilities, hello.capabilities)
  state.suspect = false
  state.full = false
  state.heardAt = moment.now
  // A connection that follows another begins with what is left: coming back is no way round the limit.
  if (!resumed) state.allowance = 2 * rateOf(state)
  const named = new Map(hello.inHand.map((each) => [keyOf(each), each]))
  const verdicts = [...named].map(([key, { run, attempt, token }]): Verdict => {
    const mine = state.held.get(key)
    const verdict = mine?.attempt === attempt ? "keep" : (state.recent.get(key) ?? "stale")
    return { run, attempt, token, verdict }
  })
  send(
    state,
    welcomeOf(state.terms, {
      session: state.session,
      resumed,
      at: moment.at,
      capabilities: state.capabilities,
      inHand: verdicts,
    }),
    effects,
  )
  // A worker that drains says so again.
  state.draining = state.drainEndAt !== null
  if (state.drainEndAt !== null) {
    const graceMillis = Math.max(0, Math.ceil(state.drainEndAt - moment.now))
    send(state, { type: "drain", graceMillis, reason: "the server drains" }, effects)
  }
  for (const [key, entry] of state.held) {
    const there = named.get(key)
    if (there?.attempt === entry.attempt) {
      if (there.state !== "waiting") begun(entry, effects)
      else if (entry.state === "sent") taken(entry)
      if (entry.told !== null && entry.state !== "settling") again(state, entry, moment, effects)
    } else if (entry.state === "sent" && entry.told === null && entry.assign !== null) {
      // It never arrived: a worker names all that it was given. The same token, so it cannot be begun twice.
      again(state, entry, moment, effects)
    } else if (entry.state !== "settling")
      giveUp(state, key, entry, "the worker does not have it", false, effects)
  }
}

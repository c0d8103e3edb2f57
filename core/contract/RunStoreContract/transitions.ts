// What every state promises: of all changes that the port can ask for, only those of the table happen. Each
// case brings a run into one state and tries all the others.
import * as Effect from "effect/Effect"
import { isFinal, type Run, type RunState, runStates } from "../../domain/Run.ts"
import { allowed } from "../../domain/Transition.ts"
import { RunStore } from "../../ports/Store.ts"
import { type Case, ContractClock, expectFields, expectSame } from "../Case.ts"
import { bringTo, claim, failing, join, settle, statesOf, stored, success } from "../Fixtures.ts"

const settlementsOf = (held: Pick<Run, "id" | "token">) => [
  success(held, '"illegal"'),
  failing(held),
  failing(held, 0),
  { id: held.id, token: held.token, kind: "snoozed", delayMillis: 0 } as const,
  { id: held.id, token: held.token, kind: "released" } as const,
  { id: held.id, token: held.token, kind: "released", loss: true } as const,
]

const refusals = (state: RunState): Case => ({
  name: `transitions > a ${state} run refuses whatever the table does not allow`,
  run: Effect.gen(function* () {
    const runs = yield* RunStore
    yield* join("n2", 600_000)
    const before = yield* bringTo(1, state)
    const attempts = yield* runs.attempts(before.id)
    const counts = yield* runs.counts()
    const unchanged = Effect.fnUntraced(function* (what: string) {
      yield* expectSame(`run after ${what}`, yield* stored(before.id), before)
      yield* expectSame(`attempts after ${what}`, yield* runs.attempts(before.id), attempts)
      yield* expectSame(`counts after ${what}`, yield* runs.counts(), counts)
    })
    // Under the row's own token while it runs a settlement is legal, under any other it is not.
    const tokens =
      state === "running" ? [before.token - 1, before.token + 1] : [before.token, before.token + 1, 0]
    const settledBefore = state === "retrying" || state === "succeeded" || state === "dead"
    for (const token of tokens) {
      const result = settledBefore && token === before.token ? "settled" : "stale"
      for (const settlement of settlementsOf({ id: before.id, token })) {
        const answer = yield* settle(settlement)
        yield* expectFields(`${settlement.kind} under ${token}`, answer, { result, state })
        yield* unchanged(`${settlement.kind} under ${token}`)
      }
      yield* expectSame("started", yield* runs.started([{ id: before.id, token }]), [false])
      yield* unchanged("started")
      yield* expectSame("adopt", yield* runs.adopt("n2", [{ id: before.id, token }]), [false])
      yield* unchanged("adopt")
    }
    if (state !== "ready") {
      yield* expectSame("claim", yield* claim({ queues: [before.queue] }), [])
      yield* unchanged("claim")
    }
    if (state !== "running") {
      yield* runs.reclaim("n2", 100)
      yield* unchanged("reclaim")
    }
    if (state !== "dead") {
      const [replayed] = yield* runs.replay([before.id], ["0199a1b2-0000-7000-8000-ffffffffffff"])
      yield* expectSame("replay", replayed, { runId: before.id, newRunId: null, result: "unknown" })
      yield* expectSame("drop", yield* runs.drop([before.id]), 0)
      yield* unchanged("replay and drop")
    }
    if (isFinal(state)) {
      const answers = yield* runs.cancel([before.id], "Illegal")
      yield* expectSame("cancel", answers, [{ id: before.id, result: "final" }])
      yield* unchanged("cancel")
    }
    yield* runs.promote(100)
    yield* unchanged("promote")
  }),
})

/** Cases of all that is refused, one per state. */
export const transitionCases: ReadonlyArray<Case> = [
  ...runStates.map(refusals),
  {
    name: "transitions > time alone changes only what the table allows it to change",
    run: Effect.gen(function* () {
      const runs = yield* RunStore
      const clock = yield* ContractClock
      const ids: Array<string> = []
      for (const [n, state] of runStates.entries()) ids.push((yield* bringTo(n + 1, state)).id)
      clock.advance(86_400_000)
      yield* runs.promote(1_000)
      const after = yield* statesOf(...ids)
      for (const [n, state] of runStates.entries()) {
        const legal = after[n] === state || (after[n] !== undefined && allowed[state].includes(after[n]))
        yield* expectSame(`${state} became ${after[n]}`, legal, true)
      }
      yield* expectSame("all", after, [
        "blocked",
        "ready",
        "ready",
        "running",
        "ready",
        "succeeded",
        "dead",
        "cancelled",
        "skipped",
        "expired",
      ])
    }),
  },
]

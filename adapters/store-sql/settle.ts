// One settlement, of whatever kind: what a plain success costs less for, each database does by itself.
import type { Settled, Settlement } from "../../core/domain/Outcome.ts"
import type { Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Expanding } from "./FlowWork.ts"
import type { Sql } from "./Sql.ts"
import type { Work } from "./Work.ts"

// Settlements that change nothing but the run itself.
type Transiting = Exclude<Settlement, Expanding>

/** Applies an outcome under its token. */
export function* settleOne(work: Work, settlement: Settlement): Sql<Settled> {
  const { id, token } = settlement
  const found = yield* work.find(id)
  if (found === undefined) return { id, result: "stale", state: null, dueAt: null }
  const { run, settledToken } = found
  if (settlement.kind === "expanded") {
    if (yield* work.flows.expand(run, settlement)) {
      // It may have ended at once.
      const expanded = (yield* work.find(id))?.run ?? run
      return { id, result: "settled", state: expanded.state, dueAt: dueOf(expanded) }
    }
  } else {
    const after = transition(run, settlement, work.now())
    if (after !== null) {
      yield* work.save(run, after, token, settlement.kind === "failed" ? settlement.error : null)
      return { id, result: "settled", state: after.state, dueAt: dueOf(after) }
    }
  }
  // The answer to the first writing may have been lost: the same token gets what became of it.
  const repeated = token > 0 && settledToken === token && run.token === token && run.state !== "running"
  return { id, result: repeated ? "settled" : "stale", state: run.state, dueAt: dueOf(run) }
}

// When a run that waits for its time is due; of no meaning for others.
const dueOf = ({ state, dueAt }: Run): number | null =>
  state === "scheduled" || state === "ready" || state === "retrying" ? dueAt : null

const transition = (run: Run, settlement: Transiting, now: number): Run | null => {
  const { token } = settlement
  switch (settlement.kind) {
    case "succeeded":
      return Transition.succeeded(run, token, settlement.output, now)
    case "failed":
      return Transition.failed(run, token, settlement.error, settlement.retryInMillis, now)
    case "snoozed":
      return Transition.snoozed(run, token, settlement.delayMillis, now)
    case "released":
      return Transition.released(run, token)
    case "declined":
      return Transition.declined(run, token, settlement.reason, now)
  }
}

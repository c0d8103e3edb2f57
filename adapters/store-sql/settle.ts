// One settlement, of whatever kind: what a plain success costs less for, each database does by itself.
import type { Settled, Settlement } from "../../core/domain/Outcome.ts"
import type { Run } from "../../core/domain/Run.ts"
import * as Transition from "../../core/domain/Transition.ts"
import type { Sql } from "./Sql.ts"
import type { Work } from "./Work.ts"

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
    const change = Transition.settled(run, settlement, work.now())
    if (change !== null) {
      yield* work.save(run, change.next, token, change.error)
      return { id, result: "settled", state: change.next.state, dueAt: dueOf(change.next) }
    }
  }
  // The answer to the first writing may have been lost: the same token gets what became of it.
  const repeated = token > 0 && settledToken === token && run.token === token && run.state !== "running"
  return { id, result: repeated ? "settled" : "stale", state: run.state, dueAt: dueOf(run) }
}

// When a run that waits for its time is due; of no meaning for others.
const dueOf = ({ state, dueAt }: Run): number | null =>
  state === "scheduled" || state === "ready" || state === "retrying" ? dueAt : null

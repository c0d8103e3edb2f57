// What follows when the store has answered an outcome, whoever carried the run: its event, the next look at what waits,
// and the watch over the flow that it belongs to.
import type { Expansion } from "../domain/Flow.ts"
import type { Outcome, Settled } from "../domain/Outcome.ts"
import { isFinal, type Run, type RunState } from "../domain/Run.ts"
import type { Events } from "../observe/Event.ts"
import type { FlowWatch } from "./FlowWatch.ts"

/** Tells what became of an attempt that took so long. */
export type Aftermath = (run: Run, outcome: Outcome, settled: Settled, durationMillis: number) => void

/** `onDue`: a run waits again, until this instant. */
export const makeAftermath = ({
  events,
  flows,
  onDue,
}: {
  readonly events: Events
  readonly flows: FlowWatch
  readonly onDue: (dueAt: number) => void
}): Aftermath => {
  const expandedAs = (run: Run, expansion: Expansion, state: RunState): void => {
    const isFlow = expansion.kind === "flow"
    const steps = isFlow ? expansion.definition.steps : expansion.items
    events.publish({ kind: "expanded", run, steps: steps.length })
    flows.expanded(run, isFlow ? expansion.definition.timeoutMillis : null)
    // No step to wait for: it has ended with the same write.
    if (state !== "blocked") flows.look([run.id])
  }
  return (run, outcome, settled, durationMillis) => {
    // The end of a step may be the end of its flow run; a stale one may come of that end.
    if (run.parentId !== null && (settled.state === null || isFinal(settled.state)))
      flows.look([run.parentId])
    if (settled.result === "stale" || settled.state === null) {
      events.publish({ kind: "stale", run })
      return
    }
    if (outcome.kind === "expanded") return expandedAs(run, outcome.expansion, settled.state)
    const waits = settled.state === "retrying" || settled.state === "scheduled"
    if (waits && settled.dueAt !== null) onDue(settled.dueAt)
    events.publish({
      kind: "ended",
      run,
      state: settled.state,
      durationMillis,
      error: outcome.kind === "failed" ? outcome.error : null,
      output: outcome.kind === "succeeded" ? outcome.output : null,
      dueAt: waits ? settled.dueAt : null,
    })
  }
}

// Which version of a flow a definition is: a text that follows from all that it says, the same on every runtime and in
// every process. Flow runs stay on the version that they began with, and a store keeps each version once.
import type { FlowDefinition } from "../domain/Flow.ts"
import { fingerprint } from "../domain/Ids.ts"

/** The definition with its version: 24 hex digits, 96 bits. Says nothing of the code that the steps run. */
export const versioned = (flow: Omit<FlowDefinition, "version">): FlowDefinition => {
  // Values in one order, whatever the order of the fields: two texts that differ say something different.
  const { name, output, failFast, timeoutMillis } = flow
  const steps = flow.steps.map(({ id, needs, rule, allowFailure, job, queue, priority, attemptMax }) => [
    id,
    [...new Set(needs)],
    rule ?? "all_success",
    allowFailure === true,
    job,
    queue,
    priority,
    attemptMax,
  ])
  const text = JSON.stringify([name, output, failFast, timeoutMillis, steps])
  return { ...flow, version: fingerprint(text) }
}

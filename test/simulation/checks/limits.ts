// I14: nothing that the engine asks of the store is over a limit of the port, so the store never refuses it for that; and
// no engine carries more than its slots. (A loop that broke is told by its supervisor: Fleet.ts hears it.)
import type { StoreOperation } from "../../../core/ports/Store.ts"
import type { Call } from "../Ground.ts"
import type { Check, Scene } from "./Check.ts"

/** Rows in one call, and due times in one window, as the port says. */
const rowsMax = 1000
const timesMax = 100_000

// Asked for by people, in words of their own: a refusal may be the right answer to that.
const byHand: ReadonlySet<StoreOperation> = new Set<StoreOperation>([
  "rerunFlow",
  "markStep",
  "replay",
  "cancel",
])

/** The checks. */
export const limitChecks = ({ watch, swarm, seats }: Scene): Check => {
  const checkSize = ({ operation, args }: Call): void => {
    const max = operation === "dueWithin" ? timesMax : rowsMax
    for (const arg of args) {
      const wish = (arg as { readonly limit?: unknown } | null)?.limit
      const size = Array.isArray(arg) ? arg.length : typeof wish === "number" ? wish : 0
      if (size > max) watch.violated("I14", `${operation} was asked for ${size} rows, more than ${max}`)
    }
  }
  return {
    saw: (call, _answer, refusal) => {
      checkSize(call)
      if (refusal === undefined) return
      const text = refusal instanceof Error ? refusal.message : "no error"
      if (!byHand.has(call.operation) || / more than |not a whole number/.test(text))
        watch.violated("I14", `${call.operation} was refused: ${text}`)
    },
    everySecond: () => {
      for (const { engine, name } of seats()) {
        const carried = engine?.load().carried ?? 0
        if (carried > swarm.slots)
          watch.violated("I14", `${name} carries ${carried} runs and has ${swarm.slots} slots`)
      }
    },
  }
}

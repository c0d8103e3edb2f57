// Queues, nodes and workers are whole-store things: what they say counts the runs of everybody, and what is done to them
// is done to everybody. So they are for callers that may see everything.
import { refuse } from "../problems.ts"
import type { Caller } from "./Handler.ts"

/** Throws for a caller who sees a part of the store only. */
export const needsWholeStore = ({ namespace }: Caller): void => {
  if (namespace === null) return
  throw refuse(
    "forbidden",
    `This key sees "${namespace}" only, and this is about all there is. Ask with a key without a namespace.`,
  )
}

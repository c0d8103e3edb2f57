// The outcomes of attempts that were stopped, in the same words as an engine's own: whoever reads them need not know where
// the handler ran.
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import type { StopReason } from "../../core/ports/Executor.ts"

/** A handler that was told of a cancel and went on. */
export const deaf: Outcome = failed(
  { name: "Cancelled", message: "The handler went on after its run was cancelled", kind: "cancelled" },
  false,
)

/** Its limit of time is over; `null`: the server's word for it. */
export const timedOut = (millis: number | null): Outcome => {
  const limit = millis === null ? "its limit" : `its limit of ${millis} ms`
  return failed({ name: "Timeout", message: `The attempt took longer than ${limit}`, kind: "timeout" })
}

/** A handler that goes on for so long that nobody waits for it any more. */
export const unheard = (reason: StopReason): Outcome =>
  failed({
    name: "HandlerDeaf",
    message: `The handler went on after it was told to stop (${reason})`,
    kind: "lost",
  })

/** It was told to stop before its handler was called: nothing was done, and unless somebody gave it up it goes back. */
export const notBegun = (reason: StopReason, timeoutMillis: number | null): Outcome => {
  if (reason === "timeout") return timedOut(timeoutMillis)
  return reason === "cancelled"
    ? failed({ name: "Cancelled", message: "The run was cancelled", kind: "cancelled" }, false)
    : { kind: "released" }
}

// Answering a request with a run at its end, as far as whoever asks is willing to wait: for `wait`, and for what sends a run
// with `Prefer: wait=30`.
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import { refuse } from "../problems.ts"
import { waitMillisMax, waitsMax } from "../RunWaits.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Caller } from "./Handler.ts"
import { runOf } from "./runOf.ts"

/**
 * The run when it has ended, or as it is after so many milliseconds, when the client goes, or when the server stops. Throws
 * `notFound`, and `tooMany` when many wait.
 */
export const awaitedRun = async (
  parts: Pick<ApiParts, "store" | "waits">,
  caller: Caller,
  id: string,
  { millis, signal }: { readonly millis: number; readonly signal: AbortSignal },
): Promise<Run> => {
  const wait = parts.waits.begin(id, millis, signal)
  if (wait === undefined)
    throw refuse("tooMany", `${waitsMax} requests wait for runs on this server. Ask again in a moment.`, {
      retryable: true,
      headers: { "retry-after": "2" },
    })
  try {
    const run = await runOf(parts, caller, id)
    if (isFinal(run.state)) return run
    await wait.over
    return await runOf(parts, caller, id)
  } finally {
    wait.end()
  }
}

/** The seconds of `Prefer: wait=30`, at most 60; `undefined` without, and for what cannot be read, as RFC 7240 says. */
export const preferredSeconds = (headers: Headers): number | undefined => {
  const seconds = /(?:^|[,;\s])wait=(\d{1,6})(?:$|[,;\s])/i.exec(headers.get("prefer") ?? "")?.[1]
  return seconds === undefined ? undefined : Math.min(Number(seconds), waitMillisMax / 1_000)
}

/** The header that says that it was heard. */
export const preferenceApplied = (seconds: number | undefined): Readonly<Record<string, string>> =>
  seconds === undefined ? {} : { "preference-applied": `wait=${seconds}` }

// Waiting for the end of a run, in whichever process it ends.
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { NotFound } from "../../core/domain/Errors.ts"
import { decodePayload } from "../../core/domain/Payload.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { EngineService } from "../../core/engine/Engine.ts"

// How often a run is looked at that another process may end; events tell of those that end here.
const lookEveryMillis = 500

/** Waits for the end of a run: its output, or `RunFailed`; looks twice a second, and when an event tells of it. */
export const waitFor = async (
  id: string,
  timeout: TimeSpan | undefined,
  core: EngineService,
  get: (id: string) => Promise<Run | undefined>,
  run: (effect: Effect.Effect<unknown>) => Promise<unknown>,
): Promise<unknown> => {
  const millis = timeout === undefined ? null : Result.getOrThrow(parseSpan("timeout", timeout))
  // Heard from before the first look, so that no end falls between a look and the wait behind it.
  const ear = { heard: false, hear: () => {} }
  const stopListening = core.events.listen((event) => {
    if (event.kind !== "ended" || event.run.id !== id) return
    ear.heard = true
    ear.hear()
  })
  const ended = Effect.callback<void>((resume) => {
    ear.hear = () => resume(Effect.void)
    if (ear.heard) ear.hear()
  })
  try {
    for (let waited = 0; ;) {
      ear.heard = false
      const found = await get(id)
      if (found === undefined) throw notFound("run", id)
      if (found.state === "succeeded") return decodePayload(found.output)
      if (isFinal(found.state)) throw new RunFailed(found)
      if (millis !== null && waited >= millis)
        throw new Error(`Run ${id} is ${found.state} after ${millis} ms`)
      const wait = Math.min(lookEveryMillis, millis === null ? lookEveryMillis : millis - waited)
      await run(Effect.raceFirst(ended, Effect.sleep(wait)))
      waited += wait
    }
  } finally {
    stopListening()
  }
}

/** What `result()` throws when the run ended otherwise than succeeded. */
export class RunFailed extends Error {
  override readonly name = "RunFailed"
  readonly run: Run

  constructor(run: Run) {
    const why = run.error?.message ?? run.reason ?? "no reason is known"
    super(`Run ${run.id} of job "${run.job}" ended ${run.state}: ${why}`)
    this.run = run
  }
}

/** The refusal of an id that is not there. */
export const notFound = (what: string, id: string): NotFound =>
  new NotFound({
    id,
    field: what,
    reason: `there is no ${what} "${id}"`,
    next: "Check the id; old runs are removed.",
  })

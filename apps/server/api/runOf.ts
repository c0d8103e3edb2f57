// The run that a request is about. One that the caller may not see is answered as one that is not there.
import { isRunId } from "../../../core/domain/Ids.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { refuse, type Refused } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { type Caller, maySee } from "./Handler.ts"

/** The run of an id, as far as the caller may see it; throws what is answered where there is none. */
export const runOf = async ({ store }: Pick<ApiParts, "store">, caller: Caller, id: string): Promise<Run> => {
  const [run] = isRunId(id) ? await store.get([id]) : []
  if (run === undefined || !maySee(caller, run.job)) throw gone(id)
  return run
}

const gone = (id: string): Refused =>
  refuse(
    "notFound",
    isRunId(id)
      ? `There is no run ${id}: it never was, or it ended so long ago that it is not kept any more.`
      : "This is no id of a run: those are UUIDv7 in lower case.",
  )

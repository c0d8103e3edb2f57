// Why a run waits, or how it ended, as far as the config of this server and its store tell.
import type { Run } from "../../../core/domain/Run.ts"
import { spanOf } from "../../../core/domain/TimeSpan.ts"
import { redactText } from "../../../core/observe/redact.ts"
import type { Explanation } from "../../../core/run/Explain.ts"
import { explainRun, surroundingsOf } from "../../sdk/explainRun.ts"
import type { ApiParts } from "./ApiParts.ts"
import { type Caller, maySee } from "./Handler.ts"

/** Explains a run, naming no other that the caller may not see. */
export const explanationOf = async (
  { store, project }: Pick<ApiParts, "store" | "project">,
  caller: Caller,
  run: Run,
): Promise<Explanation> => {
  const { why, next } = await explainRun(store, run, {
    ...surroundingsOf(project, run.job),
    words: { at: (millis) => new Date(millis).toISOString(), span: spanOf },
    maySee: (job) => maySee(caller, job),
  })
  return { why: redactText(why), next }
}

// What may run beside functions, and the checks of the work of jobs and steps against it. All of it is pure: whether a
// program is there is found out when it is started.
import * as Result from "effect/Result"
import {
  type CheckedRules,
  checkRequest,
  checkRules,
  type Request,
} from "../../adapters/executor-http/Request.ts"
import type { RequestRules } from "../../adapters/executor-http/Request.ts"
import { checkCommand, checkPrograms, type Command } from "../../adapters/executor-subprocess/Command.ts"
import type { InvalidInput } from "../../core/domain/Errors.ts"
import { quote } from "../../core/domain/TimeSpan.ts"
import type { CheckedFlow } from "./checkFlow.ts"
import type { Job } from "./job.ts"
import { refuse } from "./send.ts"
import { isWork, type Work } from "./work.ts"

/** Which programs may run. */
export interface CommandRules {
  /**
   * Names, which are looked up in the engine's own PATH, or absolute paths. A job runs none that is not here, so without
   * this list none at all.
   */
  readonly programs?: ReadonlyArray<string>
}

/** What jobs may do beside running functions. */
export interface ExecutorRules {
  readonly command?: CommandRules
  readonly request?: RequestRules
}

/** Work of a job, checked. */
export type CheckedWork =
  | { readonly kind: "command"; readonly spec: Command }
  | { readonly kind: "request"; readonly spec: Request }

/** The work of all jobs and steps, by the job whose runs do it. */
export interface CheckedWorks {
  readonly rules: CheckedRules
  readonly byJob: ReadonlyMap<string, CheckedWork>
}

/** Checks the rules, and the work against them. */
export const checkWorks = (
  given: unknown = {},
  jobs: ReadonlyArray<Job<any, any>>,
  flows: ReadonlyArray<CheckedFlow>,
): Result.Result<CheckedWorks, InvalidInput> =>
  Result.gen(function* () {
    if (typeof given !== "object" || given === null)
      return yield* refuse("executors", given, "an object of rules")
    const { command = {}, request } = given as ExecutorRules
    if (typeof command !== "object" || command === null)
      return yield* refuse("executors.command", command, "an object such as `{ programs: [...] }`")
    const programs = yield* checkPrograms("executors.command.programs", command.programs ?? [])
    const rules = yield* checkRules("executors.request", request)
    const byJob = new Map<string, CheckedWork>()
    const check = (place: string, job: string, run: Work<any>) =>
      Result.gen(function* () {
        const work = run["~work"]
        // Nobody here does it.
        if (work.kind === "workers") return
        byJob.set(
          job,
          work.kind === "command"
            ? {
                kind: "command",
                spec: yield* checkCommand(place, work.program, work.args, work.options, programs),
              }
            : { kind: "request", spec: yield* checkRequest(place, work.url, work.options, rules) },
        )
      })
    for (const { name, options } of jobs)
      if (isWork(options.run)) yield* check(`job "${name}".run`, name, options.run)
    for (const { definition, steps } of flows)
      for (const { id, job, items, options } of steps)
        if (isWork(options.run))
          yield* check(`flow "${definition.name}": step ${quote(id)}.run`, items?.name ?? job, options.run)
    return { rules, byJob }
  })

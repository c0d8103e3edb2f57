// What jobs, flows, steps and the items of lists have in common: where and how often their work is tried.
import * as Result from "effect/Result"
import type { InvalidInput } from "../../core/domain/Errors.ts"
import { type Job as CoreJob, parseName } from "../../core/domain/Job.ts"
import { parseRetry, type RetryOptions } from "../../core/domain/RetryPolicy.ts"
import type { Placement } from "../../core/domain/Placement.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { type CompiledPlacement, compilePlacement } from "../../core/worker/Placement.ts"
import { refuse } from "./send.ts"
import type { Config } from "./config.ts"
import { isFlow, stepJobs } from "./flow.ts"
import { isOnWorkers } from "./work.ts"

/** The job of this name, without needs; `place` begins the fields of its options in error texts. */
export const checkWork = (
  place: string,
  name: string,
  options: {
    readonly queue?: string
    readonly priority?: number
    readonly retry?: RetryOptions | undefined
    readonly timeout?: TimeSpan | undefined
  },
): Result.Result<CoreJob, InvalidInput> =>
  Result.gen(function* () {
    const priority = options.priority ?? 0
    if (!Number.isInteger(priority) || Math.abs(priority) > 1000)
      return yield* refuse(`${place}.priority`, priority, "a whole number from -1000 to 1000")
    return {
      name,
      queue: yield* parseName(`${place}.queue`, options.queue ?? "default"),
      priority,
      retry: yield* parseRetry(`${place}.retry`, options.retry),
      timeoutMillis:
        options.timeout === undefined ? null : yield* parseSpan(`${place}.timeout`, options.timeout, 1),
      needs: [],
    }
  })

/** Where runs go whose work is `run`: the placement of what is left to workers, nothing for all else. */
export const checkPlaced = (
  place: string,
  run: unknown,
): Result.Result<{ readonly placement?: Placement }, InvalidInput> =>
  Result.gen(function* () {
    if (!isOnWorkers(run)) return {}
    const { options } = run["~work"]
    if (typeof options !== "object" || options === null)
      return yield* refuse(`${place}.run`, options, 'options such as `onWorkers({ where: "gpu > 1" })`')
    const { by = "leastLoaded", where = null, broadcast = false } = options
    const placement: Placement = { by, where, broadcast }
    yield* compilePlacement(`${place}.run`, placement)
    return { placement }
  })

/**
 * Where the runs of this name go, by a config that need not be checked: as its placement says; to any worker (`null`), as
 * the engine has no slots of its own; `undefined`: to the engine, which also says itself which steps a flow has, or it is
 * not known.
 */
export const placementIn = ({ jobs, worker }: Config, name: string): CompiledPlacement | null | undefined => {
  const run = jobs.map((member) => runOf(member, name)).find((found) => found !== undefined)
  if (!isOnWorkers(run)) return run !== undefined && worker?.concurrency === 0 ? null : undefined
  const field = `job "${name}"`
  const placed = Result.flatMap(checkPlaced(field, run), ({ placement }) =>
    placement === undefined ? Result.succeed(undefined) : compilePlacement(field, placement),
  )
  return Result.getOrUndefined(placed)
}

/** What does the work of the runs of this name: a job's, a step's, or that of a list's items. */
const runOf = (member: Config["jobs"][number], name: string): unknown => {
  if (!isFlow(member))
    return member.name === name ? (member.options as { run?: unknown } | undefined)?.run : undefined
  const step = member.steps.find((each) => {
    const [own, items] = stepJobs(member.name, each)
    return (items ?? own) === name
  })
  return step?.options?.run
}

// Executors side by side, and executors of work that is described by data (a program, a request) instead of code.
import * as Result from "effect/Result"
import { DuplicateName } from "../domain/Errors.ts"
import { missingHandler, type Outcome } from "../domain/Outcome.ts"
import type { Run } from "../domain/Run.ts"
import type { Assignment, Executor, Started } from "./Executor.ts"

/**
 * One executor of several: each starts the attempts of its own jobs, and no job may be in two of them. What none of
 * them has fails like a job without a handler.
 */
export const composeExecutors = (
  executors: ReadonlyArray<Executor["Service"]>,
): Result.Result<Executor["Service"], DuplicateName> => {
  const owners = new Map<string, Executor["Service"]>()
  for (const [index, executor] of executors.entries()) {
    for (const job of executor.jobs) {
      if (owners.has(job)) {
        return Result.fail(
          new DuplicateName({
            name: job,
            field: `executors[${index}].jobs`,
            reason: `job "${job}" is one of another executor already`,
            next: "Leave it with one of them.",
          }),
        )
      }
      owners.set(job, executor)
    }
  }
  return Result.succeed({
    jobs: new Set(owners.keys()),
    start: (assignment, done) => {
      const owner = owners.get(assignment.run.job)
      if (owner !== undefined) return owner.start(assignment, done)
      done(missingHandler(assignment.run.job))
      return { stop: () => {} }
    },
  })
}

/** What work outside of this process is given of an attempt. */
export interface Task {
  readonly run: Run
  /** JSON text. */
  readonly input: string
}

/** Does work of one kind, each piece described by a `Spec`. */
export interface WorkRunner<Spec> {
  /** As an executor's `start`: never throws, and calls `done` exactly once. */
  readonly start: (spec: Spec, task: Task, done: (outcome: Outcome) => void) => Started
  /** Ends what is under way, as for a lost lease, and waits for its end, a few seconds at most. Starts nothing more. */
  readonly close: () => Promise<void>
}

/** A job whose work is described. */
export interface DescribedJob<Spec> {
  readonly spec: Spec
  /** The JSON text that the work is given; default `taskInput`. */
  readonly input?: (assignment: Assignment) => string
}

/** An executor of such jobs. */
export const workExecutor = <Spec>(
  runner: WorkRunner<Spec>,
  jobs: ReadonlyMap<string, DescribedJob<Spec>>,
): Executor["Service"] => ({
  jobs: new Set(jobs.keys()),
  start: (assignment, done) => {
    const { run } = assignment
    const job = jobs.get(run.job)
    if (job !== undefined)
      return runner.start(job.spec, { run, input: (job.input ?? taskInput)(assignment) }, done)
    done(missingHandler(run.job))
    return { stop: () => {} }
  },
})

/**
 * The run's input, `null` when it has none; with needs `{"input": ..., "needs": {...}}`. `names` says under which names
 * the outputs of the needed jobs are found; default: those of the jobs that the run needed.
 */
export const taskInput = (
  { run, needs }: Assignment,
  names: ReadonlyArray<readonly [name: string, job: string]> = [...needs.keys()].map((job) => [job, job]),
): string => {
  const input = run.input ?? "null"
  if (names.length === 0) return input
  const outputs = names.map(([name, job]) => `${JSON.stringify(name)}:${needs.get(job) ?? "null"}`)
  return `{"input":${input},"needs":{${outputs.join(",")}}}`
}

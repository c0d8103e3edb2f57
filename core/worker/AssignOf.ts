// The message that gives a run to a worker, but for its id.
import type { Run } from "../domain/Run.ts"
import type { Assignment } from "../ports/Executor.ts"
import type { Assign } from "../protocol/Message.ts"
import type { shardOf } from "./Broadcast.ts"

/** What claimed runs may read beside their input. */
export type Inputs = Pick<Assignment, "needs" | "step">

/** `part`: which part of a broadcast it is, `null` for none. */
export const assignOf = (
  run: Run,
  { needs, step }: Inputs,
  part: ReturnType<typeof shardOf>,
  timeoutMillis: number | null,
  lateMillis: number,
): Omit<Assign, "type" | "id"> => ({
  run: run.id,
  attempt: run.attempt,
  token: run.token,
  job: run.job,
  queue: run.queue,
  input: part === null ? run.input : part.input,
  attemptMax: run.attemptMax,
  timeoutMillis,
  dueAt: run.dueAt,
  lateMillis,
  nominalAt: run.nominalAt,
  schedule: run.scheduleId,
  needs: [...needs].map(([job, output]) => ({ job, output })),
  step:
    step === null || run.parentId === null || run.step === null
      ? null
      : { place: run.step, parent: run.parentId, input: step.input, needs: step.needs },
  ...(part === null ? {} : { shard: { index: part.shard.index, count: part.shard.count } }),
})

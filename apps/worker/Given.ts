// From an assignment as it travels to one as handlers are given it. What a handler cannot see of its run is not told to
// workers, and stands here as it is for any run that is at work.
import type { Run } from "../../core/domain/Run.ts"
import type { Assignment } from "../../core/ports/Executor.ts"
import type { Assign } from "../../core/protocol/Message.ts"

/** The assignment, begun `waitedMillis` after it arrived: lateness is the server's word, plus that. */
export const givenOf = (assign: Assign, waitedMillis: number): Assignment => {
  const { step, shard } = assign
  return {
    run: runOf(assign, Math.round(waitedMillis)),
    needs: new Map(assign.needs.map(({ job, output }) => [job, output])),
    step: step === null ? null : { runId: assign.run, input: step.input, needs: step.needs },
    timeoutMillis: assign.timeoutMillis,
    ...(shard === undefined ? {} : { shard }),
  }
}

const runOf = (assign: Assign, waitedMillis: number): Run => ({
  id: assign.run,
  job: assign.job,
  queue: assign.queue,
  input: assign.input,
  dueAt: assign.dueAt,
  delayMillis: 0,
  priority: 0,
  attempt: assign.attempt,
  attemptMax: assign.attemptMax,
  token: assign.token,
  key: null,
  expiresAt: null,
  scheduleId: assign.schedule,
  nominalAt: assign.nominalAt,
  chainId: null,
  needs: [],
  replayOf: null,
  parentId: assign.step?.parent ?? null,
  step: assign.step?.place ?? null,
  state: "running",
  createdAt: assign.dueAt,
  losses: 0,
  node: null,
  waitingFor: 0,
  // By the server's clock, so that this machine's need not be right.
  startedAt: assign.dueAt + assign.lateMillis + waitedMillis,
  startAcknowledged: true,
  endedAt: null,
  output: null,
  error: null,
  reason: null,
})

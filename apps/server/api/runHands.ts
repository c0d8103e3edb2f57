// What people do to a run: cancel it, or run it again.
import { isFinal } from "../../../core/domain/Run.ts"
import type { runsApi } from "../../api/runs.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Caller, Handlers } from "./Handler.ts"
import { runOf } from "./runOf.ts"
import { runView } from "./runViews.ts"

/** Behind the routes. */
export const runHandHandlers: Pick<Handlers<typeof runsApi>, "cancelRun" | "retryRun" | "replayRun"> = {
  cancelRun: async ({ params, body, caller, parts }) => {
    const before = await runOf(parts, caller, params.id)
    if (!isFinal(before.state))
      await inTime(
        parts.engine().cancel(before.id, body.reason ?? `Cancelled by ${caller.name}`),
        answerMillisMax,
        noAnswer,
      )
    const run = await runOf(parts, caller, params.id)
    if (run.state !== "cancelled")
      throw refuse(
        "conflict",
        `Run ${run.id} has ended as ${run.state}: there is nothing to cancel any more.`,
      )
    return { status: 200, body: runView(run), audit: { job: run.job, run: run.id, state: before.state } }
  },

  retryRun: async ({ params, caller, parts }) => {
    const { id, state, dueAt } = await runOf(parts, caller, params.id)
    if (state === "retrying")
      throw refuse(
        "conflict",
        `Run ${id} starts its next attempt by itself, at ${new Date(dueAt).toISOString()}; a store cannot bring that forward. To start at once, cancel it and send its input as a new run.`,
      )
    return replayed(parts, caller, id)
  },

  replayRun: ({ params, caller, parts }) => replayed(parts, caller, params.id),
}

const replayed = async (parts: ApiParts, caller: Caller, id: string) => {
  const { job, state, parentId } = await runOf(parts, caller, id)
  const [answer] = await inTime(parts.engine().replayAll([id]), answerMillisMax, noAnswer)
  if (answer === undefined || answer.newRunId === null) {
    const why =
      parentId !== null
        ? `Run ${id} is a part of flow run ${parentId}, which is the one to run again.`
        : state === "dead"
          ? `The dead letter of run ${id} was dropped. Send its input as a new run.`
          : `Run ${id} is ${state}, and only a dead run is run again. ${isFinal(state) ? "Send its input as a new run." : "Wait for its end, or cancel it."}`
    throw refuse("conflict", why)
  }
  const run = await runOf(parts, caller, answer.newRunId)
  return {
    status: answer.result === "created" ? (201 as const) : (200 as const),
    body: runView(run),
    headers: { location: `/v1/runs/${run.id}` },
    audit: { job, run: id, newRun: run.id },
  }
}

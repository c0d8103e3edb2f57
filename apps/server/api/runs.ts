// `/v1/runs`: sending a run and reading one. A run that was acknowledged is in the store; sending it again with the same
// id, or with its key while it has not ended, answers the one that is there.
import * as Result from "effect/Result"
import { UnknownJob } from "../../../core/domain/Errors.ts"
import { isRunId } from "../../../core/domain/Ids.ts"
import { knownNames } from "../../../core/domain/Job.ts"
import { decodePayload, encodePayload } from "../../../core/domain/Payload.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { runsApi } from "../../api/runs.ts"
import type { Project } from "../../sdk/config.ts"
import type { Startable } from "../../sdk/job.ts"
import type { SendOptions } from "../../sdk/send.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer, type Refused, refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"

/** Behind the routes. */
export const runHandlers: Handlers<typeof runsApi> = {
  sendRun: async ({ body, caller, parts }) => {
    const { job, input, ...options } = body
    const running = parts.engine()
    // Times are texts of any kind here, and checked by the engine.
    const sent = running.send(startableOf(parts.project, caller, job), input, options as SendOptions)
    const { id, created } = await inTime(sent, answerMillisMax, noAnswer)
    const run = await runOf(parts, caller, id)
    if (!created && options.id === id) checkSame(run, job, input)
    return {
      status: created ? 201 : 200,
      body: runView(run),
      headers: { location: `/v1/runs/${id}` },
      audit: { job, run: id },
    }
  },

  getRun: async ({ params, caller, parts }) => ({
    status: 200,
    body: runView(await runOf(parts, caller, params.id)),
  }),
}

/** The job or flow of a name, as far as the caller may see it; throws `UnknownJob`. */
export const startableOf = (project: Project, caller: Caller, name: string): Startable<unknown, unknown> => {
  const found = maySee(caller, name) ? (project.jobs.get(name) ?? project.flows.get(name)?.flow) : undefined
  if (found !== undefined) return found
  const known = new Map<string, unknown>(
    [...project.jobs, ...project.flows].filter(([each]) => maySee(caller, each)),
  )
  throw new UnknownJob({
    job: name,
    field: "job",
    reason: "no job or flow of this name is defined",
    next: `Correct the name. Known: ${knownNames(known)}.`,
  })
}

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

// Who sends an id again means the same run. Anything else is a mistake that must not pass for success.
const checkSame = (run: Run, job: string, input: unknown): void => {
  const sent = Result.getOrThrow(encodePayload("input", input))
  const field = run.job !== job ? "job" : run.input !== sent ? "input" : undefined
  if (field === undefined) return
  throw refuse(
    "idTaken",
    `Run ${run.id} is there with another ${field}. Make a new id for each run that you want, and send the same again only with all of its values.`,
    { errors: [{ pointer: `/${field}`, detail: "differs from that of the run with this id" }] },
  )
}

/** A run as it is answered: its payloads as JSON, its instants in epoch milliseconds. */
export const runView = ({
  input,
  output,
  delayMillis: _delay,
  startAcknowledged: _started,
  ...run
}: Run) => ({
  ...run,
  input: decodePayload(input) ?? null,
  output: decodePayload(output) ?? null,
})

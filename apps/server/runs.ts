// `/v1/runs`: sending a run and reading one. A run that was acknowledged is in the store; sending it again with the same
// id, or with its key while it has not ended, answers the one that is there.
import { Hono } from "hono"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { UnknownJob } from "../../core/domain/Errors.ts"
import { isRunId } from "../../core/domain/Ids.ts"
import { knownNames } from "../../core/domain/Job.ts"
import { decodePayload, encodePayload } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { Project } from "../sdk/config.ts"
import type { RunningEngine } from "../sdk/engine.ts"
import type { Startable } from "../sdk/job.ts"
import type { SendOptions } from "../sdk/send.ts"
import { bodyOf } from "./body.ts"
import { inTime } from "./inTime.ts"
import { answerMillisMax, noAnswer, Refused } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"

const text = (max: number) => Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(max))
const instantOrSpan = Schema.optionalKey(Schema.Union([text(64), Schema.Finite]))

/** The body of a request for a run. */
export const RunBody = Schema.Struct({
  job: text(128),
  /** Any JSON; checked by the job's schema. */
  input: Schema.optionalKey(Schema.Unknown),
  /** Epoch milliseconds, or an instant as text. */
  at: instantOrSpan,
  /** Milliseconds, or a span such as `5m`. */
  delay: instantOrSpan,
  key: Schema.optionalKey(text(512)),
  /** A UUIDv7. */
  id: Schema.optionalKey(text(36)),
  priority: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: -1000, maximum: 1000 }))),
  queue: Schema.optionalKey(text(128)),
  startWithin: instantOrSpan,
})

const fields: ReadonlySet<string> = new Set(Object.keys(RunBody.fields))

/** Whether a refusal of the engine is about a field of the body. */
export const isRunField = (name: string): boolean => fields.has(name)

const readBody = bodyOf(RunBody)

/** The routes. `engine` throws while there is none. */
export const runRoutes = (project: Project, engine: () => RunningEngine): Hono<ServerEnv> => {
  const jobOf = (name: string): Startable<unknown, unknown> => {
    const found = project.jobs.get(name) ?? project.flows.get(name)?.flow
    if (found !== undefined) return found
    throw new UnknownJob({
      job: name,
      field: "job",
      reason: "no job or flow of this name is defined",
      next: `Correct the name. Known: ${knownNames(new Map<string, unknown>([...project.jobs, ...project.flows]))}.`,
    })
  }
  return new Hono<ServerEnv>()
    .post("/", async (c) => {
      const { job, input, ...options } = await readBody(c)
      const running = engine()
      // Times are texts of any kind here, and checked by the engine.
      const sent = running.send(jobOf(job), input, options as SendOptions)
      const { id, created } = await inTime(sent, answerMillisMax, noAnswer)
      const run = await inTime(running.run(id), answerMillisMax, noAnswer)
      if (run === undefined) throw gone(id)
      if (!created && options.id === id) checkSame(run, job, input)
      return c.json(runView(run), created ? 201 : 200, { location: `/v1/runs/${id}` })
    })
    .get("/:id", async (c) => {
      const id = c.req.param("id")
      const run = isRunId(id) ? await inTime(engine().run(id), answerMillisMax, noAnswer) : undefined
      if (run === undefined) throw gone(id)
      return c.json(runView(run))
    })
}

const gone = (id: string): Refused =>
  new Refused({
    status: 404,
    code: "notFound",
    title: "There is nothing of this id",
    detail: isRunId(id)
      ? `There is no run ${id}: it never was, or it ended so long ago that it is not kept any more.`
      : "This is no id of a run: those are UUIDv7 in lower case.",
  })

// Who sends an id again means the same run. Anything else is a mistake that must not pass for success.
const checkSame = (run: Run, job: string, input: unknown): void => {
  const sent = Result.getOrThrow(encodePayload("input", input))
  const field = run.job !== job ? "job" : run.input !== sent ? "input" : undefined
  if (field === undefined) return
  throw new Refused({
    status: 409,
    code: "idTaken",
    title: "Another run has this id",
    detail: `Run ${run.id} is there with another ${field}. Make a new id for each run that you want, and send the same again only with all of its values.`,
    errors: [{ pointer: `/${field}`, detail: "differs from that of the run with this id" }],
  })
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

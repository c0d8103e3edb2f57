// Sending runs, one or many. A run that was acknowledged is in the store; sending it again with the same id, or with its
// key while it has not ended, answers the one that is there.
import * as Result from "effect/Result"
import { UnknownJob } from "../../../core/domain/Errors.ts"
import { knownNames } from "../../../core/domain/Job.ts"
import { encodePayload, errorInfo } from "../../../core/domain/Payload.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { runsApi } from "../../api/runs.ts"
import type { Project } from "../../sdk/config.ts"
import type { Startable } from "../../sdk/job.ts"
import type { SendOptions } from "../../sdk/send.ts"
import { type SendItem, SendsRefused } from "../../sdk/sendMany.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, type FieldError, noAnswer, pointerOf, refuse } from "../problems.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"
import { runView } from "./runViews.ts"
import { awaitedRun, preferenceApplied, preferredSeconds } from "./runWait.ts"

// As many as are told of a wrong body.
const errorsMax = 20

/** Behind the routes. */
export const runSendHandlers: Pick<Handlers<typeof runsApi>, "sendRun" | "sendRuns"> = {
  sendRun: async ({ body, headers, caller, signal, parts }) => {
    const { job, input, ...options } = body
    const running = parts.engine()
    // Times are texts of any kind here, and checked by the engine.
    const sent = running.send(startableOf(parts.project, caller, job), input, options as SendOptions)
    const { id, created } = await inTime(sent, answerMillisMax, noAnswer)
    const seconds = preferredSeconds(headers)
    const [run] = await parts.store.get([id])
    // Ended and pruned within this moment, or another store than the engine's.
    if (run === undefined) throw noAnswer()
    const other = created || options.id !== id ? null : differenceOf(run, job, input)
    if (other !== null)
      throw refuse("idTaken", takenText(id, other), {
        errors: [{ pointer: `/${other}`, detail: "differs from that of the run with this id" }],
      })
    const after =
      seconds === undefined ? run : await awaitedRun(parts, caller, id, { millis: seconds * 1_000, signal })
    return {
      status: created ? 201 : 200,
      body: runView(after),
      headers: { location: `/v1/runs/${id}`, ...preferenceApplied(seconds) },
      audit: { job, run: id },
    }
  },

  sendRuns: async ({ body: { runs }, caller, parts }) => {
    const items = itemsOf(parts.project, caller, runs)
    const sent = await inTime(parts.engine().sendMany(items), answerMillisMax, noAnswer).catch(
      (error: unknown) => {
        throw error instanceof SendsRefused ? refusalOf(error.refusals) : error
      },
    )
    // Only what was there before, with an id of the caller's, has to be read: it may be another run.
    const doubtful = sent.flatMap(({ id, created }, index) =>
      !created && runs[index]?.id === id ? [id] : [],
    )
    const found = new Map(
      doubtful.length === 0
        ? []
        : (await parts.store.get(doubtful)).map((run): [string, Run] => [run.id, run]),
    )
    return {
      status: 200,
      body: {
        items: sent.map(({ id, created }, index) => {
          const { job = "", input, id: own } = runs[index] ?? {}
          const run = created || own !== id ? undefined : found.get(id)
          const other = run === undefined ? null : differenceOf(run, job, input)
          const problem = other === null ? null : { code: "idTaken" as const, detail: takenText(id, other) }
          return { id, created, problem }
        }),
      },
      audit: { runs: sent.length, created: sent.filter(({ created }) => created).length },
    }
  },
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

type Sends = ReadonlyArray<{ readonly job: string; readonly input?: unknown }>

const itemsOf = (project: Project, caller: Caller, runs: Sends): ReadonlyArray<SendItem> => {
  const refusals: Array<SendsRefused["refusals"][number]> = []
  const items: Array<SendItem> = []
  for (const [index, { job, input, ...options }] of runs.entries()) {
    try {
      items.push({ job: startableOf(project, caller, job), input, options })
    } catch (error) {
      refusals.push({ index, error })
    }
  }
  if (refusals.length > 0) throw refusalOf(refusals)
  return items
}

/** Why nothing of many was stored. */
const refusalOf = (refusals: SendsRefused["refusals"]) => {
  const errors = refusals.slice(0, errorsMax).map(({ index, error }): FieldError => ({
    pointer: `/runs/${index}${pointerOf((error as { readonly field?: unknown } | null)?.field)}`,
    detail: errorInfo(error).message,
  }))
  const count = refusals.length === 1 ? "One run is" : `${refusals.length} runs are`
  return refuse(
    "invalidInput",
    `${count} not acceptable, so none is stored; \`errors\` says which. Correct them, or leave them out, and send the rest again.`,
    { errors },
  )
}

/** Who sends an id again means the same run. Anything else is a mistake that must not pass for success. */
const differenceOf = (run: Run, job: string, input: unknown): "job" | "input" | null => {
  if (run.job !== job) return "job"
  return run.input === Result.getOrThrow(encodePayload("input", input)) ? null : "input"
}

const takenText = (id: string, field: string): string =>
  `Run ${id} is there with another ${field}. Make a new id for each run that you want, and send the same again only with all of its values.`

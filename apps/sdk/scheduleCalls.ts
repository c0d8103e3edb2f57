// What programs and people ask of schedules: to make, change and remove those that are not of the config, to pause one, to
// start a run now, to leave out the next instant, to fill the past.
import * as Result from "effect/Result"
import type * as Effect from "effect/Effect"
import { DuplicateName, InvalidInput, InvalidSchedule, UnknownJob } from "../../core/domain/Errors.ts"
import { knownNames, parseName } from "../../core/domain/Job.ts"
import type { NewSchedule, ScheduleRow } from "../../core/domain/Schedule.ts"
import type { Backfilled } from "../../core/engine/Backfill.ts"
import type { ScheduleHands } from "../../core/engine/ScheduleHands.ts"
import { ScheduleStore, type Store } from "../../core/ports/Store.ts"
import { type BackfillOptions, checkBackfill } from "./backfill.ts"
import { checkSchedule } from "./checkSchedule.ts"
import type { Project } from "./config.ts"
import { refuse } from "./send.ts"
import type { TriggerSpec } from "./triggers.ts"
import { notFound } from "./waitFor.ts"

/** A schedule that a program makes. */
export interface ScheduleRequest {
  /** The job or flow whose runs it starts. */
  readonly job: string
  /** When: `cron()`, `every()`, `after()` or `at()`, with all that they take. */
  readonly on: TriggerSpec
}

/** What can be asked of schedules. */
export interface ScheduleCalls {
  /** By id, those of the config and the others. */
  readonly schedules: () => Promise<ReadonlyArray<ScheduleRow>>
  /**
   * Makes a schedule that no config has. It is in the store, and outlives the engine; each node on the store plans it
   * that knows its job. Throws `DuplicateName` for an id that is taken, also by a job's own schedule.
   */
  readonly createSchedule: (id: string, request: ScheduleRequest) => Promise<ScheduleRow>
  /**
   * Changes one that was made so: it keeps its age, its pause and its ledger, and its old pattern never starts again.
   * One of the config is changed there: throws `InvalidInput`.
   */
  readonly editSchedule: (id: string, request: ScheduleRequest) => Promise<ScheduleRow>
  /** Removes one that was made so; its runs and its ledger stay. */
  readonly deleteSchedule: (id: string) => Promise<void>
  /** Pauses, with a note that says why, or resumes. What passes in the pause is recorded as paused, and not caught up. */
  readonly pauseSchedule: (id: string, paused?: boolean, note?: string) => Promise<void>
  /** Leaves out the schedule's next instant; answers which it was, `null` when it has none. */
  readonly skipNext: (id: string) => Promise<Date | null>
  /** Starts a run of the schedule now, beside its instants; answers its id. Refused where its overlap forbids it. */
  readonly runNow: (id: string) => Promise<string>
  /** Gives instants of the past that have no run theirs; with `dryRun`, only says which. Times as in `at()`. */
  readonly backfill: (id: string, request: BackfillOptions) => Promise<Backfilled>
}

/** Over a running engine. */
export const makeScheduleCalls = (
  project: Project,
  core: ScheduleHands,
  run: <A, E>(effect: Effect.Effect<A, E, Store>) => Promise<A>,
): ScheduleCalls => {
  const schedules = async (): Promise<ReadonlyArray<ScheduleRow>> =>
    [...(await run(ScheduleStore.use((store) => store.schedules())))].sort((a, b) => (a.id < b.id ? -1 : 1))
  const find = async (id: string): Promise<ScheduleRow> => {
    const row = (await schedules()).find((each) => each.id === id)
    if (row === undefined) throw notFound("schedule", id)
    return row
  }
  const own = async (id: string, doing: string): Promise<ScheduleRow> => {
    const row = await find(id)
    if (row.fromConfig)
      throw new InvalidInput({
        field: "id",
        reason: `schedule "${id}" is one of the config, and the next start would undo it`,
        next: `${doing} it in the config, or pause it.`,
      })
    return row
  }
  const checked = async (id: string, { job, on }: ScheduleRequest): Promise<NewSchedule> => {
    const member = project.jobs.get(job) ?? project.flows.get(job)?.flow
    if (member === undefined)
      throw new UnknownJob({
        job,
        field: "job",
        reason: "no job or flow of this name is defined",
        next: `Correct the name. Known: ${knownNames(new Map<string, unknown>([...project.jobs, ...project.flows]))}.`,
      })
    return { ...(await checkSchedule("on", member, on, project.dialects)), id, fromConfig: false }
  }
  const save = (schedule: NewSchedule): Promise<ScheduleRow> =>
    run(core.saveSchedule(schedule)).catch((error: unknown) => {
      if (!isInvalid(error)) throw error
      // The planner names a stored schedule; whoever writes one knows the place in his request.
      const { reason, next } = error
      throw new InvalidSchedule({ field: error.field.replace(/^schedule ".*"/s, "on"), reason, next })
    })

  return {
    schedules,
    createSchedule: async (id, request) => {
      Result.getOrThrow(parseName("id", id))
      const schedule = await checked(id, request)
      const [base = ""] = id.split("#")
      const isJobs = [id, base].some((name) => project.jobs.has(name) || project.flows.has(name))
      if (isJobs || (await schedules()).some((row) => row.id === id))
        throw new DuplicateName({
          name: id,
          field: "id",
          reason: isJobs
            ? `a job or flow is called "${base}", and the schedules of its config are called so`
            : `there is a schedule "${id}" already`,
          next: "Choose another id, or change that one.",
        })
      return save(schedule)
    },
    editSchedule: async (id, request) => {
      await own(id, "Change")
      return save(await checked(id, request))
    },
    deleteSchedule: async (id) => {
      await own(id, "Remove")
      await run(core.deleteSchedule(id))
    },
    pauseSchedule: async (id, paused = true, note) => {
      if (note !== undefined && (typeof note !== "string" || note.length > 512))
        throw Result.getOrThrow(Result.flip(refuse("note", note, "a text of at most 512 characters")))
      if (!(await run(core.pauseSchedule(id, paused, note ?? null)))) throw notFound("schedule", id)
    },
    skipNext: async (id) => {
      const answer = await run(core.skipNext(id))
      if (answer.result === "skipped") return new Date(answer.at)
      if (answer.result === "unknown") throw notFound("schedule", id)
      return null
    },
    runNow: async (id) => {
      const answer = await run(core.runNow(id))
      if (answer.result === "unknown") throw notFound("schedule", id)
      if (answer.result === "created") return answer.runId
      const reason = `the last run of schedule "${id}" has not ended, and its overlap starts none beside it`
      throw new InvalidInput({ field: "schedule", reason, next: "Wait for its end, or cancel it." })
    },
    backfill: async (id, request) => {
      const answer = await run(core.backfill(id, Result.getOrThrow(checkBackfill(request))))
      if (answer === undefined) throw notFound("schedule", id)
      return answer
    },
  }
}

const isInvalid = (error: unknown): error is InvalidSchedule =>
  (error as { readonly _tag?: unknown } | null)?._tag === "InvalidSchedule"

// From what people write to what the engine is told: names, times and limits are checked here, all before
// anything is opened, and each refusal names its field.
import * as Result from "effect/Result"
import type { Calendar } from "../../core/domain/Calendar.ts"
import { DuplicateName, InvalidInput, type Refusal } from "../../core/domain/Errors.ts"
import { type JobBook, type Job as CoreJob, parseJobs, parseName } from "../../core/domain/Job.ts"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import { parseSpan, quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { engineDefaults, slotsMax } from "../../core/engine/EngineConfig.ts"
import type { CronDialects } from "../../core/ports/CronDialect.ts"
import { compileCalendars } from "../../core/trigger/CalendarSet.ts"
import { type CalendarSpec, collectCalendars, isCalendar } from "./calendars.ts"
import { loadDialects } from "./dialects.ts"
import { isInputSchema, schemaWanted } from "./input.ts"
import { type CheckedFlow, checkFlow } from "./checkFlow.ts"
import { checkSchedule, placeOf } from "./checkSchedule.ts"
import { checkPlaced, checkWork } from "./checkWork.ts"
import { type CheckedWorks, checkWorks, type ExecutorRules } from "./checkExecutors.ts"
import { type Flow, isFlow } from "./flow.ts"
import type { Job } from "./job.ts"
import { refuse } from "./send.ts"
import { parseStorage, type Storage } from "./storage.ts"
import type { TriggerSpec } from "./triggers.ts"
import { isWork, runWanted } from "./work.ts"

/** A project: its jobs and flows, and where and how they run. */
export interface Config {
  readonly jobs: ReadonlyArray<Job<any, any> | Flow<any, any>>
  /** Calendars that schedules name; one that a schedule is given as an object need not be here. */
  readonly calendars?: ReadonlyArray<CalendarSpec>
  /** `"sqlite:FILE"` (default `"sqlite:uhrwerk.db"`) or `"memory:"`; an object opens a store of your own. */
  readonly storage?: Storage
  readonly worker?: {
    /** Runs at once, 1 to 10,000; default 10. 0: none in this process, for a server whose workers do the work. */
    readonly concurrency?: number
  }
  /** Which programs may run, and where requests may go; without it none may, and nowhere. */
  readonly executors?: ExecutorRules
  /** How long a stop waits for running handlers; default `"30s"`. */
  readonly grace?: TimeSpan
  /** How long ended runs are kept; default `"30d"`. */
  readonly retention?: TimeSpan
  /** For how long a node's lease holds without renewal, 1 s to 10 min; default `"5s"`. */
  readonly lease?: TimeSpan
  /** The longest that waiting work goes unnoticed if a hint is lost, 10 ms to 1 min; default `"1s"`. */
  readonly poll?: TimeSpan
}

/** Gives a config its type; what it says is checked when it is used. */
export const defineConfig = (config: Config): Config => config

/** A checked config. */
export interface Project {
  readonly book: JobBook
  readonly jobs: ReadonlyMap<string, Job<any, any>>
  readonly flows: ReadonlyMap<string, CheckedFlow>
  /** What does the work of those that have no function. */
  readonly works: CheckedWorks
  readonly schedules: ReadonlyArray<NewSchedule>
  readonly calendars: ReadonlyArray<Calendar>
  /** Those that its schedules name. */
  readonly dialects: CronDialects
  readonly storage: ReturnType<typeof parseStorage> extends Result.Result<infer S, any> ? S : never
  readonly slots: number
  readonly graceMillis: number
  readonly retentionMillis: number
  readonly leaseMillis: number
  readonly pollMillis: number
}

/** Checks a config; throws the first refusal. */
export const checkConfig = async (config: Config): Promise<Project> => {
  if (typeof config !== "object" || config === null || !Array.isArray(config.jobs)) {
    throw new InvalidInput({
      field: "config",
      reason: "it has no list of jobs",
      next: "Export `default defineConfig({ jobs: [...] })`.",
    })
  }
  const settings = Result.getOrThrow(checkSettings(config))
  // A copy has no holes.
  const members = Array.from(config.jobs)
  const known = new Set<unknown>(members)
  const jobs: Array<Job<any, any>> = []
  const flows: Array<CheckedFlow> = []
  const cores: Array<CoreJob> = []
  for (const [index, member] of members.entries()) {
    const field = `jobs[${index}]`
    if (isFlow(member)) {
      const flow = Result.getOrThrow(checkFlow(field, member, known))
      flows.push(flow)
      cores.push(...flow.jobs)
    } else {
      cores.push(Result.getOrThrow(checkJob(field, member)))
      jobs.push(member)
    }
  }
  checkStepNames(members, flows)
  const works = Result.getOrThrow(checkWorks(config.executors, jobs, flows))
  const book = Result.getOrThrow(parseJobs(cores))
  const schedules: Array<NewSchedule> = []
  const dialects = await loadDialects(members.flatMap(specsOf).map((spec) => spec?.dialect))
  for (const member of members) schedules.push(...(await checkTriggers(member, dialects)))
  checkScheduleIds(schedules)
  const calendars = checkCalendars(config.calendars, members)
  return {
    book,
    jobs: new Map(jobs.map((job) => [job.name, job])),
    flows: new Map(flows.map((flow) => [flow.definition.name, flow])),
    works,
    schedules,
    calendars,
    dialects,
    ...settings,
  }
}

/** Throws `InvalidInput` for a project that could never carry out a run: no slot of its own, and no workers served. */
export const checkHands = ({ slots }: Project, servesWorkers: boolean): void => {
  if (slots > 0 || servesWorkers) return
  throw new InvalidInput({
    field: "worker.concurrency",
    reason: "0 means that connected workers do the work, and this engine takes no workers",
    next: "Start it as a server (`uhrwerk serve`, or `serve` of `uhrwerk/server`), or give it a slot.",
  })
}

// The steps of a flow are jobs too, which others may not be called; the places of jobs are those of the config.
const checkStepNames = (members: Config["jobs"], flows: ReadonlyArray<CheckedFlow>): void => {
  const taken = new Map<string, string>()
  const take = (name: string, field: string, owner: string, next: string): void => {
    const other = taken.get(name)
    if (other !== undefined)
      throw new DuplicateName({ name, field, reason: `${other} named "${name}" is defined already`, next })
    taken.set(name, owner)
  }
  for (const [index, member] of members.entries()) {
    const what = isFlow(member) ? "a flow" : "a job"
    take(member.name, `jobs[${index}].name`, what, "Give each job and flow a name of its own.")
  }
  for (const { definition, steps } of flows) {
    for (const { id, job, items } of steps) {
      const field = `flow "${definition.name}": step ${quote(id)}`
      const next = "Give the step, or the other one, another name."
      for (const name of items === null ? [job] : [job, items.name])
        take(name, field, `a job of flow "${definition.name}"`, next)
    }
  }
}

const checkSettings = (config: Config) =>
  Result.gen(function* () {
    const slots = config.worker?.concurrency ?? engineDefaults.slots
    if (!Number.isInteger(slots) || slots < 0 || slots > slotsMax) {
      return yield* refuse("worker.concurrency", slots, `a whole number from 0 to ${slotsMax}`)
    }
    const leaseMillis = yield* parseSpan("lease", config.lease ?? engineDefaults.leaseMillis, 1000)
    if (leaseMillis > 600_000) return yield* refuse("lease", config.lease, 'a span from "1s" to "10m"')
    const pollMillis = yield* parseSpan("poll", config.poll ?? engineDefaults.pollMillis, 10)
    if (pollMillis > 60_000) return yield* refuse("poll", config.poll, 'a span from "10ms" to "1m"')
    return {
      slots,
      leaseMillis,
      pollMillis,
      graceMillis: yield* parseSpan("grace", config.grace ?? engineDefaults.graceMillis),
      retentionMillis: yield* parseSpan("retention", config.retention ?? engineDefaults.retentionMillis),
      storage: yield* parseStorage(config.storage),
    }
  })

/** Those of the config, and those that schedules were given as objects. */
const checkCalendars = (given: unknown = [], jobs: ReadonlyArray<Job<any, any>>): ReadonlyArray<Calendar> => {
  if (!Array.isArray(given))
    throw Result.getOrThrow(Result.flip(refuse("calendars", given, "a list of calendars")))
  for (const [index, each] of given.entries())
    if (!isCalendar(each)) {
      const wanted = 'a calendar made by `calendar("name", { ... })`'
      throw Result.getOrThrow(Result.flip(refuse(`calendars[${index}]`, each, wanted)))
    }
  const used = jobs.flatMap(({ options: { on } }) =>
    (on === undefined ? [] : Array.isArray(on) ? on : [on as TriggerSpec]).flatMap((spec: TriggerSpec) =>
      [spec.options.only, spec.options.except].filter(isCalendar),
    ),
  )
  const calendars = collectCalendars([...(given as ReadonlyArray<CalendarSpec>), ...used])
  for (const { name } of calendars) Result.getOrThrow(parseName(`calendar ${quote(name)}`, name))
  Result.getOrThrow(compileCalendars(calendars))
  return calendars
}

const checkJob = (field: string, job: Job<any, any>): Result.Result<CoreJob, Refusal> =>
  Result.gen(function* () {
    if (typeof job !== "object" || job === null || typeof job.bind !== "function") {
      return yield* refuse(field, job, 'a job made by `job("name", { ... })`')
    }
    const name: string = yield* parseName(`${field}.name`, job.name)
    const { options } = job
    const place = `job "${name}"`
    if (typeof options?.run !== "function" && !isWork(options?.run))
      return yield* refuse(`${place}.run`, options?.run, runWanted)
    if (options.input !== undefined && !isInputSchema(options.input)) {
      return yield* refuse(`${place}.input`, options.input, schemaWanted)
    }
    const work = yield* checkWork(place, name, options)
    const placed = yield* checkPlaced(place, options.run)
    const needs = yield* checkNeeds(`${place}.needs`, options.needs ?? {})
    if (placed.placement?.broadcast === true && needs.length > 0) {
      return yield* Result.fail(
        new InvalidInput({
          field: `${place}.needs`,
          reason: "each part of a broadcast reads the input, and nothing of what other jobs returned",
          next: "Send the broadcast from a job that needs them, with what its parts must know as input.",
        }),
      )
    }
    return { ...work, ...placed, needs }
  })

const checkNeeds = (field: string, needs: unknown): Result.Result<ReadonlyArray<string>, InvalidInput> =>
  Result.gen(function* () {
    if (typeof needs !== "object" || needs === null || Array.isArray(needs)) {
      return yield* refuse(field, needs, "an object of jobs, such as `needs: { extract }`")
    }
    const names = new Set<string>()
    for (const [key, need] of Object.entries(needs) as ReadonlyArray<[string, Partial<Job> | undefined]>) {
      if (typeof need?.name !== "string" || typeof need.bind !== "function" || isFlow(need)) {
        return yield* refuse(`${field}.${key}`, need, "a job, defined before this one")
      }
      names.add(need.name)
    }
    return [...names]
  })

const specsOf = ({ options: { on } }: Config["jobs"][number]): ReadonlyArray<TriggerSpec> =>
  on === undefined ? [] : Array.isArray(on) ? on : [on as TriggerSpec]

const checkTriggers = async (
  member: Config["jobs"][number],
  dialects: CronDialects,
): Promise<Array<NewSchedule>> => {
  const specs = specsOf(member)
  const schedules: Array<NewSchedule> = []
  for (const [index, spec] of specs.entries()) {
    const field = `${placeOf(member)}.on${specs.length > 1 ? `[${index}]` : ""}`
    const id = index === 0 ? member.name : `${member.name}#${index + 1}`
    schedules.push({ ...(await checkSchedule(field, member, spec, dialects)), id, fromConfig: true })
  }
  return schedules
}

// A job's second schedule is "name#2", and so may another job be named: one of them would replace the other.
const checkScheduleIds = (schedules: ReadonlyArray<NewSchedule>): void => {
  const jobOf = new Map<string, string>()
  for (const { id, job } of schedules) {
    const other = jobOf.get(id)
    if (other !== undefined) {
      throw new DuplicateName({
        name: id,
        field: `job "${job}".on`,
        reason: `its schedule would be called "${id}", as one of job "${other}" is`,
        next: "Give one of these jobs another name.",
      })
    }
    jobOf.set(id, job)
  }
}

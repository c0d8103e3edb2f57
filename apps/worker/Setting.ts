// What a worker is told, checked before anything is opened: its jobs as the engine would check them, and what it says of
// itself by the protocol's own rules. Each refusal names its field.
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { hostname } from "node:os"
import { resolve } from "node:path"
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { parseSpan, type TimeSpan } from "../../core/domain/TimeSpan.ts"
import { engineDefaults } from "../../core/engine/EngineConfig.ts"
import { Problem } from "../../core/protocol/Field.ts"
import { slotsMax } from "../../core/protocol/Limits.ts"
import { kinds } from "../../core/protocol/Message.ts"
import type { Introduction } from "../../core/protocol/WorkerState.ts"
import { loadConfig } from "../cli/loadConfig.ts"
import type { ExecutorRules } from "../sdk/checkExecutors.ts"
import { checkConfig, type Config, type Project } from "../sdk/config.ts"
import { isFlow, jobNames } from "../sdk/flow.ts"
import type { Job } from "../sdk/job.ts"
import { runtimeName } from "../sdk/runtime.ts"
import { refuse } from "../sdk/send.ts"

/** What a worker of any kind may say. */
export interface CommonOptions {
  /** Of the server, such as `ws://127.0.0.1:8080/v1/worker`; `wss://` beyond this machine. Never with a token in it. */
  readonly url: string
  /** The worker's token, which goes in the Authorization header; a server on this machine may ask for none. */
  readonly token?: string | undefined
  /** Handlers at once, 1 to 1,000; default 10, or what the config says. */
  readonly concurrency?: number
  /** Runs to take beyond them, to begin them without a wait, 0 to 1,000; default 0. */
  readonly prefetch?: number
  /** For placement, such as `{ region: "eu", gpu: 2 }`; at most 64. */
  readonly labels?: Readonly<Record<string, string | number | boolean>>
  /** Unique among the workers of a server: a newer one of the same name takes its place. Default: made of the host's. */
  readonly name?: string
  /** Queues that it takes runs from; default: those of its token. */
  readonly queues?: ReadonlyArray<string>
  /** Of your code, for people. */
  readonly version?: string
  /** How long a stop waits for running handlers; default `"30s"`, or what the config says. */
  readonly grace?: TimeSpan
  /**
   * How long a handler that was told to stop may go on before its attempt is reported without it, and before a thread or
   * process that runs it is ended; default `"5s"`.
   */
  readonly stopGrace?: TimeSpan
  /** When the server was not reached once within this span, the worker ends; default: it tries for ever. */
  readonly giveUp?: TimeSpan
  /** `true` (default): unhandled rejections and exceptions of the process are reported as `trouble` and do not end it. */
  readonly guard?: boolean
}

/** A worker of these jobs and flows; their handlers run in this process. */
export interface JobsOptions extends CommonOptions {
  readonly jobs: ReadonlyArray<Job<any, any> | Config["jobs"][number]>
  /** Which programs may run, and where requests may go; without it none may, and nowhere. */
  readonly executors?: ExecutorRules
  readonly handlers?: "here"
  readonly config?: undefined
}

/** A worker of the jobs of a config file that have a handler. */
export interface ConfigOptions extends CommonOptions {
  /** Path of the file, from the current folder. */
  readonly config: string
  /**
   * Where handlers run. `here` (default): in this process. `thread`, `process`: one for each slot, made when it is first
   * needed, so that a handler that blocks or crashes harms nothing but its own attempt.
   */
  readonly handlers?: "here" | "thread" | "process"
  readonly jobs?: undefined
}

export type WorkerOptions = JobsOptions | ConfigOptions

/** Checked options. */
export interface WorkerSetting {
  readonly url: string
  readonly token: string | null
  /** All but the jobs, which are those that have a handler. */
  readonly who: Omit<Introduction, "jobs">
  readonly project: Project
  /** Names of jobs to announce, as far as they have a handler; `null`: all. */
  readonly offered: ReadonlySet<string> | null
  /** The config file, for handlers elsewhere. */
  readonly file: string | null
  readonly handlers: "here" | "thread" | "process"
  readonly graceMillis: number
  readonly stopGraceMillis: number
  readonly giveUpMillis: number | null
  readonly guard: boolean
}

/** Checks options; throws the first refusal. Nothing is opened but the config file. */
export const checkOptions = async (options: WorkerOptions): Promise<WorkerSetting> => {
  const handlers = checkHandlers(options)
  const { project, offered, file } = await projectOf(options)
  // A config that says 0 is one whose server does nothing itself: that is what workers are for.
  const slots = count("concurrency", options.concurrency ?? (project.slots || engineDefaults.slots), 1)
  const setting = {
    url: checkUrl(options.url),
    token: checkToken(options.token),
    project,
    offered,
    file,
    handlers,
    graceMillis:
      options.grace === undefined
        ? project.graceMillis
        : Result.getOrThrow(parseSpan("grace", options.grace)),
    stopGraceMillis: Result.getOrThrow(parseSpan("stopGrace", options.stopGrace ?? "5s")),
    giveUpMillis:
      options.giveUp === undefined ? null : Result.getOrThrow(parseSpan("giveUp", options.giveUp)),
    guard: options.guard !== false,
  }
  const who = {
    worker: options.name ?? defaultName(),
    incarnation: randomBytes(16).toString("hex"),
    runtime: runtimeName(),
    version: options.version ?? "",
    slots,
    prefetch: count("prefetch", options.prefetch ?? 0, 0),
    ...(options.queues === undefined ? {} : { queues: options.queues }),
    ...(options.labels === undefined ? {} : { labels: options.labels }),
    capabilities: project.flows.size > 0 ? ["resume", "flows"] : ["resume"],
  }
  return { ...setting, who }
}

const fieldNames: Readonly<Record<string, string>> = { worker: "name", slots: "concurrency" }

/** Checks what a worker says of itself by the rules of the protocol. */
export const checkIntroduction = (who: Introduction): Introduction => {
  const message = { ...who, type: "hello", id: "w1", connection: 1, session: null, inHand: [] }
  const checked: unknown = kinds.hello.field.read(message)
  if (!(checked instanceof Problem)) return who
  const [first = ""] = /^\w+/.exec(checked.path) ?? []
  throw new InvalidInput({
    field: (fieldNames[first] ?? first) + checked.path.slice(first.length),
    reason: `it ${checked.reason}`,
    next: "Correct it.",
  })
}

const throwRefusal = (field: string, value: unknown, wanted: string): never => {
  throw Result.getOrThrow(Result.flip(refuse(field, value, wanted)))
}

const count = (field: string, value: unknown, min: number): number =>
  Number.isInteger(value) && (value as number) >= min && (value as number) <= slotsMax
    ? (value as number)
    : throwRefusal(field, value, `a whole number from ${min} to ${slotsMax}`)

const checkHandlers = ({ handlers = "here", config }: WorkerOptions): WorkerSetting["handlers"] => {
  if (handlers !== "here" && handlers !== "thread" && handlers !== "process")
    return throwRefusal("handlers", handlers, 'one of "here", "thread", "process"')
  if (handlers === "here" || config !== undefined) return handlers
  throw new InvalidInput({
    field: "handlers",
    reason: `jobs that are given as values cannot be called in another ${handlers}`,
    next: 'Give `config: "./uhrwerk.config.ts"` in the place of `jobs`, or leave `handlers` out.',
  })
}

const projectOf = async (
  options: WorkerOptions,
): Promise<Pick<WorkerSetting, "project" | "offered" | "file">> => {
  if (options.config !== undefined) {
    if (options.jobs !== undefined)
      throw new InvalidInput({
        field: "jobs",
        reason: "both `jobs` and `config` are given",
        next: "Give one of them.",
      })
    if (typeof options.config !== "string" || !existsSync(options.config))
      return throwRefusal("config", options.config, "the path of a config file")
    const file = resolve(options.config)
    return { project: await checkConfig(await loadConfig(file)), offered: null, file }
  }
  const { jobs, executors } = options
  if (!Array.isArray(jobs) || jobs.length === 0)
    return throwRefusal("jobs", jobs, "a list of jobs and flows, such as `[digest]`")
  const config = { jobs: withNeeds(jobs), ...(executors === undefined ? {} : { executors }) }
  const project = await checkConfig(config)
  return { project, offered: new Set((jobs as Config["jobs"]).flatMap(jobNames)), file: null }
}

/** The jobs with those that they need: a job is checked with its needs, whoever has their handlers. */
const withNeeds = (jobs: ReadonlyArray<unknown>): Config["jobs"] => {
  const all = new Set(jobs)
  for (const each of all) {
    const { needs } = (each as Partial<Job<any, any>> | null)?.options ?? {}
    if (!isFlow(each) && typeof needs === "object" && needs !== null)
      for (const need of Object.values(needs)) all.add(need)
  }
  return [...all] as Config["jobs"]
}

const checkUrl = (url: unknown): string => {
  const wanted = 'an address such as "ws://127.0.0.1:8080/v1/worker"'
  if (typeof url !== "string" || !URL.canParse(url)) return throwRefusal("url", url, wanted)
  const { protocol, username, password, searchParams, hash } = new URL(url)
  // Not in the refusal either: it may be shown to anybody.
  if (username !== "" || password !== "" || searchParams.has("token"))
    throw new InvalidInput({
      field: "url",
      reason: "it has credentials in it, and addresses end in logs",
      next: "Give the token as `token`.",
    })
  return (protocol === "ws:" || protocol === "wss:") && hash === "" ? url : throwRefusal("url", url, wanted)
}

const checkToken = (token: unknown): string | null => {
  if (token === undefined) return null
  if (typeof token === "string" && /^[!-~]{1,512}$/.test(token)) return token
  throw new InvalidInput({
    field: "token",
    reason: "it is not 1 to 512 printable ASCII characters without blanks",
    next: "Give it as the server made it; of a file, without the line's end.",
  })
}

/** Of the host's name, with a part by chance: two workers of one machine are not to replace each other. */
const defaultName = (): string => {
  const host = hostname()
    .replace(/[^\w.-]/g, "-")
    .slice(0, 100)
  return `${host || "worker"}-${randomBytes(3).toString("hex")}`
}

// The jobs of a simulation and what their handlers do: how long each attempt takes and how it ends is named by the seed,
// the run's id and its token, so whoever looks a second time sees the same.
import * as Result from "effect/Result"
import type { Expansion, FlowDefinition, FlowStep } from "../../core/domain/Flow.ts"
import { triggerRules } from "../../core/domain/Flow.ts"
import { type Job, type JobBook, parseJobs } from "../../core/domain/Job.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import { defaultRetryPolicy, type RetryPolicy } from "../../core/domain/RetryPolicy.ts"
import type { Placement } from "../../core/domain/Placement.ts"
import type { Run } from "../../core/domain/Run.ts"
import { hashed, makeRandom, type Random } from "./Random.ts"
import type { Swarm } from "./Swarm.ts"

/** Which attempt it is, as far as a handler cares. */
export type Attempt = Pick<Run, "id" | "token" | "job">

/** What one attempt does. */
export interface Act {
  /** Until it ends by itself; Infinity: never. */
  readonly millis: number
  readonly outcome: Outcome
  /** It does not listen when it is told to stop. */
  readonly isDeaf: boolean
}

const retry = (attemptMax: number, baseMillis = 200): RetryPolicy => ({
  ...defaultRetryPolicy,
  attemptMax,
  baseMillis,
  delayMaxMillis: 4000,
})

const job = (name: string, more: Partial<Job> = {}): Job => ({
  name,
  queue: "default",
  priority: 0,
  retry: retry(4),
  timeoutMillis: null,
  needs: [],
  ...more,
})

const plain: ReadonlyArray<Job> = [
  job("quick"),
  job("flaky", { retry: retry(6) }),
  job("doomed", { retry: retry(2), priority: 1 }),
  job("slow", { queue: "slow" }),
  job("stuck", { queue: "slow", timeoutMillis: 1500, retry: retry(2) }),
  job("moody", { retry: retry(5) }),
  job("once", { retry: retry(1) }),
  job("fetch"),
  job("clean", { needs: ["fetch"] }),
  job("report", { needs: ["fetch", "clean"], retry: retry(3) }),
]

/** Jobs that clients ask for, with those that need others among them. */
export const plainJobs: ReadonlyArray<string> = plain.map(({ name }) => name)

/** Jobs that the steps of flows are runs of. */
const stepJobs = ["quick", "flaky", "slow", "moody", "once", "doomed"]

/** Jobs that expand. */
export const flowJobs = ["flow.a", "flow.b", "flow.c", "map.a"]

const placed = (name: string, placement: Partial<Placement>): Job =>
  job(name, {
    retry: retry(3),
    placement: { by: "leastLoaded", where: null, broadcast: false, ...placement },
  })

const placements: ReadonlyArray<Job> = [
  placed("at.eu", { where: "region = eu" }),
  placed("at.gpu", { where: "gpu > 0 or worker = worker0" }),
  placed("in.turn", { by: "roundRobin" }),
  placed("by.hash", { by: { hash: "h" } }),
  placed("at.all", { broadcast: true }),
  placed("at.all.eu", { broadcast: true, where: "region = eu" }),
  placed("at.nobody", { where: "region = mars" }),
]

/** Jobs that only workers carry out, and some of them only: see `mayTake`. */
export const placedJobs: ReadonlyArray<string> = placements.map(({ name }) => name)

/** The job that nobody may carry out. */
export const nobodysJob = "at.nobody"

/** Whether a worker with these labels may be given a run of this job: the placements above, in other words. */
export const mayTake = (
  name: string,
  worker: string,
  { region, gpu }: Readonly<Record<string, unknown>>,
): boolean => {
  switch (name) {
    case "at.eu":
    case "at.all.eu":
      return region === "eu"
    case "at.gpu":
      return gpu === 1 || gpu === 2 || worker === "worker0"
    case nobodysJob:
      return false
    default:
      return true
  }
}

const flowJob = (name: string): Job => job(name, { queue: "flows", expands: true, retry: retry(2) })

/** All jobs. */
export const book: JobBook = Result.getOrThrow(parseJobs([...plain, ...flowJobs.map(flowJob), ...placements]))

/** What a node carries out itself: of a job that has a placement never anything. */
export const ownJobsOf = ({ workers, ownJobs }: Swarm): ReadonlySet<string> =>
  new Set(
    workers === 0 || ownJobs === "all" ? [...plainJobs, ...flowJobs] : ownJobs === "plain" ? plainJobs : [],
  )

/** The flows of a seed, by job. */
export const expansionsOf = (swarm: Swarm): ReadonlyMap<string, Expansion> => {
  const random = makeRandom(swarm.seed ^ 0xf10e)
  return new Map(
    flowJobs.map((name): readonly [string, Expansion] => {
      if (name.startsWith("map")) {
        const step = stepOf(random, random.pick(stepJobs))
        const items = Array.from({ length: random.int(0, 6) }, (_, place) => JSON.stringify(place))
        return [name, { kind: "map", step, items, failFast: random.chance(0.3) }]
      }
      // A flow may have another one as its step; that one has none itself, so they end.
      const inner = name === "flow.c" ? ["flow.a", "map.a"] : []
      return [name, { kind: "flow", definition: definitionOf(random, name, inner) }]
    }),
  )
}

const stepOf = (random: Random, name: string) => ({
  job: name,
  queue: book.jobs.get(name)?.queue ?? "default",
  priority: random.int(0, 2),
  attemptMax: book.jobs.get(name)?.retry.attemptMax ?? 1,
})

const definitionOf = (random: Random, name: string, inner: ReadonlyArray<string>): FlowDefinition => {
  const count = random.int(1, 9)
  const steps = Array.from({ length: count }, (_, place) => {
    const before = Array.from({ length: place }, (_each, at) => `s${at}`)
    const needs = before.filter(() => random.chance(2 / (place + 1)))
    const step: FlowStep = {
      id: `s${place}`,
      needs,
      rule: random.pick(triggerRules),
      allowFailure: random.chance(0.2),
    }
    return { ...step, ...stepOf(random, random.pick([...stepJobs, ...inner])) }
  })
  return {
    name,
    version: `${name}.1`,
    steps,
    output: random.chance(0.5) ? `s${count - 1}` : null,
    failFast: random.chance(0.3),
    timeoutMillis: random.chance(0.3) ? random.int(1000, 20_000) : null,
  }
}

/** What the handler of this run does at this attempt. */
export const actOf = (run: Attempt, seed: number, expansions: ReadonlyMap<string, Expansion>): Act => {
  const chance = (what: string): number => hashed(`${run.id} ${run.token} ${what}`, seed)
  const expansion = expansions.get(run.job)
  if (expansion !== undefined) {
    return { millis: 1, outcome: { kind: "expanded", expansion, retryable: true }, isDeaf: false }
  }
  const act = (millis: number, outcome: Outcome): Act => ({
    millis: Math.floor(millis),
    outcome,
    isDeaf: chance("deaf") < 0.1,
  })
  const short = chance("time") * 60
  switch (run.job) {
    case "flaky":
      return act(short, chance("end") < 0.5 ? failure("Flaky") : good(run))
    case "doomed":
      return act(short, failure("Doomed", chance("end") < 0.7))
    case "slow":
      return act(200 + rarelyLong(chance("time")) * 20_000, chance("end") < 0.1 ? failure("Slow") : good(run))
    case "stuck":
      return chance("end") < 0.5 ? act(Number.POSITIVE_INFINITY, good(run)) : act(short, good(run))
    case "moody":
      return act(short, moodOf(run, chance("end")))
    default:
      return act(chance("now") < 0.3 ? 0 : short, good(run))
  }
}

// Written out: `**` and the functions of `Math` may differ in the last bit from runtime to runtime.
const rarelyLong = (chance: number): number => chance * chance * chance * chance

const moodOf = (run: Attempt, mood: number): Outcome => {
  if (mood < 0.2) return { kind: "snoozed", delayMillis: 700 }
  if (mood < 0.3) return { kind: "declined", reason: "There was nothing to do" }
  if (mood < 0.4) return failure("Busy", true, 1200)
  return good(run)
}

/** What an attempt gives that succeeds: no other one gives the same. */
export const outputOf = ({ id, token }: Pick<Run, "id" | "token">): string => JSON.stringify({ id, token })

const good = (run: Attempt): Outcome => ({ kind: "succeeded", output: outputOf(run) })

const failure = (name: string, retryable = true, retryAfterMillis: number | null = null): Outcome => ({
  kind: "failed",
  error: { name, message: `${name} failed`, kind: "error" },
  retryable,
  retryAfterMillis,
})

/** How an attempt ends that was told to stop, and obeyed. */
export const stopped: Outcome = {
  kind: "failed",
  error: { name: "StopSignal", message: "The attempt was stopped", kind: "cancelled" },
  retryable: true,
  retryAfterMillis: null,
}

/** How an attempt ends whose worker is gone. */
export const workerLost: Outcome = {
  kind: "failed",
  error: { name: "WorkerLost", message: "The worker did not answer any more", kind: "lost" },
  retryable: true,
  retryAfterMillis: null,
}

// A job: a named definition of work. Its code, the handler, is with the executor; here is what the engine knows.
import * as Result from "effect/Result"
import { DependencyCycle, DuplicateName, InvalidInput, UnknownJob } from "./Errors.ts"
import type { Placement } from "./Placement.ts"
import type { RetryPolicy } from "./RetryPolicy.ts"
import { quote } from "./TimeSpan.ts"

/** A job as the engine knows it; times in milliseconds. */
export interface Job {
  /** Unique; 1 to 128 characters without control characters or blanks at its ends. */
  readonly name: string
  /** The lane its runs wait in; default `default`. */
  readonly queue: string
  /** Higher starts first within the queue; default 0. */
  readonly priority: number
  readonly retry: RetryPolicy
  /** How long one attempt may take; `null`: no limit. */
  readonly timeoutMillis: number | null
  /** Jobs that must have succeeded, in the same chain, before a run of this one starts. */
  readonly needs: ReadonlyArray<string>
  /** Its handler only says which steps do the work, so an attempt that is lost on the way there is given back. */
  readonly expands?: boolean
  /** Which workers carry it out; absent: any that has a handler, and the engine's own process if that has one. */
  readonly placement?: Placement
}

/** Checks a name of a job, queue or schedule. */
export const parseName = (field: string, name: unknown): Result.Result<string, InvalidInput> => {
  const next = 'Use 1 to 128 characters, such as "mail.digest".'
  const refuse = (reason: string) => Result.fail(new InvalidInput({ field, reason, next }))
  if (typeof name !== "string") return refuse(`${quote(name)} is not a name`)
  if (name.length === 0 || name.length > 128)
    return refuse(`a name of ${name.length} characters is not allowed`)
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name) || name.trim() !== name) {
    return refuse(`${quote(name)} has control characters, or blanks at its ends`)
  }
  return Result.succeed(name)
}

/** Jobs by name, in layers: every job of a layer needs only jobs of earlier ones. */
export interface JobBook {
  readonly jobs: ReadonlyMap<string, Job>
  readonly layers: ReadonlyArray<ReadonlyArray<string>>
}

/** Joins jobs to a book. Refused: a name twice, a need that is not defined, jobs that need each other. */
export const parseJobs = (
  jobs: ReadonlyArray<Job>,
): Result.Result<JobBook, DuplicateName | UnknownJob | DependencyCycle> => {
  const byName = new Map<string, Job>()
  for (const [index, job] of jobs.entries()) {
    if (byName.has(job.name)) {
      return Result.fail(
        new DuplicateName({
          name: job.name,
          field: `jobs[${index}].name`,
          reason: `a job named "${job.name}" is defined already`,
          next: "Give each job a name of its own.",
        }),
      )
    }
    byName.set(job.name, job)
  }
  for (const job of jobs) {
    const missing = job.needs.find((name) => !byName.has(name))
    if (missing !== undefined) {
      return Result.fail(
        new UnknownJob({
          job: missing,
          field: `job "${job.name}".needs`,
          reason: `no job named "${missing}" is defined`,
          next: `Define it, or correct the name. Known jobs: ${knownNames(byName)}.`,
        }),
      )
    }
  }
  return Result.map(layers(byName), (found) => ({ jobs: byName, layers: found }))
}

/** Names for an error text, at most ten. */
export const knownNames = (jobs: ReadonlyMap<string, unknown>): string => {
  const names = [...jobs.keys()]
  const shown = names.slice(0, 10).join(", ")
  return names.length > 10 ? `${shown} and ${names.length - 10} more` : shown || "none"
}

// Kahn's algorithm: take away whatever waits for nothing, layer by layer; a rest that never comes free holds a cycle.
const layers = (jobs: ReadonlyMap<string, Job>): Result.Result<Array<Array<string>>, DependencyCycle> => {
  const waiting = new Map<string, number>()
  const dependents = new Map<string, Array<string>>()
  for (const job of jobs.values()) {
    const needs = new Set(job.needs)
    waiting.set(job.name, needs.size)
    for (const need of needs) {
      const list = dependents.get(need)
      if (list === undefined) dependents.set(need, [job.name])
      else list.push(job.name)
    }
  }
  const places = new Map([...jobs.keys()].map((name, place) => [name, place]))
  const byPlace = (a: string, b: string): number => (places.get(a) as number) - (places.get(b) as number)
  const found: Array<Array<string>> = []
  let layer = [...jobs.keys()].filter((name) => waiting.get(name) === 0)
  while (layer.length > 0) {
    found.push(layer)
    const free: Array<string> = []
    for (const name of layer) {
      waiting.delete(name)
      for (const dependent of dependents.get(name) ?? []) {
        const left = (waiting.get(dependent) as number) - 1
        waiting.set(dependent, left)
        if (left === 0) free.push(dependent)
      }
    }
    layer = free.sort(byPlace)
  }
  if (waiting.size === 0) return Result.succeed(found)
  const cycle = findCycle(jobs, waiting)
  return Result.fail(
    new DependencyCycle({
      cycle,
      field: `job "${cycle[0]}".needs`,
      reason: `jobs need each other in a circle: ${cycle.join(" -> ")}`,
      next: "Remove one of these needs.",
    }),
  )
}

// Every job that is left needs another one that is left, so following any need must come back.
const findCycle = (jobs: ReadonlyMap<string, Job>, left: ReadonlyMap<string, number>): Array<string> => {
  const path: Array<string> = []
  const place = new Map<string, number>()
  let name = left.keys().next().value as string
  while (!place.has(name)) {
    place.set(name, path.length)
    path.push(name)
    name = jobs.get(name)?.needs.find((need) => left.has(need)) as string
  }
  return [...path.slice(place.get(name)).slice(0, 20), name]
}

/** A job with all it needs, directly or not, needs first: the order in which its chain is stored. */
export const chainOf = (book: JobBook, name: string): ReadonlyArray<string> => {
  const members = new Set([name])
  for (const member of members) for (const need of book.jobs.get(member)?.needs ?? []) members.add(need)
  return members.size === 1 ? [name] : book.layers.flat().filter((each) => members.has(each))
}

// Which events somebody wants, and may see.
import type { Draft } from "./cloudEvents.ts"

/** What is asked for; an empty list, or `null`: all. */
export interface EventFilter {
  /** Types, or the beginning of some: `uhrwerk.run.*`. */
  readonly types: ReadonlyArray<string>
  /** Names of jobs, flows and schedules, or the beginning of some: `mail.*`. */
  readonly jobs: ReadonlyArray<string>
  /** The id of a run. */
  readonly run: string | null
  /** Only what is about jobs of this namespace. */
  readonly namespace: string | null
}

/** Whether an event is among them. */
export const isWanted = (
  { types, jobs, run, namespace }: EventFilter,
  { type, job, subject }: Draft,
): boolean =>
  isNamed(types, type) &&
  (jobs.length === 0 || (job !== null && isNamed(jobs, job))) &&
  (run === null || subject === run) &&
  (namespace === null || (job !== null && (job === namespace || job.startsWith(`${namespace}.`))))

const isNamed = (names: ReadonlyArray<string>, name: string): boolean =>
  names.length === 0 ||
  names.some((each) => (each.endsWith(".*") ? name.startsWith(each.slice(0, -1)) : each === name))

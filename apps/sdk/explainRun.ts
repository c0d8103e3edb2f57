// Gathers what is known around a run, for the sentence that says why it waits or how it ended: for the command line over
// a store, and for the HTTP API.
import * as Result from "effect/Result"
import type { Run } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { explain, type Explanation, type TimeWords } from "../../core/run/Explain.ts"
import { type CompiledPlacement, compilePlacement } from "../../core/worker/Placement.ts"
import { whyWaits } from "../../core/worker/WhyWaits.ts"
import type { Project } from "./config.ts"
import { pausedQueues } from "./orders.ts"
import { reportsOf } from "./workerReports.ts"

/** What engines on the store are like, as far as a config says it. */
export interface Surroundings {
  /** Names of all jobs, flows and steps; `null`: not known. */
  readonly jobs: ReadonlySet<string> | null
  /** Slots of one engine; `null`: none of its own, or not known. */
  readonly slots: number | null
  /** Where the run goes: to workers, as said; to any worker (`null`); `undefined`: to the engine, or it is not known. */
  readonly placement: CompiledPlacement | null | undefined
}

/** The surroundings of runs of a job in a checked project. */
export const surroundingsOf = ({ book, flows, slots }: Project, job: string): Surroundings => {
  const placement = book.jobs.get(job)?.placement
  const isWorkers = slots === 0 && book.jobs.has(job) && !flows.has(job)
  return {
    jobs: new Set(book.jobs.keys()),
    slots: slots || null,
    placement:
      placement === undefined
        ? isWorkers
          ? null
          : undefined
        : Result.getOrUndefined(compilePlacement(`job "${job}"`, placement)),
  }
}

// A chain has at most 1,000 runs, and a sentence names few of them.
const needsMax = 1000

/** Explains a run of the store. */
export const explainRun = async (
  store: Pick<StoreDriver, "flowOf" | "get" | "nodes" | "workers" | "counts" | "now" | "records">,
  run: Run,
  around: Surroundings & {
    readonly words: TimeWords
    /** Whether runs of this job may be named; default: all. */
    readonly maySee?: (job: string) => boolean
  },
): Promise<Explanation> => {
  const { jobs, slots, placement, words, maySee = () => true } = around
  const [flow, parent, needs, nodes, counts, now, paused, reports] = await Promise.all([
    store.flowOf(run.id),
    run.parentId === null ? null : store.flowOf(run.parentId),
    store.get(run.needs.slice(0, needsMax)),
    store.nodes(),
    store.counts(),
    store.now(),
    pausedQueues(store),
    placement === undefined ? [] : reportsOf(store),
  ])
  const total = (wanted: string): number =>
    counts.reduce((sum, { state, count }) => (state === wanted ? sum + count : sum), 0)
  return explain(
    {
      run,
      needs: needs.filter(({ job }) => maySee(job)),
      flow,
      parent: parent !== null && maySee(parent.run.job) ? parent : null,
      nodes,
      paused: paused.get(run.queue) ?? null,
      readyCount: total("ready"),
      runningCount: total("running"),
      jobs,
      slots,
      ...(placement === undefined
        ? {}
        : {
            workers: whyWaits(
              run,
              placement,
              reports.map(({ report }) => report),
            ),
          }),
      now,
    },
    words,
  )
}

// `uhrwerk run explain`: gathers what is known around a run, for the sentence that says why it waits or how it ended.
import type { Run } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { explain, type Explanation } from "../../core/run/Explain.ts"
import { whyWaits } from "../../core/worker/WhyWaits.ts"
import { engineDefaults } from "../../core/engine/EngineConfig.ts"
import { placementIn } from "../sdk/checkWork.ts"
import { jobNames } from "../sdk/flow.ts"
import { pausedQueues } from "../sdk/orders.ts"
import { dateOf, plain, printRows, spanOf } from "./format.ts"
import { reportsOf } from "./workers.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, type Flags, notFound, only, saidStorage, storeCommand } from "./open.ts"

// A chain has at most 1,000 runs, and a sentence names few of them.
const needsMax = 1000

/** Explains a run of the store. */
export const explainRun = async (store: StoreDriver, run: Run, flags: Flags): Promise<Explanation> => {
  const [flow, parent, needs, nodes, counts, now, reports, paused, config] = await Promise.all([
    store.flowOf(run.id),
    run.parentId === null ? null : store.flowOf(run.parentId),
    store.get(run.needs.slice(0, needsMax)),
    store.nodes(),
    store.counts(),
    store.now(),
    reportsOf(store),
    pausedQueues(store),
    configOf(flags),
  ])
  const total = (wanted: string): number =>
    counts.reduce((sum, { state, count }) => (state === wanted ? sum + count : sum), 0)
  const placement = config === undefined ? undefined : placementIn(config, run.job)
  return explain(
    {
      run,
      needs,
      flow,
      parent,
      nodes,
      paused: paused.get(run.queue) ?? null,
      readyCount: total("ready"),
      runningCount: total("running"),
      jobs: config === undefined ? null : new Set(config.jobs.flatMap(jobNames)),
      // None of its own: what holds a run up is not that they are taken.
      slots: config === undefined ? null : (config.worker?.concurrency ?? engineDefaults.slots) || null,
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
    { at: dateOf, span: spanOf },
  )
}

// Of a store that was named, this folder's config says nothing.
const configOf = (flags: Flags) =>
  saidStorage(flags) === undefined && findConfig() !== undefined ? loadConfig(undefined) : undefined

/** The command. */
export const runExplain: Command = storeCommand(
  "run explain ID",
  "why a run waits, or how it ended, in one sentence",
  async (store, args, flags) => {
    const id = only(args, "run id")
    const [run] = await store.get([id])
    if (run === undefined) throw notFound("run", id)
    const explained = await explainRun(store, run, flags)
    if (flags.output !== undefined && flags.output !== "table") {
      printRows(flags, [{ id, job: run.job, state: run.state, ...explained }], {})
      return
    }
    console.log(plain(explained.why.replace(/\.?$/, "."), 2000))
    if (explained.next !== null) console.error(plain(explained.next))
  },
)

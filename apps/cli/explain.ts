// `uhrwerk run explain`: the sentence that says why a run waits or how it ended, as far as the config of this folder and
// the store tell.
import type { Run } from "../../core/domain/Run.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import type { Explanation } from "../../core/run/Explain.ts"
import { engineDefaults } from "../../core/engine/EngineConfig.ts"
import { placementIn } from "../sdk/checkWork.ts"
import { explainRun as explain } from "../sdk/explainRun.ts"
import { jobNames } from "../sdk/flow.ts"
import { dateOf, plain, printRows, spanOf } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Command, type Flags, notFound, only, saidStorage, storeCommand } from "./open.ts"

/** Explains a run of the store. */
export const explainRun = async (store: StoreDriver, run: Run, flags: Flags): Promise<Explanation> => {
  const config = await configOf(flags)
  return explain(store, run, {
    jobs: config === undefined ? null : new Set(config.jobs.flatMap(jobNames)),
    // None of its own: what holds a run up is not that they are taken.
    slots: config === undefined ? null : (config.worker?.concurrency ?? engineDefaults.slots) || null,
    placement: config === undefined ? undefined : placementIn(config, run.job),
    words: { at: dateOf, span: spanOf },
  })
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

// Which jobs of a store are flows, and which are steps of flows: the config says it, and where there is none the runs
// do, since a flow run keeps its definition.
import type { FlowDefinition } from "../../core/domain/Flow.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { checkConfig, type Project } from "../sdk/config.ts"
import { plain } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Flags, saidStorage } from "./open.ts"

/** Flows by their names, and the names of the jobs of their steps. */
export interface FlowNames {
  readonly flows: ReadonlyMap<string, FlowDefinition>
  readonly stepJobs: ReadonlySet<string>
  /** All other jobs and flows, of the store and of the config; sorted. */
  readonly names: ReadonlyArray<string>
}

/** Looks among these names of jobs, and in the config. */
export const flowNames = async (
  store: StoreDriver,
  known: ReadonlySet<string>,
  flags: Flags,
): Promise<FlowNames> => {
  const flows = new Map<string, FlowDefinition>()
  const stepJobs = new Set<string>()
  const latest = new Map<string, string>()
  // The config says it best, which stands for an id above all others; then the latest run.
  const add = (definition: FlowDefinition, runId: string): void => {
    if (runId > (latest.get(definition.name) ?? "")) {
      latest.set(definition.name, runId)
      flows.set(definition.name, definition)
    }
    // A list's items have a job of their own, and the definition does not say which steps are lists.
    for (const { job } of definition.steps) stepJobs.add(job).add(`${job}[]`)
  }
  const config = await projectOf(flags)
  for (const { definition } of config?.flows.values() ?? []) add(definition, "~")
  // What is left are flows that the config does not know, and steps of earlier versions. A list comes before its
  // items in this order.
  for (const name of [...known].toSorted()) {
    if (!name.includes("/") || stepJobs.has(name)) continue
    const [run] = await store.list({ job: name, limit: 1 })
    if (run === undefined || run.parentId === null) continue
    stepJobs.add(name).add(`${name}[]`)
    const view = await store.flowOf(run.parentId)
    if (view?.expansion.kind === "flow") add(view.expansion.definition, run.parentId)
  }
  const all = new Set([...known, ...flows.keys(), ...(config?.jobs.keys() ?? [])])
  return { flows, stepJobs, names: [...all].filter((name) => !stepJobs.has(name)).toSorted() }
}

// Of a store that was named, this folder's config says nothing.
const projectOf = async (flags: Flags): Promise<Project | undefined> => {
  if (saidStorage(flags) !== undefined || findConfig() === undefined) return undefined
  try {
    return await checkConfig(await loadConfig(undefined))
  } catch (error) {
    console.error(plain(`The config cannot be used, and is left out: ${errorInfo(error).message}`, 500))
    return undefined
  }
}

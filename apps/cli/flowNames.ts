// Which jobs of a store are flows, and which are steps of flows: the config says it, and where there is none the runs
// do, since a flow run keeps its definition.
import type { FlowDefinition } from "../../core/domain/Flow.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { checkConfig } from "../sdk/config.ts"
import { plain } from "./format.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"
import { type Flags, saidStorage } from "./open.ts"

/** Flows by their names, and the names of the jobs of their steps. */
export interface FlowNames {
  readonly flows: ReadonlyMap<string, FlowDefinition>
  readonly stepJobs: ReadonlySet<string>
}

/** Looks among these names of jobs. */
export const flowNames = async (
  store: StoreDriver,
  names: ReadonlyArray<string>,
  flags: Flags,
): Promise<FlowNames> => {
  const flows = new Map<string, FlowDefinition>()
  const stepJobs = new Set<string>()
  const add = (definition: FlowDefinition): void => {
    if (!flows.has(definition.name)) flows.set(definition.name, definition)
    // A list's items have a job of their own, and the definition does not say which steps are lists.
    for (const { job } of definition.steps) stepJobs.add(job).add(`${job}[]`)
  }
  for (const definition of await configFlows(flags)) add(definition)
  // What is left are flows that the config does not know, and steps of earlier versions. A list comes before its
  // items in this order.
  for (const name of names.toSorted()) {
    if (!name.includes("/") || stepJobs.has(name)) continue
    const [run] = await store.list({ job: name, limit: 1 })
    if (run === undefined || run.parentId === null) continue
    stepJobs.add(name).add(`${name}[]`)
    const view = await store.flowOf(run.parentId)
    if (view?.expansion.kind === "flow") add(view.expansion.definition)
  }
  return { flows, stepJobs }
}

// Of a store that was named, this folder's config says nothing.
const configFlows = async (flags: Flags): Promise<ReadonlyArray<FlowDefinition>> => {
  if (saidStorage(flags) !== undefined || findConfig() === undefined) return []
  try {
    const { flows } = await checkConfig(await loadConfig(undefined))
    return [...flows.values()].map(({ definition }) => definition)
  } catch (error) {
    console.error(plain(`The config cannot be used, and is left out: ${errorInfo(error).message}`, 500))
    return []
  }
}

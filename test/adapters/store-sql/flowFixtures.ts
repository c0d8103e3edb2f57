// What the tests of flows in a file are made of: flows of one job, stores in memory, and work until none is left.
import { afterEach } from "vitest"
import { openDatabase } from "../../../adapters/store-sql/sqlite/Database.ts"
import { driverOver } from "../../../adapters/store-sql/sqlite.ts"
import { failure, newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Expansion, FlowDefinition, StepPlan } from "../../../core/domain/Flow.ts"
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { now } from "./folder.ts"

const open: Array<StoreDriver> = []
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

export const job = { job: "step", queue: "default", priority: 0, attemptMax: 1 }
export const stepOf = (
  id: string,
  needs: ReadonlyArray<string> = [],
  fields: Partial<StepPlan> = {},
): StepPlan => ({
  id,
  needs,
  ...job,
  ...fields,
})
export const flowOf = (
  name: string,
  steps: ReadonlyArray<StepPlan>,
  fields: Partial<FlowDefinition> = {},
): Expansion => ({
  kind: "flow",
  definition: { name, version: "1", steps, output: null, failFast: false, timeoutMillis: null, ...fields },
})
export const chain = (size: number): ReadonlyArray<StepPlan> =>
  Array.from({ length: size }, (_, index) => stepOf(`s${index}`, index === 0 ? [] : [`s${index - 1}`]))
/** Layers of a hundred, each step needing two of the layer before. */
export const layers = (size: number): ReadonlyArray<StepPlan> =>
  Array.from({ length: size }, (_, index) => {
    const above = index - 100
    return stepOf(
      `s${index}`,
      above < 0 ? [] : [`s${above}`, `s${above - (above % 100) + ((above + 1) % 100)}`],
    )
  })

export const memory = (clock = now) => {
  const database = openDatabase({ file: ":memory:" })
  const store = driverOver(database, { file: ":memory:", now: clock })
  open.push(store)
  void store.join({ id: "n1", host: "h", pid: 1, runtime: "r" }, 1e12)
  const count = (from: string): number =>
    Number(database.prepare(`select count(*) as n from ${from}`).get()?.["n"])
  return { store, database, count }
}

export const claim = async (store: StoreDriver, jobs: ReadonlyArray<string> = ["step"], limit = 500) =>
  store.claim({ node: "n1", queues: ["default"], jobs, limit, acknowledged: true })

export const expand = async (
  store: StoreDriver,
  n: number,
  expansion: Expansion,
  retryInMillis: number | null = null,
): Promise<string> => {
  await store.enqueue([newRun(n, { job: "flow" })])
  const [run] = await claim(store, ["flow"], 1)
  await store.settle([{ id: runId(n), token: run?.token ?? 0, kind: "expanded", expansion, retryInMillis }])
  return runId(n)
}

export const won = ({ id, token }: Run): Settlement => ({ id, token, kind: "succeeded", output: null })
export const lost = ({ id, token }: Run): Settlement => ({
  id,
  token,
  kind: "failed",
  error: failure,
  retryInMillis: null,
})

/** Claims and settles until nothing is left; answers how many runs there were. */
export const drain = async (
  store: StoreDriver,
  settle: (run: Run) => Settlement = won,
  limit = 500,
): Promise<number> => {
  for (let ended = 0; ;) {
    const held = await claim(store, ["step"], limit)
    if (held.length === 0) return ended
    await store.settle(held.map(settle))
    ended += held.length
  }
}

export const statesOf = async (store: StoreDriver, id: string) =>
  ((await store.flowOf(id))?.steps ?? []).map(({ state }) => state)

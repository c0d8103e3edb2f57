// A memory store with dead letters and runs in any number, on a clock that a test moves, and servers that do operations.
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { askedStore } from "../../../apps/server/api/askedStore.ts"
import type { AskedStore } from "../../../apps/server/api/ApiParts.ts"
import { beginBulk, type BulkAsked } from "../../../apps/server/api/bulk.ts"
import type { Caller } from "../../../apps/server/api/Handler.ts"
import { type Operation, readOperation } from "../../../apps/server/OperationRecord.ts"
import { makeOperations, type Operations } from "../../../apps/server/Operations.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import type { ErrorInfo, NewRun } from "../../../core/domain/Run.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"

/** Who asks, unless a test says otherwise. */
export const operator: Caller = { kind: "local", id: null, name: "ada", role: "operator", namespace: null }

/** Enqueues runs and lets them die, in batches; `errorOf` says of what. */
export const killRuns = async (
  driver: StoreDriver,
  runs: ReadonlyArray<NewRun>,
  errorOf: (index: number) => ErrorInfo = () => ({ name: "Error", message: "It broke", kind: "error" }),
): Promise<void> => {
  await driver.join({ id: "killer", host: "localhost", pid: 1, runtime: "test" }, 86_400_000)
  const index = new Map(runs.map(({ id }, each) => [id, each]))
  for (let from = 0; from < runs.length; from += 1_000) {
    const batch = runs.slice(from, from + 1_000)
    await driver.enqueue(batch)
    const taken = await driver.claim({
      node: "killer",
      queues: [...new Set(batch.map(({ queue }) => queue))],
      jobs: [...new Set(batch.map(({ job }) => job))],
      limit: 1_000,
      acknowledged: true,
    })
    await driver.settle(
      taken.map(({ id, token }) => ({
        id,
        token,
        kind: "failed",
        error: errorOf(index.get(id) ?? 0),
        retryInMillis: null,
      })),
    )
  }
}

/** The world. */
export const makeBulkWorld = () => {
  let clock = 1_800_000_000_000
  const driver = memoryDriver({ now: () => clock })
  // What the next calls of an operation do instead.
  const breaks = new Map<string, () => void>()
  const watched = new Proxy(driver, {
    get: (target, key: string) => {
      const found: unknown = target[key as keyof StoreDriver]
      if (typeof found !== "function") return found
      return (...args: ReadonlyArray<unknown>): unknown => {
        breaks.get(key)?.()
        return (found as (...given: ReadonlyArray<unknown>) => unknown)(...args)
      }
    },
  })
  const troubles: Array<string> = []
  const store: AskedStore = askedStore(contextDriver(watched))
  const read = async (id: string): Promise<Operation> => {
    const stored = await readOperation(store, id)
    if (stored === undefined) throw new Error(`There is no operation ${id}`)
    return stored.operation
  }
  const world = {
    driver,
    store,
    breaks,
    /** What servers could not do. */
    troubles,
    now: () => clock,
    pass: (millis: number) => {
      clock += millis
    },
    letters: (count: number, errorOf?: (index: number) => ErrorInfo, fields: Partial<NewRun> = {}) =>
      killRuns(
        driver,
        Array.from({ length: count }, (_, index) => newRun(index + 1, { attemptMax: 1, ...fields })),
        errorOf,
      ),
    server: (self: string): Operations =>
      makeOperations({
        store,
        self,
        onTrouble: (doing) => troubles.push(doing),
      }),
    begin: async (asked: BulkAsked, caller: Caller = operator): Promise<Operation> => {
      const { body } = await beginBulk({ store }, caller, asked)
      if (!("id" in body)) throw new Error("It was a dry run")
      return read(body.id)
    },
    read,
    /** Lets a server work until the operation has ended; answers how many ticks it took. */
    work: async (server: Operations, id: string, ticksMax = 1_000): Promise<number> => {
      for (let ticks = 1; ticks <= ticksMax; ticks++) {
        clock += await server.tick()
        if ((await read(id)).endedAt !== null) return ticks
      }
      throw new Error(`Operation ${id} has not ended after ${ticksMax} ticks`)
    },
  }
  return world
}

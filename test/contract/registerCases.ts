// Registers the contract kit with a test runner: each case gets a store of its own, freshly opened, and a
// clock that only the case moves.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Case, ContractClock } from "../../core/contract/Case.ts"
import { flowStoreContract } from "../../core/contract/FlowStoreContract.ts"
import { nodeStoreContract } from "../../core/contract/NodeStoreContract.ts"
import { runStoreContract } from "../../core/contract/RunStoreContract.ts"
import { scheduleStoreContract } from "../../core/contract/ScheduleStoreContract.ts"
import { contextDriver } from "../../core/ports/Store.ts"
import type { StoreCapabilities, StoreDriver } from "../../core/ports/StoreDriver.ts"

/** The part of a runner's `test` that is needed; vitest, `bun test` and `node:test` all have it. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown
  readonly skip: (name: string, run: () => Promise<void>) => unknown
}

/** All cases of a store. */
export const storeContract: ReadonlyArray<Case> = [
  ...runStoreContract,
  ...flowStoreContract,
  ...scheduleStoreContract,
  ...nodeStoreContract,
]

/** Where every case's clock starts: 2026-01-01T00:00:00Z. */
export const startAt = Date.UTC(2026, 0, 1)

/**
 * Registers all cases for one store. `open` makes a fresh, empty driver on the clock it is given. What the store
 * says of itself must be known before it is opened, so that cases that do not apply are skipped by name; a
 * driver that then says otherwise fails every case. The driver is closed after its case, also when that failed.
 */
export const registerCases = (
  test: TestFunction,
  store: string,
  open: (now: () => number) => StoreDriver | Promise<StoreDriver>,
  capabilities: Omit<StoreCapabilities, "name"> = { durable: false, shared: true },
  cases: ReadonlyArray<Case> = storeContract,
): void => {
  for (const { name, run, skip } of cases) {
    const reason = skip?.({ name: store, ...capabilities }) ?? null
    if (reason !== null) {
      test.skip(`${store} > ${name} (${reason})`, () => Promise.resolve())
      continue
    }
    test(`${store} > ${name}`, async () => {
      let millis = startAt
      const clock = {
        now: () => millis,
        set: (to: number) => void (millis = to),
        advance: (by: number) => void (millis += by),
      }
      const driver = await open(clock.now)
      try {
        const { shared, durable } = driver.capabilities
        if (shared !== capabilities.shared || durable !== capabilities.durable) {
          throw new Error(`The store "${store}" was registered with other capabilities than it states`)
        }
        const services = Context.add(contextDriver(driver), ContractClock, clock)
        await Effect.runPromise(Effect.provideContext(run, services))
      } finally {
        await driver.close()
      }
    })
  }
}

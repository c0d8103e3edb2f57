// Registers the contract kit with a test runner: each case is a test, on a store of its own, freshly opened, and a
// clock that only the case moves.
import * as Effect from "effect/Effect"
import type { Case } from "../../core/contract/Case.ts"
import { type OpenDriver, runCase, storeContract } from "../../core/contract/StoreContract.ts"
import type { StoreCapabilities } from "../../core/ports/StoreDriver.ts"

/** The part of a runner's `test` that is needed; vitest, `bun test` and `node:test` all have it. */
export interface TestFunction {
  (name: string, run: () => Promise<void>): unknown
  readonly skip: (name: string, run: () => Promise<void>) => unknown
}

/**
 * Registers all cases for one store. What the store says of itself must be known before it is opened, so that cases
 * that do not apply are skipped by name; a driver that then says otherwise fails every case.
 */
export const registerCases = (
  test: TestFunction,
  store: string,
  open: OpenDriver,
  capabilities: Omit<StoreCapabilities, "name"> = { durable: false, shared: true },
  cases: ReadonlyArray<Case> = storeContract,
): void => {
  const openChecked: OpenDriver = async (now) => {
    const driver = await open(now)
    const { shared, durable } = driver.capabilities
    if (shared === capabilities.shared && durable === capabilities.durable) return driver
    await driver.close()
    throw new Error(`The store "${store}" was registered with other capabilities than it states`)
  }
  for (const each of cases) {
    const reason = each.skip?.({ name: store, ...capabilities }) ?? null
    if (reason === null) test(`${store} > ${each.name}`, () => Effect.runPromise(runCase(each, openChecked)))
    else test.skip(`${store} > ${each.name} (${reason})`, () => Promise.resolve())
  }
}

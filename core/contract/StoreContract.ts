// The whole contract of a store: every case that every driver must pass, and how one of them is run. A test runner
// registers each case as a test of its own.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { contextDriver, type Store } from "../ports/Store.ts"
import type { Awaitable, StoreDriver } from "../ports/StoreDriver.ts"
import { type Case, ContractClock, ContractTwin } from "./Case.ts"
import { credentialStoreContract } from "./CredentialStoreContract.ts"
import { faultContract } from "./FaultContract.ts"
import { flowStoreContract } from "./FlowStoreContract.ts"
import { nodeStoreContract } from "./NodeStoreContract.ts"
import { recordStoreContract } from "./RecordStoreContract.ts"
import { runStoreContract } from "./RunStoreContract.ts"
import { scheduleStoreContract } from "./ScheduleStoreContract.ts"
import { togetherContract } from "./TogetherContract.ts"
import { valueContract } from "./ValueContract.ts"

/** All cases of a store. */
export const storeContract: ReadonlyArray<Case> = [
  ...runStoreContract,
  ...flowStoreContract,
  ...scheduleStoreContract,
  ...nodeStoreContract,
  ...credentialStoreContract,
  ...recordStoreContract,
  ...valueContract,
  ...togetherContract,
  ...faultContract,
]

/** Makes a driver without any row, on the clock that is given, in epoch milliseconds. */
export type OpenDriver = (now: () => number) => Awaitable<StoreDriver>

// 2026-01-01T00:00:00Z, where every case's clock starts.
const startAt = 1_767_225_600_000

/**
 * Runs one case, which fails when its promise is broken. `open` is asked for one driver, and by some cases for a
 * second beside it that shares no row; each is closed when the case is over, also when it failed. Whether the case
 * applies at all (`Case.skip`) is for the caller to ask.
 */
export const runCase = ({ run }: Case, open: OpenDriver): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    let millis = startAt
    const clock = {
      now: () => millis,
      set: (to: number) => void (millis = to),
      advance: (by: number) => void (millis += by),
    }
    const scope = yield* Effect.scope
    const opened = opening(open, clock.now)
    const services = (yield* opened).pipe(
      Context.add(ContractClock, clock),
      Context.add(ContractTwin, { store: Effect.provideService(opened, Scope.Scope, scope) }),
    )
    yield* Effect.provideContext(run, services)
  }).pipe(Effect.scoped)

const opening = (
  open: OpenDriver,
  now: () => number,
): Effect.Effect<Context.Context<Store>, unknown, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({ try: () => Promise.resolve(open(now)), catch: (cause) => cause }),
    (driver) => Effect.promise(() => Promise.resolve(driver.close())),
  ).pipe(Effect.map(contextDriver))

// The storage ports as the engine holds them: typed services made of one plain driver, so that error
// translation and spans are written once and not in every adapter.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { StoreError } from "../domain/Errors.ts"
import type {
  CredentialStoreDriver,
  FlowStoreDriver,
  NodeStoreDriver,
  RecordStoreDriver,
  RunStoreDriver,
  ScheduleStoreDriver,
  StoreCapabilities,
  StoreDriver,
} from "./StoreDriver.ts"

/** A driver's operations as effects that fail with `StoreError` only. */
export type Lifted<D> = {
  readonly [K in keyof D]: D[K] extends (...args: infer A) => infer R
    ? (...args: A) => Effect.Effect<Awaited<R>, StoreError>
    : never
}

/** Runs in the store. */
export class RunStore extends Context.Service<RunStore, Lifted<RunStoreDriver>>()("uhrwerk/core/RunStore") {}

/** Steps of runs that expanded. */
export class FlowStore extends Context.Service<FlowStore, Lifted<FlowStoreDriver>>()(
  "uhrwerk/core/FlowStore",
) {}

/** Schedules and their ledger in the store. */
export class ScheduleStore extends Context.Service<ScheduleStore, Lifted<ScheduleStoreDriver>>()(
  "uhrwerk/core/ScheduleStore",
) {}

/** Nodes and their leases in the store. */
export class NodeStore extends Context.Service<NodeStore, Lifted<NodeStoreDriver>>()(
  "uhrwerk/core/NodeStore",
) {}

/** Credentials of workers and of clients of the API in the store. */
export class CredentialStore extends Context.Service<CredentialStore, Lifted<CredentialStoreDriver>>()(
  "uhrwerk/core/CredentialStore",
) {}

/** Records of whoever stands on the engine. */
export class RecordStore extends Context.Service<RecordStore, Lifted<RecordStoreDriver>>()(
  "uhrwerk/core/RecordStore",
) {}

/** The store's clock and what it can promise. */
export class StoreInfo extends Context.Service<
  StoreInfo,
  { readonly now: Effect.Effect<number, StoreError>; readonly capabilities: StoreCapabilities }
>()("uhrwerk/core/StoreInfo") {}

/** All services of a store. */
export type Store =
  | RunStore
  | FlowStore
  | ScheduleStore
  | NodeStore
  | CredentialStore
  | RecordStore
  | StoreInfo

const runOperations = [
  "enqueue",
  "claim",
  "started",
  "settle",
  "promote",
  "dueWithin",
  "carried",
  "adopt",
  "reclaim",
  "cancel",
  "get",
  "list",
  "counts",
  "queueDepths",
  "attempts",
  "deadLetters",
  "replay",
  "drop",
  "prune",
] as const satisfies ReadonlyArray<keyof RunStoreDriver>

const flowOperations = ["stepInputs", "flowOf", "rerunFlow", "markStep"] as const satisfies ReadonlyArray<
  keyof FlowStoreDriver
>

const scheduleOperations = [
  "putSchedules",
  "schedules",
  "deleteSchedules",
  "pauseSchedule",
  "dueSchedules",
  "nextScheduleAt",
  "fire",
  "backfill",
  "occurrences",
  "putCalendars",
  "calendars",
  "deleteCalendars",
] as const satisfies ReadonlyArray<keyof ScheduleStoreDriver>

const nodeOperations = [
  "join",
  "renew",
  "leave",
  "nodes",
  "reportWorkers",
  "workers",
] as const satisfies ReadonlyArray<keyof NodeStoreDriver>

const credentialOperations = [
  "putCredential",
  "credentials",
  "deleteCredentials",
] as const satisfies ReadonlyArray<keyof CredentialStoreDriver>

const recordOperations = [
  "putRecords",
  "records",
  "deleteRecords",
  "pruneRecords",
] as const satisfies ReadonlyArray<keyof RecordStoreDriver>

/** The name of an operation that a store may be asked for. */
export type StoreOperation =
  | (typeof runOperations)[number]
  | (typeof flowOperations)[number]
  | (typeof scheduleOperations)[number]
  | (typeof nodeOperations)[number]
  | (typeof credentialOperations)[number]
  | (typeof recordOperations)[number]
  | "now"

/**
 * The services over a driver that `open` makes; it is closed with the layer's scope. What `open` fails
 * with (a file that is no database, a newer schema) passes through as it is.
 */
export const layerDriver = <E, R>(
  open: Effect.Effect<StoreDriver, E, R>,
): Layer.Layer<Store, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const driver = yield* Effect.acquireRelease(open, (opened) =>
        Effect.ignore(call(opened, "close", () => opened.close())),
      )
      return contextDriver(driver)
    }),
  )

/** The same services as a plain context, for whoever closes the driver himself. */
export const contextDriver = (driver: StoreDriver): Context.Context<Store> =>
  Context.make(RunStore, lift(driver, runOperations)).pipe(
    Context.add(FlowStore, lift(driver, flowOperations)),
    Context.add(ScheduleStore, lift(driver, scheduleOperations)),
    Context.add(NodeStore, lift(driver, nodeOperations)),
    Context.add(CredentialStore, lift(driver, credentialOperations)),
    Context.add(RecordStore, lift(driver, recordOperations)),
    Context.add(StoreInfo, {
      now: call(driver, "now", () => driver.now()),
      capabilities: driver.capabilities,
    }),
  )

const lift = <K extends keyof StoreDriver>(
  driver: StoreDriver,
  operations: ReadonlyArray<K>,
): Lifted<Pick<StoreDriver, K>> => {
  const service: Record<string, unknown> = {}
  for (const operation of operations) {
    // Looked up when it is asked for: a store of an earlier version of this port lacks what was added to it since.
    const run = (args: Array<unknown>): unknown =>
      (driver[operation] as (...given: Array<unknown>) => unknown)(...args)
    service[operation] = (...args: Array<unknown>) => call(driver, operation, () => run(args))
  }
  return service as Lifted<Pick<StoreDriver, K>>
}

const call = <A>(
  driver: StoreDriver,
  operation: string,
  run: () => A | Promise<A>,
): Effect.Effect<Awaited<A>, StoreError> => {
  const storeError = (cause: unknown): StoreError =>
    new StoreError({ driver: driver.capabilities.name, operation, outcomeUnknown: isUnknown(cause), cause })
  return Effect.suspend(() => {
    const answer = Effect.try({ try: run, catch: storeError })
    // A synchronous driver is not made to wait a microtask: the hot path of an embedded store has no promise.
    return Effect.flatMap(answer, (value) =>
      value instanceof Promise
        ? Effect.tryPromise({ try: () => value as Promise<Awaited<A>>, catch: storeError })
        : Effect.succeed(value as Awaited<A>),
    )
  })
}

// A driver marks an error after which nothing was done; all others may hide a commit.
const isUnknown = (cause: unknown): boolean =>
  !(
    typeof cause === "object" &&
    cause !== null &&
    (cause as { outcomeUnknown?: unknown }).outcomeUnknown === false
  )

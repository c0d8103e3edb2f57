// Faults around any store: calls that fail before anything was done, calls that are done and reported as failed, and
// calls that take their time. Whoever uses a store through this sees what a network, a restart and a full disk do; a
// store that keeps the port's promises loses nothing by it.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { StoreError } from "../domain/Errors.ts"
import {
  CredentialStore,
  FlowStore,
  NodeStore,
  RecordStore,
  RunStore,
  ScheduleStore,
  StoreInfo,
  type Store,
  type StoreOperation,
} from "../ports/Store.ts"

/** What happens to one call; what is absent does not happen. Times in milliseconds of Effect's clock. */
export interface Fault {
  /** How long the call is on its way to the store. */
  readonly delayMillis?: number
  /** `before`: fails and nothing is done. `after`: it is done, and reported as failed all the same. */
  readonly fails?: "before" | "after"
  /** How long the answer is on its way back. */
  readonly answerMillis?: number
}

/** Says what happens to the next call of this operation; `null`: nothing. */
export type FaultPlan = (operation: StoreOperation, args: ReadonlyArray<unknown>) => Fault | null

/** The store's services with faults. Whoever made the store closes it. */
export const withFaults = (store: Context.Context<Store>, plan: FaultPlan): Context.Context<Store> => {
  const { name } = Context.get(store, StoreInfo).capabilities
  return aroundCalls(store, (operation, args, call) =>
    Effect.suspend(() => {
      const fault = plan(operation, args)
      return fault === null ? call : disturbed(call, fault, name, operation)
    }),
  )
}

/** The store's services with something around each call. */
export const aroundCalls = (
  store: Context.Context<Store>,
  around: <A>(
    operation: StoreOperation,
    args: ReadonlyArray<unknown>,
    call: Effect.Effect<A, StoreError>,
  ) => Effect.Effect<A, StoreError>,
): Context.Context<Store> => {
  const wrap = <S extends object>(service: S): S =>
    Object.fromEntries(
      Object.entries(service).map(([operation, call]) => [
        operation,
        (...args: ReadonlyArray<unknown>) => around(operation as StoreOperation, args, call(...args)),
      ]),
    ) as S
  const { capabilities, now } = Context.get(store, StoreInfo)
  return Context.make(RunStore, wrap(Context.get(store, RunStore))).pipe(
    Context.add(FlowStore, wrap(Context.get(store, FlowStore))),
    Context.add(ScheduleStore, wrap(Context.get(store, ScheduleStore))),
    Context.add(NodeStore, wrap(Context.get(store, NodeStore))),
    Context.add(CredentialStore, wrap(Context.get(store, CredentialStore))),
    Context.add(RecordStore, wrap(Context.get(store, RecordStore))),
    Context.add(StoreInfo, { capabilities, now: around("now", [], now) }),
  )
}

const disturbed = <A>(
  call: Effect.Effect<A, StoreError>,
  { delayMillis = 0, fails, answerMillis = 0 }: Fault,
  driver: string,
  operation: StoreOperation,
): Effect.Effect<A, StoreError> => {
  const failure = (what: string) =>
    new StoreError({ driver, operation, outcomeUnknown: true, cause: new Error(what) })
  const there = Effect.andThen(
    Effect.sleep(delayMillis),
    fails === "before" ? Effect.fail(failure("the store did not answer (a fault: nothing was done)")) : call,
  )
  const back = Effect.sleep(answerMillis)
  return Effect.matchEffect(there, {
    onFailure: (error) => Effect.andThen(back, Effect.fail(error)),
    onSuccess: (answer) =>
      Effect.andThen(
        back,
        fails === "after"
          ? Effect.fail(failure("the answer was lost (a fault: it was done)"))
          : Effect.succeed(answer),
      ),
  })
}

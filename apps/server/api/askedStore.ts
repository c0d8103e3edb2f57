// The store as the API asks it: every operation a promise, which fails when the store says nothing for too long.
import * as Effect from "effect/Effect"
import * as Context from "effect/Context"
import {
  CredentialStore,
  FlowStore,
  NodeStore,
  RecordStore,
  RunStore,
  ScheduleStore,
  type Store,
  StoreInfo,
} from "../../../core/ports/Store.ts"
import { inTime } from "../inTime.ts"
import { answerMillisMax, noAnswer } from "../problems.ts"
import type { AskedStore } from "./ApiParts.ts"

/** Of the services of an open store. */
export const askedStore = (context: Context.Context<Store>): AskedStore => {
  const ask = (effect: Effect.Effect<unknown, unknown>): Promise<unknown> =>
    inTime(Effect.runPromise(effect), answerMillisMax, noAnswer)
  const { now, capabilities } = Context.get(context, StoreInfo)
  const asked: Record<string, unknown> = { now: () => ask(now), capabilities }
  for (const service of [RunStore, FlowStore, ScheduleStore, NodeStore, CredentialStore, RecordStore]) {
    const operations = Context.get(context, service as typeof RunStore) as unknown as Readonly<
      Record<string, (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>>
    >
    for (const [name, operation] of Object.entries(operations))
      asked[name] = (...args: ReadonlyArray<unknown>) => ask(operation(...args))
  }
  return asked as unknown as AskedStore
}

// A store whose every operation is timed, for metrics; nothing else of it changes.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import {
  CredentialStore,
  FlowStore,
  NodeStore,
  RecordStore,
  RunStore,
  ScheduleStore,
  type Store,
} from "../../core/ports/Store.ts"

/** Hears how long an operation took, also one that failed. */
export type StoreListener = (operation: string, millis: number) => void

type Operations = Readonly<
  Record<string, (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>>
>

/** The services of an open store, each operation of which is told. */
export const observed = (
  context: Context.Context<Store>,
  listener: StoreListener,
): Context.Context<Store> => {
  let timed: Context.Context<Store> = context
  for (const service of [RunStore, FlowStore, ScheduleStore, NodeStore, CredentialStore, RecordStore]) {
    const key = service as typeof RunStore
    const operations = Object.entries(Context.get(context, key) as unknown as Operations).map(
      ([name, operation]) =>
        [
          name,
          (...args: ReadonlyArray<unknown>) =>
            Effect.suspend(() => {
              const begin = performance.now()
              return Effect.ensuring(
                operation(...args),
                Effect.sync(() => listener(name, performance.now() - begin)),
              )
            }),
        ] as const,
    )
    timed = Context.add(timed, key, Object.fromEntries(operations) as never)
  }
  return timed
}

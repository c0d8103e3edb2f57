// A store that tells of what is done with it: how long each operation took, for metrics, and which runs were cancelled, as
// nobody else tells of those that had not begun. Nothing else of it changes.
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

/** Hears of operations. */
export interface StoreListener {
  /** How long one took, also one that failed. */
  readonly timed: (operation: string, millis: number) => void
  /** Runs that were cancelled by whoever uses this store, the engine or the API. */
  readonly cancelled: (runIds: ReadonlyArray<string>) => void
}

type Operations = Readonly<
  Record<string, (...args: ReadonlyArray<unknown>) => Effect.Effect<unknown, unknown>>
>

/** The services of an open store, each operation of which is told. */
export const observed = (
  context: Context.Context<Store>,
  listener: () => StoreListener | undefined,
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
                Effect.sync(() => listener()?.timed(name, performance.now() - begin)),
              )
            }),
        ] as const,
    )
    timed = Context.add(timed, key, Object.fromEntries(operations) as never)
  }
  const runs = Context.get(timed, RunStore)
  return Context.add(timed, RunStore, {
    ...runs,
    cancel: (ids, reason) =>
      Effect.tap(runs.cancel(ids, reason), (answers) =>
        Effect.sync(() => {
          const cancelled = answers.filter(({ result }) => result === "cancelled").map(({ id }) => id)
          if (cancelled.length > 0) listener()?.cancelled(cancelled)
        }),
      ),
  })
}

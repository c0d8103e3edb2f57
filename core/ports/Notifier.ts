// The notifier port: hints between engines, and within one, that there is something to look at. A hint may be
// lost, repeated or late: it only saves the wait until the next poll.
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** What there is to look at. */
export type Hint =
  /** A run waits that is due at this instant (epoch milliseconds); 0: some are due already. */
  | { readonly kind: "runs"; readonly dueAt: number }
  /** Schedules were added, edited or resumed, or a run ended that one waits for. */
  | { readonly kind: "schedules" }
  /** These runs were cancelled: whoever carries one tells its handler. */
  | { readonly kind: "cancelled"; readonly ids: ReadonlyArray<string> }

/** Publishes and receives hints; both are plain calls that do not fail and do not wait. */
export class Notifier extends Context.Service<
  Notifier,
  {
    readonly publish: (hint: Hint) => void
    /** Calls `listener` with every hint until the returned function is called. */
    readonly subscribe: (listener: (hint: Hint) => void) => () => void
  }
>()("uhrwerk/core/Notifier") {
  /** Hints within one process, which may hold several engines over one shared store. */
  static readonly layerLocal: Layer.Layer<Notifier> = Layer.sync(Notifier, () => {
    const listeners = new Set<(hint: Hint) => void>()
    return {
      publish: (hint) => {
        for (const listener of listeners) listener(hint)
      },
      subscribe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  })
}

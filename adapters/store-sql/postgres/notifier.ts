// Hints between the nodes of one schema, by LISTEN and NOTIFY. Within the process they arrive at once; to others they go on
// a connection of their own, gathered for 50 ms (in the transaction of a hot statement NOTIFY would cost five times as
// much). A lost connection is opened again, and until then polls do the rest.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Hint, Notifier } from "../../../core/ports/Notifier.ts"
import { clientOf, type ConnectOptions } from "./connect.ts"
import { Gathered, hintsOf, payloadsOf } from "./hints.ts"
import { checkSchema } from "./schemaName.ts"

/** How hints travel. */
export interface NotifierOptions extends ConnectOptions {
  /** That of the store. Default `uhrwerk`. */
  readonly schema?: string
  /**
   * Whether to hear of other processes; not possible through a pooler that gives each transaction another connection:
   * then hints stay in this process and others poll. Default: `true` unless `prepare` is `false`.
   */
  readonly listen?: boolean
}

/** A notifier that must be closed. */
export interface OpenNotifier {
  readonly publish: (hint: Hint) => void
  readonly subscribe: (listener: (hint: Hint) => void) => () => void
  close(): Promise<void>
}

// Between two messages, and between two tries to listen.
const gatherMillis = 50
const retryMillis = 100
const retryMillisMax = 5000

/** Opens one. It never fails: without a server hints stay in this process. */
export const openNotifier = (options: NotifierOptions): OpenNotifier => {
  const channel = `${checkSchema(options.schema ?? "uhrwerk")}_hints`
  const listeners = new Set<(hint: Hint) => void>()
  const tell = (hint: Hint): void => {
    for (const listener of listeners) listener(hint)
  }
  const subscribe = (listener: (hint: Hint) => void): (() => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  if (!(options.listen ?? options.prepare !== false)) {
    return { publish: tell, subscribe, close: () => Promise.resolve() }
  }

  const origin = Math.random().toString(36).slice(2)
  const gathered = new Gathered()
  let isClosed = false
  let isSending = false
  let failures = 0
  let listening: ReturnType<typeof setTimeout> | undefined
  let sending: ReturnType<typeof setTimeout> | undefined

  // One that was lost is thrown away: no connection is used again after it broke.
  let client: ReturnType<typeof clientOf> | undefined
  const listen = (): void => {
    let made: ReturnType<typeof clientOf>
    try {
      made = open()
    } catch {
      // What is wrong with the address, the store tells.
      return listenAgain(client)
    }
    client = made
    made.unsafe(`listen "${channel}"`).then(
      () => {
        // What was said meanwhile was said to nobody: look at everything.
        if (failures > 0) for (const hint of everything) tell(hint)
        failures = 0
      },
      () => listenAgain(made),
    )
  }
  const open = (): ReturnType<typeof clientOf> => {
    const made = clientOf(
      { ...options, applicationName: `${options.applicationName ?? "uhrwerk"} hints` },
      {
        onnotify: (_channel, payload) => hintsOf(origin, payload).forEach(tell),
        onclose: () => listenAgain(made),
      },
      // A NOTIFY is a commit, and may be lost: who waits for the disk for it would have the claim that follows wait, too.
      { synchronous_commit: "off" },
    )
    return made
  }
  const listenAgain = (lost: typeof client): void => {
    if (isClosed || lost !== client) return
    client = undefined
    void lost?.end({ timeout: 0 }).catch(() => {})
    const delay = Math.min(retryMillis * 2 ** failures++, retryMillisMax) * (0.5 + Math.random() / 2)
    listening = setTimeout(listen, delay)
  }

  // The first hint after a pause goes at once, those after it together: one message at a time, at most one in 50 ms.
  const send = (): void => {
    if (isSending || isClosed || gathered.isEmpty) return
    isSending = true
    // Without a connection they are lost.
    const sent = payloadsOf(origin, gathered.take()).map(async (payload) =>
      client?.unsafe("select pg_notify($1, $2)", [channel, payload]),
    )
    void Promise.allSettled(sent).then(() => {
      if (isClosed) return
      sending = setTimeout(() => {
        isSending = false
        send()
      }, gatherMillis)
    })
  }

  listen()
  return {
    subscribe,
    publish: (hint) => {
      tell(hint)
      gathered.add(hint)
      send()
    },
    close: async () => {
      isClosed = true
      clearTimeout(listening)
      clearTimeout(sending)
      await client?.end({ timeout: 1 })
    },
  }
}

const everything: ReadonlyArray<Hint> = [{ kind: "runs", dueAt: 0 }, { kind: "schedules" }]

/** Hints between all processes over one schema. */
export const layerPostgresNotifier = (options: NotifierOptions): Layer.Layer<Notifier> =>
  Layer.effect(
    Notifier,
    Effect.acquireRelease(
      Effect.sync(() => openNotifier(options)),
      (notifier) => Effect.promise(() => notifier.close()),
    ),
  )

// The API over a real engine on a memory store, without sockets, for the tests of each group of routes.
import * as Effect from "effect/Effect"
import { serve as listen } from "../../../../adapters/transport-websocket/mod.ts"
import type { Listening } from "../../../../core/ports/Transport.ts"
import { spokenVersions, subprotocol } from "../../../../core/protocol/Version.ts"
import { rawWorker, type RawWorker } from "../RawWorker.ts"
import { type AppParts, makeApp } from "../../../../apps/server/app.ts"
import { makeRunLog, type RunLog } from "../../../../apps/server/RunLog.ts"
import { makeRunWaits, type RunWaits } from "../../../../apps/server/RunWaits.ts"
import { makeOutlets, type Outlets } from "../../../../apps/server/Outlets.ts"
import { openSharedStore, type SharedStore } from "../../../../apps/server/SharedStore.ts"
import { until } from "../project.ts"
import type { RateOptions } from "../../../../apps/server/access/RateLimit.ts"
import type { ApiParts } from "../../../../apps/server/api/ApiParts.ts"
import { createKey, type KeyOptions } from "../../../../apps/server/Keys.ts"
import { openKeyBook } from "../../../../apps/server/TokenBook.ts"
import { checkConfig, type Config } from "../../../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../../../apps/sdk/engine.ts"

const everything = { kind: "granted", grant: { id: null, queues: null } } as const

/** An answer, read. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; `undefined` where it is none. */
  readonly body: any
}

/** How to ask. */
export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  /** Default: this machine. */
  readonly from?: string
  /** The text of a key. */
  readonly key?: string
}

/** A started API. */
export interface World {
  readonly app: ReturnType<typeof makeApp>
  readonly engine: RunningEngine
  readonly store: SharedStore["store"]
  /** What handlers stand on, for tests that call them for a caller of their own. */
  readonly parts: ApiParts
  readonly log: RunLog
  readonly waits: RunWaits
  readonly outlets: Outlets
  /** Errors that nobody expected; a good test ends without any. */
  readonly faults: ReadonlyArray<string>
  readonly ask: (method: string, path: string, body?: unknown, asking?: Asking) => Promise<Answered>
  /** Makes a key and answers its text; from the first one on each request needs one. */
  readonly makeKey: (options?: Partial<KeyOptions>) => Promise<string>
  /** The API of another node on the same store, which reads the keys as often as a server does. */
  readonly another: () => Promise<{ readonly app: ReturnType<typeof makeApp>; readonly stop: () => void }>
  /** Connects a worker of this name; only of a world that serves workers. */
  readonly connect: (name: string) => Promise<RawWorker>
  readonly stop: () => Promise<void>
}

/** Starts an engine of the config, and the API over it. `rate`: default without a limit, as tests ask often. */
export const startWorld = async (
  config: Config,
  rate: RateOptions | null = null,
  { workers = false }: { readonly workers?: boolean } = {},
): Promise<World> => {
  const shared = await openSharedStore(await checkConfig(config))
  const faults: Array<string> = []
  let listening: Listening | undefined
  let made = 0
  const keys = await openKeyBook({
    store: shared.store,
    onTrouble: (error) => faults.push(String(error)),
    everyMillis: 20,
  })
  let good: ReadonlySet<string> = new Set()
  keys.watch((valid) => (good = valid))
  const log = makeRunLog({
    store: shared.store,
    retentionMillis: shared.project.retentionMillis,
    onTrouble: (error) => faults.push(`log: ${String(error)}`),
  })
  const waits = makeRunWaits(shared.store)
  const outlets = makeOutlets({
    store: shared.store,
    rules: shared.project.works.rules,
    onTrouble: (doing, error) => faults.push(`${doing}: ${String(error)}`),
  })
  shared.observe(outlets.listener)
  const engine = await startProject(shared.project, {
    guard: false,
    ...(workers ? { workers: { admit: () => Effect.succeed(everything) } } : {}),
    onEvent: (event) => {
      log.hear(event)
      waits.hear(event)
      outlets.hear(event)
    },
  })
  outlets.start(engine)
  const parts: Omit<AppParts, "keys"> = {
    project: shared.project,
    engine: () => engine,
    store: shared.store,
    reports: shared.reports,
    waits,
    outlets,
    isReady: async () => true,
    hosts: new Set(),
    origins: new Set(),
    isLocal: true,
    rate,
    onFault: (doing, error) => faults.push(`${doing}: ${String(error)}`),
  }
  const app = makeApp({ ...parts, keys })
  return {
    app,
    engine,
    store: shared.store,
    parts,
    log,
    waits,
    outlets,
    faults,
    ask: async (method, path, body, { headers = {}, from = "127.0.0.1", key } = {}) => {
      const response = await app.request(
        `http://127.0.0.1:8080${path}`,
        {
          method,
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        },
        { remoteAddress: from },
      )
      // Events have no end: what is looked at is how they begin.
      const isEndless = response.headers.get("content-type")?.startsWith("text/event-stream") === true
      if (isEndless) await response.body?.cancel()
      const text = isEndless ? "" : await response.text()
      const isJson = /\/(?:problem\+)?json\b/.test(response.headers.get("content-type") ?? "")
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson ? JSON.parse(text) : undefined,
      }
    },
    another: async () => {
      const own = await openKeyBook({ store: shared.store, onTrouble: (error) => faults.push(String(error)) })
      return { app: makeApp({ ...parts, keys: own }), stop: own.stop }
    },
    makeKey: async (options = {}) => {
      const { key, view } = await createKey(shared.store, {
        name: `key ${++made}`,
        role: "admin",
        ...options,
      })
      await until("the key is known", () => good.has(view.id), Boolean)
      return key
    },
    connect: async (name) => {
      const { workers: desk } = engine
      if (desk === null) throw new Error("This world serves no workers")
      listening ??= await listen({
        port: 0,
        onConnection: desk.onConnection,
        protocols: spokenVersions().map(subprotocol),
      })
      const worker = await rawWorker(listening.url, { name })
      await worker.welcome
      return worker
    },
    stop: async () => {
      await listening?.stop({ graceMillis: 0 })
      keys.stop()
      waits.close()
      await engine.stop({ grace: 0 })
      await log.stop()
      await outlets.stop()
      await shared.close()
    },
  }
}

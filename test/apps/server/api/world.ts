// The API over a real engine on a memory store, without sockets, for the tests of each group of routes.
import { makeApp } from "../../../../apps/server/app.ts"
import { makeOutlets, type Outlets } from "../../../../apps/server/Outlets.ts"
import { openSharedStore, type SharedStore } from "../../../../apps/server/SharedStore.ts"
import { checkConfig, type Config } from "../../../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../../../apps/sdk/engine.ts"

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
}

/** A started API. */
export interface World {
  readonly app: ReturnType<typeof makeApp>
  readonly engine: RunningEngine
  readonly store: SharedStore["store"]
  readonly outlets: Outlets
  /** Errors that nobody expected; a good test ends without any. */
  readonly faults: ReadonlyArray<string>
  readonly ask: (method: string, path: string, body?: unknown, asking?: Asking) => Promise<Answered>
  readonly stop: () => Promise<void>
}

/** Starts an engine of the config, and the API over it. */
export const startWorld = async (config: Config): Promise<World> => {
  const shared = await openSharedStore(await checkConfig(config))
  const faults: Array<string> = []
  const outlets = makeOutlets({
    store: shared.store,
    rules: shared.project.works.rules,
    onTrouble: (doing, error) => faults.push(`${doing}: ${String(error)}`),
  })
  shared.observe(outlets.listener)
  const engine = await startProject(shared.project, { guard: false, onEvent: outlets.hear })
  outlets.start(engine)
  const app = makeApp({
    project: shared.project,
    engine: () => engine,
    store: shared.store,
    reports: shared.reports,
    outlets,
    isReady: async () => true,
    hosts: new Set(),
    origins: new Set(),
    isLocal: true,
    onFault: (doing, error) => faults.push(`${doing}: ${String(error)}`),
  })
  return {
    app,
    engine,
    store: shared.store,
    outlets,
    faults,
    ask: async (method, path, body, { headers = {}, from = "127.0.0.1" } = {}) => {
      const response = await app.request(
        `http://127.0.0.1:8080${path}`,
        {
          method,
          headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
          ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
        },
        { remoteAddress: from },
      )
      const text = await response.text()
      const isJson = /json/.test(response.headers.get("content-type") ?? "")
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: isJson ? JSON.parse(text) : undefined,
      }
    },
    stop: async () => {
      await engine.stop({ grace: 0 })
      await outlets.stop()
      await shared.close()
    },
  }
}

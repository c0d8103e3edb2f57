// A server: an engine, the connections of its workers, and an HTTP API, on one port. The order of a start: the store, the
// tokens and keys, the port, the engine; so what is refused is refused before any run is touched. A stop goes the other way.
import { serve as listen } from "../../adapters/transport-websocket/mod.ts"
import {
  isLoopback,
  type ServeOptions as ListenOptions,
} from "../../adapters/transport-websocket/ServeOptions.ts"
import { InvalidInput, TransportError } from "../../core/domain/Errors.ts"
import type { TimeSpan } from "../../core/domain/TimeSpan.ts"
import type { EngineEvent } from "../../core/observe/Event.ts"
import { closeCode, type Listening } from "../../core/ports/Transport.ts"
import { frameBytesMax, helloMillis } from "../../core/protocol/Limits.ts"
import { spokenVersions, subprotocol } from "../../core/protocol/Version.ts"
import { stopped } from "../../core/run/Enqueue.ts"
import type { Desk, WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import { checkConfig, type Config, type Project } from "../sdk/config.ts"
import { type RunningEngine, startProject } from "../sdk/engine.ts"
import type { RateOptions } from "./access/RateLimit.ts"
import { makeAdmit, ownReasons } from "./admit.ts"
import { makeApp } from "./app.ts"
import { type Books, checkDoor, openBooks } from "./Books.ts"
import { makeOutlets } from "./Outlets.ts"
import { type Denied, makeDenials } from "./Denials.ts"
import { makeRunLog } from "./RunLog.ts"
import { makeRunWaits } from "./RunWaits.ts"
import { makeOperations } from "./Operations.ts"
import { openSharedStore, type SharedStore } from "./SharedStore.ts"

/** Something that happened in a server. */
export type ServerEvent = EngineEvent | Denied

/** How to serve. */
export interface ServerOptions {
  /** Default 8080; 0: any free one. */
  readonly port?: number
  /** Default "127.0.0.1". Any that other machines can reach needs a worker token and an API key in the store. */
  readonly hostname?: string
  /** Host names, beside `hostname` and those of this machine, that HTTP requests may be sent to. */
  readonly hosts?: ReadonlyArray<string>
  /** Origins of web pages that may connect or use the API, such as `https://jobs.example.org`; default: none. */
  readonly origins?: ReadonlyArray<string>
  /** How workers are served; `connectionsMax`: default 1,000. */
  readonly workers?: Omit<WorkersConfig, "admit"> & { readonly connectionsMax?: number }
  /**
   * How often each API key may ask, or each address without one: `perSecond` (1,000) in the long run, `burst` (2,000) at once;
   * `null`: as often as they like.
   */
  readonly rate?: RateOptions | null
  /** Hears events from the very first one. */
  readonly onEvent?: (event: ServerEvent) => void
  /** `"open"`: whoever can reach the server reads `/metrics`, without a key. Default: who may read the API. */
  readonly metrics?: "open" | "keys"
  /** As in `StartOptions`. */
  readonly guard?: boolean
}

/** A started server. */
export interface RunningServer {
  /** Of the HTTP API, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Where workers connect, such as `ws://127.0.0.1:8080/v1/worker`. */
  readonly workerUrl: string
  readonly engine: RunningEngine
  /** Whether workers need a token. Becomes true with the first one in the store, and stays so. */
  readonly asksForTokens: () => boolean
  /** Whether the API needs a key. Becomes true with the first one that is made, and stays so. */
  readonly asksForKeys: () => boolean
  /** Drains the engine, ends all connections and closes the store. Calling it again waits for the same end. */
  readonly stop: (options?: { readonly grace?: TimeSpan }) => Promise<void>
}

/** The port without another word. */
export const defaultPort = 8080
const path = "/v1/worker"

/**
 * Frames and pings of one connection in a second. Only a backstop, in the transport, for what comes before a session
 * counts: the protocol's own limit is 100 messages beside those that the server's messages cause, and ends whoever is
 * over it. But a worker may lawfully send three for each assignment (`waiting`, `started`, the result), so this must be
 * above three times the runs that one process can settle in a second (about 15,000), or fast workers would be cut.
 */
export const framesPerSecondMax = 50_000

/** Starts a server of a config. Rejects with what `engine(config).start()` does, `InvalidInput` or `TransportError`. */
export const serve = async (config: Config, options: ServerOptions = {}): Promise<RunningServer> =>
  serveProject(await checkConfig(config), options)

/** Starts a server of a checked config. */
export const serveProject = async (project: Project, options: ServerOptions = {}): Promise<RunningServer> => {
  const trouble: Trouble = (doing, error) =>
    options.onEvent?.({
      kind: "trouble",
      doing,
      error: error instanceof Error ? error.message : String(error),
    })
  const store = await openSharedStore(project)
  let books: Books | undefined
  try {
    books = await openBooks(store.store, trouble)
    return await serveStore(store, books, options, trouble)
  } catch (error) {
    books?.stop()
    await store.close()
    throw error
  }
}

type Trouble = (doing: string, error: unknown) => void

const serveStore = async (
  store: SharedStore,
  books: Books,
  options: ServerOptions,
  trouble: Trouble,
): Promise<RunningServer> => {
  const { hostname = "127.0.0.1", hosts = [], origins = [] } = options
  const { tokens, keys } = books
  const tell = (event: ServerEvent): void => options.onEvent?.(event)
  const refused = makeDenials(tell)
  const log = makeRunLog({
    store: store.store,
    retentionMillis: store.project.retentionMillis,
    onTrouble: (error) => trouble("keep the log of runs", error),
  })
  const waits = makeRunWaits(store.store)
  const outlets = makeOutlets({
    store: store.store,
    rules: store.project.works.rules,
    onTrouble: trouble,
  })
  store.observe(outlets.listener)
  const live: { engine?: RunningEngine; desk?: Desk; draining: boolean } = { draining: false }
  const engineOf = (): RunningEngine => {
    if (live.engine === undefined) throw stopped()
    return live.engine
  }
  const app = makeApp({
    project: store.project,
    engine: engineOf,
    store: store.store,
    reports: store.reports,
    waits,
    outlets,
    isMetricsOpen: options.metrics === "open",
    isReady: async () => live.engine !== undefined && !live.draining && (await store.answers()),
    // Also the address itself, if it is one that others can ask for: URLs have those of IPv6 in brackets.
    hosts: new Set([hostname, `[${hostname}]`, ...hosts].map((host) => host.toLowerCase())),
    origins: new Set(origins),
    keys,
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    onDenied: (denied) => refused.add({ ...denied, worker: null }),
    isLocal: isLoopback(hostname),
    onFault: trouble,
  })
  const listening = await open(hostname, books, options, {
    origins,
    onConnection: (connection) => {
      if (live.desk !== undefined && !live.draining) return live.desk.onConnection(connection)
      // "Soon", not "later": another server, or this one in a moment, lets what the worker has begun go on.
      connection.close(closeCode.restart, "the server starts or stops")
      return { onFrame: () => undefined, onClose: () => undefined }
    },
    fetch: (request, peer) => app.fetch(request, peer),
    onFault: (error) => trouble("serve a connection", error),
  })
  const { connectionsMax: _, ...workers } = options.workers ?? {}
  const denials = makeDenials(tell)
  try {
    live.engine = await startProject(store.project, {
      ...(options.guard === undefined ? {} : { guard: options.guard }),
      onEvent: (event) => {
        log.hear(event)
        waits.hear(event)
        outlets.hear(event)
        if (event.kind === "outdated") live.draining = true
        const isTold = event.kind === "worker" && event.what === "denied" && ownReasons.has(event.reason)
        if (!isTold) tell(event)
      },
      workers: { ...workers, admit: makeAdmit(tokens, denials) },
    })
  } catch (error) {
    await listening.stop({ graceMillis: 0 })
    throw error
  }
  outlets.start(live.engine)
  const { engine, desk } = { engine: live.engine, desk: live.engine.workers }
  if (desk !== null) live.desk = desk
  // Workers that came before the first token end with it; until then there is none that could be revoked.
  tokens.watch((valid) => tokens.isRequired() && desk?.keepOnly(valid))
  const operations = makeOperations({ store: store.store, self: crypto.randomUUID(), onTrouble: trouble })
  operations.start()

  const stop = async (grace: TimeSpan | undefined): Promise<void> => {
    live.draining = true
    waits.close()
    try {
      await Promise.all([operations.stop(), engine.stop(grace === undefined ? {} : { grace })])
    } finally {
      books.stop()
      await outlets.stop()
      await listening.stop()
      await log.stop()
      await store.close()
    }
  }
  let stopping: Promise<void> | undefined
  return {
    url: httpUrl(listening.url),
    workerUrl: listening.url,
    engine,
    asksForTokens: tokens.isRequired,
    asksForKeys: keys.isRequired,
    stop: ({ grace } = {}) => (stopping ??= stop(grace)),
  }
}

const httpUrl = (workerUrl: string): string => new URL(workerUrl.replace(/^ws/, "http")).origin

/** Listens, if those who can reach the address can be asked who they are. */
const open = async (
  hostname: string,
  books: Books,
  { port = defaultPort, workers }: ServerOptions,
  parts: Pick<ListenOptions, "origins" | "onConnection" | "fetch" | "onFault">,
): Promise<Listening> => {
  checkDoor(hostname, books)
  try {
    return await listen({
      ...parts,
      hostname,
      port,
      path,
      remote: true,
      protocols: spokenVersions().map(subprotocol),
      limits: {
        frameBytesMax,
        framesPerSecondMax,
        firstFrameMillisMax: helloMillis,
        ...(workers?.connectionsMax === undefined ? {} : { connectionsMax: workers.connectionsMax }),
      },
    })
  } catch (error) {
    throw error instanceof TransportError ? explained(error, hostname, port) : error
  }
}

const faults: Readonly<Record<string, readonly [field: string, reason: string, next: string]>> = {
  EADDRINUSE: ["port", "another program has it", "Choose another one, or 0 for any that is free."],
  EACCES: ["port", "this user may not listen there", "Choose one from 1024 on, or 0 for any that is free."],
  EADDRNOTAVAIL: ["hostname", "this machine has no such address", "Name one of its own."],
  ENOTFOUND: ["hostname", "no address is known by this name", "Correct it, or give an address."],
}

/** What a person can mend is said as such. */
const explained = (error: TransportError, hostname: string, port: number): Error => {
  const code = (error.cause as { readonly code?: unknown } | null)?.code
  const fault = typeof code === "string" && Object.hasOwn(faults, code) ? faults[code] : undefined
  if (fault === undefined) return error
  const [field, why, next] = fault
  return new InvalidInput({ field, reason: `cannot listen on ${hostname}:${port}: ${why}`, next })
}

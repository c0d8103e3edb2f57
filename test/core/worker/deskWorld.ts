// Engines that serve workers, the workers, and a network between them, all in virtual time: the real engine over the
// memory store, the real desk, the worker's own machine with test handlers, and the memory transport with its limits.
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { LineTime } from "../../../adapters/transport-common/Line.ts"
import { type Link, memoryNetwork, type Network } from "../../../adapters/transport-memory/mod.ts"
import type { Job } from "../../../core/domain/Job.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { VirtualTime } from "../../../core/engine/VirtualTime.ts"
import type { Connection, TransportLimits } from "../../../core/ports/Transport.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { type Faults, faulty, makeWorld, type Member, type MemberOptions } from "../engine/world.ts"
import type { Desk, WorkersConfig } from "../../../core/worker/WorkersConfig.ts"
import { type TestHandler, TestWorker, type TestWorkerOptions } from "./testWorker.ts"

/** The subprotocol that everybody speaks. */
export const protocol = "uhrwerk.worker.v1"

/** How to start a server. */
export interface ServeOptions extends Omit<MemberOptions, "workers"> {
  readonly name?: string
  readonly jobs: ReadonlyArray<Job>
  readonly workers?: Partial<WorkersConfig>
  readonly limits?: Partial<TransportLimits>
}

/** An engine that serves workers. */
export interface Server {
  readonly name: string
  readonly url: string
  readonly member: Member
  readonly desk: Desk
  /** What its store fails at; change it while it runs. */
  readonly faults: Faults
  /** What it told of workers, as `name what`. */
  readonly told: () => ReadonlyArray<string>
  readonly send: (job: string, input?: unknown, more?: object) => Promise<string>
  /** Stops politely while time goes on. */
  readonly drain: (graceMillis: number) => Promise<void>
  /** Dies: its store and all its connections are out of reach from one moment to the next. */
  readonly crash: () => Promise<void>
}

/** A connection of somebody who speaks by hand. */
export interface Peer {
  readonly said: Array<any>
  closed: { readonly code: number; readonly reason: string } | null
  readonly connection: Connection
  readonly send: (message: unknown) => void
}

/** The hello of somebody who speaks by hand. */
export const helloOf = (fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  type: "hello",
  id: "h1",
  worker: "raw",
  incarnation: "raw-1",
  connection: 1,
  session: null,
  runtime: "test 1",
  version: "1",
  jobs: ["work"],
  slots: 1,
  prefetch: 0,
  capabilities: ["resume"],
  inHand: [],
  ...fields,
})

/** An acknowledgement of an assignment by hand. */
export const ackOf = (assign: any, result: string, reason?: string): Record<string, unknown> => {
  const { run, attempt, token } = assign
  return {
    type: "ack",
    id: `a${assign.id}`,
    acks: [{ run, attempt, token, result, ...(reason === undefined ? {} : { reason }) }],
  }
}

/** A handler that works for so long, and stops when it is told to. */
export const busy =
  (world: DeskWorld, millis: number): TestHandler =>
  async ({ signal }) => {
    await world.sleep(millis, signal)
    return "done"
  }

/** A handler that works for so long, whatever it is told. */
export const deaf =
  (world: DeskWorld, millis: number): TestHandler =>
  async () => {
    await world.sleep(millis, new AbortController().signal)
    return "late"
  }

/** Makes worlds that end with their test. */
export const worldsThatEnd = (afterEach: (end: () => Promise<void>) => void): typeof makeDeskWorld => {
  const worlds: Array<DeskWorld> = []
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.end()
  })
  return (network) => {
    const world = makeDeskWorld(network)
    worlds.push(world)
    return world
  }
}

/** Timers of virtual time. */
export const lineTime = (time: VirtualTime): LineTime => ({
  now: time.now,
  after: (millis, callback) => {
    // Never within this call, however short the time.
    const wait = Effect.andThen(Effect.yieldNow, Effect.sleep(Math.max(0, millis)))
    const fiber = Effect.runForkWith(time.context)(Effect.andThen(wait, Effect.sync(callback)))
    return () => void Effect.runFork(Fiber.interrupt(fiber))
  },
})

/** A world with servers and workers. */
export const makeDeskWorld = (network: Partial<Omit<Parameters<typeof memoryNetwork>[0], "time">> = {}) => {
  const world = makeWorld()
  const time = lineTime(world.time)
  const net: Network = memoryNetwork({ time, ...network })
  const workers: Array<TestWorker> = []
  let count = 0

  const serve = async (options: ServeOptions): Promise<Server> => {
    const name = options.name ?? `server-${++count}`
    const faults: Faults = new Map()
    let isDead = false
    const driver = mortal(faulty(options.driver ?? world.driver, faults), () => isDead)
    const member = await world.start({
      own: [],
      ...options,
      name,
      driver,
      workers: {
        admit: () => Effect.succeed({ kind: "granted", grant: { id: null, queues: null } }),
        ...options.workers,
      },
    })
    const desk = member.engine.desk as Desk
    const { url } = await net.listen({
      name,
      protocols: [protocol],
      onConnection: desk.onConnection,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    })
    const whileTimeGoesOn = async (promise: Promise<unknown>, millis: number): Promise<void> => {
      await world.advance(millis)
      await promise
    }
    return {
      name,
      url,
      member,
      desk,
      faults,
      told: () =>
        member.events.flatMap((event) => (event.kind === "worker" ? [`${event.worker} ${event.what}`] : [])),
      send: async (job, input = null, more = {}) => {
        const text = input === null ? null : JSON.stringify(input)
        const sent = await member.run(member.engine.enqueue({ job, input: text, ...more }))
        return sent.id
      },
      drain: (graceMillis) =>
        whileTimeGoesOn(member.run(member.engine.drain(graceMillis)), graceMillis + 12_000),
      crash: async () => {
        isDead = true
        net.kill(url)
        await whileTimeGoesOn(member.close(), 0)
      },
    }
  }

  const work = (options: TestWorkerOptions): TestWorker => {
    const worker = new TestWorker(options, { time, at: world.now, connect: net.connect, protocol })
    workers.push(worker)
    return worker
  }

  return {
    ...world,
    network: net,
    lineTime: time,
    serve,
    /** A worker that connects at once and again. */
    work,
    /** A connection that says what it is told to. */
    peer: async (
      server: { readonly url: string },
      options: {
        readonly headers?: Readonly<Record<string, string>>
        readonly protocols?: ReadonlyArray<string>
        readonly limits?: Partial<TransportLimits>
      } = {},
    ): Promise<Peer> => {
      let resolve: (peer: Peer) => void = () => undefined
      const opened = new Promise<Peer>((take) => (resolve = take))
      const connecting = {
        protocols: options.protocols ?? [protocol],
        ...(options.limits === undefined ? {} : { limits: options.limits }),
        ...(options.headers === undefined ? {} : { headers: options.headers }),
      }
      net.connect(server.url, connecting, {
        onOpen: (connection) => {
          const peer: Peer = {
            said: [],
            closed: null,
            connection,
            send: (message) =>
              void connection.send(typeof message === "string" ? message : JSON.stringify(message)),
          }
          resolve(peer)
          return {
            onFrame: (frame) => void peer.said.push(JSON.parse(frame)),
            onClose: (code, reason) => void (peer.closed = { code, reason }),
          }
        },
        onFail: (error) => {
          throw error
        },
      })
      await world.advance(0)
      return opened
    },
    /** The newest connection that is open. */
    link: (): Link => net.links().at(-1) as Link,
    row: async (id: string): Promise<Run> => (await world.driver.get([id]))[0] as Run,
    rows: async (ids: ReadonlyArray<string>): Promise<ReadonlyArray<Run>> => world.driver.get(ids),
    end: async (): Promise<void> => {
      for (const worker of workers) worker.kill()
      await world.end()
    },
  }
}

/** A world. */
export type DeskWorld = ReturnType<typeof makeDeskWorld>

/** Nobody reaches the store of a server that is dead. */
const mortal = (driver: StoreDriver, isDead: () => boolean): StoreDriver =>
  new Proxy(driver, {
    get: (target, name) => {
      const value = target[name as keyof StoreDriver] as unknown
      if (typeof value !== "function") return value
      return (...args: ReadonlyArray<unknown>): unknown => {
        if (isDead()) throw new Error("this process is dead")
        return (value as (...all: ReadonlyArray<unknown>) => unknown).apply(target, [...args])
      }
    },
  })

// What a case of the transport contract stands on: a server, clients, time that can be let pass, and peers that write
// raw bytes. Ends of connections are recorded, so that a case says what it expects to have happened.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import {
  type Connect,
  connecting,
  type Connection,
  type ConnectOptions,
  type Incoming,
  type Listen,
  type Listeners,
  listening,
  type Listening,
  type ListenOptions,
} from "../../ports/Transport.ts"
import { ContractViolation, expectSame } from "../Case.ts"

/** A frame as it is on the wire. */
export interface WireFrame {
  /** 0 goes on, 1 text, 2 binary, 8 close, 9 ping, 10 pong. */
  readonly opcode: number
  /** Each byte as a character from U+0000 to U+00FF. */
  readonly payload: string
  /** Default true. */
  readonly final?: boolean
  /** Default true, as a client has to. */
  readonly masked?: boolean
}

/** A client that does what it is told and nothing else: it answers no ping and no close. */
export interface WirePeer {
  /** Of the answer to its request for an upgrade; 0 when there was none. */
  readonly status: number
  /** By lower-case name, of the answer. */
  readonly headers: ReadonlyMap<string, string>
  /** What came, in order. */
  readonly frames: ReadonlyArray<WireFrame>
  /** The TCP connection has ended. */
  readonly ended: () => boolean
  readonly send: (frame: WireFrame) => void
  /** Bytes as they are, such as the first half of a frame. */
  readonly sendRaw: (bytes: string) => void
  /** Stops and goes on reading. */
  readonly pause: () => void
  readonly resume: () => void
  /** Ends the TCP connection at once. */
  readonly destroy: () => void
}

/** How a raw peer asks for an upgrade. */
export interface WireOptions {
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * What not every transport can do. `wire`: there are bytes to send. `cuts`: a connection whose peer answers nothing can
 * be ended. `boundsFragments`: a frame in pieces is refused before all of it is there. `saysInvalidText`: a peer hears
 * why it was closed when its text is no UTF-8. `strictFrames`: frames against RFC 6455 end the connection, with 1002.
 * `tellsSenders`: a peer that is still sending hears why it was closed. `countsPings`: pings are part of a flood.
 */
export type TransportAbility =
  | "wire"
  | "cuts"
  | "boundsFragments"
  | "saysInvalidText"
  | "strictFrames"
  | "tellsSenders"
  | "countsPings"

/** The transport under test. */
export class TransportGround extends Context.Service<
  TransportGround,
  {
    readonly listen: Listen
    readonly connect: Connect
    /** Lets this time pass, real or virtual, and everything happen that falls into it. */
    readonly pass: (millis: number) => Effect.Effect<void>
    /** Absent where there are no bytes. */
    readonly wire?: (url: string, options: WireOptions) => Effect.Effect<WirePeer, unknown, Scope.Scope>
  }
>()("uhrwerk/core/TransportGround") {}

/** One promise of a transport. */
export interface TransportCase {
  /** `what > what it promises`; unique in the kit. */
  readonly name: string
  readonly run: Effect.Effect<void, unknown, TransportGround | Scope.Scope>
  /** A transport that lacks one of these is not asked. */
  readonly needs?: ReadonlyArray<TransportAbility>
}

/** One end of a connection, with what happened there. */
export interface End<C extends Connection = Connection> {
  readonly connection: C
  readonly frames: Array<string>
  readonly drains: Array<number>
  /** `[code, reason]` of each time that its end was told. */
  readonly ends: Array<readonly [number, string]>
}

const endOf = <C extends Connection>(
  connection: C,
  also: Partial<Listeners> = {},
): { readonly end: End<C>; readonly listeners: Listeners } => {
  const end: End<C> = { connection, frames: [], drains: [], ends: [] }
  return {
    end,
    listeners: {
      onFrame: (frame) => {
        end.frames.push(frame)
        // What it answers is handed on: a listener may be asynchronous against its type.
        return also.onFrame?.(frame)
      },
      onDrain: () => {
        end.drains.push(connection.buffered())
        also.onDrain?.()
      },
      onClose: (code, reason) => {
        end.ends.push([code, reason])
        also.onClose?.(code, reason)
      },
    },
  }
}

/** A server with all that happened at its ends. */
export interface Served extends Listening {
  readonly ends: ReadonlyArray<End<Incoming>>
  readonly faults: ReadonlyArray<unknown>
}

/** Starts a server that records; `take` is called with each connection and may add listeners. */
export const serve = (
  options: Omit<ListenOptions, "onConnection" | "onFault"> = {},
  take: (connection: Incoming) => Partial<Listeners> | undefined = () => undefined,
): Effect.Effect<Served, unknown, TransportGround | Scope.Scope> =>
  Effect.gen(function* () {
    const { listen } = yield* TransportGround
    const ends: Array<End<Incoming>> = []
    const faults: Array<unknown> = []
    const server = yield* listening(
      listen,
      {
        ...options,
        onFault: (error) => faults.push(error),
        onConnection: (connection) => {
          const { end, listeners } = endOf(connection, {
            onFrame: (frame) => also?.onFrame?.(frame),
            onDrain: () => also?.onDrain?.(),
            onClose: (code, reason) => also?.onClose?.(code, reason),
          })
          ends.push(end)
          const also = take(connection)
          return listeners
        },
      },
      { graceMillis: 300 },
    )
    return { ...server, ends, faults }
  })

/** Connects, and records. */
export const dial = (
  { url }: Listening,
  options: ConnectOptions = {},
  also: Partial<Listeners> = {},
): Effect.Effect<End, unknown, TransportGround> =>
  Effect.gen(function* () {
    const { connect } = yield* TransportGround
    const ends: Array<End> = []
    yield* connecting(connect, url, options, (connection) => {
      const { end, listeners } = endOf(connection, also)
      ends.push(end)
      return listeners
    })
    return yield* first("the client's end", ends)
  })

/** Connects, and waits for the server's end, which is the last that it has. */
export const pair = (
  served: Served,
  options: ConnectOptions = {},
): Effect.Effect<{ readonly server: End<Incoming>; readonly client: End }, unknown, TransportGround> =>
  Effect.gen(function* () {
    const before = served.ends.length
    const client = yield* dial(served, options)
    yield* eventually("ends of the server", () => served.ends.length, before + 1)
    return { client, server: yield* first("the server's end", served.ends.slice(before)) }
  })

/** A raw peer, connected. */
export const wire = (
  { url }: Listening,
  options: WireOptions = {},
): Effect.Effect<WirePeer, unknown, TransportGround | Scope.Scope> =>
  Effect.gen(function* () {
    const ground = yield* TransportGround
    if (ground.wire === undefined) return yield* Effect.die("A case without the need for a wire asks for one")
    return yield* ground.wire(url, options)
  })

/** Lets time pass. */
export const pass = (millis: number): Effect.Effect<void, never, TransportGround> =>
  TransportGround.use((ground) => ground.pass(millis))

/** The first of them, which has to be there. */
export const first = <A>(what: string, list: ReadonlyArray<A>): Effect.Effect<A, ContractViolation> => {
  const [one] = list
  return one === undefined
    ? Effect.fail(new ContractViolation({ what, expected: "one", actual: list.length }))
    : Effect.succeed(one)
}

const patienceMillis = 10_000
const lookMillis = 5

/** Waits until both are the same by value, and fails when they never are. */
export const eventually = (
  what: string,
  actual: () => unknown,
  expected: unknown,
): Effect.Effect<void, ContractViolation, TransportGround> =>
  Effect.gen(function* () {
    for (let waited = 0; waited < patienceMillis; waited += lookMillis) {
      if (Exit.isSuccess(yield* Effect.exit(expectSame(what, actual(), expected)))) return
      yield* pass(lookMillis)
    }
    yield* expectSame(what, actual(), expected)
  })

/** A frame goes there and another comes back: the server still serves, and this connection is well. */
export const expectAlive = (
  server: End,
  client: End,
): Effect.Effect<void, ContractViolation, TransportGround> =>
  Effect.gen(function* () {
    const [there, back] = [server.frames.length, client.frames.length]
    yield* expectSame("send by the client", client.connection.send("are you there?"), "sent")
    yield* eventually("heard by the server", () => server.frames.slice(there), ["are you there?"])
    yield* expectSame("send by the server", server.connection.send("I am"), "sent")
    yield* eventually("heard by the client", () => client.frames.slice(back), ["I am"])
  })

/** The code of the close frame that came, or 0. */
export const closeCodeOf = (peer: WirePeer): number => {
  const payload = peer.frames.find(({ opcode }) => opcode === 8)?.payload ?? ""
  return payload.length < 2 ? 0 : payload.charCodeAt(0) * 256 + payload.charCodeAt(1)
}

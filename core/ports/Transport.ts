// The transport port: frames of text between a server and those who connect to it. Plain callbacks, as a frame
// costs microseconds; only opening and stopping have an Effect around them. A transport promises order and whole
// frames, not delivery: what was sent and not answered may be lost with the connection, which always says its end.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TransportError } from "../domain/Errors.ts"

/**
 * What became of a frame. `sent`: it is on its way. `slow`: so it is, but much waits for a peer that does not read;
 * send no more before `onDrain`. `tooLarge`: over `frameBytesMax`, not sent, nothing else changed. `closed`: the
 * connection has ended, or just did because more than `bufferedBytesMax` waited.
 */
export type SendResult = "sent" | "slow" | "tooLarge" | "closed"

/** One end of a connection. No method throws, whatever state it is in. */
export interface Connection {
  /** The one that both agreed on; "" when the client offered none. */
  readonly subprotocol: string
  send(frame: string): SendResult
  /** Bytes that were sent and not yet taken by the system. */
  buffered(): number
  /**
   * Says farewell: no frame is received any more, and `onClose` comes with this code and reason when the peer has
   * answered, at the latest after `closeMillisMax`. Does nothing on a connection that is closing. The reason is cut to
   * 123 bytes. A client can say 1000 and 3000 to 4999 only; other codes of a client become 4400 or 4500.
   */
  close(code: number, reason: string): void
  /** Cuts it without a word: `onClose` comes at once, with 1006 unless it was closing. */
  terminate(): void
}

/** What is called as things happen on a connection. A listener that throws ends its own connection (4500), no other. */
export interface Listeners {
  /** A frame, in the order in which they were sent. */
  readonly onFrame: (frame: string) => void
  /** After a `slow`: at most `bufferedBytesHigh` wait now. */
  readonly onDrain?: () => void
  /** Comes once, last. 1005: closed without a code. 1006: cut, or the peer gave no sign of life. */
  readonly onClose: (code: number, reason: string) => void
}

/** How a client asked for the connection; read before the upgrade, and good for ever. */
export interface UpgradeRequest {
  /** Address of whoever is at the other end of the socket: behind a proxy, the proxy. */
  readonly remoteAddress: string
  /** Path with its query. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>
  /** Subprotocols in the client's order. */
  readonly offered: ReadonlyArray<string>
}

/** A connection as the server sees it. */
export interface Incoming extends Connection {
  readonly request: UpgradeRequest
}

/**
 * Takes a connection that is open, and answers who listens. To refuse it, `close` it here: clients on Node see no
 * status of an upgrade that was refused, but they see a close code. The subprotocol is the first of the server's that
 * the client offered; if it offered others only, its first, for the handler to refuse.
 */
export type OnConnection = (connection: Incoming) => Listeners

/** Every bound of a server and of its connections. */
export interface TransportLimits {
  /** Of one frame, in UTF-8: a larger one closes the connection with 1009. */
  readonly frameBytesMax: number
  /** From here on `send` says `slow`. */
  readonly bufferedBytesHigh: number
  /** More than this closes the connection with 4429. */
  readonly bufferedBytesMax: number
  /** Of one peer, pings included; more within one second close its connection with 4429. */
  readonly framesPerSecondMax: number
  /** A peer that sends no frame in this time after it connected is closed with 4408. */
  readonly firstFrameMillisMax: number
  /** A peer that answers no ping for about this long is given up with 1006. */
  readonly silenceMillisMax: number
  /** How long a farewell may take before the connection is cut. */
  readonly closeMillisMax: number
  /** One more is closed with 1013. */
  readonly connectionsMax: number
}

/** Limits when nobody says otherwise. */
export const transportLimits: TransportLimits = {
  frameBytesMax: 1_048_576,
  bufferedBytesHigh: 1_048_576,
  bufferedBytesMax: 8_388_608,
  framesPerSecondMax: 20_000,
  firstFrameMillisMax: 5_000,
  silenceMillisMax: 30_000,
  closeMillisMax: 2_000,
  connectionsMax: 1_000,
}

/** The codes that a transport closes with by itself. Those below 2000 are of RFC 6455, the others of our protocol. */
export const closeCode = {
  normal: 1000,
  protocolError: 1002,
  binary: 1003,
  noCode: 1005,
  cut: 1006,
  invalidText: 1007,
  tooLarge: 1009,
  restart: 1012,
  tryLater: 1013,
  badMessage: 4400,
  noFirstFrame: 4408,
  tooMany: 4429,
  server: 4500,
} as const

/** How to serve, as far as every transport knows it. */
export interface ListenOptions {
  readonly onConnection: OnConnection
  /** Subprotocols that are spoken, best first. Default: none. */
  readonly protocols?: ReadonlyArray<string>
  readonly limits?: Partial<TransportLimits>
  /** Hears what a listener threw. Default: printed to stderr. */
  readonly onFault?: (error: unknown) => void
}

/** How to end a server. */
export interface StopOptions {
  /** Default 1012: come again, elsewhere or a little later. */
  readonly code?: number
  readonly reason?: string
  /** How long peers may take to answer before they are cut; default 2,000. */
  readonly graceMillis?: number
}

/** A server that takes connections. */
export interface Listening {
  /** Where clients connect to, such as `ws://127.0.0.1:8080/`. */
  readonly url: string
  /** Connections that are open or closing. */
  readonly connections: () => number
  /** Takes no more, closes every connection, and resolves when all have said their end. Safe to repeat. */
  readonly stop: (options?: StopOptions) => Promise<void>
}

/** Starts a server; rejects with a `TransportError` or, for a wrong option, an `InvalidInput`. */
export type Listen<Options extends ListenOptions = ListenOptions> = (options: Options) => Promise<Listening>

/** How to connect. */
export interface ConnectOptions {
  /** Such as `Authorization`. A token never goes into the address. */
  readonly headers?: Readonly<Record<string, string>>
  /** Offered subprotocols, best first. If the server picks none of them, the connection fails. */
  readonly protocols?: ReadonlyArray<string>
  readonly limits?: Partial<TransportLimits>
  /** How long it may take to open; default 10,000. */
  readonly openMillisMax?: number
  /** Hears what a listener threw. Default: printed to stderr. */
  readonly onFault?: (error: unknown) => void
}

/** Exactly one of the two is called, once, never before `connect` has returned. */
export interface Opening {
  readonly onOpen: (connection: Connection) => Listeners
  readonly onFail: (error: TransportError) => void
}

/** Opens a connection. The returned function gives up one that is not open yet: nothing is called any more. */
export type Connect = (url: string, options: ConnectOptions, opening: Opening) => () => void

/** A server that is stopped with its scope. */
export const listening = <Options extends ListenOptions>(
  listen: Listen<Options>,
  options: Options,
  stop?: StopOptions,
): Effect.Effect<Listening, unknown, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({ try: () => listen(options), catch: (error) => error }),
    (server) => Effect.promise(() => server.stop(stop)),
  )

/** Connects; interrupted, it gives up. `listen` is called once, when the connection is open. */
export const connecting = (
  connect: Connect,
  url: string,
  options: ConnectOptions,
  listen: (connection: Connection) => Listeners,
): Effect.Effect<Connection, TransportError> =>
  Effect.callback((resume) => {
    const giveUp = connect(url, options, {
      onOpen: (connection) => {
        const listeners = listen(connection)
        resume(Effect.succeed(connection))
        return listeners
      },
      onFail: (error) => resume(Effect.fail(error)),
    })
    return Effect.sync(giveUp)
  })

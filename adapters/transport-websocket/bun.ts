// The server over Bun.serve, the default on Bun. Needs Bun; `ws.ts` has the same promises everywhere.
import {
  closeCode,
  type Listening,
  type StopOptions,
  type UpgradeRequest,
} from "../../core/ports/Transport.ts"
import { hostTime } from "../transport-common/hostTime.ts"
import type { Line, Socket } from "../transport-common/Line.ts"
import { Lines, printFault } from "../transport-common/Lines.ts"
import { cannotListen, checkServe, type ServeOptions, urlOf } from "./ServeOptions.ts"
import { askedBy, isUpgrade, refusalOf } from "./upgrade.ts"

// What of Bun is used here, so that the file has the same types under Deno and tsc.
interface BunSocket {
  readonly data: Opened
  send(frame: string): number
  getBufferedAmount(): number
  close(code: number, reason: string): void
  terminate(): void
  ping(): void
}
interface Opened {
  readonly request: UpgradeRequest
  readonly subprotocol: string
  line: Line | null
}
interface BunServer {
  readonly port: number
  stop(cutAll: boolean): Promise<void> | void
  upgrade(request: Request, options: { data: Opened; headers: Record<string, string> }): boolean
  requestIP(request: Request): { readonly address: string } | null
}
declare const Bun: {
  serve(options: {
    hostname: string
    port: number
    idleTimeout: number
    fetch: (request: Request, server: BunServer) => Promise<Response | undefined>
    websocket: {
      maxPayloadLength: number
      backpressureLimit: number
      idleTimeout: number
      sendPings: boolean
      perMessageDeflate: boolean
      open: (socket: BunSocket) => void
      message: (socket: BunSocket, data: string | Buffer) => void
      ping: (socket: BunSocket) => void
      pong: (socket: BunSocket) => void
      close: (socket: BunSocket, code: number, reason: string) => void
    }
  }): BunServer
}

// Bun cuts an answer that is silent for as long: longer than the longest wait for a run (60 s), with room for the answer, and
// than the gap between the comments of an event stream.
const idleSeconds = 90
const bunIdleSecondsMax = 960

// More than twice as long as lines wait; 0 is for ever.
const idleSecondsOf = (silenceMillisMax: number): number => {
  const seconds = Math.ceil(silenceMillisMax / 500) + 8
  return seconds > bunIdleSecondsMax ? 0 : seconds
}

/** Serves until it is stopped. */
export const serve = (options: ServeOptions): Promise<Listening> =>
  // A wrong option rejects, as it does with the other servers.
  Promise.resolve().then(() => start(options))

const start = (options: ServeOptions): Listening => {
  const setting = checkServe(options)
  const lines = new Lines(options, hostTime)
  const { onFault = printFault } = options
  const { frameBytesMax, bufferedBytesMax, silenceMillisMax } = lines.limits

  const answer = async (request: Request, server: BunServer): Promise<Response | undefined> => {
    const remoteAddress = server.requestIP(request)?.address ?? ""
    if (!isUpgrade(request)) return setting.fetch(request, { remoteAddress })
    const asked = askedBy(request, remoteAddress)
    const refusal = refusalOf(asked, setting, lines.takes)
    if (refusal !== null) return new Response(`${refusal.text}\n`, { status: refusal.status })
    const subprotocol = lines.subprotocolOf(asked.offered)
    // Without this header Bun picks the client's first.
    const headers: Record<string, string> =
      subprotocol === "" ? {} : { "Sec-WebSocket-Protocol": subprotocol }
    if (server.upgrade(request, { data: { request: asked, subprotocol, line: null }, headers }))
      return undefined
    return new Response("This is no WebSocket request\n", { status: 400 })
  }

  let server: BunServer
  try {
    server = Bun.serve({
      hostname: setting.hostname,
      port: setting.port,
      idleTimeout: idleSeconds,
      fetch: (request, bun) =>
        answer(request, bun).catch((error: unknown) => {
          onFault(error)
          return new Response("Internal error\n", { status: 500 })
        }),
      websocket: {
        maxPayloadLength: frameBytesMax,
        // Bun drops what is over its limit; ours closes the connection before.
        backpressureLimit: bufferedBytesMax + 2 * frameBytesMax,
        // Lines ping by themselves, in milliseconds; Bun's own watch only has to be later.
        idleTimeout: idleSecondsOf(silenceMillisMax),
        sendPings: false,
        perMessageDeflate: false,
        open: (socket) => {
          const { data } = socket
          data.line = lines.open(socketOf(socket), data.request, data.subprotocol)
        },
        message: (socket, data) => {
          if (typeof data === "string") socket.data.line?.received(data)
          else socket.data.line?.receivedBinary()
        },
        ping: (socket) => socket.data.line?.pinged(),
        pong: (socket) => socket.data.line?.heard(),
        close: (socket, code, reason) => socket.data.line?.gone(codeOf(code, reason), reason),
      },
    })
  } catch (error) {
    throw cannotListen("Bun.serve", setting, error)
  }
  return {
    url: urlOf(setting, server.port),
    connections: () => lines.size,
    stop: async (stop: StopOptions = {}) => {
      // It resolves when the last socket is closed; what holds it up is cut after the grace period.
      const closed = Promise.resolve(server.stop(false))
      const undo = hostTime.after(stop.graceMillis ?? 2_000, () => void server.stop(true))
      await lines.stop(stop)
      await closed
      undo()
    },
  }
}

const socketOf = (socket: BunSocket): Socket => ({
  send: (frame) => {
    const sent = socket.send(frame)
    if (sent > 0) return 0
    return sent === 0 && frame !== "" ? Number.POSITIVE_INFINITY : socket.getBufferedAmount()
  },
  buffered: () => socket.getBufferedAmount(),
  close: (code, reason) => socket.close(code, reason),
  terminate: () => socket.terminate(),
  ping: () => socket.ping(),
})

// Where Bun itself closes, it tells the peer the code, and us only the reason.
const codeOf = (code: number, reason: string): number => {
  if (code !== closeCode.cut) return code
  if (reason === "Received too big message") return closeCode.tooLarge
  if (reason === "Received invalid UTF-8") return closeCode.invalidText
  return reason.startsWith("Received ") ? closeCode.protocolError : code
}

// The server over `ws` and node:http, which is the same on Node, Bun and Deno: the default on Node and Deno.
import { createServer, type IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { type RawData, type WebSocket, WebSocketServer } from "ws"
import {
  closeCode,
  type Listening,
  type StopOptions,
  type UpgradeRequest,
} from "../../core/ports/Transport.ts"
import { hostTime } from "../transport-common/hostTime.ts"
import type { Socket } from "../transport-common/Line.ts"
import { Lines, printFault } from "../transport-common/Lines.ts"
import { fetchBridge } from "./fetchBridge.ts"
import { cannotListen, checkServe, type ServeOptions, urlOf } from "./ServeOptions.ts"
import { offeredIn, refusalOf } from "./upgrade.ts"

// Heads have to come within 10 s and whole requests within 60 s, or idle connections would pile up.
const headMillisMax = 10_000
const requestMillisMax = 60_000

const serverOptions = {
  headersTimeout: headMillisMax,
  requestTimeout: requestMillisMax,
  // Whoever offers another protocol, such as h2c, is answered in this one. Node before 24.9 refuses it.
  shouldUpgradeCallback: ({ headers }: IncomingMessage): boolean =>
    headers.upgrade?.toLowerCase() === "websocket",
}

/** Serves until it is stopped. */
export const serve = async (options: ServeOptions): Promise<Listening> => {
  const setting = checkServe(options)
  const lines = new Lines(options, hostTime)
  const { onFault = printFault } = options
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: lines.limits.frameBytesMax,
    handleProtocols: (offered) => lines.subprotocolOf([...offered]),
  })
  const server = createServer(serverOptions, fetchBridge(setting.fetch, onFault))
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => socket.destroy())
    const request = askedBy(incoming)
    const refusal = refusalOf(request, setting, lines.takes)
    if (refusal !== null) return refuse(socket, refusal.status, refusal.text)
    sockets.handleUpgrade(incoming, socket, head, (webSocket) => attach(lines, webSocket, request))
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen("ws", setting, error)))
    server.listen(setting.port, setting.hostname, resolve)
  })
  server.on("error", onFault)
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : setting.port
  return {
    url: urlOf(setting, port),
    connections: () => lines.size,
    stop: async (stop: StopOptions = {}) => {
      const closed = new Promise<void>((resolve) => {
        // It fails only when it is closed already.
        server.close(() => resolve())
      })
      // Requests that are being answered have the same time as connections.
      const undo = hostTime.after(stop.graceMillis ?? 2_000, () => server.closeAllConnections())
      await lines.stop(stop)
      server.closeIdleConnections()
      await closed
      undo()
    },
  }
}

const askedBy = ({ headers, url = "/", socket }: IncomingMessage): UpgradeRequest => ({
  remoteAddress: socket.remoteAddress ?? "",
  path: url,
  headers: new Map(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  ),
  offered: offeredIn(headers["sec-websocket-protocol"]),
})

const refuse = (socket: Duplex, status: number, text: string): void => {
  const body = `${text}\n`
  const head = `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: text/plain`
  socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

const attach = (lines: Lines, webSocket: WebSocket, request: UpgradeRequest): void => {
  const socket: Socket = {
    send: (frame) => {
      webSocket.send(frame)
      return webSocket.bufferedAmount
    },
    buffered: () => webSocket.bufferedAmount,
    close: (code, reason) => webSocket.close(code, reason),
    terminate: () => webSocket.terminate(),
    ping: () => webSocket.ping(),
  }
  const line = lines.open(socket, request, webSocket.protocol)
  webSocket.on("message", (data: RawData, isBinary: boolean) => {
    if (isBinary) line.receivedBinary()
    // With its default `binaryType` a frame is one Buffer.
    else line.received((data as Buffer).toString())
  })
  webSocket.on("ping", () => line.pinged())
  webSocket.on("pong", () => line.heard())
  // It has said why to the peer already, and "close" comes next.
  webSocket.on("error", (error) => line.closing(codeOf(error), error.message))
  webSocket.on("close", (code, reason) => line.gone(code, reason.toString()))
}

const codeOf = (error: Error & { readonly code?: string }): number => {
  if (error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return closeCode.tooLarge
  if (error.code === "WS_ERR_INVALID_UTF8") return closeCode.invalidText
  return error.code?.startsWith("WS_ERR_") === true ? closeCode.protocolError : closeCode.cut
}

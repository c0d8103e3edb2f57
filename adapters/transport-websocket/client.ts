// The client over the WebSocket that Node, Bun and Deno have as a global, so that a worker needs no package. It has no
// ping: whether a server that fell silent is still there is asked by the protocol's heartbeat.
import { TransportError } from "../../core/domain/Errors.ts"
import { type Connect, type ConnectOptions, type Opening } from "../../core/ports/Transport.ts"
import { clientCode } from "../transport-common/clientCode.ts"
import { hostTime } from "../transport-common/hostTime.ts"
import { Line, type Socket } from "../transport-common/Line.ts"
import { limitsOf, printFault } from "../transport-common/Lines.ts"
import { checkLimits } from "./ServeOptions.ts"

// What of the global is used here: its second argument is no standard, but the same on all three.
interface HostSocket {
  readonly protocol: string
  readonly bufferedAmount: number
  send(frame: string): void
  close(code?: number, reason?: string): void
  /** Only Bun has it. */
  terminate?: () => void
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onerror: ((event: { readonly message?: string }) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
}
type HostWebSocket = new (
  url: string,
  options: { readonly protocols: Array<string>; readonly headers: Record<string, string> },
) => HostSocket

/** Connects to `ws://` or `wss://`. */
export const connect: Connect = (url, options, opening) => {
  let state: "opening" | "open" | "over" = "opening"
  let socket: HostSocket | null = null
  let undo = (): void => undefined
  const fail = (cause: unknown): void => {
    if (state !== "opening") return
    state = "over"
    undo()
    letGo(socket)
    opening.onFail(new TransportError({ transport: "WebSocket", operation: "connect", address: url, cause }))
  }
  undo = hostTime.after(options.openMillisMax ?? 10_000, () => fail(new Error("no answer in time")))
  try {
    checkLimits(options.limits ?? {})
    socket = open(url, options)
  } catch (error) {
    // Never before `connect` has returned: the caller may not be ready yet.
    queueMicrotask(() => fail(error))
    return () => {
      state = "over"
      undo()
    }
  }
  const opened = socket
  opened.onerror = ({ message = "" }) => fail(new Error(message || "refused, or nobody is there"))
  opened.onclose = () => fail(new Error("closed before it was open"))
  opened.onopen = () => {
    if (state !== "opening") return
    // Deno opens it all the same when the server picked none of several.
    if (opened.protocol === "" && (options.protocols?.length ?? 0) > 0)
      return fail(new Error(`the server speaks none of ${options.protocols?.join(", ")}`))
    state = "open"
    undo()
    attach(opened, options, opening)
  }
  return () => {
    if (state !== "opening") return
    state = "over"
    undo()
    letGo(opened)
  }
}

const open = (url: string, { headers = {}, protocols = [] }: ConnectOptions): HostSocket => {
  if (!/^wss?:\/\//.test(url)) throw new Error('the address has to begin with "ws://" or "wss://"')
  const { WebSocket } = globalThis as unknown as { readonly WebSocket: HostWebSocket }
  return new WebSocket(url, { protocols: [...protocols], headers: { ...headers } })
}

const letGo = (socket: HostSocket | null): void => {
  if (socket === null) return
  socket.onopen = socket.onmessage = socket.onclose = null
  // Node tells of what it gives up as an error, which nobody asked for.
  socket.onerror = () => undefined
  try {
    if (socket.terminate === undefined) socket.close()
    else socket.terminate()
  } catch {
    // It never was open.
  }
}

const attach = (webSocket: HostSocket, options: ConnectOptions, opening: Opening): void => {
  const socket: Socket = {
    send: (frame) => {
      webSocket.send(frame)
      return webSocket.bufferedAmount
    },
    buffered: () => webSocket.bufferedAmount,
    close: (code, reason) => webSocket.close(clientCode(code), reason),
    terminate: () => letGo(webSocket),
    ping: null,
  }
  const line = new Line(socket, webSocket.protocol, {
    limits: limitsOf(options.limits),
    time: hostTime,
    onFault: options.onFault ?? printFault,
  })
  webSocket.onmessage = ({ data }) => {
    if (typeof data === "string") line.received(data)
    else line.receivedBinary()
  }
  webSocket.onerror = () => undefined
  webSocket.onclose = ({ code, reason }) => line.gone(code, reason)
  line.opened(() => opening.onOpen(line))
}

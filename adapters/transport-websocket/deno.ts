// The server over Deno.serve. Not the default on Deno: it has no way to cut a connection, a frame over the limit is
// refused only when all of it is in memory (up to 64 MiB), and a peer that is still sending when it is closed may see
// 1006 instead of the code. Needs Deno.
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

// What of Deno is used here, so that the file has the same types under tsc.
interface DenoSocket {
  readonly bufferedAmount: number
  send(frame: string): void
  close(code: number, reason: string): void
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onerror: ((event: { readonly message?: string }) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
}
interface DenoServer {
  readonly addr: { readonly port: number }
  shutdown(): Promise<void>
}
declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    handler: (
      request: Request,
      info: { readonly remoteAddr: { readonly hostname: string } },
    ) => Response | Promise<Response>,
  ): DenoServer
  upgradeWebSocket(
    request: Request,
    options: { idleTimeout: number },
  ): { readonly socket: DenoSocket; readonly response: Response }
}

// For answers that say that it is too late.
const lastMillis = 100

/** Serves until it is stopped. */
export const serve = (options: ServeOptions): Promise<Listening> =>
  // A wrong option rejects, as it does with the other servers.
  Promise.resolve().then(() => start(options))

const start = (options: ServeOptions): Listening => {
  const setting = checkServe(options)
  const lines = new Lines(options, hostTime)
  const { onFault = printFault } = options
  // Deno pings after half of it, and gives up after the whole; 0 is for ever.
  const { silenceMillisMax } = lines.limits
  const idleTimeout = Number.isFinite(silenceMillisMax) ? Math.ceil(silenceMillisMax / 1_000) : 0

  const answer = async (request: Request, remoteAddress: string): Promise<Response> => {
    if (!isUpgrade(request)) return setting.fetch(request, { remoteAddress })
    const asked = askedBy(request, remoteAddress)
    const refusal = refusalOf(asked, setting, lines.takes)
    if (refusal !== null) return new Response(`${refusal.text}\n`, { status: refusal.status })
    const subprotocol = lines.subprotocolOf(asked.offered)
    const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout })
    // By its option Deno refuses names that are parted by a comma alone.
    if (subprotocol !== "") response.headers.set("sec-websocket-protocol", subprotocol)
    attach(lines, socket, asked, subprotocol)
    return response
  }

  // A server that is shut down can no longer be aborted, and waits for ever: what is left is answered by us.
  const pending = new Set<() => void>()
  const answerInTime = (request: Request, remoteAddress: string): Promise<Response> =>
    new Promise((resolve) => {
      const tooLate = (): void => resolve(new Response("The server stops\n", { status: 503 }))
      pending.add(tooLate)
      void answer(request, remoteAddress)
        .catch((error: unknown) => {
          onFault(error)
          return new Response("Internal error\n", { status: 500 })
        })
        .then(resolve)
        .finally(() => pending.delete(tooLate))
    })

  let server: DenoServer
  try {
    server = Deno.serve(
      { hostname: setting.hostname, port: setting.port, onListen: () => undefined },
      (request, { remoteAddr }) => answerInTime(request, remoteAddr.hostname),
    )
  } catch (error) {
    throw cannotListen("Deno.serve", setting, error)
  }
  return {
    url: urlOf(setting, server.addr.port),
    connections: () => lines.size,
    stop: async (stop: StopOptions = {}) => {
      const { promise: over, resolve } = Promise.withResolvers<void>()
      const undo = hostTime.after(stop.graceMillis ?? 2_000, () => {
        for (const tooLate of pending) tooLate()
        hostTime.after(lastMillis, resolve)
      })
      await lines.stop(stop)
      // An answer that is streamed for ever goes on until the process ends.
      await Promise.race([server.shutdown(), over])
      undo()
    },
  }
}

const attach = (lines: Lines, webSocket: DenoSocket, asked: UpgradeRequest, subprotocol: string): void => {
  let line: Line | null = null
  const socket: Socket = {
    send: (frame) => {
      webSocket.send(frame)
      return webSocket.bufferedAmount
    },
    buffered: () => webSocket.bufferedAmount,
    close: (code, reason) => webSocket.close(code, reason),
    // There is no way to cut it: it is forgotten, and Deno closes it when the peer or its own watch does.
    terminate: () => webSocket.close(closeCode.normal, ""),
    ping: null,
  }
  // No listener may throw here, or the process ends: a line's methods do not.
  webSocket.onopen = () => {
    line = lines.open(socket, asked, subprotocol)
  }
  webSocket.onmessage = ({ data }) => {
    if (typeof data === "string") line?.received(data)
    else line?.receivedBinary()
  }
  webSocket.onerror = ({ message = "" }) => line?.closing(codeOf(message), message)
  // It comes twice after a peer was silent; a line takes the first.
  webSocket.onclose = ({ code, reason }) => line?.gone(code, reason)
}

const codeOf = (message: string): number => {
  if (message === "Invalid UTF-8") return closeCode.invalidText
  return message === "Invalid value" || message === "Invalid close code"
    ? closeCode.protocolError
    : closeCode.cut
}

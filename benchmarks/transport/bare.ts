// The floor: echo servers by hand, with nothing that an application would need: no limits, no pings, no stop.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocketServer } from "ws"

/** Over `ws` and node:http; answers its address. */
export const bareWs = async (): Promise<string> => {
  const server = createServer((_, response) => response.end("well"))
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  sockets.on("connection", (socket) => socket.on("message", (data: Buffer) => socket.send(data.toString())))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

interface BareSocket {
  send(data: unknown): void
  onmessage: (event: { readonly data: unknown }) => void
}
declare const Bun: {
  serve(options: {
    hostname: string
    port: number
    fetch: (request: Request, server: { upgrade(request: Request): boolean }) => Response | undefined
    websocket: { message: (socket: BareSocket, data: unknown) => void }
  }): { readonly port: number }
}
declare const Deno: {
  serve(
    options: { hostname: string; port: number; onListen: () => void },
    handler: (request: Request) => Response,
  ): { readonly addr: { readonly port: number } }
  upgradeWebSocket(request: Request): { readonly socket: BareSocket; readonly response: Response }
}

/** Over Bun.serve or Deno.serve; answers its address. */
export const bareNative = async (): Promise<string> => {
  const [hostname, port] = ["127.0.0.1", 0]
  if (process.versions["bun"] !== undefined) {
    const server = Bun.serve({
      hostname,
      port,
      fetch: (request, bun) => (bun.upgrade(request) ? undefined : new Response("well")),
      websocket: { message: (socket, data) => socket.send(data) },
    })
    return `ws://${hostname}:${server.port}/`
  }
  const server = Deno.serve({ hostname, port, onListen: () => undefined }, (request) => {
    if (request.headers.get("upgrade") !== "websocket") return new Response("well")
    const { socket, response } = Deno.upgradeWebSocket(request)
    socket.onmessage = ({ data }) => socket.send(data)
    return response
  })
  return `ws://${hostname}:${server.addr.port}/`
}

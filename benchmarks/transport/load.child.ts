// The load, in a process of its own on Node for every server alike: `load.child.ts FIGURE URL COUNT CONNECTIONS WINDOW`. It
// prints what it took, once every answer has come and was right.
import { Agent, get } from "node:http"
import { WebSocket } from "ws"
import { quantile, rounded } from "../common/statistics.ts"
import type { Load } from "./measure.ts"
import type { FigureName } from "./options.ts"

const [figure, url, ...sizes] = process.argv.slice(2) as [FigureName, string, string, string, string]
const [count = 0, connections = 1, window = 1] = sizes.map(Number)

// About what a heartbeat or an acknowledgement weighs: 67 bytes.
const message = (number: number): string =>
  `{"type":"ack","id":"${String(number).padStart(12, "0")}","run":"r-0123456789","attempt":1}`

const open = (): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    socket.once("open", () => resolve(socket))
    socket.once("error", reject)
  })

/** Sends its share, so many at once, and resolves when all have come back in order. */
const echo = (socket: WebSocket, share: number, inFlight: number, spans: Array<number>): Promise<void> =>
  new Promise((resolve, reject) => {
    let sent = 0
    let received = 0
    const begun: Array<number> = []
    const send = (): void => {
      begun[sent] = performance.now()
      socket.send(message(sent++))
    }
    socket.on("close", (code) => reject(new Error(`closed with ${code} after ${received} answers`)))
    socket.on("message", (data: Buffer) => {
      if (data.toString() !== message(received)) reject(new Error(`answer ${received} is another`))
      spans.push((performance.now() - (begun[received] ?? 0)) * 1_000)
      received++
      if (sent < share) send()
      else if (received === share) resolve()
    })
    while (sent < Math.min(share, inFlight)) send()
  })

const overSockets = async (): Promise<Load> => {
  const sockets = await Promise.all(Array.from({ length: connections }, open))
  const share = Math.ceil(count / connections)
  const spans: Array<number> = []
  const from = performance.now()
  await Promise.all(sockets.map((socket) => echo(socket, share, window, spans)))
  const wallMillis = performance.now() - from
  for (const socket of sockets) socket.removeAllListeners("close").terminate()
  return { count: share * connections, wallMillis, p50Micros: rounded(quantile(spans, 0.5)) }
}

const overHttp = async (): Promise<Load> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const address = url.replace(/^ws/, "http")
  const spans: Array<number> = []
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const begun = performance.now()
      const request = get(address, { agent }, (response) => {
        let body = ""
        response.on("data", (chunk: Buffer) => (body += chunk.toString()))
        response.on("end", () => {
          spans.push((performance.now() - begun) * 1_000)
          if (response.statusCode === 200 && body === "well") resolve()
          else reject(new Error(`answered ${response.statusCode} "${body}"`))
        })
      })
      request.on("error", reject)
    })
  const share = Math.ceil(count / connections)
  const lane = async (): Promise<void> => {
    for (let each = 0; each < share; each++) await one()
  }
  const from = performance.now()
  await Promise.all(Array.from({ length: connections }, lane))
  const wallMillis = performance.now() - from
  agent.destroy()
  return { count: share * connections, wallMillis, p50Micros: rounded(quantile(spans, 0.5)) }
}

console.log(JSON.stringify(await (figure === "http" ? overHttp() : overSockets())))
process.exit(0)

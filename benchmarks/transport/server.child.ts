// A server in a process of its own: `server.child.ts KIND SIDE`. It prints its address, then what it has used so far for
// each line that comes in, and ends when its input does.
import { createInterface } from "node:readline"
import { serve as serveWs } from "../../adapters/transport-websocket/ws.ts"
import type { ServeOptions } from "../../adapters/transport-websocket/ServeOptions.ts"
import { bareNative, bareWs } from "./bare.ts"
import type { Kind, Side } from "./contenders.ts"

const [kind, side] = process.argv.slice(2) as [Kind, Side]

const options: ServeOptions = {
  fetch: () => new Response("well"),
  // A load that is as fast as it can be is no flood here.
  limits: { framesPerSecondMax: Number.POSITIVE_INFINITY },
  onConnection: (connection) => ({
    onFrame: (frame) => {
      connection.send(frame)
    },
    onClose: () => undefined,
  }),
}

const native = async (): Promise<string> => {
  const server =
    process.versions["bun"] === undefined
      ? await import("../../adapters/transport-websocket/deno.ts")
      : await import("../../adapters/transport-websocket/bun.ts")
  return (await server.serve(options)).url
}
const ours = kind === "ws" ? async () => (await serveWs(options)).url : native
const url = await (side === "ours" ? ours() : kind === "ws" ? bareWs() : bareNative())
console.log(JSON.stringify({ url }))

for await (const _ of createInterface({ input: process.stdin })) {
  const { user, system } = process.cpuUsage()
  console.log(JSON.stringify({ cpuMicros: user + system, rssMib: process.memoryUsage().rss / 2 ** 20 }))
}
process.exit(0)

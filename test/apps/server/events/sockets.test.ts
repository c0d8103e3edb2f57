// Event streams over sockets, on whichever runtime runs this file: a client that goes away ends its stream, and one that does
// not read is cut before the server has gathered much for it.
import { connect } from "node:net"
import { afterEach, expect, test } from "vitest"
import { serve } from "../../../../adapters/transport-websocket/mod.ts"
import {
  type EventStreams,
  makeEventStreams,
  type StreamsOptions,
} from "../../../../apps/server/events/EventStreams.ts"
import { origin } from "../../../../apps/server/events/Position.ts"
import type { Listening } from "../../../../core/ports/Transport.ts"
import { until } from "../project.ts"

const listening: Array<Listening> = []
afterEach(async () => {
  await Promise.all(listening.splice(0).map((each) => each.stop({ graceMillis: 0 })))
})

const filter = { types: [], jobs: [], run: null, namespace: null }
const start = async (options: StreamsOptions): Promise<{ url: URL; streams: EventStreams }> => {
  const streams = makeEventStreams(options)
  const server = await serve({
    hostname: "127.0.0.1",
    port: 0,
    path: "/v1/worker",
    protocols: ["none"],
    onConnection: () => ({ onFrame: () => undefined, onClose: () => undefined }),
    fetch: async ({ signal }) =>
      new Response(streams.open({ filter, from: origin, signal }) ?? null, {
        headers: { "content-type": "text/event-stream" },
      }),
    onFault: () => undefined,
  })
  listening.push(server)
  return { url: new URL(server.url.replace(/^ws/, "http")), streams }
}

test("a client that goes away ends its stream", async () => {
  const wait = (_: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      if (signal.aborted) return resolve()
      signal.addEventListener("abort", () => resolve())
    })
  const journal = { read: async () => ({ batches: [] }), wait, isStopped: () => false }
  const { url, streams } = await start({ journal, beatMillis: 50 })
  const gone = new AbortController()
  const response = await fetch(new URL("/v1/events", url), { signal: gone.signal })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  expect(streams.size()).toBe(1)
  gone.abort()
  await until("its end", streams.size, (size) => size === 0)
})

test("a client that does not read is cut, and no more than some megabytes were gathered for it", async () => {
  const note = "x".repeat(100_000)
  let batch = 0
  const journal = {
    read: async () => ({
      batches: [
        {
          number: ++batch,
          mark: "00000001",
          node: "n",
          bytesUpTo: 0,
          drafts: [
            { type: "uhrwerk.node.trouble" as const, at: 0, subject: null, job: null, data: { note } },
          ],
        },
      ],
    }),
    wait: () => Promise.resolve(),
    isStopped: () => false,
  }
  const { url, streams } = await start({ journal, slowMillis: 300 })
  const socket = connect({ port: Number(url.port), host: "127.0.0.1" })
  socket.on("error", () => undefined)
  socket.write("GET /v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
  socket.pause()
  await until("the stream", streams.size, (size) => size === 1)
  await until("the cut", streams.size, (size) => size === 0)
  socket.destroy()
  // What sockets of this system take by themselves, and less than the 64 MiB of a queue without a bound.
  expect(batch * note.length).toBeLessThan(40_000_000)
})

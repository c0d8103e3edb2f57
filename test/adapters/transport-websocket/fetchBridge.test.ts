// What the bridge from node:http makes of requests that no browser sends: no other path, no other host, no fault.
import { connect } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import { serve } from "../../../adapters/transport-websocket/ws.ts"
import type { Listening } from "../../../core/ports/Transport.ts"

let server: Listening
const seen: Array<string> = []
const faults: Array<unknown> = []
beforeAll(async () => {
  server = await serve({
    onConnection: () => ({ onFrame: () => undefined, onClose: () => undefined }),
    onFault: (error) => faults.push(error),
    fetch: (request) => {
      const { pathname, search, host } = new URL(request.url)
      seen.push(`${request.method} ${pathname}${search} of ${host}`)
      return new Response("well")
    },
  })
})
afterAll(() => server.stop())

/** The status that is answered to these bytes; 0 when the connection is just ended. */
const statusOf = (text: string): Promise<number> =>
  new Promise((resolve) => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1")
    let answer = ""
    socket.on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")))
    socket.on("error", () => undefined)
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0)))
    socket.write(text)
  })
const get = (target: string, host: string, method = "GET"): Promise<number> =>
  statusOf(`${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

test.each([
  ["/a?b=c%20d", "example.org:8080", "GET /a?b=c%20d of example.org:8080"],
  ["/", "[::1]:80", "GET / of [::1]"],
  ["//evil.example/x", "example.org", "GET //evil.example/x of example.org"],
  ["http://evil.example/a?b", "example.org", "GET /a?b of example.org"],
  ["/a/../b", "example.org", "GET /b of example.org"],
])("%s of %s is %s", async (target, host, expected) => {
  seen.length = 0
  expect(await get(target, host)).toBe(200)
  expect(seen).toEqual([expected])
})

test.each(["a/admin", "a?b", "a#b", "user@a", "a b", "a:b", "[a", "a\\b", "%2e"])(
  "the host %j is refused, and no handler is asked",
  async (host) => {
    seen.length = 0
    const status = await get("/", host)
    // Some runtimes refuse it themselves.
    expect([0, 400]).toContain(status)
    expect(seen).toEqual([])
  },
)

test("a method that fetch does not know is a refusal, no fault", async () => {
  seen.length = 0
  for (const method of ["TRACE", "CONNECT"])
    expect([0, 400, 404, 405, 501]).toContain(await get("/", "a", method))
  expect([seen, faults]).toEqual([[], []])
  expect(await get("/", "a")).toBe(200)
})

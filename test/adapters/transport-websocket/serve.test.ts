// What a WebSocket server does besides connections, the same with each server that this runtime has: a `fetch` handler on
// the same port, who may upgrade, what is listened to, and how it stops while requests are under way.
import { Agent, get, request as httpRequest } from "node:http"
import { connect as connectTcp } from "node:net"
import { Hono } from "hono"
import { afterEach, describe, expect, test } from "vitest"
import { connect } from "../../../adapters/transport-websocket/client.ts"
import {
  type Peer,
  serve as serveDefault,
  type ServeOptions,
} from "../../../adapters/transport-websocket/mod.ts"
import { serve as serveWs } from "../../../adapters/transport-websocket/ws.ts"
import type { Connection, Listen, Listening } from "../../../core/ports/Transport.ts"
import type { WirePeer } from "../../../core/contract/TransportContract.ts"
import { openWire } from "../../contract/transport/wirePeer.ts"

const { bun, deno } = process.versions as Readonly<Record<string, string | undefined>>
const servers: Array<readonly [string, Listen<ServeOptions>]> = [
  ["ws", serveWs],
  ["the default", serveDefault],
]
if (deno !== undefined)
  servers.push(["Deno.serve", (await import("../../../adapters/transport-websocket/deno.ts")).serve])
if (bun !== undefined)
  servers.push(["Bun.serve", (await import("../../../adapters/transport-websocket/bun.ts")).serve])

const open = new Set<Listening>()
afterEach(async () => {
  await Promise.all([...open].map((each) => each.stop({ graceMillis: 100 })))
  open.clear()
})

const silent = { onFrame: () => undefined, onClose: () => undefined }
const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (let look = 0; look < 1_000; look++) {
    if (holds()) return
    await pause(5)
  }
  throw new Error(`${what}: not within 5 s`)
}

/** A request by node:http, which sends any header and sees any answer. */
const ask = (
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const { body, ...rest } = options
    const request = httpRequest(url.replace(/^ws/, "http"), { ...rest, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
      )
      response.on("error", reject)
    })
    request.on("error", reject)
    request.end(body)
  })

describe.each(servers)("%s", (_, serve) => {
  const start = async (options: Partial<ServeOptions> = {}): Promise<Listening> => {
    const server = await serve({ onConnection: () => silent, ...options })
    open.add(server)
    return server
  }
  const dial = (url: string, headers: Record<string, string> = {}): Promise<Connection> =>
    new Promise((resolve, reject) => {
      connect(
        url,
        { headers },
        {
          onOpen: (connection) => {
            resolve(connection)
            return silent
          },
          onFail: reject,
        },
      )
    })

  describe("fetch", () => {
    test("answers everything but upgrades, beside connections on the same port", async () => {
      const seen: Array<readonly [string, string | null, string, string]> = []
      const server = await start({
        path: "/v1/workers",
        fetch: async (request, peer) => {
          const { pathname, search } = new URL(request.url)
          const body = await request.text()
          seen.push([request.method, request.headers.get("x-name"), pathname + search, body])
          expect(peer.remoteAddress).toMatch(/127\.0\.0\.1$/)
          return Response.json({ got: body }, { status: 201, headers: { "x-answer": "yes" } })
        },
      })
      expect(server.url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/v1\/workers$/)
      const base = server.url.replace("/v1/workers", "")
      await dial(server.url)
      const body = "ä".repeat(100_000)
      const answer = await ask(`${base}/runs?a=1&b=%20`, { method: "POST", headers: { "X-Name": "n" }, body })
      expect([answer.status, JSON.parse(answer.body), answer.headers["x-answer"]]).toEqual([
        201,
        { got: body },
        "yes",
      ])
      // A plain request to the path of connections is a request like any other.
      expect((await ask(server.url)).status).toBe(201)
      expect(seen).toEqual([
        ["POST", "n", "/runs?a=1&b=%20", body],
        ["GET", null, "/v1/workers", ""],
      ])
      expect(server.connections()).toBe(1)
    })

    test("a Hono app, with the peer as its environment", async () => {
      const app = new Hono<{ Bindings: Peer }>()
      app.get("/livez", (context) => context.text(`well, ${context.env.remoteAddress}`))
      app.post("/runs/:id", async (context) =>
        context.json({ id: context.req.param("id"), ...(await context.req.json<object>()) }, 202),
      )
      const server = await start({ path: "/v1/workers", fetch: app.fetch })
      const base = server.url.replace("/v1/workers", "")
      expect((await ask(`${base}/livez`)).body).toMatch(/^well, (::ffff:)?127\.0\.0\.1$/)
      const posted = await ask(`${base}/runs/7`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: '{"a":1}',
      })
      expect([posted.status, posted.body]).toEqual([202, '{"id":"7","a":1}'])
      expect((await ask(`${base}/other`)).status).toBe(404)
      await dial(server.url)
    })

    test("answers one that would like to speak another protocol", async () => {
      const server = await start({ fetch: () => new Response("well") })
      const headers = {
        Connection: "Upgrade, HTTP2-Settings",
        Upgrade: "h2c",
        "HTTP2-Settings": "AAMAAABkAAQ",
      }
      const { status, body } = await ask(server.url, { headers })
      expect([status, body]).toEqual([200, "well"])
    })

    test("HEAD, an empty answer and several cookies come through", async () => {
      const server = await start({
        fetch: (request) => {
          const headers = new Headers({ "x-length": "5" })
          for (const cookie of ["a=1; Path=/", "b=2"]) headers.append("set-cookie", cookie)
          return new Response(new URL(request.url).pathname === "/none" ? null : "hello", {
            status: new URL(request.url).pathname === "/none" ? 204 : 200,
            headers,
          })
        },
      })
      const head = await ask(server.url, { method: "HEAD" })
      expect([head.status, head.body, head.headers["x-length"]]).toEqual([200, "", "5"])
      expect((await ask(`${server.url}none`)).status).toBe(204)
      expect((await ask(server.url)).headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2"])
    })

    test("an answer is streamed as it is made, and one that nobody reads on is given up", async () => {
      let next: ReadableStreamDefaultController<Uint8Array> | null = null
      let gone = false
      let cancelled = false
      const server = await start({
        fetch: (request) => {
          request.signal.addEventListener("abort", () => (gone = true))
          const stream = new ReadableStream<Uint8Array>({
            start: (controller) => {
              next = controller
              controller.enqueue(Buffer.from("data: 1\n\n"))
            },
            cancel: () => {
              cancelled = true
            },
          })
          return new Response(stream, { headers: { "content-type": "text/event-stream" } })
        },
      })
      let text = ""
      const request = httpRequest(server.url.replace(/^ws/, "http"), { agent: false }, (response) => {
        response.on("data", (chunk: Buffer) => (text += chunk.toString()))
        response.on("error", () => undefined)
      })
      request.on("error", () => undefined)
      request.end()
      await until("first event", () => text === "data: 1\n\n")
      next!.enqueue(Buffer.from("data: 2\n\n"))
      await until("second event", () => text === "data: 1\n\ndata: 2\n\n")
      request.destroy()
      await until("the handler hears of it", () => {
        // A stream may find out only when it is written to.
        if (!cancelled) next!.enqueue(Buffer.from("data: 3\n\n"))
        return gone || cancelled
      })
    })

    test("what it throws is a 500 that says nothing, told to onFault, and the server goes on", async () => {
      const faults: Array<unknown> = []
      const server = await start({
        onFault: (error) => faults.push(error),
        fetch: (request) => {
          const { pathname } = new URL(request.url)
          if (pathname === "/throws") throw new Error("secret")
          return pathname === "/rejects" ? Promise.reject(new Error("secret")) : new Response("well")
        },
      })
      for (const path of ["throws", "rejects"]) {
        const { status, body } = await ask(server.url + path)
        expect([status, body]).toEqual([500, "Internal error\n"])
      }
      expect(faults.map(String)).toEqual(["Error: secret", "Error: secret"])
      expect((await ask(server.url)).body).toBe("well")
    })

    test("without one, everything is 404", async () => {
      const { status, body } = await ask((await start()).url)
      expect([status, body]).toEqual([404, "Not found\n"])
    })
  })

  describe("upgrade", () => {
    const statusOf = async (
      server: Listening,
      headers: Record<string, string>,
      path = "",
    ): Promise<number> => {
      const peer = await openWire(server.url + path, { headers })
      peer.destroy()
      return peer.status
    }

    test("elsewhere than at the path it is 404; a query does not matter", async () => {
      const server = await start()
      expect(await statusOf(server, {}, "other")).toBe(404)
      expect(await statusOf(server, {}, "?a=1")).toBe(101)
    })

    test("a web page of another origin is refused with 403, whatever it is called", async () => {
      const server = await start({ origins: ["https://jobs.example.org"] })
      const { host, port } = new URL(server.url)
      const foreign = [
        "https://evil.example",
        "null",
        "https://jobs.example.org.evil.example",
        "https://jobs.example.org:8443",
        "http://jobs.example.org",
        `http://127.0.0.1:${Number(port) + 1}`,
        "",
      ]
      for (const Origin of foreign)
        expect([Origin, await statusOf(server, { Origin })]).toEqual([Origin, 403])
      expect(await statusOf(server, { Origin: "https://jobs.example.org" })).toBe(101)
      // A page of this very server.
      expect(await statusOf(server, { Origin: `http://${host}` })).toBe(101)
      expect(server.connections()).toBeLessThanOrEqual(2)
    })

    test("a foreign name that points to this machine is no page of this server", async () => {
      const server = await start()
      const { port } = new URL(server.url)
      const host = `evil.example:${port}`
      expect(await statusOf(server, { Origin: `http://${host}`, Host: host })).toBe(403)
    })

    test("another version, or none, is refused", async () => {
      const server = await start()
      expect(await statusOf(server, { "Sec-WebSocket-Version": "12" })).toBe(400)
      expect(await statusOf(server, { "Sec-WebSocket-Key": "short" })).toBe(400)
    })

    test("a hundred above the most are told 1013, and the next gets a 503", async () => {
      const server = await start({ limits: { connectionsMax: 1, closeMillisMax: 5_000 } })
      await dial(server.url)
      const peers: Array<WirePeer> = []
      for (let each = 0; each < 100; each++) peers.push(await openWire(server.url))
      expect(peers.map(({ status }) => status)).toEqual(peers.map(() => 101))
      await until("told", () => peers.every(({ frames }) => frames.some(({ opcode }) => opcode === 8)))
      // They do not answer, so they are there still, unless the runtime does not wait for an answer.
      const full = server.connections() > 100
      expect((await openWire(server.url)).status).toBe(full ? 503 : 101)
      for (const peer of peers) peer.destroy()
    })

    test("bytes that are no request harm nobody", async () => {
      const server = await start()
      const socket = connectTcp(Number(new URL(server.url).port), "127.0.0.1")
      socket.on("error", () => undefined)
      socket.write("\u0000\u0001 nonsense\r\n\r\n")
      await pause(50)
      socket.destroy()
      expect(await statusOf(server, {})).toBe(101)
    })
  })

  describe("listen", () => {
    test("a name that others can reach is refused unless it is meant", async () => {
      for (const hostname of ["0.0.0.0", "::", "example.org", "127.0.0.1.example.org", ""])
        await expect(start({ hostname })).rejects.toMatchObject({ _tag: "InvalidInput", field: "hostname" })
      const server = await start({ hostname: "localhost" })
      expect(new URL(server.url).hostname).toBe("localhost")
    })

    test.each([
      [{ port: -1 }, "port"],
      [{ port: 65_536 }, "port"],
      [{ port: 1.5 }, "port"],
      [{ path: "workers" }, "path"],
      [{ path: "/a?b" }, "path"],
      [{ limits: { frameBytesMax: 0 } }, "limits.frameBytesMax"],
      [{ limits: { connectionsMax: Number.NaN } }, "limits.connectionsMax"],
    ])("%o is refused, by the name of its field", async (options, field) => {
      await expect(start(options)).rejects.toMatchObject({ _tag: "InvalidInput", field })
    })

    test("a port that is taken is a TransportError with the address", async () => {
      const server = await start()
      const port = Number(new URL(server.url).port)
      await expect(start({ port })).rejects.toMatchObject({
        _tag: "TransportError",
        operation: "listen",
        message: expect.stringContaining(`"127.0.0.1:${port}"`),
      })
    })
  })

  describe("stop", () => {
    test("waits for an answer that is being made, and takes nothing new", async () => {
      let answer = (): void => undefined
      const begun: Array<string> = []
      const server = await start({
        fetch: () =>
          new Promise((resolve) => {
            begun.push("begun")
            answer = () => resolve(new Response("in time"))
          }),
      })
      const asked = ask(server.url)
      await until("begun", () => begun.length === 1)
      const stopped = server.stop({ graceMillis: 5_000 })
      await pause(50)
      answer()
      expect((await asked).body).toBe("in time")
      await stopped
      await expect(ask(server.url)).rejects.toThrow(/ECONNREFUSED|refused/i)
    })

    test("does not wait for clients that keep a connection for later", async () => {
      const server = await start({ fetch: () => new Response("well") })
      const agent = new Agent({ keepAlive: true })
      const status = await new Promise((resolve, reject) => {
        get(server.url.replace(/^ws/, "http"), { agent }, (response) => {
          response.resume()
          response.on("end", () => resolve(response.statusCode))
        }).on("error", reject)
      })
      expect(status).toBe(200)
      // Longer than the test may take.
      await server.stop({ graceMillis: 3_600_000 })
      agent.destroy()
    })

    test("cuts an answer that takes longer than the grace period", async () => {
      const begun: Array<string> = []
      const server = await start({
        fetch: () => {
          begun.push("begun")
          return new Promise(() => undefined)
        },
      })
      const asked = ask(server.url).then(
        ({ status }) => `answered ${status}`,
        () => "cut",
      )
      await until("begun", () => begun.length === 1)
      await server.stop({ graceMillis: 100 })
      // Deno.serve cannot be cut: there the client hears that it is too late.
      expect(["cut", "answered 503"]).toContain(await asked)
    })
  })
})

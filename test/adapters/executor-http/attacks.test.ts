// What a request says, what becomes of each answer, and what the other end may try. All servers are on this machine.
import { execFile, execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import * as Result from "effect/Result"
import { afterEach, describe, expect, test } from "vitest"
import { checkRequest, checkRules, type RequestOptions } from "../../../adapters/executor-http/mod.ts"
import { retryAfterMillis } from "../../../adapters/executor-http/outcome.ts"
import { parseSecrets } from "../../../adapters/executor-http/signature.ts"
import { closeAll, open, runOf, serve, serveRaw } from "./servers.ts"

afterEach(closeAll)

const now = Date.UTC(2026, 10, 30, 12)
const secret = `whsec_${Buffer.from("0123456789abcdef0123456789abcdef").toString("base64")}`
const older = `whsec_${Buffer.from("fedcba9876543210fedcba9876543210").toString("base64")}`

/** Asks a server of which only the answer is told. */
const ask = async (answer: Parameters<typeof serve>[0], options: RequestOptions = {}, input?: string) => {
  const { port, asked } = await serve(answer)
  const { request, start } = open({ origins: [`http://127.0.0.1:${port}`] }, undefined, () => now)
  const outcome = await start(request(`http://127.0.0.1:${port}/path?key=hush`, options), input).outcome
  return { outcome, asked }
}
const askRaw = async (answer: Parameters<typeof serveRaw>[0], options: RequestOptions = {}) => {
  const { port } = await serveRaw(answer)
  const { request, start } = open({ origins: [`http://127.0.0.1:${port}`] })
  return start(request(`http://127.0.0.1:${port}/path?key=hush`, options)).outcome
}

describe("what is said", () => {
  test("the input is the body, and the run is in the headers", async () => {
    const { port, asked } = await serve((_, response) => response.end('{"rows":3}'))
    const { request, start } = open({ origins: [`http://127.0.0.1:${port}`] })
    const spec = request(`http://127.0.0.1:${port}/a?b=c`, {
      output: "json",
      headers: { Authorization: "Bearer hush", "X-Mode": "fast" },
    })
    const run = runOf("0198b6a0-run", { job: "täglich/a b", nominalAt: 1_800_000_000_000 })
    const outcome = await start(spec, '{"day":"ü\\n"}', run).outcome
    expect(outcome).toEqual({ kind: "succeeded", output: '{"rows":3}' })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ method: "POST", path: "/a?b=c", body: '{"day":"ü\\n"}' })
    expect(asked[0]?.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength('{"day":"ü\\n"}')),
      "accept-encoding": "identity",
      authorization: "Bearer hush",
      "x-mode": "fast",
      "idempotency-key": "0198b6a0-run",
      "uhrwerk-run-id": "0198b6a0-run",
      "uhrwerk-job": "t%C3%A4glich%2Fa%20b",
      "uhrwerk-attempt": "2",
      "uhrwerk-attempt-max": "3",
      "uhrwerk-token": "7",
      "uhrwerk-due-at": "2027-01-15T08:00:00.000Z",
      "uhrwerk-nominal-at": "2027-01-15T08:00:00.000Z",
    })
    expect(asked[0]?.headers["webhook-id"]).toBeUndefined()
  })

  test.each(["GET", "DELETE"] as const)("%s has no body", async (method) => {
    const { asked } = await ask((_, response) => response.end(), { method }, '{"a":1}')
    expect(asked[0]).toMatchObject({ method, body: "" })
    expect(asked[0]?.headers["content-type"]).toBeUndefined()
  })

  test("the signature is that of Standard Webhooks, with each secret", async () => {
    const { port, asked } = await serve((_, response) => response.end())
    const rules = { origins: [`http://127.0.0.1:${port}`], secrets: { partner: [secret, older] } }
    const { request, start } = open(rules, undefined, () => now + 999)
    await start(request(`http://127.0.0.1:${port}/`, { sign: "partner" }), '{"a":"ü"}', runOf("r9")).outcome
    const { headers = {}, body = "" } = asked[0] ?? {}
    expect(headers["webhook-id"]).toBe("r9")
    expect(headers["webhook-timestamp"]).toBe(String(now / 1000))
    // As a receiver does it, with another implementation of HMAC.
    const signatures = await Promise.all(
      [secret, older].map(async (text) => {
        const bytes = Uint8Array.from(Buffer.from(text.slice(6), "base64"))
        const algorithm = { name: "HMAC", hash: "SHA-256" }
        const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"])
        const signed = new TextEncoder().encode(`r9.${now / 1000}.${body}`)
        return `v1,${Buffer.from(await crypto.subtle.sign("HMAC", key, signed)).toString("base64")}`
      }),
    )
    expect(headers["webhook-signature"]).toBe(signatures.join(" "))
  })

  test("an address is made of the input, and must be on the list", async () => {
    const { port, asked } = await serve((_, response) => response.end())
    const { request, start } = open({ origins: [`http://127.0.0.1:${port}`] })
    const spec = request((input: { to: string }) => input.to)
    const good = JSON.stringify({ to: `http://127.0.0.1:${port}/a b\r\nX: y` })
    expect(await start(spec, good).outcome).toMatchObject({ kind: "succeeded" })
    expect(asked.map(({ path, headers }) => [path, headers["x"]])).toEqual([["/a%20bX:%20y", undefined]])
    for (const to of [
      "http://169.254.169.254/",
      "file:///etc/passwd",
      "http://a:b@127.0.0.1/",
      "",
      5,
      null,
    ]) {
      const outcome = await start(spec, JSON.stringify({ to })).outcome
      expect(outcome).toMatchObject({ kind: "failed", retryable: false })
    }
    const broken = await start(request(() => JSON.parse("{") as string)).outcome
    expect(broken).toMatchObject({ kind: "failed", retryable: true, error: { name: "SyntaxError" } })
    expect(asked).toHaveLength(1)
  })
})

describe("each status", () => {
  const date = (millis: number): string => new Date(now + millis).toUTCString()

  test.each([
    [200, undefined, true, null, null],
    [201, undefined, true, null, null],
    [204, undefined, true, null, null],
    [400, "5", false, false, null],
    [401, undefined, false, false, null],
    [404, undefined, false, false, null],
    [408, undefined, false, true, null],
    [409, undefined, false, false, null],
    [410, undefined, false, false, null],
    [422, undefined, false, false, null],
    [425, "0", false, true, 0],
    [429, "120", false, true, 120_000],
    [429, date(90_000), false, true, 90_000],
    [429, date(-90_000), false, true, 0],
    [500, undefined, false, true, null],
    [503, "7", false, true, 7000],
    [503, "86400", false, true, 3_600_000],
    [503, "9".repeat(400), false, true, 3_600_000],
    [503, date(9e12), false, true, 3_600_000],
    [503, "-5", false, true, null],
    [503, "soon", false, true, null],
    [503, "2026-12-01", false, true, null],
    [599, undefined, false, true, null],
  ])("%i with Retry-After %j", async (status, retryAfter, isGood, retryable, wish) => {
    const { outcome, asked } = await ask((_, response) =>
      response.writeHead(status, retryAfter === undefined ? {} : { "retry-after": retryAfter }).end(),
    )
    if (isGood) expect(outcome).toEqual({ kind: "succeeded", output: null })
    else expect(outcome).toMatchObject({ kind: "failed", retryable, retryAfterMillis: wish })
    expect(asked).toHaveLength(1)
  })

  test.each([301, 302, 303, 307, 308])("%i is not followed", async (status) => {
    const inner = await serve((_, response) => response.end('"secret"'))
    for (const location of [
      `http://127.0.0.1:${inner.port}/`,
      "http://169.254.169.254/latest",
      "/other",
      "",
    ]) {
      const { outcome, asked } = await ask((_, response) => response.writeHead(status, { location }).end(), {
        output: "json",
      })
      expect(outcome).toMatchObject({ kind: "failed", retryable: false })
      expect(asked).toHaveLength(1)
    }
    expect(inner.asked).toEqual([])
  })

  test("spans of Retry-After", () => {
    expect(retryAfterMillis("Mon, 30 Nov 2026 12:00:30 GMT", now)).toBe(30_000)
    expect(retryAfterMillis("Mon, 30 Nov 2026 12:00:30", now)).toBeNull()
    expect(retryAfterMillis("1e9", now)).toBeNull()
    expect(retryAfterMillis("", now)).toBeNull()
  })
})

describe("answers", () => {
  test.each([
    ["no JSON", "hush", "is no JSON"],
    ["two values", "1 2", "is no JSON"],
  ])("%s where JSON is wanted fails without retry, and is not quoted", async (_, body, reason) => {
    const { outcome } = await ask((_asked, response) => response.end(body), { output: "json" })
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
    expect(JSON.stringify(outcome)).toContain(reason)
    expect(JSON.stringify(outcome)).not.toContain("hush")
  })

  test("a body that is not wanted is no output, whatever it is", async () => {
    const { outcome } = await ask((_, response) => response.end("ok"))
    expect(outcome).toEqual({ kind: "succeeded", output: null })
  })

  test("JSON that is 100,000 deep ends nothing but the attempt", async () => {
    const { outcome } = await ask((_, response) => response.end("[".repeat(100_000) + "]".repeat(100_000)), {
      output: "json",
    })
    expect(["succeeded", "failed"]).toContain(outcome.kind)
  })

  test("nothing secret is in an error", async () => {
    const { port } = await serve((_, response) => response.writeHead(403).end("Bearer hush"))
    const rules = {
      origins: [`http://127.0.0.1:${port}`, "http://127.0.0.1:1"],
      secrets: { partner: secret },
    }
    const { request, start } = open(rules)
    const options = { headers: { authorization: "Bearer hush" }, sign: "partner" }
    const outcomes = [
      await start(request(`http://127.0.0.1:${port}/hush?hush`, options), '"hush"').outcome,
      await start(request("http://127.0.0.1:1/hush?hush", options), '"hush"').outcome,
    ]
    for (const outcome of outcomes) {
      expect(outcome.kind).toBe("failed")
      expect(JSON.stringify(outcome)).not.toContain("hush")
      expect(JSON.stringify(outcome)).not.toContain("whsec")
    }
    expect(outcomes[0]).toMatchObject({
      retryable: false,
      error: { message: `POST http://127.0.0.1:${port} was answered with 403` },
    })
    expect(outcomes[1]).toMatchObject({
      retryable: true,
      error: { message: "POST http://127.0.0.1:1 failed: ECONNREFUSED" },
    })
  })
})

describe("where a request goes", () => {
  test("a name is asked for once, and what was checked is connected to", async () => {
    const { port, asked } = await serve((_, response) => response.end("5"))
    let looks = 0
    const rebinding = () => {
      looks++
      return Promise.resolve([{ address: looks === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }])
    }
    const { request, start } = open({ origins: [`http://rebind.example:${port}`] }, rebinding)
    const spec = request(`http://rebind.example:${port}/`, { output: "json" })
    expect(await start(spec).outcome).toEqual({ kind: "succeeded", output: "5" })
    expect(looks).toBe(1)
    expect(asked[0]?.headers["host"]).toBe(`rebind.example:${port}`)
    // The next attempt asks anew, and is refused now.
    expect(await start(spec).outcome).toMatchObject({ kind: "failed", retryable: false })
    expect(asked).toHaveLength(1)
  })

  test.each([
    ["a private address", ["10.0.0.1"]],
    ["the metadata service", ["169.254.169.254"]],
    ["loopback, in another family", ["::1"]],
    ["a mapped address", ["::ffff:10.0.0.1"]],
    ["a public one and a private one", ["93.184.216.34", "10.0.0.1"]],
    ["no address at all", ["nonsense"]],
  ])("a name with %s is refused", async (_, addresses) => {
    const resolve = () => Promise.resolve(addresses.map((address) => ({ address, family: 4 })))
    const { request, start } = open({ origins: ["http://*"] }, resolve)
    const outcome = await start(request("http://innocent.example/")).outcome
    expect(outcome).toMatchObject({ kind: "failed", retryable: false })
    expect(JSON.stringify(outcome)).toContain("an address that is not public")
  })

  test("names of this machine, and addresses in any writing, need their network", async () => {
    const { port, asked } = await serve((_, response) => response.end())
    const { request, start } = open({ origins: [`http://*:${port}`], networks: [] })
    const hosts = ["localhost", "127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::1]", "0"]
    for (const host of [...hosts, "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"]) {
      const outcome = await start(request(`http://${host}:${port}/`)).outcome
      expect(outcome).toMatchObject({ kind: "failed", retryable: false })
    }
    expect(asked).toEqual([])
  })

  test("a proxy that the environment names is not asked", async () => {
    const { port } = await serve((_, response) => response.end("5"))
    const proxy = await serve((_, response) => response.end("6"))
    const address = `http://127.0.0.1:${proxy.port}`
    const names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"].map((name) => [name, address])
    const file = new URL("proxied.child.ts", import.meta.url).pathname
    const args = process.versions["deno"] === undefined ? [file] : ["run", "-A", file]
    const { stdout } = await promisify(execFile)(process.execPath, [...args, String(port)], {
      env: { ...process.env, ...Object.fromEntries(names), NODE_USE_ENV_PROXY: "1" },
    })
    expect(JSON.parse(stdout)).toEqual({ kind: "succeeded", output: "5" })
    expect(proxy.asked).toEqual([])
  })

  test("a name that is not known, and a look-up that never ends, are tried again", async () => {
    const unknown = open({ origins: ["http://*"] }, () =>
      Promise.reject(Object.assign(new Error("hush"), { code: "ENOTFOUND" })),
    )
    expect(await unknown.start(unknown.request("http://a.example/")).outcome).toMatchObject({
      retryable: true,
      error: { message: "POST http://a.example failed: ENOTFOUND" },
    })
    const silent = open({ origins: ["http://*"] }, () => new Promise(() => {}))
    expect(await silent.start(silent.request("http://a.example/", { timeout: 50 })).outcome).toMatchObject({
      retryable: true,
      error: { kind: "timeout" },
    })
  })
})

describe("servers that mean no good", () => {
  const drip = (first: string, each: string) => (socket: Parameters<Parameters<typeof serveRaw>[0]>[0]) => {
    socket.write(first)
    const timer = setInterval(() => socket.write(each), 20)
    socket.on("close", () => clearInterval(timer))
  }

  test.each([
    ["a head that never ends", drip("HTTP/1.1 200 OK\r\n", "x: y\r\n")],
    ["a body that never ends", drip("HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "x")],
    ["silence", () => {}],
    ["one notice after the other", drip("", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n")],
  ])("%s ends with the time limit", async (_, answer) => {
    const from = performance.now()
    const outcome = await askRaw(answer, { output: "json", timeout: 400 })
    expect(outcome).toMatchObject({ kind: "failed", retryable: true, error: { kind: "timeout" } })
    expect(performance.now() - from).toBeLessThan(5000)
  })

  test("a body that nobody wants and that never ends: the work is done", async () => {
    const outcome = await askRaw(drip("HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "x"), {
      timeout: 400,
    })
    expect(outcome).toEqual({ kind: "succeeded", output: null })
  })

  test.each([
    ["a connection that is closed at once", ""],
    ["no HTTP", "SSH-2.0-OpenSSH\r\n\r\n"],
    ["a head that is cut", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["a body that is cut", "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}"],
    ["a chunk that is cut", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n32\r\n{}"],
  ])("%s is tried again", async (_, text) => {
    const outcome = await askRaw((socket) => socket.end(text), { output: "json", timeout: "5s" })
    expect(outcome).toMatchObject({ kind: "failed", retryable: true })
  })

  test.each([
    ["with its length", "content-length: 999999999"],
    ["in chunks", "transfer-encoding: chunked"],
    ["until the end of the connection", "x: y"],
  ])("a body without end %s fills no memory", async (_, header) => {
    const before = process.memoryUsage().rss
    let sent = 0
    const outcome = await askRaw(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n`)
        const piece = header.includes("chunked") ? `10000\r\n${"x".repeat(65_536)}\r\n` : "x".repeat(65_536)
        const more = (): void => {
          for (let full = false; !full && !socket.destroyed; sent += 65_536) full = !socket.write(piece)
        }
        socket.on("drain", more)
        more()
      },
      { output: "text", timeout: "5s" },
    )
    expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
    expect(sent).toBeLessThan(200_000_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
  })

  test("a head of megabytes is not read", async () => {
    const outcome = await askRaw(
      (socket) => socket.end(`HTTP/1.1 200 OK\r\n${`x: ${"y".repeat(1000)}\r\n`.repeat(5000)}\r\n`),
      { output: "json", timeout: "5s" },
    )
    expect(outcome).toMatchObject({ kind: "failed", retryable: true })
  })

  test("a gzip bomb is not opened", async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000))
    const before = process.memoryUsage().rss
    for (const encoding of ["gzip", "br", "GZIP, gzip"]) {
      const { outcome } = await ask(
        (_, response) => response.writeHead(200, { "content-encoding": encoding }).end(bomb),
        { output: "text" },
      )
      expect(outcome).toMatchObject({ kind: "failed", retryable: false, error: { kind: "payload" } })
      expect(JSON.stringify(outcome)).toContain("compressed")
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(90_000_000)
  })

  test("an upgrade that nobody asked for is a failure", async () => {
    const outcome = await askRaw(
      (socket) => socket.write("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
      { timeout: 500 },
    )
    expect(outcome.kind).toBe("failed")
  })
})

describe("certificates", () => {
  test("are checked for the name, and by the authorities of the config", async () => {
    const folder = mkdtempSync(join(tmpdir(), "uhrwerk-test-"))
    const at = (name: string): string => join(folder, name)
    const subject = ["-subj", "/CN=api.test", "-addext", "subjectAltName=DNS:api.test"]
    const files = ["-keyout", at("key.pem"), "-out", at("cert.pem")]
    execFileSync(
      "openssl",
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, ...files],
      {
        stdio: "ignore",
      },
    )
    const cert = readFileSync(at("cert.pem"), "utf8")
    const server = createServer({ key: readFileSync(at("key.pem")), cert }, (_, response) =>
      response.end("5"),
    )
    rmSync(folder, { recursive: true })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as { readonly port: number }
    const here = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }])
    const outcomeOf = async (host: string, ca?: string) => {
      const rules = { origins: [`https://*.test:${port}`], ...(ca === undefined ? {} : { ca }) }
      const { request, start } = open(rules, here)
      return start(request(`https://${host}:${port}/`, { output: "json" })).outcome
    }
    try {
      expect(await outcomeOf("api.test", cert)).toEqual({ kind: "succeeded", output: "5" })
      expect(await outcomeOf("other.test", cert)).toMatchObject({ kind: "failed", retryable: true })
      expect(await outcomeOf("api.test")).toMatchObject({ kind: "failed", retryable: true })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })
})

describe("what is refused when the config is read", () => {
  const rules = Result.getOrThrow(
    checkRules("executors.request", { origins: ["https://a.example"], secrets: { partner: secret } }),
  )
  const refusal = (url: unknown, options: object = {}) =>
    Result.getOrThrow(Result.flip(checkRequest('job "report".run', url, options as RequestOptions, rules)))

  test.each([
    ["https://b.example/hush", {}, "url", '"https://b.example"'],
    ["https://user:hush@a.example/", {}, "url", "a password"],
    ["ftp://a.example/", {}, "url", "web server"],
    ["nonsense hush", {}, "url", "web server"],
    [undefined, {}, "url", "web server"],
    ["https://a.example/", { method: "TRACE" }, "method", "POST, PUT"],
    ["https://a.example/", { sign: "nobody" }, "sign", "nobody"],
    ["https://a.example/", { output: "xml" }, "output", "xml"],
    ["https://a.example/", { answerMax: 262_145 }, "answerMax", "262145"],
    ["https://a.example/", { timeout: "2h" }, "timeout", "2h"],
    ["https://a.example/", { timeout: 0 }, "timeout", "10"],
    ["https://a.example/", { retryAfterMax: "soon" }, "retryAfterMax", "soon"],
    ["https://a.example/", { headers: { "a b": "c" } }, "headers", "a b"],
    ["https://a.example/", { headers: { "a\r\nb": "c" } }, "headers", "header"],
    ["https://a.example/", { headers: { a: "hush\r\nx: y" } }, "headers.a", "ASCII"],
    ["https://a.example/", { headers: { a: "hush\0" } }, "headers.a", "ASCII"],
    ["https://a.example/", { headers: { a: 5 } }, "headers.a", "ASCII"],
    ["https://a.example/", { headers: { Host: "hush" } }, "headers.Host", "ours"],
    [
      "https://a.example/",
      { headers: { "Transfer-Encoding": "chunked" } },
      "headers.Transfer-Encoding",
      "ours",
    ],
    ["https://a.example/", { headers: { "Uhrwerk-Token": "1" } }, "headers.Uhrwerk-Token", "ours"],
    ["https://a.example/", { headers: [] }, "headers", "object"],
  ])("%j %j", (url, options, field, reason) => {
    const { field: named, message } = refusal(url, options)
    expect(named).toBe(`job "report".run.${field}`)
    expect(message).toContain(reason)
    expect(message).not.toContain("hush")
  })

  test.each([
    [{ origins: "https://a.example" }, "origins"],
    [{ origins: ["a"] }, "origins[0]"],
    [{ networks: ["10.0.0.1/8"] }, "networks[0]"],
    [{ networks: "10.0.0.0/8" }, "networks"],
    [{ secrets: { partner: "hush" } }, "secrets.partner"],
    [{ secrets: { partner: [secret, "whsec_aHVzaA=="] } }, "secrets.partner"],
    [{ secrets: { partner: [] } }, "secrets.partner"],
    [{ secrets: secret }, "secrets"],
    [{ ca: "hush" }, "ca"],
  ])("rules %j", (given, field) => {
    const refused = Result.getOrThrow(Result.flip(checkRules("executors.request", given)))
    expect(refused.field).toBe(`executors.request.${field}`)
    expect(refused.message).not.toContain("hush")
    expect(refused.message).not.toContain(secret)
  })

  test("a secret has 24 to 64 bytes", () => {
    const of = (length: number) => parseSecrets("s", `whsec_${Buffer.alloc(length, 7).toString("base64")}`)
    expect([23, 24, 64, 65].map((length) => Result.isSuccess(of(length)))).toEqual([false, true, true, false])
  })
})

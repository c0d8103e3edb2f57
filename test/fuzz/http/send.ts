// Sends a request as it is said, with nothing made better on the way: over `node:http`, and some over a bare socket, whose
// bodies end too soon, go on too long, or come in chunks that are none.
import { type Agent, request as httpRequest } from "node:http"
import { connect } from "node:net"
import type { Request } from "./Generate.ts"

/** What came back. */
export interface Answer {
  /** `null`: the connection was closed without an answer. */
  readonly status: number | null
  readonly type: string
  readonly text: string
  readonly hasRequestId: boolean
  readonly millis: number
}

/** Waits no longer than this for an answer, in milliseconds. */
export const patienceMillis = 20_000

/** Sends it. */
export const send = (url: URL, agent: Agent, request: Request): Promise<Answer> =>
  request.wire === undefined ? overHttp(url, agent, request) : overSocket(url, request, request.wire)

const overHttp = (
  url: URL,
  agent: Agent,
  { method, target, headers, body, operation }: Request,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const from = performance.now()
    const options = { agent, host: url.hostname, port: url.port, method, path: target, headers }
    const request = httpRequest(options, (response) => {
      const chunks: Array<Buffer> = []
      const type = (response.headers["content-type"] ?? "").split(";", 1)[0] ?? ""
      const end = (): void => {
        const text = Buffer.concat(chunks).toString("utf8")
        const hasRequestId = response.headers["x-request-id"] !== undefined
        resolve({
          status: response.statusCode ?? null,
          type,
          text,
          hasRequestId,
          millis: performance.now() - from,
        })
      }
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", end)
      response.on("error", end)
      // Events have no end: that they began is the answer.
      if (type === "text/event-stream") {
        end()
        response.destroy()
      }
    })
    const patience = operation.waits ? 2_000 : patienceMillis
    request.setTimeout(patience, () => request.destroy(new Error(`no answer in ${patience} ms`)))
    request.on("error", (error: Error & { readonly code?: string }) => {
      // A server may close while a body that it refused is still being sent.
      const isCut = error.code === "ECONNRESET" || error.code === "EPIPE" || operation.waits
      if (isCut) resolve({ status: null, type: "", text: "", hasRequestId: false, millis: 0 })
      else reject(error)
    })
    request.end(body)
  })

const overSocket = (
  url: URL,
  { method, target, headers, body = "" }: Request,
  wire: NonNullable<Request["wire"]>,
): Promise<Answer> =>
  new Promise((resolve) => {
    const from = performance.now()
    const bytes = Buffer.from(body)
    const half = bytes.subarray(0, bytes.length >> 1)
    const isChunked = wire === "chunks" || wire === "badChunks"
    const length = wire === "truncated" ? bytes.length + 10 : bytes.length
    const head = [
      `${method} ${target.replaceAll(/[^\x21-\x7e]/g, "x")} HTTP/1.1`,
      `host: ${url.host}`,
      ...Object.entries(headers)
        .filter(([name]) => name !== "host")
        .map(([name, value]) => `${name}: ${value}`),
      isChunked ? "transfer-encoding: chunked" : `content-length: ${length}`,
      "connection: close",
    ].join("\r\n")
    const parts: Readonly<Record<typeof wire, ReadonlyArray<Buffer | string>>> = {
      whole: [bytes],
      truncated: [half],
      longer: [bytes, "GET /v1/me HTTP/1.1\r\n\r\n"],
      chunks: [`${half.length.toString(16)}\r\n`, half, "\r\n"],
      badChunks: ["zz\r\n", bytes],
    }
    const socket = connect(Number(url.port), url.hostname)
    const chunks: Array<Buffer> = []
    const timer = setTimeout(() => socket.destroy(), patienceMillis)
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("error", () => undefined)
    socket.on("close", () => {
      clearTimeout(timer)
      const [top = "", text = ""] = Buffer.concat(chunks)
        .toString("utf8")
        .split(/\r\n\r\n([\s\S]*)/)
      const status = /^HTTP\/1\.1 (\d{3})/.exec(top)?.[1]
      const type = /^content-type: *([^;\r\n]*)/im.exec(top)?.[1] ?? ""
      // Answers in chunks are for `node:http` to read.
      const isPlain = !/^transfer-encoding/im.test(top)
      resolve({
        status: status === undefined ? null : Number(status),
        type,
        text: isPlain ? text : "",
        hasRequestId: /^x-request-id:/im.test(top),
        // One that never gets its whole body waits for it, as it should.
        millis: wire === "whole" ? performance.now() - from : 0,
      })
    })
    socket.write(`${head}\r\n\r\n`)
    for (const part of parts[wire]) socket.write(part)
    // What was cut off ends here; the others are answered, and closed by the server.
    if (wire === "truncated" || wire === "chunks") socket.end()
  })

// Servers for tests, on this machine only, and requests to them.
import {
  createServer as createPlain,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http"
import { createServer as createRaw, type Socket } from "node:net"
import * as Result from "effect/Result"
import {
  checkRequest,
  checkRules,
  makeRequestRunner,
  type Request,
  type RequestOptions,
  type RequestRules,
  type Resolve,
} from "../../../adapters/executor-http/mod.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { Started } from "../../../core/ports/Executor.ts"

const closers: Array<() => Promise<void>> = []

/** Closes all of them, with their connections. */
export const closeAll = async (): Promise<void> => {
  await Promise.all(closers.splice(0).map((close) => close()))
}

const listen = async (server: Server | ReturnType<typeof createRaw>): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closers.push(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return (server.address() as { readonly port: number }).port
}

/** What a server was asked. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A server that answers as it is told; answers its port and what it was asked. */
export const serve = async (
  answer: (asked: Asked, response: ServerResponse, request: IncomingMessage) => void,
): Promise<{ readonly port: number; readonly asked: Array<Asked> }> => {
  const asked: Array<Asked> = []
  const server = createPlain((request, response) => {
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (chunk: string) => (body += chunk))
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("end", () => {
      const { method = "", url: path = "" } = request
      const each = { method, path, headers: request.headers as Record<string, string>, body }
      asked.push(each)
      answer(each, response, request)
    })
  })
  return { port: await listen(server), asked }
}

/** A server that has only a socket. */
export const serveRaw = async (answer: (socket: Socket) => void): Promise<{ readonly port: number }> => ({
  port: await listen(createRaw(answer)),
})

export const runOf = (id = "r1", fields: Partial<Run> = {}): Run =>
  ({
    id,
    job: "report",
    attempt: 2,
    attemptMax: 3,
    token: 7,
    dueAt: 1_800_000_000_000,
    nominalAt: null,
    ...fields,
  }) as Run

/** A runner that may reach this machine and every host, by these rules and this look-up. */
export const open = (rules: RequestRules = {}, resolve?: Resolve, now?: () => number) => {
  const checked = Result.getOrThrow(checkRules("rules", { networks: ["127.0.0.1"], ...rules }))
  const runner = makeRequestRunner({
    rules: checked,
    ...(resolve === undefined ? {} : { resolve }),
    ...(now === undefined ? {} : { now }),
  })
  const request = (url: Request["url"], options: RequestOptions = {}): Request =>
    Result.getOrThrow(checkRequest("job", url, options, checked))
  const start = (
    spec: Request,
    input = "null",
    run: Run = runOf(),
  ): { readonly started: Started; readonly outcome: Promise<Outcome> } => {
    const end: { resolve: (outcome: Outcome) => void } = { resolve: () => {} }
    const outcome = new Promise<Outcome>((done) => {
      end.resolve = done
    })
    return { started: runner.start(spec, { run, input }, (each) => end.resolve(each)), outcome }
  }
  return { runner, request, start }
}

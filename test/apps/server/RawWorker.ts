// A worker by hand: raw frames over a real WebSocket, and the close code that the server ends with.
import { connect } from "../../../adapters/transport-websocket/mod.ts"
import type { Connection } from "../../../core/ports/Transport.ts"
import { subprotocol } from "../../../core/protocol/Version.ts"
import type { Answer } from "./project.ts"

/** How it says hello. */
export interface RawOptions {
  readonly token?: string
  /** Puts the token into hello instead of the header. */
  readonly inHello?: boolean
  readonly name?: string
  readonly jobs?: ReadonlyArray<string>
  readonly queues?: ReadonlyArray<string>
  readonly headers?: Readonly<Record<string, string>>
  /** What it does with an assignment; default: echoes its input. */
  readonly onAssign?: (assign: Answer, worker: RawWorker) => void
}

/** A connection that said hello. */
export interface RawWorker {
  readonly frames: ReadonlyArray<Answer>
  readonly welcome: Promise<Answer>
  /** The code and the reason that it ended with. */
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
  readonly send: (message: Answer) => void
  readonly close: () => void
}

/** Connects and says hello; rejects when there is no connection. */
export const rawWorker = (url: string, options: RawOptions = {}): Promise<RawWorker> =>
  new Promise((resolve, reject) => {
    const { token, inHello = false, name = "raw", jobs = ["echo"], queues, headers = {} } = options
    const frames: Array<Answer> = []
    const welcome = Promise.withResolvers<Answer>()
    const closed = Promise.withResolvers<{ readonly code: number; readonly reason: string }>()
    // Who waits for one of them may not wait for the other.
    welcome.promise.catch(() => undefined)
    let ids = 0
    let connection: Connection | undefined
    const worker: RawWorker = {
      frames,
      welcome: welcome.promise,
      closed: closed.promise,
      send: (message) => void connection?.send(JSON.stringify({ id: `w${++ids}`, ...message })),
      close: () => connection?.close(1000, "done"),
    }
    const echo = ({ run, attempt, token, input }: Answer): void => {
      worker.send({ type: "ack", acks: [{ run, attempt, token, result: "started" }] })
      worker.send({ type: "result", run, attempt, token, outcome: { kind: "succeeded", output: input } })
    }
    const { onAssign = echo } = options
    const auth = token === undefined || inHello ? {} : { Authorization: `Bearer ${token}` }
    connect(
      url,
      { protocols: [subprotocol(1)], headers: { ...auth, ...headers } },
      {
        onFail: reject,
        onOpen: (opened) => {
          connection = opened
          worker.send({
            type: "hello",
            worker: name,
            incarnation: crypto.randomUUID().replaceAll("-", ""),
            connection: 1,
            session: null,
            runtime: "raw",
            version: "1",
            jobs,
            ...(queues === undefined ? {} : { queues }),
            ...(token !== undefined && inHello ? { token } : {}),
            slots: 4,
            labels: {},
            capabilities: ["resume"],
            inHand: [],
          })
          resolve(worker)
          return {
            onFrame: (frame) => {
              const message = JSON.parse(frame) as Answer
              frames.push(message)
              if (message["type"] === "welcome") welcome.resolve(message)
              if (message["type"] === "assign") onAssign(message, worker)
            },
            onClose: (code, reason) => {
              welcome.reject(new Error(`closed with ${code}: ${reason}`))
              closed.resolve({ code, reason })
            },
          }
        },
      },
    )
  })

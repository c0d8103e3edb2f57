// The entries of the protocol and of the transports, as an outsider names them: a frame from one end to the other and
// back with each that this runtime has, and a session without any socket.
import { expect, test } from "vitest"
import {
  decode,
  encode,
  makeWorker,
  messageTypes,
  openServer,
  defaultTerms,
  stepWorker,
  subprotocol,
} from "uhrwerk/protocol"
import { connect, type Listen, type ServeOptions, serve } from "uhrwerk/transport"

const servers: Array<readonly [string, () => Promise<Listen<ServeOptions>>]> = [
  ["uhrwerk/transport", async () => serve],
  ["uhrwerk/transport/ws", async () => (await import("uhrwerk/transport/ws")).serve],
]
if (process.versions["bun"] !== undefined)
  servers.push(["uhrwerk/transport/bun", async () => (await import("uhrwerk/transport/bun")).serve])
if ("Deno" in globalThis)
  servers.push(["uhrwerk/transport/deno", async () => (await import("uhrwerk/transport/deno")).serve])

test.each(servers)("%s serves, and connect reaches it", async (_, load) => {
  const listen = await load()
  const server = await listen({
    hostname: "127.0.0.1",
    port: 0,
    protocols: [subprotocol(1)],
    onConnection: (connection) => ({
      onFrame: (frame) => void connection.send(`${connection.subprotocol} ${frame}`),
      onClose: () => {},
    }),
  })
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      connect(
        server.url,
        { protocols: [subprotocol(1)] },
        {
          onOpen: (connection) => {
            connection.send("tick")
            return {
              onFrame: (frame) => {
                connection.close(1000, "")
                resolve(frame)
              },
              onClose: () => {},
            }
          },
          onFail: reject,
        },
      )
    })
    expect(answer).toBe("uhrwerk.worker.v1 tick")
  } finally {
    await server.stop()
  }
})

test("uhrwerk/protocol: hello and welcome between the two machines", () => {
  const moment = { now: 0, at: 1_790_000_000_000, random: 0 }
  const who = {
    worker: "w",
    incarnation: "i",
    runtime: "test",
    version: "1",
    jobs: ["a"],
    slots: 1,
    capabilities: ["resume"],
  }
  const worker = makeWorker(who, moment)
  stepWorker(worker, { kind: "tick" }, moment)
  const [hello] = stepWorker(worker, { kind: "opened", connection: 1 }, moment)
  if (hello?.kind !== "send") throw new Error("a worker says hello first")
  const frame = encode(hello.message)
  const read = frame._tag === "Success" ? decode(frame.success, "worker") : frame
  if (read._tag !== "Success" || read.success.type !== "hello") throw new Error("hello can be read")
  const { effects } = openServer(
    { terms: defaultTerms("n"), session: "s", connection: 1, hello: read.success, verdicts: [] },
    moment,
  )
  expect(effects).toMatchObject([{ kind: "send", message: { type: "welcome", session: "s" } }])
  expect(messageTypes).toContain("welcome")
})

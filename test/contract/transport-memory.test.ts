// The transport contract in memory, in virtual time, without and with latency; and what only this network can do to its
// connections, the same with the same chance.
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import { memoryNetwork, type Network, type NetworkOptions } from "../../adapters/transport-memory/mod.ts"
import type { Connection, Listening, ListenOptions, SendResult } from "../../core/ports/Transport.ts"
import { randomOf } from "../common/random.ts"
import { type FlowingTime, flowingTime } from "./transport/flowingTime.ts"
import { registerTransportCases } from "./transport/registerTransportCases.ts"

const register = (name: string, options: () => Omit<NetworkOptions, "time">): void =>
  registerTransportCases(
    test,
    name,
    () => {
      const time = flowingTime()
      const { listen, connect } = memoryNetwork({ time, ...options() })
      return { listen, connect, pass: (millis) => Effect.promise(() => time.pass(millis)) }
    },
    { wire: "There are no bytes in memory" },
  )

register("memory", () => ({}))
register("memory with latency", () => {
  const random = randomOf(11)
  return { latency: () => random() * 20 }
})

interface Told {
  readonly frames: Array<string>
  readonly ends: Array<readonly [code: number, reason: string]>
  drains: number
}

/** A server and a client that note what they hear, connected. */
const joined = async (
  options: Omit<NetworkOptions, "time"> = {},
  limits: ListenOptions["limits"] = {},
): Promise<{
  time: FlowingTime
  network: Network
  server: Connection
  client: Connection
  atServer: Told
  atClient: Told
  listening: Listening
}> => {
  const time = flowingTime()
  const network = memoryNetwork({ time, ...options })
  const note = (): Told => ({ frames: [], ends: [], drains: 0 })
  const [atServer, atClient] = [note(), note()]
  const listener = (told: Told) => ({
    onFrame: (frame: string) => void told.frames.push(frame),
    onClose: (code: number, reason: string) => void told.ends.push([code, reason]),
    onDrain: () => void told.drains++,
  })
  const servers: Array<Connection> = []
  const listening = await network.listen({
    limits,
    onConnection: (connection) => {
      servers.push(connection)
      return listener(atServer)
    },
  })
  const client = await new Promise<Connection>((resolve, reject) => {
    network.connect(
      listening.url,
      { limits },
      {
        onOpen: (connection) => {
          resolve(connection)
          return listener(atClient)
        },
        onFail: reject,
      },
    )
  })
  return { time, network, server: servers[0]!, client, atServer, atClient, listening }
}

describe("memory > what the network does", () => {
  test("latency > frames take as long as it says, and keep their order", async () => {
    const random = randomOf(5)
    const { time, client, atServer } = await joined({ latency: () => random() * 100 })
    for (let each = 0; each < 100; each++) client.send(String(each))
    expect(atServer.frames).toEqual([])
    await time.pass(101)
    expect(atServer.frames).toEqual(Array.from({ length: 100 }, (_, each) => String(each)))
  })

  test("loss > what is lost is lost, the rest keeps its order, and the same chance loses the same", async () => {
    const lossy = async (seed: number): Promise<ReadonlyArray<string>> => {
      const random = randomOf(seed)
      const { time, client, atServer, atClient } = await joined({ loses: () => random() < 0.3 })
      for (let each = 0; each < 200; each++) client.send(String(each))
      client.close(1000, "done")
      await time.pass(1)
      expect(atClient.ends).toEqual([[1000, "done"]])
      return atServer.frames
    }
    const frames = await lossy(1)
    expect(frames.length).toBeGreaterThan(100)
    expect(frames.length).toBeLessThan(180)
    expect(frames).toEqual([...frames].sort((a, b) => Number(a) - Number(b)))
    expect(await lossy(1)).toEqual(frames)
    expect(await lossy(2)).not.toEqual(frames)
  })

  test("cut > both hear 1006 at once, and what was on its way never arrives", async () => {
    const { time, network, client, server, atServer, atClient } = await joined({ latency: () => 10 })
    client.send("lost")
    network.links()[0]!.cut()
    expect([atServer.ends, atClient.ends]).toEqual([[[1006, ""]], [[1006, ""]]])
    expect([client.send("more"), server.send("more")]).toEqual(["closed", "closed"])
    await time.pass(100)
    expect(atServer.frames).toEqual([])
    expect(network.links()).toEqual([])
  })

  test("vanish > one way only: the server finds the silence, the client its own", async () => {
    const { time, network, client, server, atServer, atClient, listening } = await joined(
      {},
      { silenceMillisMax: 1_000, closeMillisMax: 200 },
    )
    client.send("hello")
    await time.pass(10)
    network.links()[0]!.vanish("toServer")
    client.send("lost")
    server.send("heard")
    await time.pass(900)
    expect([atServer.ends, atClient.frames]).toEqual([[], ["heard"]])
    await time.pass(600)
    expect(atServer.frames).toEqual(["hello"])
    expect(atServer.ends).toEqual([[1006, expect.stringMatching(/^no sign of life for 1\d\d\d ms$/)]])
    // The way to the client is whole: it hears of the cut.
    expect(atClient.ends).toEqual([[1006, ""]])
    expect([listening.connections(), network.links()]).toEqual([0, []])
  })

  test("vanish > both ways: each end that gives up is done, and the connection is gone after both", async () => {
    const { time, network, client, atServer, atClient } = await joined(
      {},
      { silenceMillisMax: 1_000, closeMillisMax: 200 },
    )
    client.send("hello")
    await time.pass(10)
    for (const direction of ["toServer", "toClient"] as const) network.links()[0]!.vanish(direction)
    await time.pass(2_000)
    expect([atServer.ends.length, atClient.ends.length, network.links().length]).toEqual([1, 0, 1])
    client.close(4400, "no heartbeat")
    await time.pass(300)
    expect(atClient.ends).toEqual([[4400, "no heartbeat"]])
    expect(network.links()).toEqual([])
  })

  test("vanish > healed in time, nothing but what was sent meanwhile is missing", async () => {
    const { time, network, client, atServer } = await joined({}, { silenceMillisMax: 1_000 })
    client.send("one")
    await time.pass(10)
    network.links()[0]!.vanish("toServer")
    client.send("two")
    await time.pass(500)
    network.links()[0]!.heal("toServer")
    client.send("three")
    await time.pass(5_000)
    expect([atServer.frames, atServer.ends]).toEqual([["one", "three"], []])
  })

  test("pause > a slow reader is noticed, and gets everything when it reads on", async () => {
    const limits = { bufferedBytesHigh: 1_000, bufferedBytesMax: 3_000 }
    const { time, network, server, atServer, atClient } = await joined({}, limits)
    network.links()[0]!.pause("toClient")
    const results: Array<SendResult> = []
    for (let each = 0; each < 15; each++) results.push(server.send(`${each}`.padEnd(100)))
    expect(results.map((result) => result === "slow")).toEqual(results.map((_, at) => at >= 10))
    await time.pass(100)
    expect([atServer.drains, atClient.frames, server.buffered()]).toEqual([0, [], 1_500])
    network.links()[0]!.resume("toClient")
    await time.pass(20)
    expect([atServer.drains, server.buffered(), server.send("more")]).toEqual([1, 0, "sent"])
    await time.pass(1)
    expect(atClient.frames).toHaveLength(16)
  })

  test("pause > a reader that never reads on is closed with 4429, and cut", async () => {
    const limits = { bufferedBytesHigh: 1_000, bufferedBytesMax: 3_000, closeMillisMax: 200 }
    const { time, network, server, atServer, listening } = await joined({}, limits)
    network.links()[0]!.pause("toClient")
    let last: SendResult = "sent"
    let sent = 0
    for (; last !== "closed" && sent < 100; sent++) last = server.send("x".repeat(100))
    expect(sent).toBe(31)
    expect(atServer.ends).toEqual([])
    await time.pass(200)
    expect(atServer.ends).toEqual([[4429, "slow reader: more than 3000 bytes wait"]])
    expect(listening.connections()).toBe(0)
  })

  test("kill > all connections are cut, and nobody is there until somebody listens under the name again", async () => {
    const { network, atClient, listening } = await joined()
    network.kill(listening.url)
    expect(atClient.ends).toEqual([[1006, ""]])
    const attempt = (): Promise<string> =>
      new Promise((resolve) => {
        network.connect(
          listening.url,
          {},
          {
            onOpen: () => {
              resolve("open")
              return { onFrame: () => undefined, onClose: () => undefined }
            },
            onFail: ({ message }) => resolve(message),
          },
        )
      })
    expect(await attempt()).toBe('Cannot connect to "memory://0/" by memory: nobody is there')
    const again = { name: "0", onConnection: () => ({ onFrame: () => undefined, onClose: () => undefined }) }
    await network.listen(again)
    expect(await attempt()).toBe("open")
    await expect(network.listen(again)).rejects.toThrow('Cannot listen on "memory://0/"')
  })

  test("reaches > a server that cannot be reached fails the connection when its time is over", async () => {
    let reached = true
    const { time, network, listening } = await joined({ reaches: () => reached })
    reached = false
    const from = time.now()
    const message = await new Promise((resolve) => {
      network.connect(
        listening.url,
        { openMillisMax: 3_000 },
        {
          onOpen: () => {
            resolve("open")
            return { onFrame: () => undefined, onClose: () => undefined }
          },
          onFail: (error) => resolve(error.message),
        },
      )
    })
    expect([message, time.now() - from]).toEqual([
      `Cannot connect to "${listening.url}" by memory: no answer in time`,
      3_000,
    ])
  })
})

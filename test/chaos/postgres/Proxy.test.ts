// The proxy itself: what goes through it is whole and in order, whatever the weather was meanwhile.
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net"
import { afterEach, beforeEach, expect, test } from "vitest"
import { eventually, pause } from "../children.ts"
import { Proxy } from "./Proxy.ts"

let server: Server
let proxy: Proxy
let heard: string
let peers: Array<Socket>

beforeEach(async () => {
  heard = ""
  peers = []
  server = createServer((socket) => {
    peers.push(socket)
    socket.on("error", () => {})
    socket.setEncoding("utf8").on("data", (text: string) => {
      heard += text
      socket.write(text.toUpperCase())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  proxy = await Proxy.open((server.address() as AddressInfo).port)
})
afterEach(async () => {
  await proxy.close()
  for (const peer of peers) peer.destroy()
  await new Promise((resolve) => server.close(resolve))
})

/** A client that is connected through the proxy. */
const client = () => {
  const state = { said: "", isClosed: false }
  const socket = connect({ port: proxy.port, host: "127.0.0.1" })
  socket.on("error", () => {}).on("close", () => (state.isClosed = true))
  socket.setEncoding("utf8").on("data", (text: string) => (state.said += text))
  const answer = (text: string) =>
    eventually(`answer ${text}`, () => (state.said === text ? true : undefined))
  return { socket, state, answer }
}

test("passes both ways, and a cut closes and refuses until it heals", async () => {
  const one = client()
  one.socket.write("ab")
  await one.answer("AB")
  proxy.cut()
  await eventually("closed", () => (one.state.isClosed ? true : undefined))
  const refused = client()
  await eventually("refused", () => (refused.state.isClosed ? true : undefined))
  proxy.heal()
  const two = client()
  two.socket.write("cd")
  await two.answer("CD")
})

test("what is slow comes late and in order", async () => {
  const one = client()
  one.socket.write("a")
  await one.answer("A")
  proxy.slow(60)
  const begunAt = performance.now()
  for (const text of ["b", "c", "d"]) {
    one.socket.write(text)
    await pause(5)
  }
  await one.answer("ABCD")
  expect(performance.now() - begunAt).toBeGreaterThan(110)
})

test.each(["toServer", "toNode"] as const)(
  "what is lost %s comes when it heals, in order, or never",
  async (way) => {
    const one = client()
    one.socket.write("a")
    await one.answer("A")
    proxy.lose(way)
    one.socket.write("b")
    await pause(50)
    expect(one.state.said).toBe("A")
    expect(heard).toBe(way === "toServer" ? "a" : "ab")
    expect(one.state.isClosed).toBe(false)
    proxy.heal()
    one.socket.write("c")
    await one.answer("ABC")
    proxy.lose(way)
    one.socket.write("d")
    await pause(50)
    proxy.heal(true)
    await eventually("reset", () => (one.state.isClosed ? true : undefined))
    expect(one.state.said).toBe("ABC")
  },
)

test("one that loses ends as well tells of them when it has healed, or never to those that were reset", async () => {
  const lossy = await Proxy.open((server.address() as AddressInfo).port, { losesEnds: true })
  const open = async () => {
    const state = { said: "", isClosed: false }
    const socket = connect({ port: lossy.port, host: "127.0.0.1" })
    socket.on("error", () => {}).on("close", () => (state.isClosed = true))
    socket.setEncoding("utf8").on("data", (text: string) => (state.said += text))
    socket.write("a")
    await eventually("the answer", () => (state.said === "A" ? true : undefined))
    return { socket, state, peer: peers.at(-1) as Socket }
  }
  const one = await open()
  let isEnded = false
  one.peer.on("close", () => (isEnded = true))
  lossy.lose("both")
  one.socket.write("b")
  one.socket.end()
  await pause(150)
  expect([isEnded, heard]).toEqual([false, "a"])
  lossy.heal()
  await eventually("the end", () => (isEnded ? true : undefined))
  expect(heard).toBe("ab")
  await lossy.close()
})

test("an end at one side only leaves the other in its belief, and new connections go to another server", async () => {
  const one = client()
  one.socket.write("a")
  await one.answer("A")
  const peer = peers.at(-1) as Socket
  let isEnded = false
  peer.on("close", () => (isEnded = true))
  proxy.halfClose("server")
  await eventually("the server's end", () => (isEnded ? true : undefined))
  one.socket.write("b")
  await pause(150)
  expect([one.state.isClosed, heard]).toEqual([false, "a"])
  const other = createServer((socket) => void socket.on("error", () => {}).end("another"))
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
  proxy.leadTo((other.address() as AddressInfo).port)
  const two = client()
  await two.answer("another")
  await new Promise((resolve) => other.close(resolve))
})

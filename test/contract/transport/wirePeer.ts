// A WebSocket client by hand, over a TCP socket: it sends what it is told, right or wrong, and answers nothing.
import { randomBytes } from "node:crypto"
import { connect } from "node:net"
import type { WireFrame, WireOptions, WirePeer } from "../../../core/contract/TransportContract.ts"

/** Asks for an upgrade and resolves when the answer is there, or the connection has ended without one. */
export const openWire = (address: string, { headers = {} }: WireOptions = {}): Promise<WirePeer> => {
  const url = new URL(address)
  const asked: Record<string, string> = {
    Host: url.host,
    Upgrade: "websocket",
    Connection: "Upgrade",
    "Sec-WebSocket-Key": randomBytes(16).toString("base64"),
    "Sec-WebSocket-Version": "13",
    ...headers,
  }
  const socket = connect(Number(url.port), url.hostname)
  const frames: Array<WireFrame> = []
  // Chunks are joined when a frame can be whole: joined at each, a large one would be copied a thousand times.
  const chunks: Array<Buffer> = []
  let waiting = 0
  let needed = 1
  let answered: { readonly status: number; readonly headers: ReadonlyMap<string, string> } | null = null
  let ended = false
  return new Promise((resolve) => {
    const answer = (status: number, given: ReadonlyMap<string, string>): void => {
      if (answered !== null) return
      answered = { status, headers: given }
      resolve({
        ...answered,
        frames,
        ended: () => ended,
        send: (frame) => void socket.write(bytesOf(frame)),
        sendRaw: (bytes) => void socket.write(Buffer.from(bytes, "latin1")),
        pause: () => void socket.pause(),
        resume: () => void socket.resume(),
        destroy: () => void socket.destroy(),
      })
    }
    socket.on("connect", () => {
      const lines = Object.entries(asked).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join("")}\r\n`)
    })
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk)
      waiting += chunk.length
      if (waiting < needed) return
      let rest = Buffer.concat(chunks)
      if (answered === null) {
        const end = rest.indexOf("\r\n\r\n")
        if (end < 0) {
          chunks.splice(0, chunks.length, rest)
          return
        }
        const [first = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n")
        const pairs = lines.map((line) => line.split(/:\s*/, 2) as [string, string])
        answer(
          Number(first.split(" ")[1]),
          new Map(pairs.map(([name, value]) => [name.toLowerCase(), value])),
        )
        rest = rest.subarray(end + 4)
      }
      for (let size = sizeOf(rest); size <= rest.length; size = sizeOf(rest)) {
        frames.push(frameOf(rest, size))
        rest = rest.subarray(size)
      }
      needed = sizeOf(rest)
      waiting = rest.length
      chunks.splice(0, chunks.length, rest)
    })
    socket.on("error", () => undefined)
    socket.on("close", () => {
      ended = true
      answer(0, new Map())
    })
  })
}

/** Bytes of the first frame, head included; as far as they can be told, at least one more than there are. */
const sizeOf = (bytes: Buffer): number => {
  if (bytes.length < 2) return 2
  const length = bytes[1]! & 0x7f
  if (length < 126) return 2 + length
  if (length === 126) return bytes.length < 4 ? 4 : 4 + bytes.readUInt16BE(2)
  return bytes.length < 10 ? 10 : 10 + Number(bytes.readBigUInt64BE(2))
}

const frameOf = (bytes: Buffer, size: number): WireFrame => {
  const length = bytes[1]! & 0x7f
  const head = length < 126 ? 2 : length === 126 ? 4 : 10
  return {
    opcode: bytes[0]! & 0x0f,
    final: (bytes[0]! & 0x80) !== 0,
    masked: (bytes[1]! & 0x80) !== 0,
    payload: bytes.subarray(head, size).toString("latin1"),
  }
}

const bytesOf = ({ opcode, payload, final = true, masked = true }: WireFrame): Buffer => {
  const body = Buffer.from(payload, "latin1")
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10)
  head[0] = (final ? 0x80 : 0) | opcode
  head[1] = (masked ? 0x80 : 0) | (head.length === 2 ? body.length : head.length === 4 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(body.length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2)
  if (!masked) return Buffer.concat([head, body])
  const mask = randomBytes(4)
  return Buffer.concat([head, mask, body.map((byte, at) => byte ^ mask[at % 4]!)])
}

// A relay between a worker and the server of the kit that takes every text frame of the server apart: fragments of a
// few bytes, a ping between them, and all of it in TCP packets that end anywhere. WebSocket allows all of that, and
// proxies do it; a client of one's own has to put it together again. Of what the worker sends it only reads pongs.
import { createServer, connect, type Server, type Socket } from "node:net"

/** A relay that listens. */
export interface Relay {
  readonly port: number
  /** How many pongs the worker has sent. */
  readonly pongs: () => number
  readonly close: () => void
}

const fragmentBytes = 61
// More would only take longer.
const fragmentsMax = 40
const packetBytes = 37_003
// First bytes of whole frames: a text, and a pong.
const text = 0x81
const pong = 0x8a

/** Listens on 127.0.0.1 and passes everything to this port of it. */
export const relay = async (target: number): Promise<Relay> => {
  const sockets = new Set<Socket>()
  let pongs = 0
  const server: Server = createServer((worker) => {
    const upstream = connect(target, "127.0.0.1")
    for (const [one, other] of [
      [worker, upstream],
      [upstream, worker],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.on("error", () => one.destroy())
      one.on("close", () => {
        sockets.delete(one)
        other.end()
      })
    }
    const down = new Frames()
    upstream.on("data", (chunk: Buffer) => {
      for (const { first, head, bytes } of down.take(chunk)) {
        const out = first === text ? fragments(bytes.subarray(head)) : bytes
        // Odd lengths, so that no packet ends where a frame does.
        for (let at = 0; at < out.length; at += packetBytes) worker.write(out.subarray(at, at + packetBytes))
      }
    })
    const up = new Frames()
    worker.on("data", (chunk: Buffer) => {
      for (const { first } of up.take(chunk)) if (first === pong) pongs++
      upstream.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    pongs: () => pongs,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** A frame as it was sent, or the head of HTTP before all frames (`first` 0). */
interface Raw {
  readonly first: number
  /** Where its payload begins. */
  readonly head: number
  readonly bytes: Buffer
}

/** Finds the frames in one direction of a connection. */
class Frames {
  #rest = Buffer.alloc(0)
  #headed = false

  take(chunk: Buffer): Array<Raw> {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const frames: Array<Raw> = []
    if (!this.#headed) {
      const end = this.#rest.indexOf("\r\n\r\n")
      if (end < 0) return frames
      this.#headed = true
      frames.push(this.#cut(0, 0, end + 4))
    }
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame)
    return frames
  }

  #cut(first: number, head: number, size: number): Raw {
    const bytes = this.#rest.subarray(0, size)
    this.#rest = this.#rest.subarray(size)
    return { first, head, bytes }
  }

  #next(): Raw | null {
    const [first, second] = this.#rest
    if (first === undefined || second === undefined) return null
    const short = second & 0x7f
    const head = (short === 126 ? 4 : short === 127 ? 10 : 2) + (second >= 0x80 ? 4 : 0)
    if (this.#rest.length < head) return null
    const size =
      short === 126
        ? this.#rest.readUInt16BE(2)
        : short === 127
          ? Number(this.#rest.readBigUInt64BE(2))
          : short
    return this.#rest.length < head + size ? null : this.#cut(first, head, head + size)
  }
}

const ping = Buffer.from([0x89, 4, 1, 2, 3, 4])

const fragments = (payload: Buffer): Buffer => {
  const size = Math.max(fragmentBytes, Math.ceil(payload.length / fragmentsMax))
  const parts: Array<Buffer> = []
  for (let at = 0; at < payload.length || at === 0; at += size) {
    const part = payload.subarray(at, at + size)
    const last = at + size >= payload.length
    parts.push(headOf((at === 0 ? 1 : 0) | (last ? 0x80 : 0), part.length), part)
    if (at === 0 && !last) parts.push(ping)
  }
  return Buffer.concat(parts)
}

const headOf = (first: number, size: number): Buffer => {
  if (size < 126) return Buffer.from([first, size])
  const head = Buffer.alloc(4)
  head[0] = first
  head[1] = 126
  head.writeUInt16BE(size, 2)
  return head
}

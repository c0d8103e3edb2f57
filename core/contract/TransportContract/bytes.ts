// What only bytes can do: pieces of frames, what is no text and no WebSocket, pings, and peers that do not read.
import * as Effect from "effect/Effect"
import { expectSame, expectTrue } from "../Case.ts"
import {
  closeCodeOf,
  eventually,
  expectAlive,
  pair,
  pass,
  serve,
  type TransportAbility,
  type TransportCase,
  type WireFrame,
  wire,
} from "./ground.ts"

/** A peer sends these after a good frame; its connection ends with the code, and nobody else's. */
const fatal = (
  what: string,
  code: number,
  frames: ReadonlyArray<WireFrame>,
  needs: ReadonlyArray<TransportAbility>,
): TransportCase => ({
  name: `bytes > ${what}: the connection ends with ${code}, and no other`,
  needs: ["wire", "tellsSenders", ...needs],
  run: Effect.gen(function* () {
    const served = yield* serve({ limits: { frameBytesMax: 10_000, closeMillisMax: 300 } })
    const well = yield* pair(served)
    const peer = yield* wire(served)
    peer.send({ opcode: 1, payload: "good" })
    for (const frame of frames) peer.send(frame)
    peer.send({ opcode: 1, payload: "late" })
    yield* eventually("server", () => served.ends[1]?.ends.map(([each]) => each), [code])
    yield* eventually("peer", () => closeCodeOf(peer), code)
    yield* expectSame("frames", served.ends[1]?.frames, ["good"])
    yield* eventually("connections", served.connections, 1)
    yield* expectAlive(well.server, well.client)
  }),
})

// A frame of 64 KiB, a hundred times: more than the system's own buffers take for a peer that does not read.
const large = "x".repeat(65_536)
const limits = { bufferedBytesHigh: 262_144, bufferedBytesMax: 2_097_152, closeMillisMax: 300 }
const floodMax = 2_000

/** Cases of bytes. */
export const bytes: ReadonlyArray<TransportCase> = [
  {
    name: "bytes > a frame in pieces is one frame, also with a ping between them",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve()
      const peer = yield* wire(served)
      // The character ä is cut in two.
      peer.send({ opcode: 1, payload: "one \u00c3", final: false })
      peer.send({ opcode: 9, payload: "are you there" })
      peer.send({ opcode: 0, payload: "\u00a4 two", final: false })
      peer.send({ opcode: 0, payload: "", final: false })
      peer.send({ opcode: 0, payload: " three" })
      yield* eventually("frames", () => served.ends[0]?.frames, ["one ä two three"])
      yield* eventually("pong", () => peer.frames, [
        { opcode: 10, payload: "are you there", final: true, masked: false },
      ])
    }),
  },
  fatal(
    "pieces without an end",
    1009,
    Array.from({ length: 12 }, (_, each) => ({
      opcode: each === 0 ? 1 : 0,
      payload: "x".repeat(1_000),
      final: false,
    })),
    ["boundsFragments"],
  ),
  fatal("text that is no UTF-8", 1007, [{ opcode: 1, payload: "\u00c3\u0028" }], ["saysInvalidText"]),
  fatal("a binary frame", 1003, [{ opcode: 2, payload: "abc" }], []),
  fatal("a frame without a mask", 1002, [{ opcode: 1, payload: "abc", masked: false }], ["strictFrames"]),
  fatal("an opcode that is none", 1002, [{ opcode: 3, payload: "abc" }], ["strictFrames"]),
  // The bit that says so is set; nobody agreed on it.
  fatal("a compressed frame", 1002, [{ opcode: 0x40 | 1, payload: "abc" }], ["strictFrames"]),
  fatal("a ping of more than 125 bytes", 1002, [{ opcode: 9, payload: "x".repeat(126) }], ["strictFrames"]),
  fatal("a piece of nothing", 1002, [{ opcode: 0, payload: "abc" }], ["strictFrames"]),
  ...[
    { what: "text that is no UTF-8", frame: { opcode: 1, payload: "\u00c3\u0028" }, code: 1007 },
    { what: "a binary frame", frame: { opcode: 2, payload: "abc" }, code: 1003 },
  ].map(({ what, frame, code }): TransportCase => ({
    name: `bytes > ${what} is never received, and ends its connection only`,
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { closeMillisMax: 300 } })
      const well = yield* pair(served)
      const peer = yield* wire(served)
      peer.send(frame)
      yield* eventually("server", () => served.ends[1]?.ends.map(([each]) => each), [code])
      yield* expectSame("frames", served.ends[1]?.frames, [])
      yield* eventually("connections", served.connections, 1)
      yield* expectAlive(well.server, well.client)
    }),
  })),
  {
    name: "flood > pings count: too many end the connection, and no other",
    needs: ["wire", "countsPings"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { framesPerSecondMax: 100, closeMillisMax: 300 } })
      const well = yield* pair(served)
      const peer = yield* wire(served)
      for (let each = 0; each < 1_000; each++) peer.send({ opcode: 9, payload: "" })
      yield* eventually("peer", peer.ended, true)
      // Where a library has a limit of its own, it may come first, and cut.
      const [code] = served.ends[1]?.ends[0] ?? [0]
      yield* expectTrue(`4429 or 1006, was ${code}`, code === 4429 || code === 1006)
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "bytes > a close without a code is 1005",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve()
      const peer = yield* wire(served)
      peer.send({ opcode: 8, payload: "" })
      yield* eventually("server", () => served.ends[0]?.ends.map(([code]) => code), [1005])
      yield* eventually("peer", () => peer.frames.map(({ opcode }) => opcode), [8])
    }),
  },
  {
    name: "bytes > an upgrade without a key is refused, and the server goes on",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve()
      const peer = yield* wire(served, { headers: { "Sec-WebSocket-Key": "" } })
      yield* expectTrue(`refused, with ${peer.status}`, peer.status >= 400 && peer.status < 500)
      yield* expectSame("ends", served.ends, [])
      const next = yield* pair(served)
      yield* expectAlive(next.server, next.client)
    }),
  },
  {
    name: "slow reader > is noticed, and cut when too much waits; others are served meanwhile",
    needs: ["wire", "cuts"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits })
      const well = yield* pair(served)
      const peer = yield* wire(served)
      peer.pause()
      yield* eventually("ends", () => served.ends.length, 2)
      const slow = served.ends[1]!
      const results = new Set<string>()
      let most = 0
      for (let each = 0; each < floodMax && slow.ends.length === 0; each++) {
        const result = slow.connection.send(large)
        results.add(result)
        if (result === "closed") break
        most = Math.max(most, slow.connection.buffered())
        if (each % 10 === 0) yield* pass(1)
      }
      yield* expectSame("results", [...results], ["sent", "slow", "closed"])
      yield* expectTrue(`at most ${limits.bufferedBytesMax}, was ${most}`, most <= limits.bufferedBytesMax)
      yield* expectAlive(well.server, well.client)
      yield* eventually("server", () => slow.ends.map(([code]) => code), [4429])
      yield* expectSame("send", slow.connection.send("more"), "closed")
      yield* eventually("connections", served.connections, 1)
    }),
  },
  {
    name: "slow reader > that reads on gets every frame in order, and the sender hears of it",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits })
      const peer = yield* wire(served)
      peer.pause()
      yield* eventually("ends", () => served.ends.length, 1)
      const slow = served.ends[0]!
      let sent = 0
      // The system takes some of it, sooner or later: it is slow when that does not help any more.
      while (slow.connection.buffered() <= limits.bufferedBytesHigh && sent < floodMax) {
        const result = slow.connection.send(`${sent++} ${large}`)
        if (result === "slow") yield* pass(100)
      }
      yield* expectTrue(`slow after ${sent} frames`, sent < floodMax)
      const before = slow.drains.length
      yield* pass(100)
      yield* expectSame("drains before it reads", slow.drains.length, before)
      peer.resume()
      yield* eventually("drains", () => slow.drains.length, before + 1)
      yield* expectTrue("little waits", (slow.drains.at(-1) ?? Infinity) <= limits.bufferedBytesHigh)
      yield* expectSame("goes on", slow.connection.send("the end"), "sent")
      yield* eventually("frames", () => peer.frames.length, sent + 1)
      const numbers = peer.frames.map(({ payload }) => payload.split(" ", 1)[0])
      yield* expectSame("order", numbers, [...Array.from({ length: sent }, (_, each) => String(each)), "the"])
      yield* expectSame("server", slow.ends, [])
    }),
  },
]

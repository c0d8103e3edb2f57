// How connections end: by either side, by force, by a server that stops, and by silence.
import * as Effect from "effect/Effect"
import { expectSame, expectTrue } from "../Case.ts"
import {
  closeCodeOf,
  dial,
  eventually,
  expectAlive,
  pair,
  pass,
  serve,
  type TransportCase,
  wire,
} from "./ground.ts"

/** Cases of the end. */
export const ending: ReadonlyArray<TransportCase> = [
  ...[1000, 4400].map((code): TransportCase => ({
    name: `close > by the client with ${code}: both hear it, once`,
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      client.connection.send("last words")
      client.connection.close(code, "all done, tschüß")
      yield* expectSame("send", client.connection.send("more"), "closed")
      yield* eventually("server", () => server.ends, [[code, "all done, tschüß"]])
      yield* eventually("client", () => client.ends, [[code, "all done, tschüß"]])
      yield* expectSame("frames", server.frames, ["last words"])
      yield* expectSame("answer", server.connection.send("wait"), "closed")
      yield* pass(50)
      yield* expectSame("ends", [server.ends.length, client.ends.length], [1, 1])
    }),
  })),
  ...[1000, 1012, 1013, 4401, 4410, 4500].map((code): TransportCase => ({
    name: `close > by the server with ${code}: both hear it, after all frames that were sent before`,
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      for (let each = 0; each < 100; each++) server.connection.send("x".repeat(1_000))
      server.connection.close(code, "so be it")
      yield* expectSame("send", server.connection.send("more"), "closed")
      yield* eventually("client", () => client.ends, [[code, "so be it"]])
      yield* eventually("server", () => server.ends, [[code, "so be it"]])
      yield* expectSame("frames", client.frames.length, 100)
    }),
  })),
  {
    name: "close > a second one changes nothing, and neither does a cut after the end",
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      server.connection.close(4401, "first")
      server.connection.close(4403, "second")
      yield* eventually("client", () => client.ends, [[4401, "first"]])
      yield* eventually("server", () => server.ends, [[4401, "first"]])
      for (const { connection } of [server, client]) {
        connection.terminate()
        connection.close(1000, "third")
        yield* expectSame("buffered", connection.buffered(), 0)
      }
      yield* pass(50)
      yield* expectSame("ends", [server.ends.length, client.ends.length], [1, 1])
    }),
  },
  {
    name: "close > both at once: each hears its own, once",
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { closeMillisMax: 300 } })
      const { server, client } = yield* pair(served)
      client.connection.close(4400, "by the client")
      server.connection.close(4410, "by the server")
      yield* eventually("server", () => server.ends.length, 1)
      yield* eventually("client", () => client.ends.length, 1)
      yield* expectSame("server's", server.ends, [[4410, "by the server"]])
      yield* expectSame("client's", client.ends, [[4400, "by the client"]])
      yield* eventually("connections", served.connections, 0)
    }),
  },
  {
    name: "close > frames that come after one's own are not received",
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      server.connection.close(4410, "too late")
      for (let each = 0; each < 20; each++) client.connection.send("late")
      yield* eventually("server", () => server.ends.length, 1)
      yield* expectSame("frames", server.frames, [])
    }),
  },
  {
    name: "close > a long reason is cut to 123 bytes, between two characters",
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      server.connection.close(4400, "日".repeat(100))
      yield* eventually("client", () => client.ends, [[4400, "日".repeat(41)]])
      const next = yield* pair(yield* serve())
      next.server.connection.close(4400, "ä".repeat(100))
      yield* eventually("client", () => next.client.ends, [[4400, "ä".repeat(61)]])
    }),
  },
  {
    name: "cut > whoever does it hears 1006 at once, the other one soon",
    needs: ["cuts"],
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      server.connection.terminate()
      yield* expectSame("server", server.ends, [[1006, ""]])
      yield* expectSame("send", server.connection.send("more"), "closed")
      yield* eventually("client", () => client.ends.map(([code]) => code), [1006])
      yield* expectSame("send", client.connection.send("more"), "closed")
    }),
  },
  {
    name: "cut > a peer that vanishes in the middle of a frame ends its connection with 1006 and leaves no frame",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve()
      const well = yield* pair(served)
      const peer = yield* wire(served)
      peer.send({ opcode: 1, payload: "whole" })
      // The head of a text frame of 100 bytes, and three of them.
      peer.sendRaw("\u0081\u00e4\u0000\u0000\u0000\u0000abc")
      yield* eventually("frames", () => served.ends[1]?.frames, ["whole"])
      peer.destroy()
      yield* eventually("server", () => served.ends[1]?.ends.map(([code]) => code), [1006])
      yield* expectSame("frames", served.ends[1]?.frames, ["whole"])
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "cut > a peer that does not answer a farewell is cut in the end",
    needs: ["wire", "cuts"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { closeMillisMax: 200 } })
      const peer = yield* wire(served)
      yield* eventually("ends", () => served.ends.length, 1)
      served.ends[0]?.connection.close(4401, "go")
      yield* eventually("server", () => served.ends[0]?.ends, [[4401, "go"]])
      yield* eventually("peer", () => [closeCodeOf(peer), peer.ended()], [4401, true])
      yield* expectSame("connections", served.connections(), 0)
    }),
  },
  {
    name: "stop > every connection hears why, nobody is taken any more, and it ends",
    run: Effect.gen(function* () {
      const served = yield* serve()
      const pairs = [yield* pair(served), yield* pair(served), yield* pair(served)]
      yield* Effect.promise(() => served.stop({ reason: "a new version" }))
      yield* expectSame("connections", served.connections(), 0)
      for (const { server, client } of pairs) {
        yield* expectSame("server", server.ends, [[1012, "a new version"]])
        yield* eventually("client", () => client.ends, [[1012, "a new version"]])
      }
      const refused = yield* Effect.flip(dial(served))
      yield* expectSame("refused", (refused as { _tag?: string })._tag, "TransportError")
      yield* Effect.promise(() => served.stop())
    }),
  },
  {
    name: "stop > with a code of one's own, twice at once, and with nobody there",
    run: Effect.gen(function* () {
      const served = yield* serve()
      const { client } = yield* pair(served)
      yield* Effect.promise(() =>
        Promise.all([served.stop({ code: 4500, reason: "broken" }), served.stop({ code: 1000 })]),
      )
      yield* eventually("client", () => client.ends, [[4500, "broken"]])
      const empty = yield* serve()
      yield* Effect.promise(() => empty.stop())
      yield* expectSame("connections", empty.connections(), 0)
    }),
  },
  {
    name: "stop > a peer that does not answer is cut after the grace period",
    needs: ["wire", "cuts"],
    run: Effect.gen(function* () {
      const served = yield* serve()
      const peer = yield* wire(served)
      yield* eventually("ends", () => served.ends.length, 1)
      yield* Effect.promise(() => served.stop({ graceMillis: 200, reason: "now" }))
      yield* expectSame("server", served.ends[0]?.ends, [[1012, "now"]])
      yield* eventually("peer", () => [closeCodeOf(peer), peer.ended()], [1012, true])
    }),
  },
  {
    name: "silence > a peer that sends no frame after it connected is told 4408",
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { firstFrameMillisMax: 200 } })
      const quiet = yield* pair(served)
      const spoke = yield* pair(served)
      spoke.client.connection.send("hello")
      yield* eventually("quiet", () => quiet.client.ends.map(([code]) => code), [4408])
      yield* pass(600)
      yield* expectSame("spoke", spoke.client.ends, [])
      yield* expectAlive(spoke.server, spoke.client)
    }),
  },
  {
    name: "silence > a peer that answers pings is kept, however long it says nothing",
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { silenceMillisMax: 400 } })
      const { server, client } = yield* pair(served)
      yield* expectAlive(server, client)
      yield* pass(2_500)
      yield* expectSame("ends", [server.ends, client.ends], [[], []])
      yield* expectAlive(server, client)
    }),
  },
  {
    name: "silence > a peer that answers nothing at all is given up with 1006",
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { silenceMillisMax: 400, closeMillisMax: 300 } })
      const peer = yield* wire(served)
      peer.send({ opcode: 1, payload: "hello" })
      yield* eventually("hello", () => served.ends[0]?.frames, ["hello"])
      yield* eventually("server", () => served.ends[0]?.ends.map(([code]) => code), [1006])
      yield* expectTrue(
        "was pinged",
        peer.frames.some(({ opcode }) => opcode === 9),
      )
      yield* eventually("connections", served.connections, 0)
    }),
  },
]

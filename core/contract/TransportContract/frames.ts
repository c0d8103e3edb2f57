// Frames: whole, in order, within their limits, and listeners that fail.
import * as Effect from "effect/Effect"
import { expectSame } from "../Case.ts"
import { eventually, expectAlive, pair, pass, serve, type TransportCase } from "./ground.ts"

const numbered = (count: number): Array<string> => Array.from({ length: count }, (_, each) => `frame ${each}`)

const texts: ReadonlyArray<string> = [
  "",
  " ",
  "\u0000",
  'quotes " and \\ and \n and \r\n',
  "Grüße, Ελλάδα, 日本",
  "\u{1F600}\u{1F468}\u200D\u{1F469}",
  "\u2028\u2029\uFEFF",
  "\uFFFF",
  "{}",
]

/** Cases of frames. */
export const frames: ReadonlyArray<TransportCase> = [
  {
    name: "frames > a thousand each way arrive whole, once and in order",
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      for (const frame of numbered(1_000)) {
        yield* expectSame("client's send", client.connection.send(frame), "sent")
        yield* expectSame("server's send", server.connection.send(frame), "sent")
      }
      yield* eventually("at the server", () => server.frames, numbered(1_000))
      yield* eventually("at the client", () => client.frames, numbered(1_000))
    }),
  },
  {
    name: "frames > every text comes out as it went in, the empty one too",
    run: Effect.gen(function* () {
      const { server, client } = yield* pair(yield* serve())
      for (const text of texts) {
        yield* expectSame("client's send", client.connection.send(text), "sent")
        yield* expectSame("server's send", server.connection.send(text), "sent")
      }
      yield* eventually("at the server", () => server.frames, texts)
      yield* eventually("at the client", () => client.frames, texts)
    }),
  },
  {
    name: "frames > a listener may answer at once",
    run: Effect.gen(function* () {
      const served = yield* serve({}, (connection) => ({
        onFrame: (frame) => void connection.send(`echo of ${frame}`),
      }))
      const { client } = yield* pair(served)
      for (const frame of numbered(50)) client.connection.send(frame)
      yield* eventually(
        "echo",
        () => client.frames,
        numbered(50).map((frame) => `echo of ${frame}`),
      )
    }),
  },
  {
    name: "frame > the limit is in bytes of UTF-8: as many pass, one more is not sent and changes nothing",
    run: Effect.gen(function* () {
      const limits = { frameBytesMax: 3_000 }
      const served = yield* serve({ limits })
      const { server, client } = yield* pair(served, { limits })
      const sizes = ["a".repeat(3_000), "ä".repeat(1_500), "日".repeat(1_000), "\u{1F600}".repeat(750)]
      for (const frame of sizes) {
        yield* expectSame("client's send", client.connection.send(frame), "sent")
        yield* expectSame("server's send", server.connection.send(frame), "sent")
        yield* expectSame("client's too large", client.connection.send(`${frame}.`), "tooLarge")
        yield* expectSame("server's too large", server.connection.send(`${frame}.`), "tooLarge")
      }
      yield* eventually("at the server", () => server.frames, sizes)
      yield* eventually("at the client", () => client.frames, sizes)
      yield* expectAlive(server, client)
    }),
  },
  ...["a", "日"].map((character): TransportCase => ({
    name: `frame > one of "${character}" over the server's limit ends its connection with 1009, and no other`,
    needs: ["tellsSenders"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { frameBytesMax: 3_000, closeMillisMax: 300 } })
      const well = yield* pair(served)
      const bad = yield* pair(served)
      bad.client.connection.send("before")
      bad.client.connection.send(character.repeat(3_001))
      bad.client.connection.send("after")
      yield* eventually("server", () => bad.server.ends.map(([code]) => code), [1009])
      yield* eventually("client", () => bad.client.ends.map(([code]) => code), [1009])
      yield* expectSame("frames", bad.server.frames, ["before"])
      yield* expectAlive(well.server, well.client)
      yield* eventually("connections", served.connections, 1)
    }),
  })),
  {
    name: "frame > one over the client's limit ends the connection, too",
    run: Effect.gen(function* () {
      const served = yield* serve()
      const { server, client } = yield* pair(served, { limits: { frameBytesMax: 100 } })
      server.connection.send("a".repeat(101))
      yield* eventually("client", () => client.ends.map(([code]) => code), [1009])
      // A client may not say 1009.
      yield* eventually("server", () => server.ends.map(([code]) => code), [4400])
      yield* expectSame("frames", client.frames, [])
    }),
  },
  {
    name: "listener > one that throws ends its own connection with 4500, and no other",
    run: Effect.gen(function* () {
      const served = yield* serve({}, () => ({
        onFrame: (frame) => {
          if (frame === "bad") throw new Error("cannot read it")
        },
      }))
      const well = yield* pair(served)
      const bad = yield* pair(served)
      for (const frame of ["good", "bad"]) bad.client.connection.send(frame)
      yield* eventually("client", () => bad.client.ends.map(([code]) => code), [4500])
      yield* eventually("server", () => bad.server.ends.map(([code]) => code), [4500])
      yield* expectSame("frames", bad.server.frames, ["good", "bad"])
      yield* expectSame("faults", served.faults.map(String), ["Error: cannot read it"])
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "listener > an asynchronous one that rejects does the same, and does not end the process",
    run: Effect.gen(function* () {
      const served = yield* serve({}, () => ({
        onFrame: (frame): void =>
          (frame === "bad" ? Promise.reject(new Error("cannot wait")) : Promise.resolve()) as unknown as void,
      }))
      const well = yield* pair(served)
      const bad = yield* pair(served)
      for (const frame of ["good", "bad"]) bad.client.connection.send(frame)
      yield* eventually("client", () => bad.client.ends.map(([code]) => code), [4500])
      yield* expectSame("faults", served.faults.map(String), ["Error: cannot wait"])
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "listener > a peer that goes on sending hears why it was closed, and nothing of it is received",
    needs: ["tellsSenders"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { closeMillisMax: 300 } }, () => ({
        onFrame: (frame) => {
          if (frame === "frame 5") throw new Error("cannot read it")
        },
      }))
      const { server, client } = yield* pair(served)
      for (const frame of numbered(1_000)) client.connection.send(frame)
      yield* eventually("client", () => client.ends.map(([code]) => code), [4500])
      yield* eventually("server", () => server.ends.map(([code]) => code), [4500])
      yield* expectSame("frames", server.frames, numbered(6))
    }),
  },
  {
    name: "listener > one that throws at the end is told of, and the server goes on",
    run: Effect.gen(function* () {
      const served = yield* serve({}, () => ({
        onClose: () => {
          throw new Error("cannot end")
        },
      }))
      const bad = yield* pair(served)
      bad.client.connection.close(1000, "bye")
      yield* eventually("faults", () => served.faults.map(String), ["Error: cannot end"])
      yield* eventually("connections", served.connections, 0)
      const well = yield* pair(served)
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "flood > more frames in a second than are allowed end the connection with 4429, and no other",
    needs: ["tellsSenders"],
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { framesPerSecondMax: 100, closeMillisMax: 300 } })
      const well = yield* pair(served)
      const bad = yield* pair(served)
      for (const frame of numbered(1_000)) bad.client.connection.send(frame)
      yield* eventually("server", () => bad.server.ends.map(([code]) => code), [4429])
      yield* eventually("client", () => bad.client.ends.map(([code]) => code), [4429])
      yield* expectSame("frames", bad.server.frames, numbered(100))
      yield* expectAlive(well.server, well.client)
    }),
  },
  {
    name: "flood > as many as are allowed, second by second, are welcome",
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { framesPerSecondMax: 100 } })
      const { server, client } = yield* pair(served)
      for (let second = 1; second <= 3; second++) {
        for (const frame of numbered(100)) client.connection.send(frame)
        yield* eventually("frames", () => server.frames.length, 100 * second)
        yield* pass(1_010)
      }
      yield* expectSame("ends", server.ends, [])
    }),
  },
]

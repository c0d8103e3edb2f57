// How connections begin, and how they are refused.
import * as Effect from "effect/Effect"
import type { TransportError } from "../../domain/Errors.ts"
import { expectFields, expectSame, expectTrue } from "../Case.ts"
import {
  dial,
  eventually,
  expectAlive,
  first,
  pair,
  pass,
  serve,
  type TransportCase,
  TransportGround,
  wire,
} from "./ground.ts"

/** Cases of the opening. */
export const opening: ReadonlyArray<TransportCase> = [
  {
    name: "open > the server knows how it was asked: address, path, headers, subprotocols",
    run: Effect.gen(function* () {
      const served = yield* serve({ protocols: ["test.v1"] })
      const { client, server } = yield* pair(served, {
        protocols: ["test.v1"],
        headers: { Authorization: "Bearer secret", "X-Name": "werk" },
      })
      const { remoteAddress, path, offered, headers } = server.connection.request
      yield* expectTrue(
        `an address: ${remoteAddress}`,
        /^(::ffff:)?127\.0\.0\.1$|^memory$/.test(remoteAddress),
      )
      yield* expectSame("path", path, "/")
      yield* expectSame("offered", offered, ["test.v1"])
      yield* expectSame("authorization", headers.get("authorization"), "Bearer secret")
      yield* expectSame("header", headers.get("x-name"), "werk")
      yield* expectSame("origin", headers.get("origin"), undefined)
      yield* expectSame("server's", server.connection.subprotocol, "test.v1")
      yield* expectSame("client's", client.connection.subprotocol, "test.v1")
      yield* expectAlive(server, client)
      // Also long after the upgrade.
      yield* expectSame("later", headers.get("authorization"), "Bearer secret")
      yield* expectSame("connections", served.connections(), 1)
    }),
  },
  {
    name: "open > both may send before the other has said anything",
    run: Effect.gen(function* () {
      const served = yield* serve({}, (connection) => {
        connection.send("from the server")
        return {}
      })
      const client = yield* dial(served, {}, {})
      client.connection.send("from the client")
      yield* eventually("client", () => client.frames, ["from the server"])
      yield* eventually("server", () => served.ends.map(({ frames }) => frames), [["from the client"]])
    }),
  },
  {
    name: "subprotocol > the server's order decides, not the client's",
    run: Effect.gen(function* () {
      const served = yield* serve({ protocols: ["test.v2", "test.v1"] })
      const { client, server } = yield* pair(served, { protocols: ["other", "test.v1", "test.v2"] })
      yield* expectSame("client's", client.connection.subprotocol, "test.v2")
      yield* expectSame("server's", server.connection.subprotocol, "test.v2")
      yield* expectSame("offered", server.connection.request.offered, ["other", "test.v1", "test.v2"])
      yield* expectAlive(server, client)
    }),
  },
  {
    name: "subprotocol > none is offered, none is picked",
    run: Effect.gen(function* () {
      const { client, server } = yield* pair(yield* serve({ protocols: ["test.v1"] }))
      yield* expectSame("client's", client.connection.subprotocol, "")
      yield* expectSame("server's", server.connection.subprotocol, "")
      yield* expectAlive(server, client)
    }),
  },
  {
    name: "subprotocol > a client that offers only others is let in, so that it can be told 4406",
    run: Effect.gen(function* () {
      const served = yield* serve({ protocols: ["test.v1"] }, (connection) => {
        if (connection.subprotocol !== "test.v1") connection.close(4406, "this server speaks test.v1")
        return {}
      })
      const client = yield* dial(served, { protocols: ["test.v9", "test.v8"] })
      yield* expectSame("subprotocol", client.connection.subprotocol, "test.v9")
      yield* eventually("client", () => client.ends, [[4406, "this server speaks test.v1"]])
    }),
  },
  ...[",", ", ", " ,"].map((between): TransportCase => ({
    name: `subprotocol > two that are parted by "${between}"`,
    needs: ["wire"],
    run: Effect.gen(function* () {
      const served = yield* serve({ protocols: ["test.v2"] })
      const headers = { "Sec-WebSocket-Protocol": `test.v1${between}test.v2` }
      const peer = yield* wire(served, { headers })
      yield* expectSame("status", peer.status, 101)
      yield* expectSame("picked", peer.headers.get("sec-websocket-protocol"), "test.v2")
      yield* eventually("server", () => served.ends.map((end) => end.connection.request.offered), [
        ["test.v1", "test.v2"],
      ])
    }),
  })),
  {
    name: "refuse > after the upgrade: the client hears code and reason, the server no frame",
    run: Effect.gen(function* () {
      const served = yield* serve({}, (connection) => {
        connection.close(4401, "this token is not known")
        return {}
      })
      const client = yield* dial(served)
      client.connection.send("let me in")
      yield* eventually("client", () => client.ends, [[4401, "this token is not known"]])
      yield* eventually("server", () => served.ends.map(({ ends }) => ends), [
        [[4401, "this token is not known"]],
      ])
      yield* expectSame("frames", served.ends[0]?.frames, [])
      yield* eventually("connections", served.connections, 0)
    }),
  },
  {
    name: "refuse > a handler that throws ends its own connection with 4500, and no other",
    run: Effect.gen(function* () {
      let count = 0
      const served = yield* serve({}, () => {
        if (count++ === 1) throw new Error("no such worker")
        return {}
      })
      const well = yield* pair(served)
      const client = yield* dial(served)
      yield* eventually("client", () => client.ends.map(([code]) => code), [4500])
      yield* expectSame("faults", served.faults.map(String), ["Error: no such worker"])
      yield* expectAlive(well.server, well.client)
      const next = yield* pair(served)
      yield* expectAlive(next.server, next.client)
    }),
  },
  {
    name: "refuse > one connection too many is told 1013, and one that leaves makes room",
    run: Effect.gen(function* () {
      const served = yield* serve({ limits: { connectionsMax: 2 } })
      const one = yield* pair(served)
      const two = yield* pair(served)
      const three = yield* dial(served)
      yield* eventually("third", () => three.ends.map(([code]) => code), [1013])
      yield* expectSame("handler", served.ends.length, 2)
      yield* expectAlive(two.server, two.client)
      one.client.connection.close(1000, "")
      yield* eventually("room", served.connections, 1)
      const four = yield* pair(served)
      yield* expectAlive(four.server, four.client)
    }),
  },
  {
    name: "connect > where nobody listens it fails, once, and never before it has returned",
    run: Effect.gen(function* () {
      const { connect } = yield* TransportGround
      const served = yield* serve()
      yield* Effect.promise(() => served.stop())
      const failures: Array<TransportError> = []
      let returned = false
      let early = false
      let opened = false
      connect(
        served.url,
        {},
        {
          onOpen: () => {
            opened = true
            return { onFrame: () => undefined, onClose: () => undefined }
          },
          onFail: (error) => {
            early = !returned
            failures.push(error)
          },
        },
      )
      returned = true
      yield* eventually("failures", () => failures.length, 1)
      yield* expectFields("error", failures[0], { _tag: "TransportError", operation: "connect" })
      yield* expectTrue("the address is told", failures[0]?.message.includes(served.url) === true)
      yield* pass(50)
      yield* expectSame("failures in all", failures.length, 1)
      yield* expectSame("early or opened", [early, opened], [false, false])
    }),
  },
  {
    name: "connect > given up before it is open, it calls nothing, and the server hears its end",
    run: Effect.gen(function* () {
      const { connect } = yield* TransportGround
      const served = yield* serve()
      const called: Array<string> = []
      const giveUp = connect(
        served.url,
        {},
        {
          onOpen: () => {
            called.push("open")
            return { onFrame: () => undefined, onClose: () => undefined }
          },
          onFail: () => called.push("fail"),
        },
      )
      giveUp()
      yield* pass(100)
      yield* eventually("connections", served.connections, 0)
      yield* expectSame("called", called, [])
      const next = yield* pair(served)
      yield* expectAlive(next.server, next.client)
    }),
  },
  {
    name: "connect > a client whose listeners cannot be made ends its connection",
    run: Effect.gen(function* () {
      const { connect } = yield* TransportGround
      const served = yield* serve()
      const faults: Array<unknown> = []
      const failures: Array<unknown> = []
      connect(
        served.url,
        { onFault: (error) => faults.push(error) },
        {
          onOpen: () => {
            throw new Error("not ready")
          },
          onFail: (error) => failures.push(error),
        },
      )
      yield* eventually("faults", () => faults.map(String), ["Error: not ready"])
      const server = yield* first("server", served.ends).pipe((one) =>
        Effect.andThen(
          eventually("ends", () => served.ends.length, 1),
          one,
        ),
      )
      yield* eventually("server", () => server.ends.map(([code]) => code), [4500])
      yield* expectSame("failures", failures, [])
    }),
  },
]

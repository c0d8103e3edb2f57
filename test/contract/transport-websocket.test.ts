// The transport contract over real sockets of this runtime: `ws` everywhere, and the runtime's own server where it has
// one. Clients are the runtime's own, raw peers are TCP sockets.
import * as Effect from "effect/Effect"
import { test } from "vitest"
import { connect } from "../../adapters/transport-websocket/client.ts"
import { serve as serveWs } from "../../adapters/transport-websocket/ws.ts"
import type { TransportAbility } from "../../core/contract/TransportContract.ts"
import type { Listen } from "../../core/ports/Transport.ts"
import { registerTransportCases } from "./transport/registerTransportCases.ts"
import { openWire } from "./transport/wirePeer.ts"

const pass = (millis: number): Effect.Effect<void> =>
  Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))

const register = (name: string, listen: Listen, lacks?: Partial<Record<TransportAbility, string>>): void =>
  registerTransportCases(
    test,
    name,
    () => ({
      listen,
      connect,
      pass,
      wire: (url, options) =>
        Effect.acquireRelease(
          Effect.promise(() => openWire(url, options)),
          (peer) => Effect.sync(() => peer.destroy()),
        ),
    }),
    lacks,
  )

const { bun, deno } = process.versions as Readonly<Record<string, string | undefined>>

register("ws", serveWs)
if (bun !== undefined)
  register("Bun.serve", (await import("../../adapters/transport-websocket/bun.ts")).serve)
if (deno !== undefined)
  register("Deno.serve", (await import("../../adapters/transport-websocket/deno.ts")).serve, {
    cuts: "Deno has no way to cut a WebSocket",
    boundsFragments: "Deno puts a frame of up to 64 MiB together before it is seen",
    saysInvalidText: "Deno cuts the connection without a close frame",
    countsPings: "Deno answers pings without telling of them",
    tellsSenders: "Deno stops reading when it closes, and what is unread then resets the connection",
    strictFrames: "Deno takes frames without a mask, and cuts the connection for other faults",
  })

// What routes know beside the request: who asks, and the request's id.
import type { RequestIdVariables } from "hono/request-id"
import type { Peer } from "../../adapters/transport-websocket/mod.ts"

/** The environment of the app. */
export interface ServerEnv {
  Bindings: Peer
  Variables: RequestIdVariables
}

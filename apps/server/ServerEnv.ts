// What routes know beside the request: who asks, and the request's id.
import type { RequestIdVariables } from "hono/request-id"
import type { Peer } from "../../adapters/transport-websocket/mod.ts"
import type { Caller } from "./api/Handler.ts"

/** The environment of the app. */
export interface ServerEnv {
  Bindings: Peer
  Variables: RequestIdVariables & {
    /** Set by `whoAsks`; absent on public routes outside of `/v1`. */
    caller?: Caller
  }
}

// WebSockets on whichever runtime this is. The server is the one that measured best of those that keep every promise
// there: Bun.serve on Bun, `ws` on Node and Deno. ARCHITECTURE.md says why.
import type { Listening } from "../../core/ports/Transport.ts"
import type { ServeOptions } from "./ServeOptions.ts"

export { connect } from "./client.ts"
export type { FetchHandler, Peer, ServeOptions } from "./ServeOptions.ts"

/** Serves connections and, by `fetch`, everything else on one port. */
export const serve = async (options: ServeOptions): Promise<Listening> => {
  // Each loads only what its runtime has.
  const native = process.versions["bun"] !== undefined
  const server = native ? await import("./bun.ts") : await import("./ws.ts")
  return server.serve(options)
}

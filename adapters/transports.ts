// The entry `uhrwerk/transport`: frames of text over WebSockets, on whichever runtime this is. Those of one kind are
// `uhrwerk/transport/ws`, `/bun`, `/deno` and `/memory`.
export {
  closeCode,
  type Connect,
  type ConnectOptions,
  type Connection,
  type Incoming,
  type Listen,
  type Listeners,
  type Listening,
  type ListenOptions,
  type OnConnection,
  type Opening,
  type SendResult,
  type StopOptions,
  type TransportLimits,
  transportLimits,
  type UpgradeRequest,
} from "../core/ports/Transport.ts"
export { connect, type FetchHandler, type Peer, serve, type ServeOptions } from "./transport-websocket/mod.ts"

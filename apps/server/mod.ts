// The package entry `uhrwerk/server`: an engine, its workers' connections and an HTTP API on one port.
export { type TokenView } from "./Credentials.ts"
export type { Denied } from "./Denials.ts"
export { type RunningServer, serve, type ServerEvent, type ServerOptions } from "./serve.ts"

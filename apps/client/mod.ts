// The package entry `uhrwerk/client`: the HTTP API as typed calls, for Node, Bun, Deno and browsers. It is made of the same
// routes as the server, and imports nothing of it.
export type { ApiName } from "../api/mod.ts"
export type { ProblemCode } from "../api/problemCodes.ts"
export type { Answered, CallOf, CallOptions, Page } from "./calls.ts"
export { type Client, type ClientOptions, makeClient } from "./client.ts"
export { ApiProblem, type FieldError, NoAnswer } from "./errors.ts"
export type { StreamedEvent } from "./events.ts"

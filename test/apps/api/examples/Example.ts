// What the contract test asks of each route: for every success that it documents, and every problem of its own, a request
// that causes it. What every route may refuse (no key, no JSON, too many ...) the test causes by itself.
import type { Endpoint, ProblemCode } from "../../../../apps/api/mod.ts"
import type { Config } from "../../../../apps/sdk/config.ts"
import type { World } from "../../server/api/world.ts"

/** A request to a route. */
export interface Ask {
  /** Of the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One of them, and what it causes. */
export interface Example {
  /** The status of a success, or the code of a problem. */
  readonly gives: Endpoint["success"][number]["status"] | ProblemCode
  /** The request; a function first makes what has to be there. It is called anew each time that the request is made. */
  readonly ask: Ask | ((stage: Stage) => Ask | Promise<Ask>)
}

/** What a function may use. */
export interface Stage extends Pick<World, "engine" | "store" | "connect"> {
  /** Asks the API with an administrator's key, and answers the body of a success; anything else fails the test. */
  readonly ask: (method: string, path: string, body?: unknown) => Promise<any>
}

/** Those of a group of routes. The first one of a route is a success; other checks are made of it. */
export type Examples<T extends Readonly<Record<string, Endpoint>>> = {
  readonly [K in keyof T]: readonly [Example, ...ReadonlyArray<Example>]
}

/** What a file of examples exports. */
export interface Group {
  /** The jobs, flows and so on that its requests are about. */
  readonly config: Partial<Omit<Config, "storage">>
  readonly examples: Readonly<Record<string, ReadonlyArray<Example>>>
}

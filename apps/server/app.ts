// The HTTP side of a server: health for whoever watches it, and the API behind its door. A Hono app that any server of `fetch` kind can
// serve; what it knows of the engine is handed in.
import { Hono } from "hono"
import { methodNotAllowed } from "hono/method-not-allowed"
import { requestId } from "hono/request-id"
import { errorInfo } from "../../core/domain/Payload.ts"
import { makeGate } from "./access/Gate.ts"
import { makeRateLimit, type RateOptions } from "./access/RateLimit.ts"
import { whoAsks } from "./access/whoAsks.ts"
import type { Denied } from "./Denials.ts"
import { bodyMax, ownHost, ownOrigin, securityHeaders } from "./guards.ts"
import { makeKeyUse } from "./Keys.ts"
import { answer, faultProblem, problemOf } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"
import type { ApiParts } from "./api/ApiParts.ts"
import { handlers } from "./api/handlers.ts"
import { mount } from "./api/mount.ts"
import { mountReference } from "./reference/routes.ts"
import type { KeyBook } from "./TokenBook.ts"
import { metricsType } from "./metrics/text.ts"

/** What the routes stand on. */
export interface AppParts extends ApiParts {
  /** Whether runs are taken and the store answers. */
  readonly isReady: () => Promise<boolean>
  /** Host names, beside those of this machine, that requests may be sent to. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
  /** The API keys; as long as there never was one, the API answers this machine only. */
  readonly keys: KeyBook
  /** How often each key, or address without one, may ask; `null`: as often as it likes. */
  readonly rate?: RateOptions | null
  /** Hears of requests without a good key. */
  readonly onDenied?: (denied: Pick<Denied, "address" | "why" | "token">) => void
  /** `/metrics` asks for no key. */
  readonly isMetricsOpen?: boolean
  /** Whether only this machine can reach the server; then its health is told under its own names only, too. */
  readonly isLocal: boolean
  /** Hears of errors that nobody expected. */
  readonly onFault: (doing: string, error: unknown) => void
}

const requestIdMax = 128

/** The app; `c.env` is the peer. */
export const makeApp = (parts: AppParts): Hono<ServerEnv> => {
  const { keys, store, rate = {}, onFault, onDenied = () => undefined } = parts
  const app = new Hono<ServerEnv>()
  app.use(securityHeaders)
  app.use(requestId({ limitLength: requestIdMax }))
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) =>
        answer(c, {
          status: 405,
          code: "methodNotAllowed",
          title: "This address takes other methods",
          detail: `Use ${methods.join(" or ")}.`,
          headers: { allow: methods.join(", ") },
        }),
    }),
  )
  if (parts.isLocal) app.use(ownHost(parts.hosts))
  app.get("/livez", (c) => c.text("ok\n"))
  app.get("/readyz", async (c) => ((await parts.isReady()) ? c.text("ok\n") : c.text("not ready\n", 503)))
  const door = [
    ownHost(parts.hosts),
    ownOrigin(parts.origins),
    whoAsks({
      keys,
      limit: rate === null ? null : makeRateLimit(rate),
      onUse: makeKeyUse(store, keys.now),
      onDenied,
    }),
    bodyMax,
  ] as const
  // Before the routes, one of which asks for a key here.
  if (parts.isMetricsOpen === true)
    app.get("/metrics", async (c) =>
      c.text(await parts.outlets.metrics.text(), 200, { "content-type": metricsType }),
    )
  app.use("/v1/*", ...door)
  mount(app, handlers, parts, makeGate({ store, keys, onFault }), door)
  mountReference(app, [ownHost(parts.hosts), ownOrigin(parts.origins)])
  app.get("/v1/worker", (c) =>
    answer(c, {
      status: 426,
      code: "upgradeRequired",
      title: "This is where workers connect",
      detail: "Connect with a WebSocket that offers the subprotocol `uhrwerk.worker.v1`.",
      headers: { upgrade: "websocket" },
    }),
  )
  app.notFound((c) =>
    answer(c, {
      status: 404,
      code: "noRoute",
      title: "There is nothing at this address",
      detail: "The API is below /v1; /openapi.json says what there is.",
    }),
  )
  app.onError((error, c) => {
    const problem = problemOf(error)
    if (problem !== undefined) return answer(c, problem)
    const { name, message } = errorInfo(error)
    onFault(
      `answer ${c.req.method} ${c.req.routePath} (request ${c.get("requestId")})`,
      `${name}: ${message}`,
    )
    return answer(c, faultProblem)
  })
  return app
}

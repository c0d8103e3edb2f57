// The HTTP side of a server: health for whoever watches it, and the API. A Hono app that any server of `fetch` kind can
// serve; what it knows of the engine is handed in.
import { Hono } from "hono"
import { methodNotAllowed } from "hono/method-not-allowed"
import { requestId } from "hono/request-id"
import { errorInfo } from "../../core/domain/Payload.ts"
import { bodyMax, ownHost, ownOrigin, securityHeaders, thisMachine } from "./guards.ts"
import { answer, faultProblem, problemOf } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"
import type { ApiParts } from "./api/ApiParts.ts"
import { handlers } from "./api/handlers.ts"
import { mount } from "./api/mount.ts"
import { metricsType } from "./metrics/text.ts"

/** What the routes stand on. */
export interface AppParts extends ApiParts {
  /** Whether runs are taken and the store answers. */
  readonly isReady: () => Promise<boolean>
  /** Host names, beside those of this machine, that requests may be sent to. */
  readonly hosts: ReadonlySet<string>
  readonly origins: ReadonlySet<string>
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
  // Before the routes, one of which asks for a key here.
  if (parts.isMetricsOpen === true)
    app.get("/metrics", async (c) =>
      c.text(await parts.outlets.metrics.text(), 200, { "content-type": metricsType }),
    )
  app.use("/v1/*", ownHost(parts.hosts), thisMachine, ownOrigin(parts.origins), bodyMax)
  mount(app, handlers, parts, {
    admit: () => Promise.resolve({ kind: "local", id: null, name: "local", role: "admin", namespace: null }),
  })
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
    parts.onFault(
      `answer ${c.req.method} ${c.req.routePath} (request ${c.get("requestId")})`,
      `${name}: ${message}`,
    )
    return answer(c, faultProblem)
  })
  return app
}

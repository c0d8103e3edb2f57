// `/openapi.json` and the reference page `/docs`. They hold nothing of a store, only what the routes say of themselves, so
// they need no key, and whoever can reach the server may read them.
import type { Hono, MiddlewareHandler } from "hono"
import { openApi } from "../../api/openapi.ts"
import type { ServerEnv } from "../ServerEnv.ts"
import { referencePage } from "./page.ts"
import { style } from "./style.ts"

// The page takes its sheet from here, and nothing from anywhere else: no script, nothing inline, no form.
const policy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Adds the routes. `door`: what is checked of each request before it. */
export const mountReference = (
  app: Hono<ServerEnv>,
  door: ReadonlyArray<MiddlewareHandler<ServerEnv>>,
): void => {
  for (const path of ["/openapi.json", "/docs", "/docs/*"]) app.use(path, ...door)
  let made: { readonly document: string; readonly page: string } | undefined
  const make = () => {
    const document = openApi()
    return { document: JSON.stringify(document), page: referencePage(document) }
  }
  app.get("/openapi.json", (c) =>
    c.body((made ??= make()).document, 200, { "content-type": "application/json" }),
  )
  app.get("/docs", (c) =>
    c.body((made ??= make()).page, 200, {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy,
    }),
  )
  app.get("/docs/style.css", (c) => c.body(style, 200, { "content-type": "text/css; charset=utf-8" }))
}

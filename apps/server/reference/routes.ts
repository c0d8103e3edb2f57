// `/openapi.json` and the reference page `/docs`. They hold nothing of a store, only what the routes say of themselves, so
// they need no key; everything else that guards the API guards them, too.
import type { Hono } from "hono"
import { openApi } from "../../api/openapi.ts"
import type { ServerEnv } from "../ServerEnv.ts"
import { referencePage } from "./page.ts"
import { style } from "./style.ts"

// The page takes its sheet from here, and nothing from anywhere else: no script, nothing inline, no form.
const policy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Where they are. */
export const referencePaths = ["/openapi.json", "/docs", "/docs/*"] as const

/** Adds the routes. */
export const mountReference = (app: Hono<ServerEnv>): void => {
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

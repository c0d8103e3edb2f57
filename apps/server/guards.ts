// What is checked of every request before its route sees it. Until there is an API key, the API answers this machine only;
// and never a web page of another origin: what such a page may send to a server on loopback is refused by four checks that
// do not depend on each other (the host's name, the page's origin, the type of the body, the proxy's headers).
import { createMiddleware } from "hono/factory"
import { bodyLimit } from "hono/body-limit"
import { isForwarded, isLocalAddress, isOwnHost } from "./Local.ts"
import { answer, refuse } from "./problems.ts"
import type { ServerEnv } from "./ServerEnv.ts"

/** The most bytes of a body: 1 MiB. */
export const bodyBytesMax = 1_048_576

const headers: Readonly<Record<string, string>> = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
}

/** Headers that make an answer harmless in a browser. A page says its own policy, and nothing else of them. */
export const securityHeaders = createMiddleware<ServerEnv>(async (c, next) => {
  await next()
  const policy = c.res.headers.get("content-security-policy")
  for (const [name, value] of Object.entries(headers)) c.res.headers.set(name, value)
  if (policy !== null) c.res.headers.set("content-security-policy", policy)
})

/** Refuses requests for names of others: against web pages that point a name of theirs to this machine. */
export const ownHost = (hosts: ReadonlySet<string>) =>
  createMiddleware<ServerEnv>(async (c, next) => {
    const { hostname } = new URL(c.req.url)
    if (isOwnHost(hostname, hosts)) return next()
    return answer(c, {
      status: 421,
      code: "foreignHost",
      title: "This server is not known by this name",
      detail: "Ask for it as 127.0.0.1 or localhost, or name the host in the `hosts` of the server.",
    })
  })

/** Refuses what a web page of another origin sends. Programs send no `Origin`. */
export const ownOrigin = (origins: ReadonlySet<string>) =>
  createMiddleware<ServerEnv>(async (c, next) => {
    const origin = c.req.header("origin")
    if (origin === undefined || origins.has(origin) || origin === new URL(c.req.url).origin) return next()
    return answer(c, {
      status: 403,
      code: "foreignOrigin",
      title: "Web pages of this origin may not use the API",
      detail: "Name the origin in the `origins` of the server, if it is one of yours.",
    })
  })

/** Refuses requests of other machines. */
export const thisMachine = createMiddleware<ServerEnv>(async (c, next) => {
  if (isLocalAddress(c.env.remoteAddress) && !isForwarded(c.req.raw.headers)) return next()
  return answer(c, {
    status: 403,
    code: "notLocal",
    title: "The API answers on the server's own machine only",
    detail:
      "There is no key yet: make one on the store (uhrwerk key create --name NAME), and then each request needs one. Or use it there, or through a tunnel such as `ssh -L 8080:127.0.0.1:8080`.",
  })
})

const bodyOverMax = bodyLimit({
  maxSize: bodyBytesMax,
  onError: (c) =>
    answer(c, {
      status: 413,
      code: "tooLarge",
      title: "The body is too large",
      detail: `It may have ${bodyBytesMax} bytes. Store the data elsewhere and pass a reference to it.`,
    }),
})

/** Refuses bodies over 1 MiB, while they are received, and those that end before their end, which is no fault of ours. */
export const bodyMax = createMiddleware<ServerEnv>(async (c, next) => {
  let isRead = false
  const go = (): Promise<void> => {
    isRead = true
    return next()
  }
  try {
    return await bodyOverMax(c, go)
  } catch (error) {
    if (isRead) throw error
    throw refuse("badJson", "The body was cut off before its end. Send it again.")
  }
})

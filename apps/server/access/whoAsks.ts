// Who asks, found out before a route is: by its key, or, as long as there never was one in the store, by being on this
// machine. Whoever asks too often is told to wait. Of a key that is refused nothing is told but that it is.
import type { Context, MiddlewareHandler } from "hono"
import { type Denied, networkOf } from "../Denials.ts"
import { thisMachine } from "../guards.ts"
import type { Caller } from "../api/Handler.ts"
import { noAnswer, refuse } from "../problems.ts"
import type { ServerEnv } from "../ServerEnv.ts"
import { parseToken } from "../Token.ts"
import type { KeyBook } from "../TokenBook.ts"
import type { RateLimit } from "./RateLimit.ts"

/** What it takes to tell who asks. */
export interface WhoAsksParts {
  readonly keys: KeyBook
  /** `null`: as often as they like. */
  readonly limit: RateLimit | null
  /** Hears of each use of a good key. */
  readonly onUse: (id: string) => void
  /** Hears of each request that came without a good key where it needs one. */
  readonly onDenied: (denied: Pick<Denied, "address" | "why" | "token">) => void
}

const local: Caller = { kind: "local", id: null, name: "local", role: "admin", namespace: null }

/** Sets `caller`, or refuses. A second one on the same request does nothing. */
export const whoAsks = ({ keys, limit, onUse, onDenied }: WhoAsksParts): MiddlewareHandler<ServerEnv> => {
  // A key is found by its text and counts by its id; who has none that is good counts by address.
  const count = (c: Context<ServerEnv>, who: string): void => {
    if (limit === null) return
    const { may, remaining, waitMillis } = limit.take(who)
    const { quota, seconds } = limit.policy
    const wait = Math.ceil(waitMillis / 1_000)
    c.header("ratelimit-policy", `"requests";q=${quota};w=${seconds}`)
    c.header("ratelimit", `"requests";r=${remaining};t=${wait}`)
    if (!may)
      throw refuse(
        "tooMany",
        `There may be ${quota} in ${seconds} s. Wait as long as \`Retry-After\` says.`,
        {
          retryable: true,
          headers: { "retry-after": String(Math.max(1, wait)) },
        },
      )
  }
  return async (c, next) => {
    if (c.get("caller") !== undefined) return next()
    const address = c.env.remoteAddress
    const network = `address ${networkOf(address)}`
    const text = textOf(c.req.header("authorization"))
    if (text !== null && parseToken(text) !== null) {
      count(c, network)
      throw refuse(
        "forbidden",
        "This is the token of a worker. The API takes keys: uhrwerk key create --name NAME.",
      )
    }
    // Before it is looked for in the store: who makes up keys must not keep many requests waiting.
    if (text === null || !keys.isKnown(text)) count(c, network)
    const worth = await keys.worthOf(text)
    switch (worth.kind) {
      case "valid": {
        const { id, name, role, namespace } = worth
        count(c, `key ${id}`)
        onUse(id)
        c.set("caller", { kind: "key", id, name, role, namespace })
        return next()
      }
      case "open":
        c.set("caller", local)
        return thisMachine(c, next)
      case "unknowable":
        throw noAnswer()
      case "invalid":
        onDenied({ address, why: worth.why, token: worth.id })
        throw refuse(
          "unauthenticated",
          "Send one as `Authorization: Bearer KEY`. This one is missing, unknown, expired or revoked; whoever may use the store makes another: uhrwerk key create --name NAME.",
          { headers: { "www-authenticate": "Bearer" } },
        )
    }
  }
}

/** What was sent as a key; `null`: nothing. Of any other scheme it is no key. */
const textOf = (header: string | undefined): string | null =>
  header === undefined ? null : (/^bearer +(\S+)$/i.exec(header)?.[1] ?? "")

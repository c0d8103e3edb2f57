// What stands between a request and its handler, the same for every route: who may do it, that it is done once, and that it
// is kept who did it. So a handler is about its own matter only.
import type { Context } from "hono"
import type { ContentfulStatusCode } from "hono/utils/http-status"
import { type Endpoint, isAudited, isIdempotent, type Role } from "../../api/mod.ts"
import type { AskedStore } from "../api/ApiParts.ts"
import type { Caller, Reply } from "../api/Handler.ts"
import { faultProblem, problemOf, refuse } from "../problems.ts"
import type { ServerEnv } from "../ServerEnv.ts"
import { makeAudit } from "./Audit.ts"
import type { KeyBook } from "../TokenBook.ts"
import { type Answered, makeRepeats } from "./Repeats.ts"
import { makeStreams } from "./Streams.ts"

/** Lets requests through to their handlers. */
export interface Gate {
  /** Answers a request; `carryOut` decodes it and asks its handler. Rejects as that does, or with `Refused`. */
  readonly pass: (
    c: Context<ServerEnv>,
    endpoint: Endpoint,
    carryOut: (caller: Caller) => Promise<Prepared>,
  ) => Promise<Response>
}

/** A request that is decoded, before it is carried out: what cannot be decoded uses up no `Idempotency-Key`. */
export type Prepared = () => Promise<Reply<Endpoint>>

/** What it takes. */
export interface GateParts {
  readonly store: Pick<AskedStore, "putRecords" | "records">
  readonly keys: Pick<KeyBook, "now" | "watch" | "isRequired">
  readonly onFault: (doing: string, error: unknown) => void
}

// Of a public route: nobody has said who he is. No name has this character, so there is no job that he may see.
const anyone: Caller = { kind: "anyone", id: null, name: "anyone", role: "viewer", namespace: "\u0000" }

const ranks: Readonly<Record<Role, number>> = { public: 0, viewer: 1, operator: 2, admin: 3 }

/** Over the records of a store. */
export const makeGate = ({ store, keys, onFault }: GateParts): Gate => {
  const audit = makeAudit({ store, now: keys.now, onFault })
  const repeats = makeRepeats({ store, now: keys.now, onFault })
  const streams = makeStreams(keys)

  const keep = (c: Context<ServerEnv>, endpoint: Endpoint, caller: Caller, end: End): Promise<void> => {
    if (!isAudited(endpoint)) return Promise.resolve()
    const { kind, id, name } = caller
    return audit.keep({
      actor: { kind, id, name },
      address: c.env.remoteAddress,
      route: endpoint.name,
      params: c.req.param(),
      requestId: c.get("requestId"),
      ...end,
    })
  }

  return {
    pass: async (c, endpoint, carryOut) => {
      const caller = c.get("caller") ?? anyone
      let detail: End["detail"] = {}
      const carry = async (prepared: Prepared) => {
        const reply = await prepared()
        detail = reply.audit ?? {}
        return reply
      }
      const answered = async (): Promise<{ readonly answered: Answered; readonly replayed: boolean }> => {
        checkRole(caller, endpoint)
        const prepared = await carryOut(caller)
        const key = isIdempotent(endpoint) ? keyOf(c) : undefined
        if (key === undefined) return { answered: answerOf(await carry(prepared)), replayed: false }
        const parts = await sameness(c, endpoint)
        return repeats.once({ caller: caller.id ?? caller.kind, key, parts }, async () => {
          const reply = await carry(prepared)
          const { kept } = reply
          return { answered: answerOf(reply), ...(kept === undefined ? {} : { kept: JSON.stringify(kept) }) }
        })
      }
      const end = await answered().catch(async (error: unknown) => {
        const { status, code, headers = {} } = problemOf(error) ?? faultProblem
        const replayed = headers["idempotency-replayed"] !== undefined
        await keep(c, endpoint, caller, { status, code, replayed, detail })
        throw error
      })
      const { status, headers, body } = end.answered
      await keep(c, endpoint, caller, { status, code: null, replayed: end.replayed, detail })
      if (body === null) return c.body(null, 204, headers)
      const sent = typeof body === "string" ? body : streams.guard(caller, body)
      return c.body(sent, status as ContentfulStatusCode, headers)
    },
  }
}

interface End {
  readonly status: number
  readonly code: string | null
  readonly replayed: boolean
  readonly detail: Readonly<Record<string, unknown>>
}

const checkRole = (caller: Caller, { role }: Endpoint): void => {
  if (ranks[caller.role] < ranks[role])
    throw refuse("forbidden", `This takes the role ${role}, and this key is one of a ${caller.role}.`)
}

const keyOf = (c: Context<ServerEnv>): string | undefined => {
  const key = c.req.header("idempotency-key")
  if (key === undefined || /^[ -~]{1,255}$/.test(key)) return key
  throw refuse("badHeader", "An Idempotency-Key is 1 to 255 printable characters of ASCII.")
}

// Byte for byte: whoever repeats a request has it still. What was read of the body is read from memory.
const sameness = async (
  c: Context<ServerEnv>,
  { name, body }: Endpoint,
): Promise<ReadonlyArray<string | Uint8Array>> => [
  name,
  c.req.path,
  new URL(c.req.url).search,
  body === undefined ? "" : new Uint8Array(await c.req.arrayBuffer()),
]

const answerOf = ({ status, body, headers = {}, stream }: Reply<Endpoint>): Answered => {
  if (status === 204) return { status, headers, body: null }
  if (stream !== undefined) return { status, headers, body: stream }
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body ?? null),
  }
}

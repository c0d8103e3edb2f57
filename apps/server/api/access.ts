// `/v1/keys`, `/v1/tokens`, `/v1/audit`, `/v1/me`. All but the last is about the whole store, so it is for callers who may
// see all of it: a key that is bound to a namespace makes no other key, which would be bound to none.
import * as Result from "effect/Result"
import { parseInstant, type TimeSpan } from "../../../core/domain/TimeSpan.ts"
import type { accessApi } from "../../api/access.ts"
import { pageUsual } from "../../api/fields.ts"
import { readAudit } from "../access/Audit.ts"
import { createToken, listTokens, revokeToken } from "../Credentials.ts"
import { createKey, listKeys, revokeKey } from "../Keys.ts"
import { refuse } from "../problems.ts"
import type { Caller, Handlers } from "./Handler.ts"

/** Behind the routes. */
export const accessHandlers: Handlers<typeof accessApi> = {
  createKey: async ({ body, caller, parts }) => {
    needWhole(caller)
    const { expires, ...options } = body
    const { key, view } = await createKey(parts.store, {
      ...options,
      // Texts of any kind here, and checked there.
      ...(expires === undefined ? {} : { expires: expires as TimeSpan }),
    })
    const { id, name, role, namespace, expiresAt } = view
    return {
      status: 201,
      body: { ...view, key },
      kept: { ...view, key: null },
      headers: { location: `/v1/keys/${id}` },
      audit: { key: id, name, role, namespace, expiresAt },
    }
  },

  listKeys: async ({ query, caller, parts }) => {
    needWhole(caller)
    return { status: 200, body: pageOf("keys", await listKeys(parts.store), query) }
  },

  getKey: async ({ params, caller, parts }) => {
    needWhole(caller)
    const key = (await listKeys(parts.store)).find(({ id }) => id === params.id)
    if (key === undefined)
      throw refuse("notFound", "There is no key of this id: it never was, or it is revoked.")
    return { status: 200, body: key }
  },

  revokeKey: async ({ params, caller, parts }) => {
    needWhole(caller)
    const { id, name } = await revokeKey(parts.store, params.id)
    return { status: 204, audit: { key: id, name } }
  },

  createToken: async ({ body, caller, parts }) => {
    needWhole(caller)
    const { expires, ...options } = body
    const { token, view } = await createToken(parts.store, {
      ...options,
      ...(expires === undefined ? {} : { expires: expires as TimeSpan }),
    })
    const { id, name, queues, expiresAt } = view
    return {
      status: 201,
      body: { ...view, token },
      kept: { ...view, token: null },
      audit: { token: id, name, queues, expiresAt },
    }
  },

  listTokens: async ({ query, caller, parts }) => {
    needWhole(caller)
    return { status: 200, body: pageOf("tokens", await listTokens(parts.store), query) }
  },

  revokeToken: async ({ params, caller, parts }) => {
    needWhole(caller)
    const { id, name } = await revokeToken(parts.store, params.id)
    return { status: 204, audit: { token: id, name } }
  },

  listAudit: async ({ query, caller, parts }) => {
    needWhole(caller)
    const { actor, route, from, to, limit = pageUsual, cursor } = query
    const { rows, next } = await readAudit(parts.store, {
      limit,
      ...(actor === undefined ? {} : { actor }),
      ...(route === undefined ? {} : { route }),
      ...(from === undefined ? {} : { from: instantOf("from", from) }),
      ...(to === undefined ? {} : { to: instantOf("to", to) }),
      ...(cursor === undefined ? {} : { before: placeOf("audit", cursor) }),
    })
    return { status: 200, body: { items: rows, cursor: next === null ? null : cursorOf("audit", next) } }
  },

  whoAmI: ({ caller: { kind, id, name, role, namespace } }) =>
    Promise.resolve({ status: 200, body: { kind, id, name, role, namespace } }),
}

const needWhole = ({ namespace }: Caller): void => {
  if (namespace !== null)
    throw refuse(
      "forbidden",
      "This is about the whole store, and this key is bound to a namespace. Use one that is not.",
    )
}

const instantOf = (field: string, text: string): number =>
  Result.getOrThrow(parseInstant(field, /^\d{1,16}$/.test(text) ? Number(text) : text))

/** A page of what is all there already, and in order: by when it was made, then by id. */
const pageOf = <A extends { readonly id: string; readonly createdAt: number }>(
  list: string,
  all: ReadonlyArray<A>,
  { limit = pageUsual, cursor }: { readonly limit?: number; readonly cursor?: string },
) => {
  const placed = all.map((item) => ({
    item,
    place: `${item.createdAt.toString().padStart(16, "0")}/${item.id}`,
  }))
  const after = cursor === undefined ? "" : placeOf(list, cursor)
  const left = placed.filter(({ place }) => place > after)
  const page = left.slice(0, limit)
  const last = page.at(-1)
  return {
    items: page.map(({ item }) => item),
    cursor: last === undefined || left.length <= limit ? null : cursorOf(list, last.place),
  }
}

// A cursor names its list, so that one of another list is refused instead of read as something else.
const cursorOf = (list: string, place: string): string =>
  Buffer.from(`${list}:${place}`).toString("base64url")

const placeOf = (list: string, cursor: string): string => {
  const text = Buffer.from(cursor, "base64url").toString()
  const place = text.startsWith(`${list}:`) ? text.slice(list.length + 1) : ""
  if (/^[0-9a-f/-]{1,80}$/.test(place)) return place
  throw refuse("badCursor", "Give the `cursor` of a page of this very list, or none for the first page.")
}

// Examples for the routes of keys, tokens and the audit.
import type { accessApi } from "../../../../apps/api/access.ts"
import type { Examples } from "./Example.ts"

export const config = {}

let made = 0
const name = (): string => `made ${++made}`
const novel = { params: { id: "novel" } }
const badCursor = { gives: "badCursor", ask: { query: { cursor: "of another list" } } } as const

export const examples: Examples<typeof accessApi> = {
  createKey: [
    { gives: 201, ask: () => ({ body: { name: name(), role: "viewer" } }) },
    { gives: "invalidInput", ask: { body: { name: "soon", expires: "5 parsecs" } } },
  ],
  listKeys: [{ gives: 200, ask: { query: { limit: 2 } } }, badCursor],
  getKey: [
    {
      gives: 200,
      ask: async ({ ask }) => ({ params: { id: (await ask("POST", "/v1/keys", { name: name() })).id } }),
    },
    { gives: "notFound", ask: novel },
  ],
  revokeKey: [
    {
      gives: 204,
      ask: async ({ ask }) => ({ params: { id: (await ask("POST", "/v1/keys", { name: name() })).id } }),
    },
    { gives: "notFound", ask: novel },
  ],
  createToken: [
    { gives: 201, ask: () => ({ body: { name: name(), queues: ["mail"] } }) },
    { gives: "invalidInput", ask: { body: { name: "soon", expires: "5 parsecs" } } },
  ],
  listTokens: [{ gives: 200, ask: {} }, badCursor],
  revokeToken: [
    {
      gives: 204,
      ask: async ({ ask }) => ({ params: { id: (await ask("POST", "/v1/tokens", { name: name() })).id } }),
    },
    { gives: "notFound", ask: novel },
  ],
  listAudit: [
    { gives: 200, ask: { query: { limit: 5 } } },
    badCursor,
    { gives: "invalidInput", ask: { query: { from: "soon" } } },
  ],
  whoAmI: [{ gives: 200, ask: {} }],
}

// Handlers asked for a caller of one's own, beside the keys of a server: what one with a namespace sees.
import { type Call, type Caller, type Handler } from "../../../../apps/server/api/Handler.ts"
import type { ApiParts } from "../../../../apps/server/api/ApiParts.ts"
import type { Endpoint } from "../../../../apps/api/mod.ts"
import { Refused } from "../../../../apps/server/problems.ts"

/** A caller that sees a namespace only. */
export const callerOf = (namespace: string | null): Caller => ({
  kind: "key",
  id: "k1",
  name: "ann",
  role: "admin",
  namespace,
})

/** Calls a handler; answers the status and the body, or the status and code of its refusal. */
export const callAs = async <E extends Endpoint>(
  handler: Handler<E>,
  parts: ApiParts,
  caller: Caller,
  given: Partial<Pick<Call<E>, "params" | "query" | "body">>,
): Promise<{ readonly status: number; readonly body?: any; readonly code?: string }> => {
  const call: unknown = {
    params: {},
    query: {},
    body: {},
    ...given,
    caller,
    requestId: "r1",
    headers: new Headers(),
    signal: new AbortController().signal,
    parts,
  }
  try {
    const { status, body } = await handler(call as Call<E>)
    return { status, body }
  } catch (error) {
    if (error instanceof Refused) return { status: error.problem.status, code: error.problem.code }
    throw error
  }
}

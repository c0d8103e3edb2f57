// `/v1/operations`: bulk work, how far it is, and its end. It is begun in bulk.ts and done in ../Operations.ts.
import { isRunId } from "../../../core/domain/Ids.ts"
import { pageUsual } from "../../api/fields.ts"
import type { operationsApi } from "../../api/operations.ts"
import {
  isOver,
  type Operation,
  operationKind,
  putOperation,
  readOperation,
  type StoredOperation,
} from "../OperationRecord.ts"
import { refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import { beginBulk, operationView } from "./bulk.ts"
import { cursorOf, placeOf } from "./cursor.ts"
import { type Caller, type Handlers, maySee } from "./Handler.ts"

// A namespace may have few among many: a page is answered with what so many rows have.
const rowsMax = 1_000
const triesMax = 5

/** Behind the routes. */
export const operationHandlers: Handlers<typeof operationsApi> = {
  cancelRuns: ({ body, caller, parts }) => beginBulk(parts, caller, { kind: "cancelRuns", ...body }),

  listOperations: async ({ query, caller, parts }) => {
    const { limit = pageUsual, cursor } = query
    const before = placeOf("operations", null, cursor, isRunId)
    const rows = await parts.store.records({
      kind: operationKind,
      order: "descending",
      limit: caller.namespace === null ? limit : rowsMax,
      ...(before === undefined ? {} : { before }),
    })
    const items: Array<Operation> = []
    let last: string | null = null
    for (const row of rows) {
      if (items.length === limit) break
      last = row.id
      const operation = JSON.parse(row.body) as Operation
      if (isOf(caller, operation)) items.push(operation)
    }
    const isEnd = last === rows.at(-1)?.id && rows.length < (caller.namespace === null ? limit : rowsMax)
    return {
      status: 200,
      body: {
        items: items.map(operationView),
        cursor: last === null || isEnd ? null : cursorOf("operations", null, last),
      },
    }
  },

  getOperation: async ({ params, caller, parts }) => ({
    status: 200,
    body: operationView((await operationOf(parts, caller, params.id)).operation),
  }),

  cancelOperation: async ({ params, caller, parts }) => {
    for (let tries = 0; tries < triesMax; tries++) {
      const { operation, version } = await operationOf(parts, caller, params.id)
      if (isOver(operation))
        throw refuse("conflict", `Operation ${operation.id} has ended as ${operation.state}.`)
      const asked = { ...operation, cancelAsked: true }
      // Between two pages of a busy server; the next try reads what it wrote.
      if ((await putOperation(parts.store, asked, version, await parts.store.now())) === 0) continue
      return {
        status: 202,
        body: operationView(asked),
        audit: { operation: operation.id, kind: operation.kind },
      }
    }
    throw refuse("conflict", "It changed too often while this was tried. Send it again.", { retryable: true })
  },
}

/** The operation of an id, as far as the caller may see it; throws what is answered where there is none. */
const operationOf = async (
  { store }: Pick<ApiParts, "store">,
  caller: Caller,
  id: string,
): Promise<StoredOperation> => {
  const stored = isRunId(id) ? await readOperation(store, id) : undefined
  if (stored !== undefined && isOf(caller, stored.operation)) return stored
  throw refuse(
    "notFound",
    `There is no operation of this id: it never was, or it ended more than 30 days ago.`,
  )
}

/** Whether it is one of the caller's namespace: one of all jobs is not. */
const isOf = (caller: Caller, { namespace }: Operation): boolean =>
  caller.namespace === null || (namespace !== null && maySee(caller, namespace))

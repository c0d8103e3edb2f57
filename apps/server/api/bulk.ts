// Begins bulk work that was asked for: checks the filter, says what it would do, or keeps it as an operation.
import * as Result from "effect/Result"
import { makeIds } from "../../../core/domain/Ids.ts"
import { parseInstant } from "../../../core/domain/TimeSpan.ts"
import type { Bulk, BulkFilter, BulkKind } from "../../bulk/Bulk.ts"
import { beginOf, previewOf } from "../../bulk/Look.ts"
import { parseRate } from "../../bulk/Rate.ts"
import { addOperation, openKind, openMax, type Operation } from "../OperationRecord.ts"
import { refuse } from "../problems.ts"
import type { ApiParts } from "./ApiParts.ts"
import type { Caller } from "./Handler.ts"

/** What is asked for. */
export interface BulkAsked {
  readonly kind: BulkKind
  readonly filter: Omit<BulkFilter, "createdAfter" | "createdBefore"> & {
    readonly createdAfter?: string | number
    readonly createdBefore?: string | number
  }
  readonly rate?: string
  readonly reason?: string
  readonly dryRun?: boolean
}

const newId = makeIds(
  () => Date.now(),
  () => (Math.random() * 2 ** 32) | 0,
)

/** Says what would be done, or keeps it to be done. */
export const beginBulk = async ({ store }: Pick<ApiParts, "store">, caller: Caller, asked: BulkAsked) => {
  const { kind, rate, dryRun = false } = asked
  const filter = filterOf(asked.filter)
  const perSecond = rate === undefined ? null : Result.getOrThrow(parseRate("rate", rate))
  const bulk: Bulk = {
    id: newId(),
    kind,
    filter,
    namespace: caller.namespace,
    reason: asked.reason ?? `Cancelled by ${caller.name}`.slice(0, 200),
    frozenAt: await store.now(),
  }
  if (!dryRun) await checkRoom(store)
  const { total, sample } = await previewOf(store, bulk)
  if (dryRun) return { status: 200 as const, body: { total, sample }, audit: { kind, filter, dryRun } }
  const operation: Operation = {
    ...bulk,
    state: "queued",
    cancelAsked: false,
    total: { ...total, exact: false },
    done: 0,
    skipped: 0,
    failed: 0,
    error: null,
    perSecond,
    startedBy: { id: caller.id, name: caller.name },
    createdAt: bulk.frozenAt,
    startedAt: null,
    endedAt: null,
    owner: null,
    leaseUntil: 0,
    nextAt: 0,
    place: beginOf(bulk),
    page: [],
  }
  await addOperation(store, operation)
  return {
    status: 202 as const,
    body: operationView(operation),
    headers: { location: `/v1/operations/${operation.id}` },
    audit: { operation: operation.id, kind, filter },
  }
}

/** An operation as it is answered. */
export const operationView = ({
  id,
  kind,
  filter,
  state,
  cancelAsked,
  total,
  done,
  skipped,
  failed,
  error,
  perSecond,
  startedBy,
  createdAt,
  startedAt,
  endedAt,
}: Operation) => ({
  id,
  kind,
  filter,
  state,
  cancelAsked,
  total,
  done,
  skipped,
  failed,
  error,
  perSecond,
  startedBy,
  createdAt,
  startedAt,
  endedAt,
})

const filterOf = ({ createdAfter, createdBefore, ...rest }: BulkAsked["filter"]): BulkFilter => {
  const filter = {
    ...rest,
    ...instantOf("createdAfter", createdAfter),
    ...instantOf("createdBefore", createdBefore),
  }
  if (Object.keys(filter).length > 0) return filter
  throw refuse(
    "invalidInput",
    "The filter says nothing, and so would mean everything. If that is what you want, say it with `createdBefore`.",
    { errors: [{ pointer: "/filter", detail: "is empty" }] },
  )
}

const instantOf = (field: "createdAfter" | "createdBefore", said: string | number | undefined) => {
  if (said === undefined) return {}
  const parsed = parseInstant(field, said)
  if (Result.isSuccess(parsed)) return { [field]: parsed.success }
  const detail = parsed.failure.message
  throw refuse("invalidInput", detail, { errors: [{ pointer: `/filter/${field}`, detail }] })
}

const checkRoom = async (store: ApiParts["store"]): Promise<void> => {
  const open = await store.records({ kind: openKind, order: "ascending", limit: openMax })
  if (open.length < openMax) return
  throw refuse(
    "tooMany",
    `${openMax} operations have not ended. Wait for some, or cancel them: GET /v1/operations lists them.`,
    { retryable: true, headers: { "retry-after": "10" } },
  )
}

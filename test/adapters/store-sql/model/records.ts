// Operations on records.
import type { PutRecord } from "../../../../core/ports/StoreDriver.ts"
import { recordKinds } from "./operations.ts"
import { type Made, operation, type World } from "./world.ts"

const ids = ["A", "a", "a ", "a/1", "a/2", "ab", "b", "__proto__"] as const

export const putRecords = (world: World): Made => {
  const { choice } = world
  const records = choice.list(1, 4, (): PutRecord => ({
    kind: choice.of(recordKinds),
    id: choice.of(ids),
    body: JSON.stringify(choice.of(["", "wörd 😀", choice.int(0, 9)])),
    expiresAt: choice.percent(50) ? null : world.instant(1_000, 20_000),
    expected: choice.percent(40) ? null : choice.int(0, 2),
  }))
  return operation("putRecords", records)
}

export const recordPage = ({ choice }: World): Made =>
  operation("records", {
    kind: choice.of(recordKinds),
    order: choice.of(["ascending", "descending"]),
    limit: choice.of([1, 3, 1_000]),
    ...(choice.percent(40) ? { prefix: choice.of(["a", "a/", "", "b", "nobody"]) } : {}),
    ...(choice.percent(40) ? { after: choice.of(ids) } : {}),
    ...(choice.percent(40) ? { before: choice.of(ids) } : {}),
  })

export const deleteRecords = ({ choice }: World): Made =>
  operation(
    "deleteRecords",
    choice.of(recordKinds),
    choice.list(0, 3, () => choice.of(ids)),
  )

export const pruneRecords = ({ choice }: World): Made => operation("pruneRecords", choice.of([1, 3, 1_000]))

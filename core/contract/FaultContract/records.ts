// What the operations on records owe to a caller who did not hear the answer.
import * as Effect from "effect/Effect"
import type { Case } from "../Case.ts"
import { ContractClock } from "../Case.ts"
import { deleteRecords, newRecord, pruneRecords, putRecords } from "../RecordStoreContract.ts"
import { trial } from "./fixtures.ts"

/** Cases of operations on records. */
export const recordFaultCases: ReadonlyArray<Case> = [
  ...trial({
    operation: "putRecords",
    what: "with the versions that are there",
    promise: "it answers that they are not, and what was put first stays",
    prepare: Effect.as(
      putRecords(newRecord("a"), newRecord("b")),
      putRecords(newRecord("a", { expected: 1, body: "1" }), newRecord("c", { expected: 0, body: "2" })),
    ),
    recorded: () => [0, 0],
  }),
  ...trial({
    operation: "deleteRecords",
    promise: "it finds none more",
    prepare: Effect.as(
      putRecords(...["a", "b", "c"].map((id) => newRecord(id))),
      deleteRecords("a", "c", "nobody"),
    ),
    recorded: () => 0,
  }),
  ...trial({
    operation: "pruneRecords",
    promise: "it finds none more",
    prepare: Effect.gen(function* () {
      const expiresAt = (yield* ContractClock).now()
      yield* putRecords(newRecord("a", { expiresAt }), newRecord("b", { expiresAt }), newRecord("c"))
      return pruneRecords(10)
    }),
    recorded: () => 0,
  }),
]

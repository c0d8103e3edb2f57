// What people write about a backfill, checked before anything is looked at.
import * as Result from "effect/Result"
import type { InvalidInput } from "../../core/domain/Errors.ts"
import { parseInstant } from "../../core/domain/TimeSpan.ts"
import type { BackfillRequest } from "../../core/engine/Backfill.ts"

/** A range of the past, both ends inclusive, and how to go about it. */
export interface BackfillOptions extends Omit<BackfillRequest, "from" | "to"> {
  readonly from: Date | number | string
  /** Absent: now. */
  readonly to?: Date | number | string
}

/** Reads its times. */
export const checkBackfill = ({
  from,
  to,
  ...rest
}: BackfillOptions): Result.Result<BackfillRequest, InvalidInput> =>
  Result.gen(function* () {
    const until = to === undefined ? {} : { to: yield* parseInstant("to", to) }
    return { ...rest, from: yield* parseInstant("from", from), ...until }
  })

// Everything that a store promises about schedules and their ledger, as cases that every driver must pass.
import type { Case } from "./Case.ts"
import { backfillCases } from "./ScheduleStoreContract/backfill.ts"
import { batchCases } from "./ScheduleStoreContract/batches.ts"
import { dueCases } from "./ScheduleStoreContract/due.ts"
import { fireCases } from "./ScheduleStoreContract/fire.ts"
import { policyCases } from "./ScheduleStoreContract/policies.ts"
import { scheduleCases } from "./ScheduleStoreContract/schedules.ts"

/** The cases of `ScheduleStoreDriver`. */
export const scheduleStoreContract: ReadonlyArray<Case> = [
  ...scheduleCases,
  ...dueCases,
  ...fireCases,
  ...batchCases,
  ...policyCases,
  ...backfillCases,
]

// Everything that a store promises about runs, as cases that every driver must pass.
import type { Case } from "./Case.ts"
import { adoptCases } from "./RunStoreContract/adopt.ts"
import { cancelCases } from "./RunStoreContract/cancel.ts"
import { carriedCases } from "./RunStoreContract/carried.ts"
import { claimCases } from "./RunStoreContract/claim.ts"
import { claimLeaseCases } from "./RunStoreContract/claimLease.ts"
import { deadLetterCases } from "./RunStoreContract/deadLetters.ts"
import { dependentCases } from "./RunStoreContract/dependents.ts"
import { enqueueCases } from "./RunStoreContract/enqueue.ts"
import { filterCases } from "./RunStoreContract/filters.ts"
import { listingCases } from "./RunStoreContract/listing.ts"
import { promoteCases } from "./RunStoreContract/promote.ts"
import { pruneCases } from "./RunStoreContract/prune.ts"
import { reclaimCases } from "./RunStoreContract/reclaim.ts"
import { releaseLostCases } from "./RunStoreContract/releaseLost.ts"
import { settleCases } from "./RunStoreContract/settle.ts"
import { settleRepeatedCases } from "./RunStoreContract/settleRepeated.ts"
import { textCases } from "./RunStoreContract/texts.ts"
import { transitionCases } from "./RunStoreContract/transitions.ts"

/** The cases of `RunStoreDriver`. */
export const runStoreContract: ReadonlyArray<Case> = [
  ...enqueueCases,
  ...textCases,
  ...promoteCases,
  ...claimCases,
  ...claimLeaseCases,
  ...carriedCases,
  ...adoptCases,
  ...settleCases,
  ...settleRepeatedCases,
  ...releaseLostCases,
  ...dependentCases,
  ...reclaimCases,
  ...cancelCases,
  ...deadLetterCases,
  ...listingCases,
  ...filterCases,
  ...pruneCases,
  ...transitionCases,
]

// Everything that a store promises about runs that expand into steps, as cases that every driver must pass.
import type { Case } from "./Case.ts"
import { callOffCases } from "./FlowStoreContract/callOff.ts"
import { deadlineCases } from "./FlowStoreContract/deadlines.ts"
import { expandCases } from "./FlowStoreContract/expand.ts"
import { mapCases } from "./FlowStoreContract/maps.ts"
import { markCases } from "./FlowStoreContract/mark.ts"
import { flowPruneCases } from "./FlowStoreContract/prune.ts"
import { releaseCases } from "./FlowStoreContract/release.ts"
import { rerunCases } from "./FlowStoreContract/rerun.ts"
import { retryCases } from "./FlowStoreContract/retry.ts"
import { stepInputCases } from "./FlowStoreContract/stepInputs.ts"
import { subFlowCases } from "./FlowStoreContract/subFlows.ts"

/** The cases of `FlowStoreDriver`, and of what the other operations do to flow runs and their steps. */
export const flowStoreContract: ReadonlyArray<Case> = [
  ...expandCases,
  ...releaseCases,
  ...retryCases,
  ...callOffCases,
  ...deadlineCases,
  ...mapCases,
  ...subFlowCases,
  ...stepInputCases,
  ...rerunCases,
  ...markCases,
  ...flowPruneCases,
]

// Everything that a store promises to a caller who does not know whether a call was done: the port's "safe to repeat
// after an unknown outcome" as cases that every driver must pass, with faults around the driver (Faults.ts).
import type { Case } from "./Case.ts"
import { batchFaultCases } from "./FaultContract/batches.ts"
import { credentialFaultCases } from "./FaultContract/credentials.ts"
import { flowFaultCases } from "./FaultContract/flows.ts"
import { lateCases } from "./FaultContract/late.ts"
import { lifeCases } from "./FaultContract/life.ts"
import { nodeFaultCases } from "./FaultContract/nodes.ts"
import { recordFaultCases } from "./FaultContract/records.ts"
import { runFaultCases } from "./FaultContract/runs.ts"
import { scheduleFaultCases } from "./FaultContract/schedules.ts"
import { settleFaultCases } from "./FaultContract/settlements.ts"

/** The cases of every operation that changes something, done or not done, and repeated. */
export const faultContract: ReadonlyArray<Case> = [
  ...runFaultCases,
  ...settleFaultCases,
  ...flowFaultCases,
  ...scheduleFaultCases,
  ...nodeFaultCases,
  ...credentialFaultCases,
  ...recordFaultCases,
  ...batchFaultCases,
  ...lateCases,
  ...lifeCases,
]

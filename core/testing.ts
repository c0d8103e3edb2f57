// The core of the entry `uhrwerk/testing`: the contract kit, for authors of adapters, and virtual time.
export { type Case, ContractClock, ContractViolation } from "./contract/Case.ts"
export { type Fault, type FaultPlan, withFaults } from "./contract/Faults.ts"
export { makeVirtualTime, type VirtualTime } from "./engine/VirtualTime.ts"

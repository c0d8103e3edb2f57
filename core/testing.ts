// The core of the entry `uhrwerk/testing`: the contract kits and faults, for authors of
// adapters, and virtual time.
export {
  type Case,
  type CaseServices,
  ContractClock,
  ContractTwin,
  ContractViolation,
} from "./contract/Case.ts"
export {
  type ExecutorCase,
  executorContract,
  type ExecutorJob,
  executorJobs,
  runExecutorCase,
} from "./contract/ExecutorContract.ts"
export { type Fault, type FaultPlan, withFaults } from "./contract/Faults.ts"
export { type OpenDriver, runCase, storeContract } from "./contract/StoreContract.ts"
export { makeVirtualTime, type VirtualTime } from "./engine/VirtualTime.ts"
export {
  runTransportCase,
  type TransportAbility,
  type TransportCase,
  transportContract,
  TransportGround,
  type WireFrame,
  type WireOptions,
  type WirePeer,
} from "./contract/TransportContract.ts"

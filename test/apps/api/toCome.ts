// Names of routes without examples for the contract test: see there.

/** By name; to become empty. */
export const toComeNames: ReadonlyArray<string> = ["disconnectWorker", "drainWorker", "getWorker"]

// The package entry `uhrwerk/worker`: a worker that takes runs from a server, in your process or by `uhrwerk worker`.
export { type RunningWorker, type StartWorkerOptions, worker } from "./worker.ts"
export type { CommonOptions, ConfigOptions, JobsOptions, WorkerOptions } from "./Setting.ts"
export { type WorkerEnd, WorkerRefused } from "./WorkerEnd.ts"
export type { AttemptView, WorkerEvent, WorkerStatus } from "./WorkerEvent.ts"

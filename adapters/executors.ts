// The entry `uhrwerk/executors`: executors for programs written with Effect, and for whoever puts several beside each
// other. With the entry `uhrwerk` none of it is needed: there a job says `run: command(...)` or `run: request(...)`.
export {
  Answer,
  type Handler,
  type Handlers,
  inlineExecutor,
  layerInline,
  StopSignal,
} from "./executor-inline/mod.ts"
export {
  type Arguments,
  checkCommand,
  checkPrograms,
  type Command,
  type CommandOptions,
  type CommandRunnerOptions,
  layerSubprocess,
  makeCommandRunner,
} from "./executor-subprocess/mod.ts"
export {
  type Address,
  type CheckedRules,
  checkRequest,
  checkRules,
  layerHttp,
  makeRequestRunner,
  type Method,
  type Request,
  type RequestOptions,
  type RequestRules,
  type RequestRunnerOptions,
  type Resolve,
  type Resolved,
} from "./executor-http/mod.ts"
export {
  composeExecutors,
  type DescribedJob,
  type Task,
  taskInput,
  workExecutor,
  type WorkRunner,
} from "../core/ports/Executors.ts"

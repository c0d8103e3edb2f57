// Work that is no function: a program, a request to somebody else's service, or what workers do. It stands where a job's or
// a step's `run` stands, and is given as JSON what a function would get as its first argument.
import type { Arguments, CommandOptions } from "../../adapters/executor-subprocess/Command.ts"
import type { Address, RequestOptions } from "../../adapters/executor-http/Request.ts"
import type { PlacementBy } from "../../core/domain/Placement.ts"

/** Work whose output is an `Output`. It takes any input, unless it says otherwise. */
export interface Work<Output, Input = any> {
  readonly "~work": CommandWork | RequestWork | WorkersWork
  /** For the compiler only. */
  readonly "~output"?: Output
  /** For the compiler only. */
  readonly "~input"?: (input: Input) => void
}

/** A program to run, as it was written. */
export interface CommandWork {
  readonly kind: "command"
  readonly program: string
  readonly args: Arguments
  readonly options: CommandOptions
}

/** A request to make, as it was written. */
export interface RequestWork {
  readonly kind: "request"
  readonly url: Address
  readonly options: RequestOptions
}

/** What workers do, as it was written. */
export interface WorkersWork {
  readonly kind: "workers"
  readonly options: WorkersOptions
}

/** Which workers carry out the runs of a job. */
export interface WorkersOptions {
  /**
   * A rule about a worker's labels and its `worker` name, `runtime` and `version`, such as `region = eu and gpu > 1` or
   * `not (runtime = node or version < 2.1)`: `=`, `!=`, `<`, `<=`, `>`, `>=`, `in (a, b)`, `and`, `or`, `not`, words or
   * texts in double quotes, at most 512 characters. A comparison of a label that a worker does not have is false. Default:
   * any worker that has a handler for the job.
   */
  readonly where?: string
  /**
   * How one of those that fit is chosen. `leastLoaded` (default): the one with the least in hand for its slots;
   * `roundRobin`: one after the other; `{ hash: "order.id" }`: the same one for the same value of this field of the input,
   * while it has room.
   */
  readonly by?: PlacementBy
  /** `true`: one run for each worker that fits when it starts, each told its part (`ctx.shard`). Default `false`. */
  readonly broadcast?: boolean
}

/** Work that takes any input: the job says which it is. */
interface Left<Output> {
  readonly "~work": WorkersWork
  /** Where nothing says what it is, the compiler finds `never`, of which everything would follow. */
  readonly "~output"?: [Output] extends [never] ? unknown : Output
}

/** Options with an output. */
type Kept<Kind> = { readonly output: Kind }

/** Options without one. */
type Forgotten<Options> = Omit<Options, "output"> & { readonly output?: "none" }

/** A function of the input says what work takes; without one any input will do, and the job says which it is. */
type Taking<Made, Output> = Made extends (input: infer Input) => unknown
  ? Work<Output, Input>
  : Omit<Work<Output>, "~input">

/**
 * Runs a program, which must be on the config's `executors.command.programs`: with these arguments, or those that a
 * function makes of the input, and never through a shell. Checked when the config is loaded.
 */
export function command<A extends Arguments>(
  program: string,
  args: A,
  options: CommandOptions & Kept<"text">,
): Taking<A, string>
export function command<Json = unknown>(
  program: string,
  args: ReadonlyArray<string>,
  options: CommandOptions & Kept<"json">,
): Taking<string, Json>
export function command<Json = unknown, Input = any>(
  program: string,
  args: (input: Input) => ReadonlyArray<string>,
  options: CommandOptions & Kept<"json">,
): Work<Json, Input>
export function command<A extends Arguments = []>(
  program: string,
  args?: A,
  options?: Forgotten<CommandOptions>,
): Taking<A, void>
export function command(program: string, args: Arguments = [], options: CommandOptions = {}): Work<any> {
  return { "~work": { kind: "command", program, args, options } }
}

/**
 * Makes an HTTP request, which must go to one of the config's `executors.request.origins`: to this address, or to that
 * which a function makes of the input. Checked when the config is loaded.
 */
export function request<U extends Address>(url: U, options: RequestOptions & Kept<"text">): Taking<U, string>
export function request<Json = unknown>(
  url: string,
  options: RequestOptions & Kept<"json">,
): Taking<string, Json>
export function request<Json = unknown, Input = any>(
  url: (input: Input) => string,
  options: RequestOptions & Kept<"json">,
): Work<Json, Input>
export function request<U extends Address>(url: U, options?: Forgotten<RequestOptions>): Taking<U, void>
export function request(url: Address, options: RequestOptions = {}): Work<any> {
  return { "~work": { kind: "request", url, options } }
}

/**
 * Leaves the job to workers that are connected to the engine and have a handler for it: never to the engine's own process.
 * While there is none that fits and has room, its runs wait. What the handler returns is of the type that is named here, and
 * of a broadcast the list of what the workers returned. Checked when the config is loaded.
 */
export function onWorkers<Output = unknown>(
  options?: WorkersOptions & { readonly broadcast?: false },
): Left<Output>
export function onWorkers<Output = unknown>(
  options: WorkersOptions & { readonly broadcast: true },
): Left<ReadonlyArray<Output>>
export function onWorkers(options: WorkersOptions = {}): Work<any> {
  return { "~work": { kind: "workers", options } }
}

/** Whether a `run` is work and no function. */
export const isWork = (run: unknown): run is Work<any> => {
  const work = (run as Partial<Work<any>> | null | undefined)?.["~work"]
  return work?.kind === "command" || work?.kind === "request" || work?.kind === "workers"
}

/** What to write as a `run`, for refusals. */
export const runWanted = "a function, or one of command(), request(), onWorkers()"

/** Whether a `run` is left to workers. */
export const isOnWorkers = (run: unknown): run is Work<any> & { readonly "~work": WorkersWork } =>
  isWork(run) && run["~work"].kind === "workers"

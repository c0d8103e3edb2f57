// Work that is no function: a program, or a request to somebody else's service. It stands where a job's or a step's
// `run` stands, and is given as JSON what a function would get as its first argument.
import type { Arguments, CommandOptions } from "../../adapters/executor-subprocess/Command.ts"
import type { Address, RequestOptions } from "../../adapters/executor-http/Request.ts"

/** Work whose output is an `Output`. It takes any input, unless it says otherwise. */
export interface Work<Output, Input = any> {
  readonly "~work": CommandWork | RequestWork
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

/** What its output is; see `output` of the options. */
type Output<Kind> = { readonly output: Kind }

/** A function of the input says what work takes; without one any input will do, and the job says which it is. */
type Taking<Made, Output> = Made extends (input: infer Input) => unknown
  ? Work<Output, Input>
  : Omit<Work<Output>, "~input">

/**
 * Runs a program, which must be on the config's `executors.command.programs`: with these arguments, or those that a
 * function makes of the input, and never through a shell. Checked when the config is loaded.
 */
export const command: {
  <A extends Arguments>(program: string, args: A, options: CommandOptions & Output<"text">): Taking<A, string>
  <Json = unknown>(
    program: string,
    args: ReadonlyArray<string>,
    options: CommandOptions & Output<"json">,
  ): Taking<string, Json>
  <Json = unknown, Input = any>(
    program: string,
    args: (input: Input) => ReadonlyArray<string>,
    options: CommandOptions & Output<"json">,
  ): Work<Json, Input>
  <A extends Arguments = []>(
    program: string,
    args?: A,
    options?: Omit<CommandOptions, "output"> & { readonly output?: "none" },
  ): Taking<A, void>
} = (program: string, args: Arguments = [], options: CommandOptions = {}): any => ({
  "~work": { kind: "command", program, args, options } satisfies CommandWork,
})

/**
 * Makes an HTTP request, which must go to one of the config's `executors.request.origins`: to this address, or to that
 * which a function makes of the input. Checked when the config is loaded.
 */
export const request: {
  <U extends Address>(url: U, options: RequestOptions & Output<"text">): Taking<U, string>
  <Json = unknown>(url: string, options: RequestOptions & Output<"json">): Taking<string, Json>
  <Json = unknown, Input = any>(
    url: (input: Input) => string,
    options: RequestOptions & Output<"json">,
  ): Work<Json, Input>
  <U extends Address>(
    url: U,
    options?: Omit<RequestOptions, "output"> & { readonly output?: "none" },
  ): Taking<U, void>
} = (url: Address, options: RequestOptions = {}): any => ({
  "~work": { kind: "request", url, options } satisfies RequestWork,
})

/** Whether a `run` is work and no function. */
export const isWork = (run: unknown): run is Work<any> => {
  const work = (run as Partial<Work<any>> | null | undefined)?.["~work"]
  return work?.kind === "command" || work?.kind === "request"
}

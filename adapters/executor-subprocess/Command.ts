// What a job that runs a program says, and the checks of it. Nothing here touches the machine: a config is read on
// machines that have none of its programs.
import { isAbsolute } from "node:path"
import * as Result from "effect/Result"
import { InvalidInput } from "../../core/domain/Errors.ts"
import { type OutputKind, outputKinds } from "../../core/domain/OutputKind.ts"
import { payloadBytesMax } from "../../core/domain/Payload.ts"
import { parseSpan, quote, type TimeSpan } from "../../core/domain/TimeSpan.ts"

/** The arguments; of a function of the input, those that it answers. Each is one argument, whatever is in it. */
export type Arguments = ReadonlyArray<string> | ((input: any) => ReadonlyArray<string>)

/** How a program is run. */
export interface CommandOptions {
  /** The folder that it runs in; default: the engine's. */
  readonly cwd?: string
  /** Its environment. Nothing else is in it but `pass` and the `UHRWERK_*` variables. */
  readonly env?: Readonly<Record<string, string>>
  /** Names of variables of the engine's own environment that it is given too, such as `PATH`. */
  readonly pass?: ReadonlyArray<string>
  /**
   * What its output is. `none` (default): there is none. `json`: the last line of stdout that is not blank. `text`:
   * all of stdout. What is no output is logged, line by line, as all of stderr is.
   */
  readonly output?: OutputKind
  /** The most that the output may take, in bytes; 1 to 262,144, default 262,144. More is a failure without retry. */
  readonly outputMax?: number
  /** Lines that are logged of an attempt, 0 to 100,000; default 1,000. The rest is left out, and that is said. */
  readonly logMax?: number
  /**
   * Between SIGTERM and SIGKILL, at most `"30s"`; default `"5s"`; 0: SIGKILL at once. Another node may start the next
   * attempt meanwhile, so when a run is handed on it is half a second at most. On this node an attempt waits for the
   * end of the one before.
   */
  readonly killGrace?: TimeSpan
  /** Exit codes that say that no further attempt helps; default `[65]` (EX_DATAERR). */
  readonly fatalExits?: ReadonlyArray<number>
  /** Exit codes that say "try again later"; default `[75]` (EX_TEMPFAIL). The last line of stdout may say when. */
  readonly laterExits?: ReadonlyArray<number>
}

/** A program to run, checked. */
export interface Command {
  /** As it is on the allow-list: an absolute path, or a name that is looked up in the engine's PATH. */
  readonly program: string
  readonly args: Arguments
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly pass: ReadonlyArray<string>
  readonly output: OutputKind
  readonly outputMax: number
  readonly logMax: number
  readonly killGraceMillis: number
  readonly fatalExits: ReadonlySet<number>
  readonly laterExits: ReadonlySet<number>
}

/** Variables of ours begin so. */
export const ownPrefix = "UHRWERK_"

const killGraceMaxMillis = 30_000
const logLinesMax = 100_000
/** More arguments, or names, than anybody writes. */
const listMax = 1000

/** Checks a command against the programs that may run; `place` begins the fields of its errors. */
export const checkCommand = (
  place: string,
  program: unknown,
  args: unknown,
  options: CommandOptions,
  programs: ReadonlyArray<string>,
): Result.Result<Command, InvalidInput> =>
  Result.gen(function* () {
    if (typeof program !== "string" || !programs.includes(program)) {
      const known = programs.length === 0 ? "none is" : `these are: ${programs.map(quote).join(", ")}`
      return yield* fail(
        `${place}.program`,
        `${quote(program)} is not a program that may run (${known})`,
        "Add it to the config's `executors.command.programs`, if it may.",
      )
    }
    if (typeof args !== "function") yield* checkArguments(`${place}.args`, args)
    if (typeof options !== "object" || options === null)
      return yield* refuse(`${place}.options`, options, "an object of options")
    const { cwd, env = {}, pass = [], output = "none" } = options
    if (cwd !== undefined && !(typeof cwd === "string" && cwd !== "" && !cwd.includes("\0")))
      return yield* refuse(`${place}.cwd`, cwd, "the path of a folder")
    yield* checkEnvironment(place, env, pass)
    if (!outputKinds.includes(output))
      return yield* refuse(`${place}.output`, output, '"none", "json" or "text"')
    const killGraceMillis = yield* parseSpan(`${place}.killGrace`, options.killGrace ?? "5s")
    if (killGraceMillis > killGraceMaxMillis)
      return yield* refuse(`${place}.killGrace`, options.killGrace, 'a span of at most "30s"')
    const fatalExits = yield* checkExits(`${place}.fatalExits`, options.fatalExits ?? [65])
    const laterExits = yield* checkExits(`${place}.laterExits`, options.laterExits ?? [75])
    const both = [...laterExits].find((code) => fatalExits.has(code))
    if (both !== undefined)
      return yield* fail(
        `${place}.laterExits`,
        `${both} is one of fatalExits too`,
        "Leave it in one of them.",
      )
    return {
      program,
      args: args as Arguments,
      cwd,
      env,
      pass,
      output,
      outputMax: yield* checkNumber(
        `${place}.outputMax`,
        options.outputMax,
        payloadBytesMax,
        1,
        payloadBytesMax,
      ),
      logMax: yield* checkNumber(`${place}.logMax`, options.logMax, 1000, 0, logLinesMax),
      killGraceMillis,
      fatalExits,
      laterExits,
    }
  })

/** Checks the allow-list. */
export const checkPrograms = (
  field: string,
  programs: unknown,
): Result.Result<ReadonlyArray<string>, InvalidInput> =>
  Result.gen(function* () {
    if (!Array.isArray(programs))
      return yield* refuse(field, programs, 'a list of programs, such as ["python3", "/opt/report"]')
    for (const [index, program] of programs.entries())
      if (typeof program !== "string" || !isProgram(program)) {
        // A path from here would be another program for whoever starts the engine elsewhere.
        const wanted = "the name of a program without a slash, or an absolute path"
        return yield* refuse(`${field}[${index}]`, program, wanted)
      }
    return programs as ReadonlyArray<string>
  })

const isProgram = (text: string): boolean =>
  text !== "" && !text.includes("\0") && (isAbsolute(text) || !/[/\\]|^\.*$/.test(text))

/** Checks arguments, also those that a function made of an input. */
export const checkArguments = (
  field: string,
  args: unknown,
): Result.Result<ReadonlyArray<string>, InvalidInput> => {
  if (!Array.isArray(args) || args.length > listMax)
    return refuse(field, args, `a list of at most ${listMax} texts`)
  const bad = args.findIndex((each) => typeof each !== "string" || each.includes("\0"))
  if (bad === -1) return Result.succeed(args as ReadonlyArray<string>)
  return refuse(`${field}[${bad}]`, args[bad], "a text without a zero byte")
}

const checkEnvironment = (place: string, env: unknown, pass: unknown): Result.Result<void, InvalidInput> =>
  Result.gen(function* () {
    if (typeof env !== "object" || env === null || Array.isArray(env))
      return yield* refuse(`${place}.env`, env, "an object of texts")
    for (const [name, value] of Object.entries(env)) {
      yield* checkVariable(`${place}.env`, name)
      // Never quoted: a value may be a secret.
      if (typeof value !== "string" || value.includes("\0"))
        return yield* fail(`${place}.env.${name}`, "its value is no text without a zero byte", "Give a text.")
    }
    if (!Array.isArray(pass) || pass.length > listMax)
      return yield* refuse(`${place}.pass`, pass, "a list of names of variables")
    for (const name of pass) yield* checkVariable(`${place}.pass`, name)
  })

const checkVariable = (field: string, name: unknown): Result.Result<void, InvalidInput> => {
  if (typeof name !== "string" || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    return refuse(field, name, "the name of a variable: letters, digits and underscores")
  if (!name.startsWith(ownPrefix)) return Result.succeed(undefined)
  return fail(field, `"${name}" is a name of ours`, `Take one that does not begin with ${ownPrefix}.`)
}

const checkExits = (field: string, codes: unknown): Result.Result<ReadonlySet<number>, InvalidInput> => {
  const isCode = (code: unknown): boolean =>
    typeof code === "number" && Number.isInteger(code) && code >= 1 && code <= 255
  return Array.isArray(codes) && codes.every(isCode)
    ? Result.succeed(new Set(codes as ReadonlyArray<number>))
    : refuse(field, codes, "a list of exit codes from 1 to 255")
}

const checkNumber = (
  field: string,
  given: unknown,
  standard: number,
  min: number,
  max: number,
): Result.Result<number, InvalidInput> => {
  const value = given ?? standard
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
    ? Result.succeed(value)
    : refuse(field, given, `a whole number from ${min} to ${max}`)
}

const refuse = (field: string, value: unknown, wanted: string): Result.Result<never, InvalidInput> =>
  fail(field, `${quote(value)} is not ${wanted}`, `Give ${wanted}.`)

const fail = (field: string, reason: string, next: string): Result.Result<never, InvalidInput> =>
  Result.fail(new InvalidInput({ field, reason, next }))

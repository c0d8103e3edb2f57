// What the object commands share: which store they look at, and a driver to look at it beside a running engine.
import { readFileSync } from "node:fs"
import * as Result from "effect/Result"
import { NotFound } from "../../core/domain/Errors.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { type ParsedStorage, parseStorage, type Storage } from "../sdk/storage.ts"
import { UsageError } from "./errors.ts"
import { findConfig, loadConfig } from "./loadConfig.ts"

/** A command's options, as far as they are given. */
export interface Flags {
  readonly storage?: string
  readonly output?: string
  readonly state?: string
  readonly job?: string
  readonly limit?: string
  readonly before?: string
  readonly schedule?: string
  readonly reason?: string
  readonly tz?: string
  readonly gap?: string
  readonly ambiguous?: string
  readonly n?: string
  readonly from?: ReadonlyArray<string>
  readonly to?: string
  readonly note?: string
  readonly grace?: string
  readonly node?: string
  readonly max?: string
  readonly order?: string
  readonly "dry-run"?: boolean
  readonly "fast-forward"?: string
  readonly "run-handlers"?: boolean
  readonly open?: boolean
  readonly mermaid?: boolean
  readonly dot?: boolean
  readonly input?: string
  readonly "from-failed"?: boolean
  readonly skipped?: boolean
  readonly "step-output"?: string
  readonly plan?: boolean
  readonly json?: boolean
  readonly cmd?: string
  readonly only?: string
  readonly case?: string
  readonly verbose?: boolean
  readonly port?: string
  readonly host?: string
  readonly "no-workers"?: boolean
  readonly name?: string
  readonly queue?: ReadonlyArray<string>
  readonly expires?: string
  readonly config?: string
  readonly url?: string
  readonly "token-file"?: string
  readonly label?: ReadonlyArray<string>
  readonly concurrency?: string
  readonly prefetch?: string
  readonly handlers?: string
  readonly "give-up"?: string
}

/** A command. */
export interface Command {
  readonly usage: string
  readonly about: string
  /** Answers the exit code. */
  readonly run: (args: ReadonlyArray<string>, flags: Flags) => Promise<number>
}

/** A command over an opened store, which is closed afterwards. */
export const storeCommand = (
  usage: string,
  about: string,
  run: (store: StoreDriver, args: ReadonlyArray<string>, flags: Flags) => Promise<number | void>,
): Command => ({
  usage,
  about,
  run: async (args, flags) => {
    const store = await openStore(flags)
    try {
      return (await run(store, args, flags)) ?? 0
    } finally {
      await store.close()
    }
  },
})

/** The storage that flag or environment name; without one the config or the default says it. */
export const saidStorage = (flags: Flags): string | undefined =>
  flags.storage ?? process.env["UHRWERK_STORAGE"]

/** The storage that a command is about. */
export const storageOf = async (flags: Flags): Promise<ParsedStorage> => {
  const said = saidStorage(flags)
  const storage = said ?? (findConfig() === undefined ? undefined : (await loadConfig(undefined)).storage)
  return Result.getOrThrow(parseStorage(storage as Storage | undefined))
}

const openStore = async (flags: Flags): Promise<StoreDriver> => {
  const { open, name } = await storageOf(flags)
  if (open === null)
    throw new UsageError(`Storage "${name}" lives in the engine's process: it cannot be looked at from here`)
  return open()
}

/** Refuses arguments where a command takes none: a forgotten `--` would show everything instead of a part. */
export const none = (args: ReadonlyArray<string>): void => {
  if (args.length > 0) throw new UsageError(`This command takes no argument, and "${args[0]}" is one`)
}

/** The one argument that a command needs. */
export const only = (args: ReadonlyArray<string>, what: string): string => {
  const [value, ...more] = args
  if (value === undefined || more.length > 0) throw new UsageError(`This command takes one ${what}`)
  return value
}

/** The value of a flag that counts once, though others may repeat it. */
export const once = (flag: string, values: ReadonlyArray<string> | undefined): string | undefined => {
  if (values !== undefined && values.length > 1)
    throw new UsageError(`${flag} is given ${values.length} times`)
  return values?.[0]
}

/** The value of a flag that is JSON, or `@FILE` with JSON in it; `undefined` without the flag. */
export const jsonOf = (flag: string, text: string | undefined): unknown => {
  if (text === undefined) return undefined
  const isFile = text.startsWith("@")
  let json = text
  if (isFile) {
    try {
      json = readFileSync(text.slice(1), "utf8")
    } catch (error) {
      throw new UsageError(`${flag}: cannot read "${text.slice(1)}": ${(error as Error).message}`)
    }
  }
  try {
    return JSON.parse(json) as unknown
  } catch (error) {
    const example = isFile
      ? ""
      : ` Quote it for the shell, such as ${flag} '{"day": 1}', or name a file: @day.json.`
    throw new UsageError(`${flag} is not JSON: ${(error as Error).message}.${example}`)
  }
}

/** How many rows to show: 1 to 200, default 20. */
export const limitOf = (flags: Flags): number => countOf("--limit", flags.limit, 20, 200)

/** A whole number from 1 to `max`. */
export const countOf = (flag: string, text: string | undefined, usual: number, max: number): number => {
  const count = text === undefined ? usual : Number(text)
  if (!Number.isInteger(count) || count < 1 || count > max) {
    throw new UsageError(`${flag} ${text} is not a whole number from 1 to ${max}`)
  }
  return count
}

const listOf: Readonly<Record<string, string>> = { "dead letter": "dead", "flow run": "run" }

/** The refusal of an id that is not there. */
export const notFound = (what: string, id: string): NotFound =>
  new NotFound({
    id,
    field: what,
    reason: `there is no ${what} "${id}" in this store`,
    next: `List what there is: uhrwerk ${listOf[what] ?? what} list`,
  })

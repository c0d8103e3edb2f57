// What a person reads when a command fails, and the exit code that a script sees.
import * as Cause from "effect/Cause"
import { errorInfo } from "../../core/domain/Payload.ts"
import { plainLines } from "./text.ts"

/** Exit codes, as on the interfaces page. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  "not found": 3,
  denied: 4,
  conflict: 5,
  unreachable: 6,
  partial: 8,
} as const

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}

/** The config file cannot be used: it is not there, it throws, or it exports no config. */
export class ConfigError extends Error {
  override readonly name = "ConfigError"
}

/** What is asked for is right, and does not go now: the thing is in a state that forbids it. */
export class NotNow extends Error {
  override readonly name = "NotNow"
}

const codeOf: Readonly<Record<string, number>> = {
  UsageError: exitCodes.usage,
  ConfigError: exitCodes.usage,
  InvalidInput: exitCodes.usage,
  InvalidPayload: exitCodes.usage,
  InvalidSchedule: exitCodes.usage,
  UnknownJob: exitCodes.usage,
  DuplicateName: exitCodes.usage,
  DependencyCycle: exitCodes.usage,
  InvalidFlow: exitCodes.usage,
  NotNow: exitCodes.failed,
  NotFound: exitCodes["not found"],
  StoreInUse: exitCodes.conflict,
  StoreUnusable: exitCodes.unreachable,
  StoreError: exitCodes.unreachable,
  TransportError: exitCodes.unreachable,
}

/** Prints why a command failed; answers its exit code. */
export const complain = (error: unknown): number => {
  const cause = Cause.isCause(error) ? Cause.squash(error) : error
  const { name, message, stack } = errorInfo(cause)
  const code = codeOf[name]
  console.error(plainLines(`uhrwerk: ${message}`))
  if (name === "UsageError") console.error("Try `uhrwerk --help`.")
  // An error that we did not expect is a bug, and its place is what helps to mend it.
  if (code === undefined && stack !== undefined)
    console.error(plainLines(stack.split("\n").slice(1).join("\n")))
  return code ?? exitCodes.failed
}

// From the end of a program to the outcome of the attempt.
import * as Result from "effect/Result"
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import { outputOutcome, outputTooLarge } from "../../core/domain/OutputKind.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import { parseSpan } from "../../core/domain/TimeSpan.ts"
import type { StopReason } from "../../core/ports/Executor.ts"
import type { End } from "./Child.ts"
import type { Command } from "./Command.ts"
import { isTooLong, type Line } from "./Lines.ts"
import { NotStarted } from "./Program.ts"

/** What a program left behind. */
export interface Remains {
  readonly end: End
  /** The last line of its stdout that is not blank. */
  readonly lastLine: Line | null
  /** All of stdout, of a command whose output is text; `null`: it was too much. */
  readonly text: string | null
  /** The end of its stderr. */
  readonly stderr: string
  readonly stopped: StopReason | null
}

/** The outcome: exit code 0 is success, whatever stderr says. */
export const outcomeOf = (command: Command, remains: Remains): Outcome => {
  const { end, lastLine, stopped } = remains
  const { program, output, outputMax } = command
  if (end.kind === "error") return notStarted(program, end.error)
  if (stopped !== null) return stoppedOutcome(program, stopped)
  if (output === "text" && remains.text === null) return outputTooLarge(`stdout of "${program}"`, outputMax)
  if (end.kind === "exit" && end.code === 0) {
    if (output === "json" && lastLine !== null && isTooLong(lastLine, outputMax))
      return outputTooLarge(`The last line of stdout of "${program}"`, outputMax)
    const text = output === "text" ? (remains.text ?? "") : (lastLine?.text ?? "")
    const what = output === "text" ? `stdout of "${program}"` : `The last line of stdout of "${program}"`
    return outputOutcome(output, text, what, true)
  }
  const how = end.kind === "exit" ? `exit code ${end.code}` : end.signal
  const said = remains.stderr.trimEnd()
  const last = said.slice(said.lastIndexOf("\n") + 1).trim()
  const error = {
    name: "ProgramFailed",
    message: `"${program}" ended with ${how}${last === "" ? "" : `: ${last.slice(0, lastLineMax)}`}`,
    ...(said === "" ? {} : { stack: said.slice(-stackMax) }),
    kind: "error",
  } as const
  const code = end.kind === "exit" ? end.code : -1
  return failed(error, !command.fatalExits.has(code), command.laterExits.has(code) ? spanOf(lastLine) : null)
}

/** What is left of a program that could not be started. */
export const notStarted = (program: string, error: unknown): Outcome => {
  if (error instanceof NotStarted) return failed(errorInfo(error))
  const { code } = (error ?? {}) as { readonly code?: unknown }
  const tooLong = code === "E2BIG"
  const reason = tooLong ? "its arguments and environment are too long" : errorInfo(error).message
  const why = typeof code === "string" && !reason.includes(code) ? `${reason} (${code})` : reason
  // What is too long now is too long at the next attempt.
  return failed(errorInfo(new NotStarted(`Cannot start "${program}": ${why}`)), !tooLong)
}

/** The outcome of an attempt that was told to stop. */
export const stoppedOutcome = (program: string, why: StopReason): Outcome =>
  failed({
    name: "StopSignal",
    message: `"${program}" was stopped: ${why}`,
    kind: why === "timeout" ? "timeout" : "cancelled",
  })

const lastLineMax = 500
const stackMax = 4096

// Said in whatever it liked, so a text that is no span is no reason to fail otherwise.
const spanOf = (line: Line | null): number | null =>
  line === null || line.isCut ? null : Result.getOrElse(parseSpan("retry", line.text), () => null)

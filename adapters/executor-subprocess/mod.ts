// Runs programs, so that a job may be in any language: an argument array and never a shell, the input as JSON on
// stdin, an environment of what is named and nothing else, a process group of its own that is ended as a whole.
// POSIX systems only. A program gets no promise that a function does not get: an attempt may be done twice, and
// `UHRWERK_TOKEN` lets others refuse the earlier one.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { failed, type Outcome } from "../../core/domain/Outcome.ts"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Run } from "../../core/domain/Run.ts"
import { NonRetryable } from "../../core/domain/Signals.ts"
import { Executor, type Started, type StopReason } from "../../core/ports/Executor.ts"
import { type DescribedJob, type Task, workExecutor, type WorkRunner } from "../../core/ports/Executors.ts"
import { type Child, startChild } from "./Child.ts"
import { checkArguments, type Command } from "./Command.ts"
import { type Guardian, makeGuardian } from "./Guardian.ts"
import { makeListener } from "./Listener.ts"
import { notStarted, outcomeOf, stoppedOutcome } from "./outcome.ts"
import { checkFolder, environmentOf, findProgram, NotStarted } from "./Program.ts"

export { type Arguments, checkCommand, checkPrograms, type Command, type CommandOptions } from "./Command.ts"

/**
 * Between SIGTERM and SIGKILL when the run is handed back or was lost, at most, in milliseconds: another node may start
 * it again, half a second after a lost lease was noticed at the earliest.
 */
export const handBackGraceMillis = 500

/** To whom a runner speaks. */
export interface CommandRunnerOptions {
  /** Hears each line that is logged. */
  readonly log: (run: Run, line: string) => void
  /** Hears what goes wrong beside the attempts. */
  readonly report: (doing: string, error: unknown) => void
}

/** Runs commands. */
export const makeCommandRunner = (options: CommandRunnerOptions): WorkRunner<Command> => {
  const guardian = makeGuardian(options.report)
  const alive = new Map<string, Set<Attempt>>()
  let closed: Promise<void> | undefined

  const start = (command: Command, task: Task, done: (outcome: Outcome) => void): Started => {
    const { id } = task.run
    const before = [...(alive.get(id) ?? [])]
    const attempt = new Attempt(command, task, guardian, options.log, (outcome) => {
      const all = alive.get(id)
      all?.delete(attempt)
      if (all?.size === 0) alive.delete(id)
      done(outcome)
    })
    if (closed !== undefined) {
      done({ kind: "released" })
      return { stop: () => {} }
    }
    alive.set(id, new Set([...before, attempt]))
    // An earlier attempt that timed out may still be within its grace. Two at once is what nobody wants.
    for (const earlier of before) earlier.kill()
    if (before.length === 0) attempt.begin()
    else void Promise.all(before.map((earlier) => earlier.ended)).then(() => attempt.begin())
    return { stop: (reason) => attempt.stop(reason) }
  }

  const end = async (): Promise<void> => {
    const all = [...alive.values()].flatMap((attempts) => [...attempts])
    for (const attempt of all) attempt.stop("leaseLost")
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, closeMaxMillis)
    })
    await Promise.race([Promise.all(all.map((attempt) => attempt.ended)), late])
    clearTimeout(timer)
    guardian.close()
  }
  return { start, close: () => (closed ??= end()) }
}

/** How long a close waits for programs that SIGKILL does not end, such as one that waits for a disk. */
const closeMaxMillis = 3000

/** An executor of commands; its programs end with the layer. */
export const layerSubprocess = (
  commands: ReadonlyMap<string, DescribedJob<Command>>,
  options: CommandRunnerOptions,
): Layer.Layer<Executor> =>
  Layer.effect(
    Executor,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => makeCommandRunner(options)),
        (runner) => Effect.promise(() => runner.close()),
      ),
      (runner) => workExecutor(runner, commands),
    ),
  )

/** One attempt: not begun, running, or ended. */
class Attempt {
  /** Done when nothing of it is left. */
  readonly ended: Promise<void>
  readonly #command: Command
  readonly #task: Task
  readonly #guardian: Guardian
  readonly #log: CommandRunnerOptions["log"]
  readonly #done: (outcome: Outcome) => void
  #resolve: () => void = () => {}
  #child: Child | undefined
  #stopped: StopReason | null = null
  #over = false

  constructor(
    command: Command,
    task: Task,
    guardian: Guardian,
    log: CommandRunnerOptions["log"],
    done: (outcome: Outcome) => void,
  ) {
    this.#command = command
    this.#task = task
    this.#guardian = guardian
    this.#log = log
    this.#done = done
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  begin(): void {
    const command = this.#command
    const { run, input } = this.#task
    if (this.#stopped !== null) return this.#finish(stoppedOutcome(command.program, this.#stopped))
    const listener = makeListener(
      command,
      (line) => this.#log(run, line),
      () => this.#child?.stop(0),
    )
    try {
      const { path, args } = prepare(command, input)
      this.#child = startChild({
        path,
        args,
        cwd: command.cwd,
        env: environmentOf(command, run),
        input,
        guardian: this.#guardian,
        onStdout: listener.stdout,
        onStderr: listener.stderr,
        onEnd: (end) => {
          const remains = listener.end(end.kind === "exit" && end.code === 0)
          this.#finish(outcomeOf(command, { end, ...remains, stopped: this.#stopped }))
        },
      })
    } catch (error) {
      this.#finish(error instanceof BadArguments ? error.outcome : notStarted(command.program, error))
    }
  }

  stop(reason: StopReason): void {
    this.#stopped ??= reason
    const { killGraceMillis } = this.#command
    const isHandedOn = reason === "drain" || reason === "leaseLost"
    this.#child?.stop(isHandedOn ? Math.min(killGraceMillis, handBackGraceMillis) : killGraceMillis)
  }

  kill(): void {
    this.#stopped ??= "leaseLost"
    this.#child?.stop(0)
  }

  #finish(outcome: Outcome): void {
    if (this.#over) return
    this.#over = true
    this.#resolve()
    this.#done(outcome)
  }
}

// Arguments that cannot be made of this input: what its function threw, or what it answered.
class BadArguments extends Error {
  readonly outcome: Outcome

  constructor(outcome: Outcome) {
    super("The arguments cannot be made")
    this.outcome = outcome
  }
}

const prepare = (command: Command, input: string): { path: string; args: ReadonlyArray<string> } => {
  if (process.platform === "win32")
    throw new NotStarted(`Cannot start "${command.program}": programs are run on POSIX systems only`)
  const args = argumentsOf(command, input)
  checkFolder(command)
  return { path: findProgram(command.program), args }
}

const argumentsOf = ({ program, args }: Command, input: string): ReadonlyArray<string> => {
  if (typeof args !== "function") return args
  let made: unknown
  try {
    made = args(JSON.parse(input))
  } catch (error) {
    throw new BadArguments(failed(errorInfo(error), !(error instanceof NonRetryable)))
  }
  const checked = checkArguments(`arguments of "${program}"`, made)
  if (Result.isSuccess(checked)) return checked.success
  throw new BadArguments(failed(errorInfo(checked.failure, "payload"), false))
}

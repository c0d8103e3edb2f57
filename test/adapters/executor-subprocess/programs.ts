// Commands for tests, and what is alive of what they started.
import { execFileSync } from "node:child_process"
import * as Result from "effect/Result"
import { checkCommand, type Command, type CommandOptions } from "../../../adapters/executor-subprocess/mod.ts"
import { makeCommandRunner } from "../../../adapters/executor-subprocess/mod.ts"
import type { Outcome } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import type { Started } from "../../../core/ports/Executor.ts"

/** A checked command; every program may run. */
export const command = (program: string, args: Command["args"] = [], options: CommandOptions = {}): Command =>
  Result.getOrThrow(checkCommand("job", program, args, options, [program]))

/** A script of the system's shell. */
export const script = (text: string, options: CommandOptions = {}, ...args: ReadonlyArray<string>): Command =>
  command("/bin/sh", ["-c", text, "script", ...args], options)

export const runOf = (id = "r1", fields: Partial<Run> = {}): Run =>
  ({
    id,
    job: "report",
    attempt: 2,
    attemptMax: 3,
    token: 7,
    dueAt: 1_800_000_000_000,
    nominalAt: null,
    ...fields,
  }) as Run

export interface Watched {
  readonly started: Started
  readonly outcome: Promise<Outcome>
}

/** A runner, and what it said. */
export const open = () => {
  const lines: Array<string> = []
  const troubles: Array<string> = []
  const runner = makeCommandRunner({
    log: (_run, line) => lines.push(line),
    report: (doing, error) => troubles.push(`${doing}: ${String(error)}`),
  })
  const start = (spec: Command, input = "null", run: Run = runOf()): Watched => {
    const end: { resolve: (outcome: Outcome) => void } = { resolve: () => {} }
    const outcome = new Promise<Outcome>((resolve) => {
      end.resolve = resolve
    })
    return { started: runner.start(spec, { run, input }, (each) => end.resolve(each)), outcome }
  }
  return { runner, lines, troubles, start }
}

interface Process {
  readonly pid: number
  readonly parent: number
  readonly stat: string
  readonly args: string
}

const processes = (): ReadonlyArray<Process> =>
  execFileSync("ps", ["-e", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8", maxBuffer: 64_000_000 })
    .split("\n")
    .flatMap((line) => {
      const [, pid, parent, stat = "", args = ""] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), stat, args }]
    })

/** Programs, and no zombies, whose arguments hold this text. */
export const aliveWith = (text: string): ReadonlyArray<Process> =>
  processes().filter(({ args, stat }) => args.includes(text) && !stat.startsWith("Z"))

/** Children of a process, also zombies. */
export const childrenOf = (pid: number): ReadonlyArray<Process> =>
  processes().filter(({ parent, args }) => parent === pid && !args.startsWith("ps -e"))

/** Waits until this holds; fails after five seconds. */
export const until = async (what: string, holds: () => boolean): Promise<void> => {
  for (const end = performance.now() + 5000; !holds();) {
    if (performance.now() > end) throw new Error(`Not within 5 s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

// Starts the worker under test, in a process group of its own, and ends it whatever happens. Its last lines of output
// are kept for people.
import { type ChildProcess, spawn } from "node:child_process"

/** How a process ended: a code, or the signal that ended it. */
export interface Exit {
  readonly code: number | null
  readonly signal: string | null
}

/** A worker that was started. */
export interface Started {
  readonly pid: number | null
  /** Asks it to stop, as a service manager would. */
  readonly terminate: () => void
  /** Ends it and all that it started, at once. */
  readonly kill: () => void
  readonly exited: Promise<Exit>
  /** The last lines that it wrote. */
  readonly output: () => ReadonlyArray<string>
}

/** Starts a worker with these variables added to its environment. */
export type Launch = (env: Readonly<Record<string, string>>) => Started

const outputMax = 4_096
const linesMax = 8

const running = new Set<ChildProcess>()

/** Ends every worker that is still there. */
export const killAll = (): void => {
  for (const child of running) killGroup(child, "SIGKILL")
}
process.on("exit", killAll)

/** Starts a program, without a shell. */
export const launchCommand =
  (words: ReadonlyArray<string>, cwd?: string): Launch =>
  (env) => {
    const [program = "", ...args] = words
    const child = spawn(program, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, NO_COLOR: "1", ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    })
    running.add(child)
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-outputMax)
      })
    const exited = new Promise<Exit>((resolve) => {
      const end = (exit: Exit): void => {
        // What it started and left behind is ended too.
        killGroup(child, "SIGKILL")
        running.delete(child)
        resolve(exit)
      }
      child.on("error", (error) => {
        output += `${error.message}\n`
        if (child.pid === undefined) end({ code: 127, signal: null })
      })
      child.on("exit", (code, signal) => end({ code, signal }))
    })
    return {
      pid: child.pid ?? null,
      terminate: () => killGroup(child, "SIGTERM"),
      kill: () => killGroup(child, "SIGKILL"),
      exited,
      output: () => output.trimEnd().split("\n").slice(-linesMax),
    }
  }

const killGroup = ({ pid }: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void => {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody is left in it.
  }
}

/** The words of a command, as a shell would split them: blanks part them, quotes keep them together. */
export const wordsOf = (command: string): ReadonlyArray<string> | null => {
  const words: Array<string> = []
  let rest = command.trim()
  while (rest !== "") {
    const word = /^(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/.exec(rest)?.[0]
    // A quote without an end.
    if (word === undefined) return null
    words.push(
      word.replace(
        /\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
        (_, one?: string, two?: string, three?: string) =>
          one ?? (two === undefined ? (three ?? "") : two.replace(/\\(["\\])/g, "$1")),
      ),
    )
    rest = rest.slice(word.length)
    if (rest !== "" && !/^\s/.test(rest)) return null
    rest = rest.trimStart()
  }
  return words.length === 0 ? null : words
}

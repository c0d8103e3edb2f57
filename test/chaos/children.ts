// Real processes for the suites that need them: each is started with one of the three runtimes' own binaries,
// heard line by line, signalled by its own pid only, and ended at the latest when its test ends.
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The root of the repository. */
export const root = fileURLToPath(new URL("../..", import.meta.url))

/** The three runtimes. */
export type RuntimeName = "node" | "bun" | "deno"

/** What starts a script of this repository. */
export type ProgramName = RuntimeName | "python"

/** How a script is started: the binary itself, never a wrapper, or a kill would hit the wrapper. */
export const commandOf = (runtime: ProgramName): ReadonlyArray<string> => {
  if (runtime === "python") return ["python3", "-u"]
  const bin = (name: string): string => join(root, "node_modules", ".bin", name)
  if (runtime === "bun") return [bin("bun")]
  if (runtime === "deno") return [bin("deno"), "run", "-A"]
  return [process.versions["bun"] || process.versions["deno"] ? bin("node") : process.execPath]
}

/** All runtimes that are installed here. */
export const runtimes: ReadonlyArray<RuntimeName> = (["node", "bun", "deno"] as const).filter((runtime) =>
  existsSync(commandOf(runtime)[0] ?? ""),
)

/** Whether Python is. */
export const hasPython = spawnSync("python3", ["--version"]).status === 0

/** A started process. */
export interface Child {
  readonly pid: number
  /** Everything that it wrote so far, to stdout and stderr. */
  readonly output: () => string
  readonly stdout: () => string
  /** Waits until its output has this; throws, with the output, when it ends or the time is over before. */
  readonly until: (pattern: RegExp, millis?: number) => Promise<void>
  readonly signal: (signal: NodeJS.Signals) => void
  /** Waits for its end; answers its exit code, or the signal that ended it. */
  readonly ended: (millis?: number) => Promise<number | NodeJS.Signals>
  /** Closes our end of its stdout, as `| head` does. */
  readonly stopReading: () => void
}

/** Starts a script of this repository, in its root: Deno finds its import map there. */
export type Start = (runtime: ProgramName, args: ReadonlyArray<string>) => Child

const startIn = (alive: Set<ChildProcess>, runtime: ProgramName, args: ReadonlyArray<string>): Child => {
  const [command = "", ...before] = commandOf(runtime)
  const child = spawn(command, [...before, ...args], { cwd: root, stdio: ["ignore", "pipe", "pipe"] })
  alive.add(child)
  let stdout = ""
  let output = ""
  const listeners = new Set<() => void>()
  const changed = (): void => listeners.forEach((listener) => listener())
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text
    output += text
    changed()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output += text
    changed()
  })
  let end: number | NodeJS.Signals | undefined
  child.on("close", (code, signal) => {
    alive.delete(child)
    end = code ?? signal ?? -1
    changed()
  })

  const wait = <A>(what: string, look: () => A | undefined, millis: number): Promise<A> =>
    new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer)
        listeners.delete(check)
        settle()
      }
      const fail = (why: string): void =>
        finish(() => reject(new Error(`${args.join(" ")} on ${runtime}: ${what} ${why}. Output:\n${output}`)))
      const check = (): void => {
        const found = look()
        if (found !== undefined) finish(() => resolve(found))
        else if (end !== undefined) fail(`did not come before the end (${end})`)
      }
      const timer = setTimeout(() => fail(`did not come within ${millis} ms`), millis)
      listeners.add(check)
      check()
    })
  return {
    pid: child.pid ?? -1,
    output: () => output,
    stdout: () => stdout,
    until: (pattern, millis = 20_000) =>
      wait(String(pattern), () => (pattern.test(output) ? true : undefined), millis).then(() => {}),
    signal: (signal) => void child.kill(signal),
    ended: (millis = 20_000) => wait("the end", () => end, millis),
    stopReading: () => child.stdout.destroy(),
  }
}

const endAll = async (children: Iterable<ChildProcess>): Promise<void> => {
  await Promise.all(
    [...children].map(
      (child) =>
        new Promise<void>((resolve) => {
          child.once("exit", () => resolve())
          child.kill("SIGKILL")
          if (child.exitCode !== null || child.signalCode !== null) resolve()
        }),
    ),
  )
}

/** Runs `body` in a fresh folder, which is removed afterwards; the processes that it started are ended before. */
export const inFolder = async (body: (folder: string, start: Start) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-chaos-"))
  const alive = new Set<ChildProcess>()
  try {
    await body(folder, (runtime, args) => startIn(alive, runtime, args))
  } finally {
    await endAll(alive)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits; in real time, as these suites must. */
export const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** Waits until `look` answers something; throws when that takes too long. */
export const eventually = async <A>(
  what: string,
  look: () => A | undefined | Promise<A | undefined>,
  millis = 10_000,
): Promise<A> => {
  const until = performance.now() + millis
  while (true) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > until) throw new Error(`${what}: not within ${millis} ms`)
    await pause(20)
  }
}

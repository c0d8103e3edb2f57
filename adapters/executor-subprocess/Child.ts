// One started program: its process group, its input, what it says, and its end. The end is told once, when nothing of
// the group is left and all that it wrote is read; what is left of the group when the program itself ends is killed.
import { type ChildProcess, spawn } from "node:child_process"
import type { Guardian } from "./Guardian.ts"

/** How a program ended. */
export type End =
  | { readonly kind: "exit"; readonly code: number }
  | { readonly kind: "signal"; readonly signal: string }
  /** It never ran. */
  | { readonly kind: "error"; readonly error: unknown }

/** What is started. */
export interface ChildOptions {
  readonly path: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string | undefined
  readonly env: Readonly<Record<string, string>>
  /** What it reads on stdin. */
  readonly input: string
  readonly guardian: Guardian
  readonly onStdout: (chunk: Uint8Array) => void
  readonly onStderr: (chunk: Uint8Array) => void
  /** Called once, possibly before `startChild` returns. */
  readonly onEnd: (end: End) => void
}

/** A started program. */
export interface Child {
  /** SIGTERM to its group, and SIGKILL after `graceMillis`; 0: SIGKILL at once. */
  readonly stop: (graceMillis: number) => void
}

/** How long what a program wrote is read after its end, when something that left its group holds its pipes. */
const lingerMillis = 500

/** Starts a program in a process group of its own. Never throws. */
export const startChild = (options: ChildOptions): Child => {
  const { guardian, onEnd } = options
  let child: ChildProcess
  try {
    child = spawn(options.path, [...options.args], {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...options.env },
      // A group of its own, so that a signal reaches all that it starts.
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    })
  } catch (error) {
    // Node and Bun throw some failures (arguments that are too long) that Deno reports as an event.
    onEnd({ kind: "error", error })
    return { stop: () => {} }
  }
  const group = child.pid
  let end: End | undefined
  let over = false
  let killer: ReturnType<typeof setTimeout> | undefined
  let linger: ReturnType<typeof setTimeout> | undefined

  const finish = (): void => {
    if (over || end === undefined) return
    over = true
    clearTimeout(killer)
    clearTimeout(linger)
    if (group !== undefined) guardian.forget(group)
    onEnd(end)
  }
  const exited = (how: End): void => {
    if (end !== undefined) return
    end = how
    // While one of its members is alive, no other group has this number.
    if (group !== undefined) signalGroup(group, "SIGKILL")
    linger = setTimeout(() => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
      finish()
    }, lingerMillis)
  }

  child.on("error", (error) => {
    // Of a program that runs it says that a signal did not reach it, which its end will show.
    if (group === undefined) exited({ kind: "error", error })
  })
  child.on("exit", (code, signal) => exited(endOf(code, signal)))
  child.on("close", (code, signal) => {
    // After an error no exit is told.
    exited(endOf(code, signal))
    finish()
  })
  // A program need not read its input.
  child.stdin?.on("error", () => {})
  for (const [stream, hear] of [
    [child.stdout, options.onStdout],
    [child.stderr, options.onStderr],
  ] as const) {
    stream?.on("data", hear)
    stream?.on("error", () => {})
  }
  if (group !== undefined) guardian.note(group)
  child.stdin?.end(options.input)

  return {
    stop: (graceMillis) => {
      if (end !== undefined || group === undefined) return
      clearTimeout(killer)
      if (graceMillis > 0) {
        signalGroup(group, "SIGTERM")
        killer = setTimeout(() => signalGroup(group, "SIGKILL"), graceMillis)
      } else signalGroup(group, "SIGKILL")
    },
  }
}

const endOf = (code: number | null, signal: string | null): End =>
  code === null ? { kind: "signal", signal: signal ?? "unknown" } : { kind: "exit", code }

const signalGroup = (group: number, signal: "SIGTERM" | "SIGKILL"): void => {
  try {
    process.kill(-group, signal)
  } catch {
    // Nobody is left in it.
  }
}

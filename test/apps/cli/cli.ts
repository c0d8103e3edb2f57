// Runs the command line: in this process, which takes a moment, or as a process of its own, as a person does.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { vi } from "vitest"
import { main } from "../../../apps/cli/main.ts"

const root = new URL("../../../", import.meta.url)

/** The address of a module of this repository, for configs in folders where no package is installed. */
export const moduleUrl = (path: string): string => new URL(path, root).href

/** What a command did. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `uhrwerk ...args` in this process, in the folder `cwd`; one at a time. */
export const inProcess = async (args: ReadonlyArray<string>, cwd: string): Promise<Ended> => {
  const before = process.cwd()
  const listeners = process.stdout.listeners("error")
  let stdout = ""
  let stderr = ""
  vi.spyOn(console, "log").mockImplementation((line: string) => void (stdout += `${line}\n`))
  vi.spyOn(console, "error").mockImplementation((line: string) => void (stderr += `${line}\n`))
  process.chdir(cwd)
  try {
    await main(args)
    return { code: Number(process.exitCode ?? 0), stdout, stderr }
  } finally {
    process.exitCode = undefined
    process.chdir(before)
    for (const each of process.stdout.listeners("error"))
      if (!listeners.includes(each)) process.stdout.off("error", each as () => void)
    vi.restoreAllMocks()
  }
}

/**
 * Runs it as a process; `first` closes the reading end of its output after the first piece, `until` sends SIGTERM
 * when the output is so far.
 */
export const cli = (
  args: ReadonlyArray<string>,
  options: {
    readonly cwd: string
    readonly env?: Readonly<Record<string, string>>
    readonly script?: "main.ts" | "bin.js"
    readonly first?: boolean
    readonly until?: RegExp
  },
): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const { UHRWERK_STORAGE: _, NO_COLOR: __, FORCE_COLOR: ___, ...env } = process.env
    const script = fileURLToPath(new URL(`apps/cli/${options.script ?? "main.ts"}`, root))
    const child = spawn(process.execPath, [script, ...args], {
      cwd: options.cwd,
      env: { ...env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    })
    let stdout = ""
    let stderr = ""
    let stopped = false
    child.stdout.on("data", (data: Buffer) => {
      stdout += String(data)
      if (options.first === true) child.stdout.destroy()
      if (!stopped && options.until?.test(stdout) === true) stopped = child.kill("SIGTERM")
    })
    child.stderr.on("data", (data: Buffer) => (stderr += String(data)))
    child.on("error", reject)
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })

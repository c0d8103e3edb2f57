// The script of the cases as a process of its own, on the runtime that the tests run on.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("run.ts", import.meta.url))

/** Its lines, and its exit code. */
export const runScript = (
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ lines: string[]; code: number }> =>
  new Promise((resolve) => {
    const before = process.versions["deno"] === undefined ? [] : ["run", "-A"]
    const options = { env: { ...process.env, ...env }, timeout: 60_000 }
    execFile(process.execPath, [...before, script, ...words], options, (error, stdout) => {
      const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1
      resolve({ lines: stdout.trimEnd().split("\n"), code })
    })
  })

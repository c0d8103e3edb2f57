// What a parsed schedule weighs: the growth of the heap of a process of its own that keeps many, all distinct.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { BySide } from "./answers.ts"
import type { Options } from "./options.ts"
import { type SideName, sideNames } from "./sides.ts"

/** Bytes of each parsed schedule with its text, and how many were kept; a peer's objects are fewer, for their weight. */
export interface Memory {
  readonly bytesEach: BySide
  readonly counts: BySide
}

const limitMillis = 300_000

/** Measures one side after the other. */
export const measureMemory = async (options: Options, progress: (text: string) => void): Promise<Memory> => {
  const bytesEach = { ours: 0, croner: 0, cronParser: 0 }
  const counts = { ours: options.parsed, croner: options["parsed-peer"], cronParser: options["parsed-peer"] }
  for (const side of sideNames) {
    progress(`memory of ${counts[side]} parsed schedules: ${side}`)
    bytesEach[side] = await measureSide(side, counts[side])
  }
  return { bytesEach, counts }
}

const measureSide = async (side: SideName, count: number): Promise<number> => {
  const child = fileURLToPath(new URL("memory.child.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...runtimeArgs(), child, side, String(count)],
    { timeout: limitMillis },
  )
  const said = JSON.parse(stdout) as { readonly count: number; readonly bytesEach: number }
  if (said.count !== count) throw new Error(`The process kept ${said.count} schedules, not ${count}`)
  return said.bytesEach
}

// Bun's collector can always be called; the others must be told.
const runtimeArgs = (): ReadonlyArray<string> => {
  if (process.versions["deno"] !== undefined) return ["run", "-A", "--v8-flags=--expose-gc"]
  return process.versions["bun"] === undefined ? ["--expose-gc"] : []
}

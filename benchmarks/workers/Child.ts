// The processes of this benchmark, all on Node: each answers lines of JSON with lines of JSON, one at a time, and ends when
// its input does.
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { within } from "../common/meter.ts"

/** What a process has used so far; memory as it is. */
export interface Used {
  readonly cpuMicros: number
  readonly rssMib: number
  readonly heapMib: number
}

/** What is asked of a process: one of its handlers by name, and what that needs. */
export type Question = Readonly<Record<string, unknown>> & { readonly do: string }

/** A process that does what it is asked. */
export interface Child {
  readonly ask: <Answer>(question: Question) => Promise<Answer>
  readonly used: () => Promise<Used>
  readonly end: () => Promise<void>
}

const node = fileURLToPath(new URL("../../node_modules/.bin/node", import.meta.url))
const limitMillis = 300_000

/** Starts one. */
export const startChild = (
  file: "server.child.ts" | "load.child.ts",
  ...args: ReadonlyArray<string>
): Child => startChildAt(new URL(file, import.meta.url), ...args)

/** Starts one of another benchmark. */
export const startChildAt = (address: URL, ...args: ReadonlyArray<string>): Child => {
  const path = fileURLToPath(address)
  const file = path.slice(path.lastIndexOf("/") + 1)
  // Its garbage is collected before its memory is looked at.
  const child = spawn(node, ["--expose-gc", path, ...args], { stdio: ["pipe", "pipe", "inherit"] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async <Answer>(question: Question): Promise<Answer> => {
    child.stdin.write(`${JSON.stringify(question)}\n`)
    const { value, done } = await within(limitMillis, `An answer of ${file} to ${question.do}`, lines.next())
    if (done === true) throw new Error(`${file} has ended`)
    const answer = JSON.parse(value) as { readonly error?: string }
    if (answer.error !== undefined) throw new Error(`${file}, ${question.do}: ${answer.error}`)
    return answer as Answer
  }
  return { ask, used: () => ask<Used>({ do: "used" }), end: () => endOf(child) }
}

const endOf = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
  })
  child.stdin?.end()
  const timer = setTimeout(() => child.kill("SIGKILL"), 5_000)
  await ended
  clearTimeout(timer)
}

/** The other side: answers each question with what the handler of its `do` says. */
export const answerAll = async (
  handlers: Readonly<Record<string, (question: any) => unknown>>,
): Promise<void> => {
  const all = { ...handlers, used }
  for await (const line of createInterface({ input: process.stdin })) {
    const question = JSON.parse(line) as { readonly do: string }
    try {
      const answer = await (all as typeof handlers)[question.do]?.(question)
      console.log(JSON.stringify(answer ?? {}))
    } catch (error) {
      console.log(
        JSON.stringify({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      )
    }
  }
  process.exit(0)
}

const used = ({ collect = false }: { readonly collect?: boolean }): Used => {
  const { gc } = globalThis as unknown as { readonly gc: () => void }
  if (collect) for (let pass = 0; pass < 3; pass++) gc()
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return { cpuMicros: user + system, rssMib: rss / 2 ** 20, heapMib: heapUsed / 2 ** 20 }
}

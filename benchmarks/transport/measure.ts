// Measures the servers in turn: each in a process of its own, the load in another.
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { within } from "../common/meter.ts"
import { median, rounded } from "../common/statistics.ts"
import { type Contender, contenders, nameOf, type RuntimeName } from "./contenders.ts"
import type { FigureName, Options } from "./options.ts"

/** What a load says. */
export interface Load {
  readonly count: number
  readonly wallMillis: number
  /** Of one message or request, from its sending to its answer. */
  readonly p50Micros: number
}

/** What one figure of one server is: medians of its rounds, and the best CPU time. */
export interface Cost {
  readonly perSecond: number
  readonly p50Micros: number
  /** User and system time of the server's process, all threads, for one message there and back, or one request. */
  readonly cpuMicros: number
  readonly cpuMicrosBest: number
  readonly cpuRounds: ReadonlyArray<number>
}

/** A server, measured. */
export interface Measured extends Contender {
  readonly name: string
  readonly figures: Partial<Record<FigureName, Cost>>
  /** Of the process after the last load of a round; the median. */
  readonly rssMib: number
}

interface Used {
  readonly cpuMicros: number
  readonly rssMib: number
}
interface Round extends Load {
  readonly cpuMicros: number
}

const limitMillis = 300_000
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const programOf = (runtime: RuntimeName): string =>
  fileURLToPath(new URL(`../../node_modules/.bin/${runtime}`, import.meta.url))
const commandOf = (runtime: RuntimeName, file: string): [string, Array<string>] => [
  programOf(runtime),
  [...(runtime === "deno" ? ["run", "-A"] : []), here(file)],
]

/** Measures all; what went wrong is added to `troubles`. */
export const measureAll = async (
  options: Options,
  progress: (text: string) => void,
  troubles: Array<string>,
): Promise<ReadonlyArray<Measured>> => {
  const rounds = new Map(contenders.map((each) => [each, new Map<FigureName, Array<Round>>()]))
  const sizes = new Map(contenders.map((each) => [each, new Array<number>()]))
  for (let round = 0; round < options.rounds; round++) {
    for (const contender of round % 2 === 0 ? contenders : [...contenders].reverse()) {
      progress(`${nameOf(contender)}, round ${round + 1} of ${options.rounds}`)
      try {
        const { figures, rssMib } = await measureOne(contender, options)
        for (const [figure, cost] of figures) {
          const found = rounds.get(contender)
          found?.set(figure, [...(found.get(figure) ?? []), cost])
        }
        sizes.get(contender)?.push(rssMib)
      } catch (error) {
        troubles.push(`${nameOf(contender)}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  return contenders.map((contender) => ({
    ...contender,
    name: nameOf(contender),
    figures: Object.fromEntries(
      [...(rounds.get(contender) ?? [])].map(([figure, found]) => [figure, costOf(found)]),
    ),
    rssMib: rounded(median(sizes.get(contender) ?? [])),
  }))
}

/** Medians of some rounds, and their best CPU time. */
export const costOf = (found: ReadonlyArray<Round>): Cost => {
  const cpuRounds = found.map(({ cpuMicros, count }) => rounded(cpuMicros / count))
  return {
    perSecond: Math.round(median(found.map(({ count, wallMillis }) => (count * 1_000) / wallMillis))),
    p50Micros: rounded(median(found.map(({ p50Micros }) => p50Micros))),
    cpuMicros: rounded(median(cpuRounds)),
    cpuMicrosBest: Math.min(...cpuRounds),
    cpuRounds,
  }
}

const measureOne = async (
  { runtime, kind, side }: Contender,
  options: Options,
): Promise<{ readonly figures: ReadonlyMap<FigureName, Round>; readonly rssMib: number }> => {
  const [program, args] = commandOf(runtime, "server.child.ts")
  const server = spawn(program, [...args, kind, side], { stdio: ["pipe", "pipe", "inherit"] })
  const said = createInterface({ input: server.stdout })[Symbol.asyncIterator]()
  const line = async <A>(): Promise<A> => {
    const { value, done } = await within(limitMillis, "an answer of the server", said.next())
    if (done === true) throw new Error("the server has ended")
    return JSON.parse(value) as A
  }
  const used = (): Promise<Used> => {
    server.stdin.write("\n")
    return line()
  }
  try {
    const { url } = await line<{ readonly url: string }>()
    const figures = new Map<FigureName, Round>()
    let rssMib = 0
    for (const figure of options.only) {
      const sized = sizesOf(figure, options)
      // Code that runs for the first time is compiled first.
      await load(figure, url, [Math.ceil(sized[0] / 5), sized[1], sized[2]])
      const before = await used()
      const measured = await load(figure, url, sized)
      const after = await used()
      rssMib = after.rssMib
      figures.set(figure, { ...measured, cpuMicros: after.cpuMicros - before.cpuMicros })
    }
    return { figures, rssMib }
  } finally {
    await end(server)
  }
}

const sizesOf = (figure: FigureName, options: Options): [number, number, number] => {
  const { messages, connections, window, single, requests } = options
  if (figure === "single") return [single, 1, 1]
  return figure === "echo" ? [messages, connections, window] : [requests, connections, 1]
}

const load = async (figure: FigureName, url: string, sizes: ReadonlyArray<number>): Promise<Load> => {
  const [program, args] = commandOf("node", "load.child.ts")
  const { stdout } = await promisify(execFile)(program, [...args, figure, url, ...sizes.map(String)], {
    timeout: limitMillis,
  })
  return JSON.parse(stdout) as Load
}

const end = async (server: ChildProcess): Promise<void> => {
  const ended = new Promise<void>((resolve) => {
    server.once("exit", () => resolve())
  })
  if (server.exitCode !== null) return
  server.stdin?.end()
  const timer = setTimeout(() => server.kill("SIGKILL"), 2_000)
  await ended
  clearTimeout(timer)
}

// Measures the sides: each in a process of its own, in turn, the order reversed in each round.
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Measured } from "./measured.ts"
import type { Request } from "./one.child.ts"
import type { FigureName, Options } from "./options.ts"
import { type SideName, sideNames } from "./sides.ts"

/** What each side's processes told, a round each. */
export type Rounds = ReadonlyMap<SideName, ReadonlyArray<Measured>>

const limitMillis = 300_000

/** Measures those that are asked for; what went wrong is added to `troubles`. */
export const measureSides = async (
  folder: string,
  options: Options,
  progress: (text: string) => void,
  troubles: Array<string>,
): Promise<Rounds> => {
  const asked = options.sides.split(",")
  const names = sideNames.filter((name) => asked.includes(name))
  const rounds = new Map<SideName, Array<Measured>>(names.map((name) => [name, []]))
  for (let round = 0; round < options.rounds; round++) {
    for (const side of round % 2 === 0 ? names : names.toReversed()) {
      progress(`round ${round + 1} of ${options.rounds}: ${side}`)
      // Waiting for delayed jobs is most of what it takes, and of them there are enough in one round.
      const figures = [...options.only].filter((figure) => figure !== "lateness" || round === 0)
      try {
        const measured = await measureOne(folder, side, figures, options, `r${round}`)
        rounds.get(side)?.push(measured)
        troubles.push(...measured.troubles.map((trouble) => `${side}, round ${round + 1}: ${trouble}`))
      } catch (error) {
        troubles.push(
          `${side}, round ${round + 1}: ${error instanceof Error ? error.message : String(error)}`,
        )
      }
    }
  }
  return rounds
}

const measureOne = async (
  folder: string,
  side: SideName,
  figures: ReadonlyArray<FigureName>,
  options: Options,
  round: string,
): Promise<Measured> => {
  const { runs, single, inflight, samples, delayed, spread, concurrency } = options
  const request: Request = {
    side,
    figures,
    place: {
      postgres: options.postgres,
      redis: options.redis,
      // Of this process, so that two that run at a time do not meet.
      name: `uhrwerk_bench_${process.pid}_${round}`,
      folder,
      concurrency,
    },
    sizes: { runs, single, inflight, samples, delayed, spread },
  }
  const child = fileURLToPath(new URL("one.child.ts", import.meta.url))
  const runtimeArgs = process.versions["deno"] === undefined ? [] : ["run", "-A"]
  const args = [...runtimeArgs, child, JSON.stringify(request)]
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    timeout: limitMillis,
    maxBuffer: 64 * 2 ** 20,
  })
  // Packages may write to stdout as well; ours is the last line.
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Measured
}

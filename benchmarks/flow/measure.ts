// Measures the shapes: each flow in a process of its own, small and large in turn.
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { rounded } from "../common/statistics.ts"
import type { Turns } from "../common/turns.ts"
import type { Options } from "./options.ts"
import { type ShapeName, shapeNames } from "./shapes.ts"

/** What the process of one flow says. */
export interface Measured {
  readonly steps: number
  /** Needs of all steps together. */
  readonly edges: number
  /** From the call of `send` until its result is there. */
  readonly wallMillis: number
  readonly cpuMillis: number
  /** From the call of `start()`: the flow is checked, the file opened. */
  readonly startMillis: number
  readonly eventLoop: Turns
  /** Of the process, before the flow run and at its largest during it. */
  readonly rssBeforeMib: number
  readonly rssPeakMib: number
  readonly troubles: ReadonlyArray<string>
}

/** A flow of one size: of its rounds, the best of each figure. */
export interface Cost extends Omit<Measured, "troubles"> {
  readonly wallMicrosPerStep: number
  readonly cpuMicrosPerStep: number
  readonly wallRounds: ReadonlyArray<number>
}

/** A shape in both sizes; a ratio is how often the small one's goes into the large one's. */
export interface Comparison {
  readonly shape: ShapeName
  readonly small: Cost
  readonly large: Cost
  readonly ratio: { readonly steps: number; readonly wall: number; readonly cpu: number }
}

const limitMillis = 900_000

/** Measures the shapes that are asked for; what went wrong is added to `troubles`. */
export const measureShapes = async (
  folder: string,
  options: Options,
  progress: (text: string) => void,
  troubles: Array<string>,
): Promise<ReadonlyArray<Comparison>> => {
  const { only, rounds, small, large, slots } = options
  const comparisons: Array<Comparison> = []
  for (const shape of shapeNames.filter((name) => only.has(name))) {
    const found = new Map<number, Array<Measured>>([
      [small, []],
      [large, []],
    ])
    for (let round = 0; round < rounds; round++) {
      for (const size of round % 2 === 0 ? [small, large] : [large, small]) {
        progress(`${shape} of ${size} steps, round ${round + 1} of ${rounds}`)
        const measured = await measureOne(folder, shape, size, slots)
        found.get(size)?.push(measured)
        troubles.push(...measured.troubles.map((trouble) => `${shape} of ${size} steps: ${trouble}`))
      }
    }
    const [ofSmall, ofLarge] = [costOf(found.get(small) ?? []), costOf(found.get(large) ?? [])]
    const ratio = {
      steps: rounded(large / small),
      wall: rounded(ofLarge.wallMillis / ofSmall.wallMillis),
      cpu: rounded(ofLarge.cpuMillis / ofSmall.cpuMillis),
    }
    comparisons.push({ shape, small: ofSmall, large: ofLarge, ratio })
  }
  return comparisons
}

const measureOne = async (
  folder: string,
  shape: ShapeName,
  size: number,
  slots: number,
): Promise<Measured> => {
  const own = mkdtempSync(join(folder, `${shape}-`))
  const child = fileURLToPath(new URL("one.child.ts", import.meta.url))
  const runtimeArgs = process.versions["deno"] === undefined ? [] : ["run", "-A"]
  try {
    const args = [...runtimeArgs, child, shape, String(size), String(slots), own]
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: limitMillis })
    return JSON.parse(stdout) as Measured
  } finally {
    rmSync(own, { recursive: true, force: true })
  }
}

/** The best of some rounds: what a machine that does other work adds is in the others. */
export const costOf = (rounds: ReadonlyArray<Measured>): Cost => {
  const best = (valueOf: (round: Measured) => number): number => Math.min(...rounds.map(valueOf))
  const [{ steps, edges } = { steps: 0, edges: 0 }] = rounds
  const [wallMillis, cpuMillis] = [best((each) => each.wallMillis), best((each) => each.cpuMillis)]
  return {
    steps,
    edges,
    wallMillis,
    cpuMillis,
    startMillis: best((each) => each.startMillis),
    eventLoop: {
      p50Millis: best((each) => each.eventLoop.p50Millis),
      p99Millis: best((each) => each.eventLoop.p99Millis),
      maxMillis: best((each) => each.eventLoop.maxMillis),
    },
    rssBeforeMib: best((each) => each.rssBeforeMib),
    rssPeakMib: best((each) => each.rssPeakMib),
    wallMicrosPerStep: rounded((wallMillis * 1000) / steps),
    cpuMicrosPerStep: rounded((cpuMillis * 1000) / steps),
    wallRounds: rounds.map((each) => each.wallMillis),
  }
}

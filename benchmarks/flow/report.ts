// From figures to what is said: aims, one document, and a table for people.
import type { Environment } from "../common/environment.ts"
import { figure, table } from "../common/table.ts"
import type { Comparison } from "./measure.ts"

/** A figure that has to be reached. */
export interface Aim {
  readonly name: string
  readonly aim: string
  readonly value: number
  readonly verdict: "met" | "missed"
}

/** The whole document. */
export interface Report {
  readonly benchmark: "flow"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: ReadonlyArray<Comparison>
  readonly aims: ReadonlyArray<Aim>
  readonly troubles: ReadonlyArray<string>
}

/**
 * Judges the figures: time that is linear in steps is at most 1.2 times what the sizes say. Of a fan all runs are made in
 * one transaction, so its delays are told and not judged.
 */
export const aimsOf = (figures: Report["figures"]): ReadonlyArray<Aim> =>
  figures.flatMap(({ shape, ratio, small, large }): ReadonlyArray<Aim> => {
    const most = ratio.steps * 1.2
    const { p99Millis } = large.eventLoop
    return [
      aim(
        `${shape}, wall of ${large.steps} / of ${small.steps}`,
        `<= ${most}`,
        ratio.wall,
        ratio.wall <= most,
      ),
      aim(`${shape}, CPU of ${large.steps} / of ${small.steps}`, `<= ${most}`, ratio.cpu, ratio.cpu <= most),
      ...(shape === "fan"
        ? []
        : [aim(`${shape} of ${large.steps}, event loop p99, ms`, "< 50", p99Millis, p99Millis < 50)]),
    ]
  })

const aim = (name: string, wanted: string, value: number, met: boolean): Aim => ({
  name,
  aim: wanted,
  value,
  verdict: met ? "met" : "missed",
})

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, troubles, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, fileSystem, loadBefore, loadAfter } = environment
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const parts = [
    `uhrwerk ${uhrwerk} on ${runtime}; files on ${fileSystem}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`,
    table([
      [
        "flow",
        "steps",
        "needs",
        "wall ms",
        "us a step",
        "CPU us a step",
        "loop p50",
        "p99",
        "max ms",
        "RSS MiB",
        "more",
      ],
      ...figures.flatMap(({ shape, small, large }) =>
        [small, large].map((cost) => [
          shape,
          String(cost.steps),
          String(cost.edges),
          figure(cost.wallMillis),
          figure(cost.wallMicrosPerStep, 0),
          figure(cost.cpuMicrosPerStep, 0),
          figure(cost.eventLoop.p50Millis),
          figure(cost.eventLoop.p99Millis),
          figure(cost.eventLoop.maxMillis),
          figure(cost.rssPeakMib, 0),
          figure(cost.rssPeakMib - cost.rssBeforeMib, 0),
        ]),
      ),
    ]),
    table([
      ["aim", "wanted", "measured", ""],
      ...aims.map(({ name, aim: wanted, value, verdict }) => [name, wanted, String(value), verdict]),
    ]),
  ]
  if (troubles.length > 0) parts.push(`WRONG:\n${troubles.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}

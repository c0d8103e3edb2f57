// From figures to what is said: one document, and a table for people.
import type { Environment } from "../common/environment.ts"
import { figure, table } from "../common/table.ts"
import type { Cost, Measured } from "./measure.ts"
import { type FigureName, figureNames } from "./options.ts"

/** The whole document. */
export interface Report {
  readonly benchmark: "transport"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: ReadonlyArray<Measured>
  /** How often the CPU time of the bare server goes into ours, by server. */
  readonly ratios: ReadonlyArray<{ readonly name: string } & Partial<Record<FigureName, number>>>
  readonly troubles: ReadonlyArray<string>
}

/** What the adapter costs above the bare server that it stands on, in CPU time. */
export const ratiosOf = (measured: ReadonlyArray<Measured>): Report["ratios"] =>
  measured
    .filter(({ side }) => side === "ours")
    .map((ours) => {
      const bare = measured.find(
        ({ side, runtime, kind }) => side === "bare" && runtime === ours.runtime && kind === ours.kind,
      )
      const ratios: Partial<Record<FigureName, number>> = {}
      for (const name of figureNames) {
        const [cost, floor] = [ours.figures[name], bare?.figures[name]]
        if (cost === undefined || floor === undefined) continue
        ratios[name] = Math.round((cost.cpuMicros / floor.cpuMicros) * 100) / 100
      }
      return { name: ours.name, ...ratios }
    })

const cells = (cost: Cost | undefined): ReadonlyArray<string> =>
  cost === undefined
    ? ["-", "-", "-"]
    : [figure(cost.perSecond, 0), figure(cost.p50Micros, 0), figure(cost.cpuMicros, 1)]

/** The document as text for a terminal. */
export const human = ({ environment, figures, ratios, troubles, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, loadBefore, loadAfter } = environment
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const parts = [
    `uhrwerk ${uhrwerk}; started by ${runtime}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`,
    table([
      ["", ...figureNames.flatMap((name) => [name, "", ""]), ""],
      ["server", ...figureNames.flatMap(() => ["/s", "p50 us", "CPU us"]), "RSS MiB"],
      ...figures.map((each) => [
        each.name,
        ...figureNames.flatMap((name) => cells(each.figures[name])),
        figure(each.rssMib, 0),
      ]),
    ]),
    table([
      ["CPU, ours / bare", ...figureNames],
      ...ratios.map((each) => [each.name, ...figureNames.map((name) => figure(each[name] ?? Number.NaN, 2))]),
    ]),
  ]
  if (troubles.length > 0) parts.push(`WRONG:\n${troubles.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}

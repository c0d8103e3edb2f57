// What the http benchmark found, as JSON and as tables, with the aims beside it.
import type { Environment } from "../common/environment.ts"
import { figure, table } from "../common/table.ts"
import type { Figures } from "./measure.ts"

/** A bar that was set before. */
export interface Aim {
  readonly name: string
  readonly aim: string
  readonly value: number
  readonly verdict: "met" | "missed"
}

/** The document. */
export interface Report {
  readonly benchmark: "http"
  readonly environment: Environment & {
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: object
  readonly tookMillis: number
  readonly figures: Figures
  readonly aims: ReadonlyArray<Aim>
}

/** Batches reach so much of the store's own rate. */
const batchesToStoreMin = 0.6
/** A list of a long history takes at most so much longer than one of a short. */
const listRatioMax = 1.5

/** The aims of what was measured. */
export const aimsOf = ({ enqueue = [], list = [] }: Figures): ReadonlyArray<Aim> => [
  ...enqueue.map(({ store, batchesToStore }): Aim => ({
    name: `${store}: batches over HTTP to the store's own rate`,
    aim: `>= ${batchesToStoreMin}`,
    value: batchesToStore,
    verdict: batchesToStore >= batchesToStoreMin ? "met" : "missed",
  })),
  ...list.map(({ store, small, large, ratio }): Aim => ({
    name: `${store}: p95 of a list of 50 at ${large.runs} runs to that at ${small.runs}`,
    aim: `<= ${listRatioMax}`,
    value: ratio,
    verdict: ratio <= listRatioMax ? "met" : "missed",
  })),
]

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, tookMillis }: Report): string => {
  const { runtime, uhrwerk, cpu, cores, loadBefore, loadAfter } = environment
  const parts = [
    `uhrwerk ${uhrwerk}; started by ${runtime}\n${cores} cores, ${cpu}; load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}; took ${figure(tookMillis / 1000, 0)} s`,
  ]
  if (figures.enqueue !== undefined)
    parts.push(
      table([
        [
          "enqueue, runs/s",
          "one by one",
          "of the bare route",
          "in batches",
          "of the bare route",
          "store itself",
          "of the store",
        ],
        ...figures.enqueue.map((each) => [
          each.store,
          figure(each.singlesPerSecond, 0),
          figure(each.singlesToFloor, 3),
          figure(each.batchesPerSecond, 0),
          figure(each.batchesToFloor, 3),
          figure(each.storePerSecond, 0),
          figure(each.batchesToStore, 3),
        ]),
      ]),
    )
  if (figures.list !== undefined)
    parts.push(
      table([
        ["list of 50, ms", "runs", "p50", "p95"],
        ...figures.list.flatMap(({ store, small, large }) =>
          [small, large].map(({ runs, p50Millis, p95Millis }) => [
            store,
            String(runs),
            figure(p50Millis, 2),
            figure(p95Millis, 2),
          ]),
        ),
      ]),
    )
  parts.push(
    table([
      ["aim", "wanted", "measured", ""],
      ...aims.map(({ name, aim, value, verdict }) => [name, aim, figure(value, 3), verdict]),
    ]),
  )
  return parts.join("\n\n")
}

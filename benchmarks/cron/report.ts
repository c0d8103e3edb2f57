// From figures to what is said: aims, one document, and a table for people.
import type { Environment } from "../common/environment.ts"
import { rounded } from "../common/statistics.ts"
import { figure, table } from "../common/table.ts"
import { type Cost, zone } from "./answers.ts"
import type { Memory } from "./memory.ts"
import type { Planning } from "./planning.ts"

/** A figure that has to be reached. */
export interface Aim {
  readonly name: string
  readonly aim: string
  readonly value: number
  readonly verdict: "met" | "missed"
}

/** The whole document. */
export interface Report {
  readonly benchmark: "cron"
  readonly environment: Environment & {
    readonly peers: Readonly<Record<string, string>>
    readonly loadBefore: ReadonlyArray<number>
    readonly loadAfter: ReadonlyArray<number>
  }
  readonly options: Readonly<Record<string, unknown>>
  readonly tookMillis: number
  readonly figures: {
    readonly answers?: ReadonlyArray<Cost>
    readonly memory?: Memory
    readonly planning?: Planning
  }
  readonly aims: ReadonlyArray<Aim>
  /** Where a peer answers otherwise than ours: nowhere, or the figures compare different work. */
  readonly differences: ReadonlyArray<string>
  readonly troubles: ReadonlyArray<string>
}

/** Judges the figures that there are. */
export const aimsOf = ({ answers, memory, planning }: Report["figures"]): ReadonlyArray<Aim> => {
  const aims: Array<Aim> = []
  const add = (name: string, aim: string, value: number, met: boolean): void => {
    aims.push({ name, aim, value, verdict: met ? "met" : "missed" })
  }
  for (const { operation, text, ratio } of answers ?? []) {
    if (operation !== "next") continue
    add(`next of ${text}, croner / ours`, ">= 50", ratio.croner, ratio.croner >= 50)
    add(`next of ${text}, cron-parser / ours`, ">= 20", ratio.cronParser, ratio.cronParser >= 20)
  }
  if (memory !== undefined) {
    const { ours } = memory.bytesEach
    add("bytes of a parsed schedule", "<= 1024", ours, ours <= 1024)
  }
  if (planning !== undefined) {
    const { schedules, cpuMillis, eventLoop, exact } = planning
    // Of another number of schedules, the CPU time is put in proportion.
    const cpu = rounded((cpuMillis * 100_000) / schedules)
    add("CPU to plan 100,000 schedules, ms", "<= 1000", cpu, cpu <= 1000)
    add("event loop p99 while planning, ms", "< 50", eventLoop.p99Millis, eventLoop.p99Millis < 50)
    add("schedules without one occurrence and run", "= 0", schedules - exact, schedules === exact)
  }
  return aims
}

/** The document as text for a terminal. */
export const human = ({ environment, figures, aims, differences, troubles, tookMillis }: Report): string => {
  const { runtime, uhrwerk, peers, cpu, cores, fileSystem, loadBefore, loadAfter } = environment
  const { answers, memory, planning } = figures
  const loads = `load before ${loadBefore.join(" ")}, after ${loadAfter.join(" ")}`
  const names = Object.entries(peers).map(([name, version]) => `${name} ${version}`)
  const parts = [
    `uhrwerk ${uhrwerk} on ${runtime}, beside ${names.join(" and ")}; files on ${fileSystem}\n` +
      `${cores} cores, ${cpu}; ${loads}; took ${figure(tookMillis / 1000, 0)} s`,
  ]
  if (answers !== undefined)
    parts.push(
      table([
        [`ns each, ${zone}`, "ours", "croner", "cron-parser", "croner / ours", "cron-parser / ours"],
        ...answers.map(({ operation, text, nanos, ratio }) => [
          `${operation} ${text}`,
          figure(nanos.ours, 0),
          figure(nanos.croner, 0),
          figure(nanos.cronParser, 0),
          figure(ratio.croner),
          figure(ratio.cronParser),
        ]),
      ]),
    )
  if (memory !== undefined) {
    const { ours, croner, cronParser } = memory.bytesEach
    const each = [ours, croner, cronParser].map((bytes) => figure(bytes, 0))
    parts.push(
      table([
        ["bytes each", "ours", "croner", "cron-parser"],
        ["parsed schedule", ...each],
      ]),
    )
  }
  if (planning !== undefined) parts.push(planningText(planning))
  if (aims.length > 0)
    parts.push(
      table([
        ["aim", "wanted", "measured", ""],
        ...aims.map(({ name, aim, value, verdict }) => [name, aim, String(value), verdict]),
      ]),
    )
  const wrong = [...differences, ...troubles]
  if (wrong.length > 0) parts.push(`WRONG:\n${wrong.slice(0, 20).join("\n")}`)
  return parts.join("\n\n")
}

const planningText = ({ eventLoop, ...planning }: Planning): string =>
  `planning: ${planning.schedules} schedules of one minute, ${figure(planning.cpuMillis)} ms CPU ` +
  `(${figure(planning.cpuMicrosEach)} us each), ${figure(planning.wallMillis)} ms on the wall; event loop ` +
  `p50 ${figure(eventLoop.p50Millis)}, p99 ${figure(eventLoop.p99Millis)}, max ${figure(eventLoop.maxMillis)} ms\n` +
  `in the file: ${planning.occurrences} occurrences, ${planning.runs} runs, ${planning.exact} schedules with ` +
  `exactly one of each; ${planning.started} started`

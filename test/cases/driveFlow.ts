// Runs a flow as an engine would, but without time: released steps are under way together, and a schedule says which
// of them ends next. Uses the graph and the release of the core, and keeps watch over what must always hold.
import type { StepEnd } from "../../core/domain/Flow.ts"
import type { Graph } from "../../core/flow/Graph.ts"
import { hasEnded, Progress } from "../../core/flow/Progress.ts"
import type { Released } from "../../core/flow/Release.ts"
import { outcomeOf, tallyOf } from "../../core/flow/Summary.ts"

/** What a step does when it runs; `succeeded` unless it is named. */
export type Outcomes = ReadonlyMap<string, Exclude<StepEnd, "upstream_failed">>

/** Which of the steps that are under way ends next, as its index; at least one is. */
export type Schedule = (underWay: ReadonlyArray<number>) => number

/** What happened. */
export interface Driven {
  readonly progress: Progress
  /** The steps whose handler was called, in the order of their start. */
  readonly ran: ReadonlyArray<number>
  /** For each step: how many ends came before its start and its own end; -1 without one. */
  readonly startedAt: Int32Array
  readonly endedAt: Int32Array
  readonly run: string
}

/** Drives to the end. Throws when a step starts or ends twice, or when some can neither start nor end. */
export const drive = (
  graph: Graph,
  outcomes: Outcomes,
  schedule: Schedule,
  begun?: { readonly progress: Progress; readonly released: Released },
): Driven => {
  const progress = begun?.progress ?? new Progress(graph)
  const startedAt = new Int32Array(graph.size).fill(-1)
  const endedAt = new Int32Array(graph.size).fill(-1)
  const ran: Array<number> = []
  const underWay: Array<number> = []
  let ends = 0
  const end = (step: number): void => {
    if (endedAt[step] !== -1) throw new Error(`"${graph.ids[step]}" ends twice`)
    endedAt[step] = ends++
  }
  const take = (released: Released): void => {
    for (const step of released.run) {
      if (startedAt[step] !== -1) throw new Error(`"${graph.ids[step]}" starts twice`)
      startedAt[step] = ends
      ran.push(step)
      underWay.push(step)
    }
    for (const { step } of released.ended) end(step)
  }
  take(begun?.released ?? progress.begin())
  while (underWay.length > 0) {
    const index = schedule(underWay)
    const step = underWay[index] as number
    underWay[index] = underWay.at(-1) as number
    underWay.pop()
    end(step)
    const released = progress.finish(step, outcomes.get(graph.ids[step] as string) ?? "succeeded")
    if (released === null) throw new Error(`"${graph.ids[step]}" had ended before`)
    take(released)
  }
  const stuck = progress.states.findIndex((state) => !hasEnded(state))
  if (stuck !== -1) throw new Error(`"${graph.ids[stuck]}" is stuck`)
  const { openCount, faultCount } = tallyOf(graph, progress.states)
  return { progress, ran, startedAt, endedAt, run: outcomeOf(openCount, faultCount) }
}

/** The step that has been under way for longest or shortest, up to a swap. */
export const firstEnds: Schedule = () => 0
export const lastEnds: Schedule = (underWay) => underWay.length - 1
/** This step ends only when no other can. */
export const endsLast =
  (step: number): Schedule =>
  (underWay) =>
    Math.max(
      0,
      underWay.findIndex((each) => each !== step),
    )

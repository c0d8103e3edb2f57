// What flow runs left behind, to be judged offline: what was sent, the log of the steps' functions, and the store.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { StepState } from "../../core/domain/Flow.ts"
import type { DeadLetter } from "../../core/domain/DeadLetter.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { FlowView, RunCount } from "../../core/ports/StoreDriver.ts"
import { filesOf, pages, readLines } from "./evidence.ts"

/** The log: a line before a step's function does anything, and one behind what it has done. */
export type StepLine =
  | {
      readonly kind: "start"
      readonly id: string
      readonly token: number
      /** What it was given of each step that it needs, and how that one had ended. */
      readonly needs: Readonly<Record<string, unknown>>
      readonly states: Readonly<Record<string, StepState>>
    }
  | { readonly kind: "end"; readonly id: string; readonly token: number; readonly output: unknown }

/** A flow run that was asked for. */
export interface Sent {
  readonly id: string
  readonly n: number
}

/** Where the steps of a run stand: of a flow, or the items of a list. */
export interface View {
  readonly runId: string
  readonly kind: "flow" | "map"
  /** Of a flow. */
  readonly name: string | null
  readonly round: number
  readonly steps: ReadonlyArray<{
    readonly id: string
    readonly state: StepState
    readonly runId: string | null
  }>
}

/** Everything. */
export interface FlowEvidence {
  readonly sent: ReadonlyArray<Sent>
  readonly lines: ReadonlyArray<StepLine>
  readonly runs: ReadonlyArray<Run>
  readonly views: ReadonlyArray<View>
  readonly letters: ReadonlyArray<DeadLetter>
  readonly counts: ReadonlyArray<RunCount>
}

/** The file that says which flow runs to send. */
export const sentFile = (folder: string): string => join(folder, "sent.json")

/** Reads all of it, after the engine has ended. */
export const readFlowEvidence = async (folder: string): Promise<FlowEvidence> => {
  const files = filesOf(folder)
  const store = sqliteDriver({ file: files.db, role: "tool", create: false, now: () => Date.now() })
  try {
    const runs = await pages((before: string | undefined) =>
      store.list({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((run) => run.id)
    const letters = await pages((before: string | undefined) =>
      store.deadLetters({ limit: 200, ...(before === undefined ? {} : { before }) }),
    )((letter) => letter.runId)
    const parents = new Set(runs.flatMap(({ parentId }) => parentId ?? []))
    const views: Array<View> = []
    // One that never expanded has no steps to be found by.
    for (const { id, parentId } of runs) {
      const view = parentId === null || parents.has(id) ? await store.flowOf(id) : null
      if (view !== null) views.push(viewOf(view))
    }
    return {
      sent: JSON.parse(readFileSync(sentFile(folder), "utf8")) as ReadonlyArray<Sent>,
      lines: readLines<StepLine>(files.effects),
      runs,
      views,
      letters,
      counts: await store.counts(),
    }
  } finally {
    await store.close()
  }
}

const viewOf = ({ run, expansion, round, steps }: FlowView): View => ({
  runId: run.id,
  kind: expansion.kind,
  name: expansion.kind === "flow" ? expansion.definition.name : null,
  round,
  steps: steps.map(({ state, runId }, place) => ({
    id: expansion.kind === "flow" ? (expansion.definition.steps[place]?.id ?? "") : String(place),
    state,
    runId,
  })),
})

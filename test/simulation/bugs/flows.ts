// Bugs about runs that wait for others: what one end releases, and by which rule.
import type { Settlement } from "../../../core/domain/Outcome.ts"
import type { Run } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import type { FlowRun } from "../../../adapters/store-memory/FlowRun.ts"
import type { Entry } from "../../../adapters/store-memory/RunTable.ts"
import { WatchedRuns } from "../Ground.ts"
import { atOnce, type Planted } from "./Planted.ts"

/** The end of one need counts for two, so the run starts before the other one has ended. */
export const releasedTwice: Planted = {
  name: "an end tells the runs that need it twice",
  breaks: ["I6"],
  make: () => ({
    driver: (honest, { table }) => ({
      ...honest,
      settle: (settlements) => {
        const answers = honest.settle(settlements)
        const now = atOnce(honest.now())
        for (const { id, state } of atOnce(answers)) {
          if (state !== "succeeded") continue
          for (const dependent of table.entries.get(id)?.dependents ?? []) {
            const next = Transition.needMet(dependent.run, now)
            if (next !== null) table.put(dependent, next, now)
          }
        }
        return answers
      },
    }),
  }),
}

/** A step that two others release gets two runs. */
export const stepStartedTwice: Planted = {
  name: "a step that is released starts two runs",
  breaks: ["I6"],
  make: () => ({
    table: () =>
      new (class extends WatchedRuns {
        override insert(run: Run, flow: FlowRun | null = null): Entry {
          const entry = super.insert(run, flow)
          // Only where several needs could both have been the last.
          if (run.parentId !== null && run.step !== null && run.step > 1)
            super.insert({ ...run, id: twin(run.id) })
          return entry
        }
      })(),
  }),
}

const twin = (id: string): string => `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`

/** Steps with another rule than the usual one start, or do not, by the usual one. */
export const oneRule: Planted = {
  name: "every step is judged by all_success",
  breaks: ["I6", "I10"],
  make: () => ({
    driver: (honest) => ({
      ...honest,
      settle: (settlements) => honest.settle(settlements.map(withOneRule)),
    }),
  }),
}

const withOneRule = (settlement: Settlement): Settlement => {
  if (settlement.kind !== "expanded" || settlement.expansion.kind !== "flow") return settlement
  const { definition } = settlement.expansion
  const steps = definition.steps.map((step) => ({ ...step, rule: "all_success" as const }))
  return { ...settlement, expansion: { ...settlement.expansion, definition: { ...definition, steps } } }
}

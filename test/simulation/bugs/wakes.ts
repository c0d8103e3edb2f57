// Bugs about what is told when: acknowledgements that come too soon, wake-ups that do not come at all.
import { EnqueuePlan } from "../../../adapters/store-memory/enqueue.ts"
import type { NewRun } from "../../../core/domain/Run.ts"
import { atOnce, type Planted } from "./Planted.ts"

/** A hint is all that wakes a node, and hints may be lost. */
export const lostWakeUp: Planted = {
  name: "a node looks only when a hint comes",
  breaks: ["I10"],
  make: () => ({ swarm: (swarm) => ({ ...swarm, pollMillis: 3_600_000 }) }),
}

/** A buffer that is written when the next call comes. */
export const acknowledgedBeforeStored: Planted = {
  name: "enqueue answers before it has stored",
  breaks: ["I1"],
  make: () => ({
    driver: (honest, { table }) => {
      const buffered: Array<NewRun> = []
      return {
        ...honest,
        enqueue: (runs) => {
          const plan = new EnqueuePlan(table, atOnce(honest.now()))
          buffered.push(...runs)
          return runs.map((run) => plan.add(run))
        },
        claim: (wish) => {
          for (const run of buffered.splice(0)) atOnce(honest.enqueue([run]))
          return honest.claim(wish)
        },
      }
    },
  }),
}

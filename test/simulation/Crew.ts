// Who the workers of a seed are: what each can do, says of itself and may. The first one can do everything and says
// nothing but the truth, so that whatever somebody may carry out has somebody.
import type { Introduction } from "../../core/protocol/WorkerState.ts"
import { flowJobs, placedJobs, plainJobs } from "./Handlers.ts"
import { makeRandom } from "./Random.ts"
import type { Swarm } from "./Swarm.ts"

/** One worker, as it is over all its processes. */
export interface Member {
  readonly who: Omit<Introduction, "incarnation" | "token">
  /** Its credential, which may be revoked and granted anew. */
  readonly credential: string
  /** Queues that its credential is bound to; `null`: all. */
  readonly queues: ReadonlyArray<string> | null
  /** What it says beyond the truth in its hello: a job without a handler, a slot that is none. */
  readonly boast: { readonly jobs: ReadonlyArray<string>; readonly slots: number }
}

/** The crew of a seed. */
export const crewOf = (swarm: Swarm): ReadonlyArray<Member> => {
  const { chance, int, pick } = makeRandom(swarm.seed ^ 0xc4e3)
  const all = [...plainJobs, ...flowJobs, ...placedJobs]
  return Array.from({ length: swarm.workers }, (_, place): Member => {
    const isFirst = place === 0
    const boasts = !isFirst && swarm.boasts
    const jobs = isFirst || chance(0.5) ? all : all.filter(() => chance(0.7))
    const queues = isFirst || chance(0.7) ? null : ["default", "flows"]
    const slots = int(isFirst ? 4 : 1, 8)
    return {
      who: {
        worker: `worker${place}`,
        runtime: "simulation",
        version: `1.${place}.0`,
        jobs,
        slots,
        prefetch: pick([0, 0, 1, 3]),
        labels: { region: isFirst || chance(0.5) ? "eu" : "us", gpu: int(0, 2) },
        capabilities: [
          ...(isFirst || chance(0.8) ? ["resume"] : []),
          ...(isFirst || chance(0.6) ? ["flows"] : []),
        ],
        ...(chance(0.2) ? { queues: queues ?? ["default", "flows", "slow"] } : {}),
      },
      credential: `c${int(0, 2)}`,
      queues,
      boast: {
        jobs: boasts ? all.filter((name) => !jobs.includes(name)) : [],
        slots: boasts ? int(0, 2) : 0,
      },
    }
  })
}

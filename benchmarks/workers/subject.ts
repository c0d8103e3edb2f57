// What is measured: an engine whose one job is carried out by workers only, and the worker that does it.
import * as Effect from "effect/Effect"
import { checkConfig } from "../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../apps/sdk/engine.ts"
import { type Job, job as defineJob } from "../../apps/sdk/job.ts"
import type { Storage } from "../../apps/sdk/storage.ts"
import { job } from "./frames.ts"

/** The job of all measured runs. */
export type Noop = Job<{ readonly n?: number; readonly sentAt?: number }, void>

/** Starts the engine; it serves workers without asking for a token. */
export const startSubject = async (
  storage: Storage,
): Promise<{ readonly engine: RunningEngine; readonly noop: Noop }> => {
  const noop: Noop = defineJob(job, { run: () => {} })
  const project = await checkConfig({ jobs: [noop], storage })
  const placement = { by: "leastLoaded", where: null, broadcast: false } as const
  const jobs = new Map([...project.book.jobs].map(([name, each]) => [name, { ...each, placement }]))
  const engine = await startProject(
    { ...project, jobs: Object.assign(new Map(), { get: () => noop }), book: { ...project.book, jobs } },
    {
      workers: {
        hellosPerSecondMax: 100_000,
        admit: () => Effect.succeed({ kind: "granted", grant: { id: null, queues: null } }),
      },
    },
  )
  return { engine, noop }
}

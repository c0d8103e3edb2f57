// What is measured: an engine whose one job is carried out by workers only, and the worker that does it.
import * as Effect from "effect/Effect"
import { checkConfig } from "../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../apps/sdk/engine.ts"
import { type Job, job as defineJob } from "../../apps/sdk/job.ts"
import { onWorkers } from "../../apps/sdk/work.ts"
import type { Storage } from "../../apps/sdk/storage.ts"
import { type RunningWorker, worker } from "../../apps/worker/mod.ts"
import { job } from "./frames.ts"

interface Input {
  readonly n?: number
  readonly sentAt?: number
}

/** The job of all measured runs. */
export type Noop = Job<Input, void>

/** Starts the engine; it serves workers without asking for a token. */
export const startSubject = async (
  storage: Storage,
): Promise<{ readonly engine: RunningEngine; readonly noop: Noop }> => {
  const noop: Noop = defineJob(job, { run: onWorkers() })
  const engine = await startProject(await checkConfig({ jobs: [noop], storage }), {
    workers: {
      // Workers of a benchmark come all at once.
      hellosPerSecondMax: 100_000,
      admit: () => Effect.succeed({ kind: "granted", grant: { id: null, queues: null } }),
    },
  })
  return { engine, noop }
}

/** Starts a worker of `uhrwerk/worker`; resolves when its session is open. */
export const startReal = async (
  url: string,
  name: string,
  concurrency: number,
  onBegin: (sentAt: number | undefined) => void,
): Promise<RunningWorker> => {
  const noop: Noop = defineJob(job, { run: ({ sentAt }) => onBegin(sentAt) })
  const open = Promise.withResolvers<void>()
  const running = await worker({ url, name, concurrency, jobs: [noop] }).start({
    onEvent: (event) => {
      if (event.kind === "connected") open.resolve()
    },
  })
  await open.promise
  return running
}

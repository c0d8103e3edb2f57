// graphile-worker with all the batching that its page on performance shows.
import postgres from "postgres"
import { loadPeer } from "../packages.ts"
import type { Place, Side, SideInfo } from "../Side.ts"

const performance = "worker.graphile.org/docs/performance"

// That page's local queue; as large as the concurrency at least, or slots would stay empty.
const localQueueMin = 500

export const info: SideInfo = {
  store: "PostgreSQL",
  settings: [
    { set: "concurrentJobs; maxPoolSize 25", page: performance },
    {
      set: `localQueue.size ${localQueueMin}, or the concurrency and one if that is more`,
      page: performance,
    },
    { set: "completeJobBatchDelay 0, failJobBatchDelay 0", page: performance },
    { set: "pollInterval 500 ms instead of 2,000", page: "dist/index.d.ts of the package" },
    { set: "addJobs with all jobs in one call", page: performance },
  ],
  keeps: "nothing: the row is deleted",
  polls: true,
}

interface Graphile {
  readonly Logger: new (factory: () => () => void) => unknown
  readonly makeWorkerUtils: (options: unknown) => Promise<Utils>
  readonly run: (options: unknown) => Promise<{ stop(): Promise<void> }>
}

interface Utils {
  migrate(): Promise<void>
  addJob(task: string, payload: unknown, options?: { readonly runAt: Date }): Promise<unknown>
  addJobs(specs: ReadonlyArray<unknown>): Promise<unknown>
  release(): Promise<void>
}

const task = "noop"

/** Opens it in a schema of its own. */
export const open = async (place: Place): Promise<Side> => {
  const { Logger, makeWorkerUtils, run } = await loadPeer<Graphile>("graphile-worker")
  const { concurrency } = place
  const preset = {
    worker: {
      connectionString: place.postgres,
      schema: place.name,
      concurrentJobs: concurrency,
      maxPoolSize: 25,
      pollInterval: 500,
      localQueue: { size: Math.max(localQueueMin, concurrency + 1) },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger: new Logger(() => () => {}),
    },
  }
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  const sql = postgres(place.postgres, { max: 1, onnotice: () => {} })
  let runner: { stop(): Promise<void> } | undefined
  return {
    send: (n, dueAt) =>
      utils.addJob(task, { n }, dueAt === undefined ? undefined : { runAt: new Date(dueAt) }),
    sendAll: (count, dueAt) =>
      utils.addJobs(
        Array.from({ length: count }, (_, n) => ({
          identifier: task,
          payload: { n },
          ...(dueAt === undefined ? {} : { runAt: new Date(dueAt(n)) }),
        })),
      ),
    work: async (handler) => {
      runner = await run({
        preset,
        noHandleSignals: true,
        taskList: { [task]: async ({ n }: { readonly n: number }) => handler(n) },
      })
    },
    done: async (count) => {
      const [row] = await sql`select count(*)::int as rows from ${sql(place.name)}.jobs`
      return count - Number(row?.["rows"])
    },
    close: async () => {
      await runner?.stop()
      await utils.release()
      await sql`drop schema if exists ${sql(place.name)} cascade`
      await sql.end()
    },
  }
}

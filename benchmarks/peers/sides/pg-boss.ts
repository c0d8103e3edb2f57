// pg-boss with batches, bursts and notifications.
import postgres from "postgres"
import { loadPeer } from "../packages.ts"
import type { Place, Side, SideInfo } from "../Side.ts"

const workers = "pgboss.io/api/workers"

export const info: SideInfo = {
  store: "PostgreSQL",
  settings: [
    { set: "batchSize as large as the concurrency", page: workers },
    { set: "burstWhenBatchFull, so that it fetches on while batches are full", page: workers },
    { set: "pollingIntervalSeconds and notifyPollingIntervalSeconds 0.5, the least", page: workers },
    { set: "useListenNotify, notify on the queue", page: "dist/types.d.ts of the package" },
    { set: "partition, a table of its own for the queue", page: "dist/types.d.ts of the package" },
    { set: "insert with all jobs in one call", page: "dist/types.d.ts of the package" },
  ],
  keeps: "the row, marked completed, for 7 days",
  polls: true,
}

interface Boss {
  on(event: "error", listener: (error: unknown) => void): void
  start(): Promise<unknown>
  stop(options: { readonly graceful: boolean }): Promise<void>
  createQueue(name: string, options: Readonly<Record<string, boolean>>): Promise<void>
  send(name: string, data: unknown, options?: { readonly startAfter: Date }): Promise<unknown>
  insert(name: string, jobs: ReadonlyArray<unknown>): Promise<unknown>
  work(
    name: string,
    options: Readonly<Record<string, number | boolean>>,
    handler: (jobs: ReadonlyArray<{ readonly data: { readonly n: number } }>) => Promise<void>,
  ): Promise<unknown>
}

const queue = "noop"

/** Opens it in a schema of its own. */
export const open = async (place: Place): Promise<Side> => {
  const { PgBoss } = await loadPeer<{ readonly PgBoss: new (options: unknown) => Boss }>("pg-boss")
  const boss = new PgBoss({
    connectionString: place.postgres,
    schema: place.name,
    useListenNotify: true,
  })
  boss.on("error", (error) => console.error(error))
  await boss.start()
  await boss.createQueue(queue, { notify: true, partition: true })
  const sql = postgres(place.postgres, { max: 1, onnotice: () => {} })
  return {
    send: (n, dueAt) =>
      boss.send(queue, { n }, dueAt === undefined ? undefined : { startAfter: new Date(dueAt) }),
    sendAll: (count, dueAt) =>
      boss.insert(
        queue,
        Array.from({ length: count }, (_, n) => ({
          data: { n },
          ...(dueAt === undefined ? {} : { startAfter: new Date(dueAt(n)) }),
        })),
      ),
    work: (handler) =>
      boss.work(
        queue,
        {
          batchSize: place.concurrency,
          burstWhenBatchFull: true,
          pollingIntervalSeconds: 0.5,
          notifyPollingIntervalSeconds: 0.5,
        },
        async (jobs) => jobs.forEach(({ data }) => handler(data.n)),
      ),
    done: async () => {
      const [row] = await sql`select count(*)::int as rows from ${sql(place.name)}.job
        where name = ${queue} and state = 'completed'`
      return Number(row?.["rows"])
    },
    close: async () => {
      await boss.stop({ graceful: false })
      await sql`drop schema if exists ${sql(place.name)} cascade`
      await sql.end()
    },
  }
}

// BullMQ over Redis: another kind of store, whose durability is that of the server (see `servers.ts`).
import { loadPeer } from "../packages.ts"
import type { Place, Side, SideInfo } from "../Side.ts"

export const info: SideInfo = {
  store: "Redis",
  settings: [
    { set: "concurrency of one Worker", page: "docs.bullmq.io/guide/workers/concurrency" },
    { set: "maxRetriesPerRequest null", page: "docs.bullmq.io/guide/going-to-production" },
    { set: "addBulk with all jobs in one call", page: "docs.bullmq.io/guide/queues/batches" },
    { set: "removeOnComplete false", page: "docs.bullmq.io/guide/queues/auto-removal-of-jobs" },
  ],
  keeps: "the job, in the set of those completed",
  polls: false,
}

interface BullMQ {
  readonly Queue: new (name: string, options: unknown) => Queue
  readonly Worker: new (
    name: string,
    process: (job: { readonly data: { readonly n: number } }) => Promise<void>,
    options: unknown,
  ) => Worker
}

interface Queue {
  waitUntilReady(): Promise<unknown>
  add(name: string, data: unknown, options: Delay): Promise<unknown>
  addBulk(jobs: ReadonlyArray<unknown>): Promise<unknown>
  getCompletedCount(): Promise<number>
  obliterate(options: { readonly force: boolean }): Promise<void>
  close(): Promise<void>
}

interface Worker {
  on(event: "error", listener: (error: unknown) => void): void
  waitUntilReady(): Promise<unknown>
  close(): Promise<void>
}

type Delay = { readonly delay: number; readonly timestamp: number } | Record<string, never>

const job = "noop"

/** Opens it under a prefix of its own. */
export const open = async (place: Place): Promise<Side> => {
  const { Queue, Worker } = await loadPeer<BullMQ>("bullmq")
  const connection = { url: place.redis, maxRetriesPerRequest: null }
  const given = { connection, prefix: place.name }
  const queue = new Queue(job, { ...given, defaultJobOptions: { removeOnComplete: false } })
  await queue.waitUntilReady()
  let worker: Worker | undefined
  // It adds the delay to the job's time, which would be some milliseconds later than this.
  const delayOf = (dueAt: number | undefined): Delay => {
    const timestamp = Date.now()
    return dueAt === undefined ? {} : { delay: Math.max(0, dueAt - timestamp), timestamp }
  }
  return {
    send: (n, dueAt) => queue.add(job, { n }, delayOf(dueAt)),
    sendAll: (count, dueAt) =>
      queue.addBulk(
        Array.from({ length: count }, (_, n) => ({ name: job, data: { n }, opts: delayOf(dueAt?.(n)) })),
      ),
    work: async (handler) => {
      worker = new Worker(job, async ({ data }) => handler(data.n), {
        ...given,
        concurrency: place.concurrency,
      })
      worker.on("error", (error) => console.error(error))
      await worker.waitUntilReady()
    },
    done: () => queue.getCompletedCount(),
    close: async () => {
      await worker?.close()
      await queue.obliterate({ force: true })
      await queue.close()
    },
  }
}

// Uhrwerk, as a user starts it: the SDK's engine over an address. It can only send while it is started, so until work
// begins its only slot is taken by a run that waits.
import { engine, job as defineJob, type RunningEngine } from "../../../apps/sdk/mod.ts"
import { sleep } from "../../common/meter.ts"
import type { Place, Side } from "../Side.ts"

const jobName = "noop"

/** Opens it over a storage's address; `drop` removes what was made there. */
export const openUhrwerk = async (
  storage: `sqlite:${string}` | `postgres://${string}`,
  { concurrency }: Place,
  drop: () => Promise<void>,
): Promise<Side> => {
  let handle: (n: number) => void = () => {}
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const noop = defineJob(jobName, { run: async ({ n }: { readonly n: number }) => handle(n) })
  const hold = defineJob("hold", {
    run: () => {
      held.resolve()
      return release.promise
    },
  })
  const start = (slots: number): Promise<RunningEngine> =>
    engine({ jobs: [noop, hold], storage, worker: { concurrency: slots } }).start({
      onEvent: (event) => {
        if (event.kind === "trouble") console.error(`${event.doing}: ${event.error}`)
      },
    })
  let running = await start(1)
  await running.send(hold, undefined)
  await held.promise

  const send = (n: number, dueAt?: number): Promise<unknown> =>
    running.send(noop, { n }, dueAt === undefined ? {} : { at: dueAt })
  return {
    send,
    sendAll: async (count, dueAt) => {
      const inputs = Array.from({ length: count }, (_, n) => ({ n }))
      await running.sendAll(noop, inputs, dueAt === undefined ? {} : ({ n }) => ({ at: dueAt(n) }))
    },
    work: async (handler) => {
      handle = handler
      const stopped = running.stop()
      // Only after it has stopped claiming, or its slot would be free for one of the jobs.
      await sleep(50)
      release.resolve()
      await stopped
      running = await start(concurrency)
    },
    done: async () => {
      const counts = await running.counts()
      return counts.find(({ job, state }) => job === jobName && state === "succeeded")?.count ?? 0
    },
    close: async () => {
      release.resolve()
      await running.stop({ grace: 1000 })
      await drop()
    },
  }
}

// One chaos run over PostgreSQL, from the start of its server to the verdict. Everything listens on 127.0.0.1 and ends
// with it.
import { postgresDriver } from "../../../adapters/store-sql/postgres.ts"
import { isFinal } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { startServer } from "../../adapters/store-sql/postgres/ownServer.ts"
import { eventually, inFolder, pause } from "../children.ts"
import { judge } from "./checks.ts"
import { send } from "./client.ts"
import { Cluster, countsOf, storm } from "./Cluster.ts"
import { readTables, type Story } from "./evidence.ts"
import { planOf } from "./plan.ts"
import { leaseMillis } from "./project.ts"
import { type Report, reportOf } from "./report.ts"

/** How much of it. */
export interface ChaosOptions {
  readonly seed: number
  readonly faults: number
  /** Over how long faults and runs are spread; it lasts longer by what is waited for. */
  readonly seconds: number
  readonly runs: number
  readonly schedules: number
  /** How long after the end of its lease the runs of a killed node may take to start again. */
  readonly recoveryMillis: number
  readonly say?: (line: string) => void
}

// Two workers' worth.
const slots = 20
// How long the rest may take: a backlog, retries, and a lease or two.
const restMillis = 120_000

/** Runs it; the report has the violations. Rejects when the cluster does not come to rest. */
export const runChaos = async (options: ChaosOptions): Promise<Report> => {
  const { seed, faults, seconds, runs, schedules, recoveryMillis, say = () => {} } = options
  const begunAt = performance.now()
  const server = await startServer({ connectionsMax: 100 })
  const ended: { report?: Report } = {}
  try {
    await inFolder(async (folder, start) => {
      const store = await postgresDriver({ url: server.url(), connectionsMax: 3 })
      const cluster = await Cluster.open({ folder, server, start, schedules, slots, store, say })
      const giveUp = (): void => {
        cluster.killAll()
        server.remove()
        process.exit(130)
      }
      process.once("SIGINT", giveUp).once("SIGTERM", giveUp)
      const watch = setInterval(() => void cluster.look().catch(() => {}), 300)
      try {
        let isOver = false
        const isOverNow = (): boolean => isOver
        const url = cluster.clientUrl
        const sending = send({ folder, url, runs, seconds, seed, isOver: isOverNow })
        // Heard of where it is waited for.
        sending.catch(() => {})
        await storm(cluster, planOf({ seed, faults, seconds }), leaseMillis + 1500)
        isOver = true
        say("no more faults")
        await sending
        await cluster.allUp()
        const pausedAt = await comeToRest(store)
        say("at rest")
        await cluster.stopAll()
        const story: Story = {
          ...(await readTables(folder, server.url())),
          incidents: cluster.incidents,
          pidOf: cluster.pidOf,
          refused: cluster.refused,
          badStops: cluster.badStops,
          pausedAt,
          barMillis: leaseMillis + recoveryMillis,
        }
        ended.report = reportOf(story, {
          seed,
          seconds: (performance.now() - begunAt) / 1000,
          faults: countsOf(cluster.incidents),
          checks: judge(story),
        })
      } finally {
        clearInterval(watch)
        process.off("SIGINT", giveUp).off("SIGTERM", giveUp)
        cluster.killAll()
        await store.close()
      }
    })
  } finally {
    server.remove()
  }
  if (ended.report === undefined) throw new Error("The chaos run ended without a report")
  return ended.report
}

/** Waits until the schedules are up to date, pauses them, and waits until no run is open; answers when they were paused. */
const comeToRest = async (store: StoreDriver): Promise<number> => {
  const behindMillis = 3000
  await eventually(
    "all schedules are up to date",
    async () => {
      const now = await store.now()
      const rows = await store.schedules()
      return rows.every(({ cursor }) => now - cursor < behindMillis) ? true : undefined
    },
    restMillis,
  )
  const pausedAt = await store.now()
  for (const { id } of await store.schedules()) await store.pauseSchedule(id, true)
  // A step that was on its way.
  await pause(1000)
  await eventually(
    "no run is open",
    async () =>
      (await store.counts()).some(({ state, count }) => !isFinal(state) && count > 0) ? undefined : true,
    restMillis,
  )
  return pausedAt
}

// One chaos run with workers, from the start of the server to the verdict. Everything listens on 127.0.0.1 and ends with it.
import { cpSync } from "node:fs"
import { sqliteDriver } from "../../../adapters/store-sql/sqlite.ts"
import { postgresDriver } from "../../../adapters/store-sql/postgres.ts"
import { isFinal } from "../../../core/domain/Run.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { startServer } from "../../adapters/store-sql/postgres/ownServer.ts"
import { Choice } from "../../common/random.ts"
import { eventually, inFolder, pause } from "../children.ts"
import { filesOf } from "../evidence.ts"
import { judge } from "./checks.ts"
import { makeClient, sendMany } from "./client.ts"
import { readTables, type Story } from "./evidence.ts"
import { Fleet, storm } from "./Fleet.ts"
import { planOf } from "./plan.ts"
import { type Report, reportOf } from "./report.ts"

/** How much of it. */
export interface ChaosOptions {
  readonly store: "sqlite" | "postgres"
  readonly seed: number
  readonly faults: number
  /** Over how long faults and runs are spread; it lasts longer by what is waited for. */
  readonly seconds: number
  readonly runs: number
  /** How much longer than promised what has a bar may take: for machines that do other things as well. */
  readonly slackMillis: number
  /** Where to keep all files; default: they are removed. */
  readonly keep?: string
  readonly say?: (line: string) => void
}

const closedMillis = 1000
const silentMillis = 16_000
// How long the rest may take: a backlog, retries, a lease, and workers that wait before they come again.
const restMillis = 120_000
const probeMillis = 8000

/** Runs it; the report has the violations. Rejects when the fleet does not come to rest. */
export const runChaos = async (options: ChaosOptions): Promise<Report> => {
  if (options.store === "sqlite") return inStore(options, null)
  const server = await startServer({ connectionsMax: 100 })
  try {
    return await inStore(options, server.url())
  } finally {
    server.remove()
  }
}

const inStore = async (options: ChaosOptions, url: string | null): Promise<Report> => {
  const { seed, faults, seconds, runs, slackMillis, keep, say = () => {} } = options
  const begunAt = performance.now()
  const done: { report?: Report } = {}
  await inFolder(async (folder, start) => {
    const storage = url ?? `sqlite:${filesOf(folder).db}`
    const fleet = await Fleet.open({ folder, start, storage, say })
    const giveUp = (): void => {
      fleet.killAll()
      process.exit(130)
    }
    process.once("SIGINT", giveUp).once("SIGTERM", giveUp)
    const watch = setInterval(() => void fleet.weigh().catch(() => {}), 2000)
    try {
      let isOver = false
      const choice = new Choice(seed)
      const send = makeClient(folder, () => fleet.url, choice)
      const sending = sendMany({ send, choice, runs, seconds, isOver: () => isOver })
      // Heard of where it is waited for.
      sending.catch(() => {})
      await Promise.race([storm(fleet, planOf({ seed, faults, seconds })), sending.then(() => storming)])
      isOver = true
      say("no more faults")
      await sending
      await fleet.allUp()
      await comeToRest(folder, url)
      // What a fault left behind may show late: a worker that was frozen lets its connection go when it goes on.
      await pause(2000)
      await fleet.allUp()
      say("at rest; every slot is taken once more")
      const { slots } = fleet
      const ids = await Promise.all(Array.from({ length: slots }, () => send("slow", probeMillis)))
      await comeToRest(folder, url)
      const workers = await eventually("no worker has anything in hand", async () => {
        const views = await fleet.views().catch(() => [])
        return views.every(({ inHand }) => inHand === 0) ? views : undefined
      })
      await fleet.weigh()
      await fleet.stopAll()
      const story: Story = {
        ...(await readTables(folder, url)),
        ...fleet.evidence(),
        probe: { ids, slots },
        workers,
        bars: { closedMillis, silentMillis, slackMillis },
      }
      done.report = reportOf(story, {
        seed,
        seconds: (performance.now() - begunAt) / 1000,
        checks: judge(story),
      })
    } finally {
      clearInterval(watch)
      process.off("SIGINT", giveUp).off("SIGTERM", giveUp)
      fleet.killAll()
      if (keep !== undefined) cpSync(folder, keep, { recursive: true })
    }
  })
  if (done.report === undefined) throw new Error("The chaos run ended without a report")
  return done.report
}

// A client that ends before the storm does so for an error, which is told by its own promise.
const storming = new Promise<never>(() => {})

/** Waits until no run is open, by the store. */
const comeToRest = async (folder: string, url: string | null): Promise<void> => {
  const store: StoreDriver =
    url === null
      ? sqliteDriver({ file: filesOf(folder).db, role: "tool", create: false, now: () => Date.now() })
      : await postgresDriver({ url, connectionsMax: 2 })
  try {
    await eventually(
      "no run is open",
      async () =>
        (await store.counts()).some(({ state, count }) => !isFinal(state) && count > 0) ? undefined : true,
      restMillis,
    )
  } finally {
    await store.close()
  }
}

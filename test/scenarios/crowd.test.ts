// Scenario SC-S05, thousands of schedules at one instant, in a real engine over a SQLite file in real time: on a clock that
// is set to the instant when all is ready. Turns of the event loop are measured by the CPU time that they take, which a
// busy machine does not stretch.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { engine, job } from "uhrwerk"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import { movedClock } from "../../benchmarks/common/clock.ts"
import { quantile } from "../../benchmarks/common/statistics.ts"
import { layerDriver } from "../../core/ports/Store.ts"

const dueAt = Date.UTC(2026, 2, 2, 2, 18)
const count = 5000
const leaseMillis = 2000
const beatMillis = leaseMillis / 4

const cpuMillis = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

test("SC-S05 5,000 schedules of one instant: none is lost, the event loop stays free and heartbeats keep their beat", async () => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-crowd-"))
  const clock = movedClock(dueAt - 60_000)
  const beats: Array<number> = []
  const driver = sqliteDriver({ file: join(folder, "crowd.db"), now: clock.now })
  try {
    for (let from = 0; from < count; from += 1000)
      await driver.putSchedules(
        Array.from({ length: 1000 }, (_, n) => ({
          id: `tick ${from + n}`,
          job: "tick",
          trigger: { kind: "cron", expression: "18 2 * * *", zone: "UTC" },
          input: null,
          overlap: "skip",
          fromConfig: false,
          cursor: clock.now(),
          nextAt: dueAt,
          zoneData: null,
          createdAt: 0,
        })),
      )
    const storage = {
      name: "sqlite",
      layer: layerDriver(
        Effect.sync(() => ({
          ...driver,
          close: () => {},
          renew: (node: string, millis: number) => {
            beats.push(performance.now())
            return driver.renew(node, millis)
          },
        })),
      ),
    }
    const started = new Map<string, number>()
    const all = Promise.withResolvers<void>()
    const tick = job("tick", {
      run: (_: void, { run }) => {
        started.set(run.id, (started.get(run.id) ?? 0) + 1)
        if (started.size === count) all.resolve()
      },
    })
    const config = { jobs: [tick], storage, worker: { concurrency: 50 }, lease: leaseMillis } as const
    const app = await engine(config).start({ guard: false, context: clock.context })
    const turns: Array<number> = []
    let last = cpuMillis()
    const watch = setInterval(() => {
      const now = cpuMillis()
      turns.push(now - last)
      last = now
    }, 1)
    beats.length = 0
    beats.push(performance.now())
    clock.moveTo(dueAt)
    await all.promise
    clearInterval(watch)
    turns.push(cpuMillis() - last)
    // Where the crowd is through before the first beat, that one counts too.
    while (beats.length < 3) await new Promise((resolve) => setTimeout(resolve, 20))
    await app.stop()

    expect([...started.values()].filter((times) => times !== 1)).toEqual([])
    const rows = []
    for (let n = 0; n < count; n++)
      rows.push(...(await driver.occurrences({ scheduleId: `tick ${n}`, limit: 10 })))
    expect(rows).toHaveLength(count)
    expect(rows.every(({ at, reason }) => at === dueAt && reason === null)).toBe(true)
    expect(new Set(rows.map(({ runId }) => runId))).toEqual(new Set(started.keys()))
    expect(quantile(turns, 0.99)).toBeLessThan(250)
    const gaps = beats.slice(1).map((beat, n) => beat - (beats[n] as number))
    expect(Math.max(...gaps)).toBeLessThan(2 * beatMillis)
  } finally {
    await driver.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

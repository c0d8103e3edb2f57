// A small chaos run over PostgreSQL: three nodes, a few faults of each round, and no promise is broken. The full one is
// `npm run chaos -- --store postgres --kills 30`. `CHAOS_SEED` repeats the faults of an earlier run.
import { expect, test } from "vitest"
import { cannotStart } from "../../adapters/store-sql/postgres/ownServer.ts"
import { textOf } from "./report.ts"
import { runChaos } from "./run.ts"

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 2 ** 31)

test.skipIf(cannotStart !== null)(
  `six faults lose nothing, double nothing and leave nothing behind${cannotStart === null ? "" : ` (${cannotStart})`}`,
  async () => {
    // How soon is for the command to say, on a machine that does nothing else: here it has only to come.
    const size = { faults: 6, seconds: 25, runs: 600, schedules: 10, recoveryMillis: 60_000 }
    const report = await runChaos({ seed, ...size })
    console.log(textOf(report))
    expect(report.checks.flatMap(({ violations }) => violations)).toEqual([])
    // They had something to look at.
    expect(report.size.acknowledged).toBeGreaterThanOrEqual(600)
    expect(report.size.lost).toBeGreaterThan(0)
    expect(Object.values(report.faults).reduce((sum, count) => sum + count, 0)).toBe(6)
    expect(report.shares.length).toBeGreaterThan(3)
  },
)

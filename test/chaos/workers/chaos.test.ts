// A small chaos run with workers: one server, four workers, six faults, and no promise is broken. The full one is
// `npm run chaos -- --workers`. `CHAOS_SEED` repeats the faults of an earlier run.
import { expect, test } from "vitest"
import { textOf } from "./report.ts"
import { runChaos } from "./run.ts"

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 2 ** 31)

test("six faults lose nothing, let nothing stale in and leave nothing behind", async () => {
  // How soon is for the command to say, on a machine that does nothing else: here it has only to come.
  const size = { store: "sqlite", faults: 6, seconds: 24, runs: 200, slackMillis: 30_000 } as const
  const report = await runChaos({ seed, ...size })
  console.log(textOf(report))
  expect(report.checks.flatMap(({ violations }) => violations)).toEqual([])
  // They had something to look at.
  expect(report.size.acknowledged).toBeGreaterThanOrEqual(200)
  expect(report.size.lost).toBeGreaterThan(0)
  expect(Object.values(report.faults).reduce((sum, count) => sum + count, 0)).toBe(6)
  expect(Object.keys(report.shares)).toHaveLength(4)
})

// kill -9 at random moments, again and again: afterwards a checker that sees only what was left behind (ledger,
// effect log, store) must find nothing wrong. `CHAOS_SEED` repeats the moments of an earlier run.
import { expect, test } from "vitest"
import { type RuntimeName, runtimes } from "./children.ts"
import { killAgainAndAgain } from "./sqliteKills.ts"

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 2 ** 31)

const survive = async (runtime: RuntimeName, options: { readonly kills: number; readonly runs: number }) => {
  const { text, violations, evidence } = await killAgainAndAgain(runtime, { ...options, seed })
  console.log(text)
  expect(violations).toEqual([])
  // The checks had something to look at.
  const { ledger, letters, occurrences, runs } = evidence
  const acks = new Set(ledger.filter(({ kind }) => kind === "ack").map(({ id }) => id))
  expect(ledger.filter(({ kind }) => kind === "send")).toHaveLength(options.runs)
  expect(acks.size).toBeGreaterThanOrEqual(options.runs)
  expect(letters.length).toBeGreaterThan(0)
  expect(new Set(occurrences.map(({ reason }) => reason))).toContain("missed")
  expect(runs.some(({ state }) => state === "skipped")).toBe(true)
}

test.concurrent("kill -9 > ten kills lose nothing, double nothing and leave nothing stuck", async () => {
  await survive("node", { kills: 10, runs: 2000 })
})

for (const runtime of runtimes.filter((name) => name !== "node")) {
  test.concurrent(`kill -9 > three kills on ${runtime} lose nothing, double nothing and leave nothing stuck`, async () => {
    await survive(runtime, { kills: 3, runs: 600 })
  })
}

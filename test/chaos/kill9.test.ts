// kill -9 at random moments, again and again: afterwards a checker that sees only what was left behind (ledger,
// effect log, store) must find nothing wrong. `CHAOS_SEED` repeats the moments of an earlier run.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { check } from "./checker.ts"
import { randomOf } from "../common/random.ts"
import { inFolder, pause, type RuntimeName, runtimes } from "./children.ts"
import { readEvidence } from "./evidence.ts"

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 2 ** 31)

const survive = async (runtime: RuntimeName, options: { readonly kills: number; readonly runs: number }) =>
  inFolder(async (folder, startChild) => {
    const random = randomOf(seed)
    const moments: Array<string> = []
    // Two of the lives end in the moment of an acknowledgement, by their own hand.
    const endsItself = (life: number): boolean => life < options.kills && (life === 1 || life === 3)
    const prepare = (life: number) => {
      const acks = endsItself(life) ? 1 + Math.floor(random() * 40) : 0
      const args = ["test/chaos/engine.child.ts", folder, options.runs, life, acks].map(String)
      const child = startChild(runtime, args)
      const go = (): void => writeFileSync(join(folder, `go-${life}`), "")
      return { child, acks, go }
    }
    let next = prepare(0)
    for (let kill = 0; kill < options.kills; kill++) {
      const { child, acks, go } = next
      go()
      // Its code is loaded meanwhile; with the lock held, it could not start by itself.
      next = prepare(kill + 1)
      if (acks === 0) {
        // A few die while they start: recovery itself must survive that.
        const whileStarting = kill > 0 && random() < 0.25
        if (!whileStarting) await child.until(/^ready /m, 30_000)
        const millis = Math.round(whileStarting ? random() * 300 : 300 + random() * 1200)
        await pause(millis)
        child.signal("SIGKILL")
        moments.push(`${whileStarting ? "start" : "ready"} + ${millis} ms`)
      } else moments.push(`ack ${acks}`)
      expect(await child.ended()).toBe("SIGKILL")
    }
    const last = next.child
    next.go()
    await last.until(/^idle$/m, 40_000)
    last.signal("SIGTERM")
    expect(await last.ended()).toBe(0)
    expect(last.output()).toContain("stopped")

    const evidence = await readEvidence(folder)
    const { ledger, effects, runs, letters, occurrences, attempts } = evidence
    const lost = attempts.filter(({ error }) => error.kind === "lost")
    const acks = new Set(ledger.filter(({ kind }) => kind === "ack").map(({ id }) => id))
    console.log(
      `${runtime}, seed ${seed}: killed at ${moments.join(", ")}; ${acks.size} acknowledged, ${runs.length} runs, ` +
        `${effects.filter(({ kind }) => kind === "start").length} starts, ${lost.length} attempts lost, ` +
        `${letters.length} letters, ${occurrences.length} occurrence rows`,
    )
    expect(check(evidence)).toEqual([])
    // The checks had something to look at.
    expect(ledger.filter(({ kind }) => kind === "send")).toHaveLength(options.runs)
    expect(acks.size).toBeGreaterThanOrEqual(options.runs)
    expect(letters.length).toBeGreaterThan(0)
    expect(new Set(occurrences.map(({ reason }) => reason))).toContain("missed")
    expect(runs.some(({ state }) => state === "skipped")).toBe(true)
  })

test.concurrent("kill -9 > ten kills lose nothing, double nothing and leave nothing stuck", async () => {
  await survive("node", { kills: 10, runs: 2000 })
})

for (const runtime of runtimes.filter((name) => name !== "node")) {
  test.concurrent(`kill -9 > three kills on ${runtime} lose nothing, double nothing and leave nothing stuck`, async () => {
    await survive(runtime, { kills: 3, runs: 600 })
  })
}

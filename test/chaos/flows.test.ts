// kill -9 in the middle of flow runs, at random moments and at the worst ones: between the writes of a settlement that
// releases what follows, before and after its commit, when a step has begun, and when it has returned. Afterwards a
// checker that sees only what was left behind must find nothing wrong. `CHAOS_SEED` repeats the moments of an earlier run.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { makeIds } from "../../core/domain/Ids.ts"
import { randomOf } from "../common/random.ts"
import { inFolder, pause, type RuntimeName, runtimes } from "./children.ts"
import { checkFlows } from "./flowChecker.ts"
import { readFlowEvidence, type Sent, sentFile } from "./flowEvidence.ts"
import { plan } from "./flowPlan.ts"

const seed = Number(process.env["CHAOS_SEED"] ?? Date.now() % 2 ** 31)

/** Where a life ends: by its own hand at a point, at the n-th time; or killed from outside, some time after `ready`. */
type Death = { readonly point: string; readonly most: number } | { readonly millis: number }

const survive = async (
  runtime: RuntimeName,
  options: { readonly runs: number; readonly deaths: ReadonlyArray<Death> },
) =>
  inFolder(async (folder, startChild) => {
    const random = randomOf(seed)
    const ids = makeIds(Date.now, () => (Math.random() * 2 ** 32) | 0)
    const sent = Array.from({ length: options.runs }, (_, n): Sent => ({ id: ids(), n }))
    writeFileSync(sentFile(folder), JSON.stringify(sent))
    const moments: Array<string> = []
    const prepare = (life: number) => {
      const death = options.deaths[life]
      const point =
        death !== undefined && "point" in death
          ? `${death.point}:${1 + Math.floor(random() * death.most)}`
          : "none"
      const child = startChild(runtime, ["test/chaos/flows.child.ts", folder, String(life), point])
      return { child, death, point, go: () => writeFileSync(join(folder, `go-${life}`), "") }
    }
    let next = prepare(0)
    for (let life = 0; life < options.deaths.length; life++) {
      const { child, death, point, go } = next
      go()
      // Its code is loaded meanwhile; with the lock held, it could not start by itself.
      next = prepare(life + 1)
      if (death !== undefined && "millis" in death) {
        await child.until(/^ready /m, 30_000)
        const millis = Math.round(random() * death.millis)
        await pause(millis)
        child.signal("SIGKILL")
        moments.push(`ready + ${millis} ms`)
      } else moments.push(point)
      expect(await child.ended(30_000), moments.at(-1)).toBe("SIGKILL")
      // It died at work.
      expect(child.output(), moments.at(-1)).not.toMatch(/^idle$/m)
    }
    const last = next.child
    next.go()
    await last.until(/^idle$/m, 60_000)
    last.signal("SIGTERM")
    expect(await last.ended()).toBe(0)
    expect(last.output()).toContain("stopped")

    const evidence = await readFlowEvidence(folder)
    const { runs, views, lines, letters } = evidence
    const returned = lines.filter(({ kind }) => kind === "end").map(({ id }) => id)
    // Done, and done again, as the kill came before it was recorded.
    const again = returned.length - new Set(returned).size
    console.log(
      `${runtime}, seed ${seed}: killed at ${moments.join("; ")}; ${sent.length} flow runs, ${views.length} expanded, ` +
        `${runs.length} runs, ${returned.length} times a step returned, ${again} of them again, ${letters.length} letters`,
    )
    expect(checkFlows(evidence)).toEqual([])
    // The checks had something to look at.
    expect(plan).toHaveLength(50)
    expect(views.filter(({ runId }) => sent.some(({ id }) => id === runId))).toHaveLength(options.runs)
    expect(views.length).toBeGreaterThan(2 * options.runs)
    const ends = new Set(views.flatMap(({ steps }) => steps.map(({ state }) => state)))
    expect([...ends].sort()).toEqual(["failed", "skipped", "succeeded", "upstream_failed"])
    expect(letters.length).toBeGreaterThan(0)
    expect(again).toBeGreaterThan(0)
  })

const worst: ReadonlyArray<Death> = [
  { point: "expanding, uncommitted", most: 5 },
  { point: "half", most: 1200 },
  { point: "expanding, committed", most: 5 },
  { millis: 400 },
  { point: "settling, uncommitted", most: 20 },
  { point: "returned", most: 300 },
  { point: "settling, committed", most: 20 },
  { millis: 250 },
  { point: "begun", most: 300 },
]

test.concurrent("kill -9 > nine kills among 200 flow runs of 50 steps: each step ends once, and nothing is stuck", async () => {
  await survive("node", { runs: 200, deaths: worst })
})

for (const runtime of runtimes.filter((name) => name !== "node")) {
  test.concurrent(`kill -9 > four kills among flow runs on ${runtime}: each step ends once, and nothing is stuck`, async () => {
    const few = [0, 1, 6, 7].flatMap((at) => worst[at] ?? [])
    await survive(runtime, { runs: 60, deaths: few })
  })
}

// Random flows in SQLite against the pure model of them, with a round after the first where that failed.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { triggerRules } from "../../../core/domain/Flow.ts"
import { parseGraph } from "../../../core/flow/Graph.ts"
import { Progress } from "../../../core/flow/Progress.ts"
import { rerun } from "../../../core/flow/Rerun.ts"
import { tallyOf } from "../../../core/flow/Summary.ts"
import { claim, expand, flowOf, lost, memory, statesOf, stepOf, won } from "./flowFixtures.ts"

describe("random flows", () => {
  // Xorshift: the same flows in each run of the test.
  const makeRandom = (seed: number) => {
    let state = seed | 1
    return (below: number): number => {
      state ^= state << 13
      state ^= state >>> 17
      state ^= state << 5
      return (state >>> 0) % below
    }
  }

  test("end as the pure model says, in whatever batches their steps end, and each step ran once", async () => {
    let stepsRun = 0
    for (let seed = 1; seed <= 300; seed++) {
      const random = makeRandom(seed * 7919)
      const steps = Array.from({ length: 1 + random(14) }, (_, index) =>
        stepOf(
          `s${index}`,
          Array.from({ length: index }, (_each, need) => `s${need}`).filter(() => random(4) === 0),
          { rule: triggerRules[random(triggerRules.length)], allowFailure: random(4) === 0 },
        ),
      )
      // How each step ends in the first round, and in the second.
      const ends = [0, 1].map((round) =>
        steps.map(
          () => (["succeeded", "succeeded", "failed", "skipped"] as const)[random(round === 0 ? 4 : 3)],
        ),
      )
      const { store, count } = memory()
      const expansion = flowOf("random", steps)
      const id = await expand(store, 1, expansion, 0)
      const graph = Result.getOrThrow(parseGraph(steps))
      let model = new Progress(graph)
      let released = model.begin()
      let runs = 0
      for (const [round, byStep] of ends.entries()) {
        for (let open = [...released.run]; open.length > 0;) {
          const step = open.splice(random(open.length), 1)[0] ?? 0
          runs++
          open = [...open, ...(model.finish(step, byStep[step] ?? "failed")?.run ?? [])]
        }
        for (;;) {
          const held = await claim(store, ["step"], 1 + random(4))
          if (held.length === 0) break
          await store.settle(
            held.map((run) => {
              const end = byStep[run.step ?? 0]
              if (end === "succeeded") return won(run)
              return end === "failed"
                ? lost(run)
                : { id: run.id, token: run.token, kind: "declined", reason: "no" }
            }),
          )
        }
        const name = `seed ${seed}, round ${round}`
        expect(await statesOf(store, id), name).toEqual(model.states)
        const { openCount, faultCount } = tallyOf(graph, model.states)
        expect(openCount, name).toBe(0)
        const [run] = await store.get([id])
        // To retry at once; the last claim, of nothing, has promoted it.
        const failed = round === 0 ? "ready" : "dead"
        expect(run, name).toMatchObject({ state: faultCount > 0 ? failed : "succeeded", waitingFor: 0 })
        expect(count("runs where parent_id is not null"), name).toBe(runs)
        if (faultCount === 0) break
        const again = rerun(graph, model.states, "failed")
        model = again.progress
        released = again.released
        if (round > 0) break
        const [taken] = await claim(store, ["flow"], 1)
        await store.settle([
          { id, token: taken?.token ?? 0, kind: "expanded", expansion, retryInMillis: null },
        ])
      }
      stepsRun += runs
    }
    expect(stepsRun).toBeGreaterThan(1_000)
  })
})

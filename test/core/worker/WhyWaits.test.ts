// Why no worker takes a run: one sentence for each thing that those who are connected may lack, in the order in which they
// are looked at.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import type { Placement } from "../../../core/domain/Placement.ts"
import { compilePlacement } from "../../../core/worker/Placement.ts"
import { whyWaits } from "../../../core/worker/WhyWaits.ts"
import type { WorkerView } from "../../../core/worker/WorkerView.ts"
import { viewOf } from "./views.ts"

const placed = (where: string | null, fields: Partial<Placement> = {}) =>
  Result.getOrThrow(compilePlacement("run", { by: "leastLoaded", where, broadcast: false, ...fields }))
const asked = { job: "encode", queue: "video" }
const worker = (name: string, fields: Partial<WorkerView> = {}): WorkerView =>
  viewOf(name, { jobs: ["encode", "other"], ...fields })
const why = (workers: ReadonlyArray<WorkerView>, where: string | null = null, leftOut = 0) =>
  whyWaits(asked, placed(where), [{ workers, leftOut }])?.why ?? null

describe("why a run waits for a worker", () => {
  test("nobody serves workers, or none is connected", () => {
    expect(whyWaits(asked, null, [])).toEqual({
      why: "no engine that is running serves workers",
      next: "Start one that does: uhrwerk serve",
    })
    expect(whyWaits(asked, null, [{ workers: [], leftOut: 0 }])).toEqual({
      why: "no worker is connected",
      next: "Start one that has a handler for it: uhrwerk worker",
    })
  })

  test("none has a handler; at most three are named", () => {
    const others = ["w1", "w2", "w3", "w4", "w5"].map((name) => viewOf(name, { jobs: ["other"] }))
    expect(why(others.slice(0, 1))).toBe(
      'no connected worker has a handler for job "encode" (connected is "w1")',
    )
    expect(why(others)).toBe(
      'no connected worker has a handler for job "encode" (connected are "w1", "w2", "w3" and 2 more)',
    )
    expect(why([worker("w1", { unable: ["encode"] })])).toBe(
      'no connected worker has a handler for job "encode" (connected is "w1"; "w1" announced it, and then had none)',
    )
  })

  test("none takes the queue", () => {
    expect(why([viewOf("w0"), worker("w1", { queues: ["mail", "default"] })])).toBe(
      'no worker that has job "encode" takes runs of queue "video": "w1" takes "mail", "default"',
    )
    expect(why([worker("w1", { queues: [] })])).toContain('"w1" takes none')
    expect(why([worker("w1", { queues: ["video"] })])).toBe(null)
  })

  test("none matches the rule: the nearest one is named, with what it lacks", () => {
    const rule = "region = eu and gpu > 1 and ssd = true"
    expect(why([worker("w1", { labels: { region: "us", gpu: 4, ssd: true } })], rule)).toBe(
      'the only worker that has job "encode" does not match `region = eu and gpu > 1 and ssd = true`: "w1" lacks `region = eu` (region is "us")',
    )
    expect(
      why(
        [
          worker("w1", { labels: { region: "us" } }),
          worker("w2", { labels: { region: "eu", gpu: 1, ssd: true } }),
        ],
        rule,
      ),
    ).toBe(
      'none of the 2 workers that have job "encode" matches `region = eu and gpu > 1 and ssd = true`: "w2" comes nearest, and lacks `gpu > 1` (gpu is 1)',
    )
    expect(why([worker("w1", { labels: { ssd: false } })], "gpu > 1 and ssd = true")).toContain(
      '"w1" lacks `gpu > 1` (no label gpu), `ssd = true` (ssd is false)',
    )
    expect(why([worker("w1")], "not runtime = node")).toContain('(runtime is "node")')
  })

  test("the versions are others than the one that is asked for", () => {
    const old = [worker("w1", { version: "1.9.0" }), worker("w2", { version: "2.0.0-rc.1" })]
    expect(why(old, "version >= 2 and runtime = node")).toBe(
      'none of the 2 workers that have job "encode" matches `version >= 2 and runtime = node`: `version >= 2` is asked for, and there are "1.9.0", "2.0.0-rc.1"',
    )
    expect(why(old.slice(0, 1), "version >= 2")).toContain('and there is "1.9.0"')
    expect(why([...old, worker("w3", { version: "2.0.0" })], "version >= 2")).toBe(null)
  })

  test("those that fit are about to leave, silent or cut off", () => {
    expect(
      why([
        worker("w1", { status: "draining" }),
        worker("w2", { status: "suspect" }),
        worker("w3", { status: "cut" }),
        worker("w4", { status: "cut" }),
      ]),
    ).toBe(
      'no worker that fits takes runs now: "w1" is about to leave, "w2" is silent, "w3" is cut off and 1 more',
    )
  })

  test("those that fit have no room", () => {
    const full = (name: string, fields: Partial<WorkerView> = {}) =>
      worker(name, { slots: 2, prefetch: 1, inHand: 3, ...fields })
    expect(why([full("w1")])).toBe("the only worker that fits has no room: 3 runs in hand, 2 slots")
    expect(why([full("w1"), full("w2"), worker("w3", { status: "draining" })])).toBe(
      "all 2 workers that fit have no room: 6 runs in hand, 4 slots",
    )
    expect(why([full("w1"), full("w2", { inHand: 2 })])).toBe(null)
  })

  test("what a report had no place for is not passed over in silence", () => {
    expect(why([viewOf("w1", { jobs: [] })], null, 7)).toContain("; of 7 more workers nothing is told here")
    const reports = [
      { workers: [viewOf("w1", { jobs: [] })], leftOut: 0 },
      { workers: [worker("w2")], leftOut: 0 },
    ]
    expect(whyWaits(asked, placed(null), reports)).toBe(null)
  })
})

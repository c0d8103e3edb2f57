// Which worker gets a run: by room, in turn, by a field of the input; with workers that come, go and are full. A model that
// sorts by weights judges the choice by hash.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { newRun, runId } from "../../../core/contract/Fixtures.ts"
import type { Placement } from "../../../core/domain/Placement.ts"
import type { Run } from "../../../core/domain/Run.ts"
import * as Transition from "../../../core/domain/Transition.ts"
import type { Labels } from "../../../core/worker/LabelRule.ts"
import {
  type Candidate,
  Chooser,
  compilePlacement,
  type CompiledPlacement,
  fits,
  labelsOf,
} from "../../../core/worker/Placement.ts"
import { Choice } from "../../common/random.ts"

const compiled = (fields: Partial<Placement> = {}): CompiledPlacement =>
  Result.getOrThrow(
    compilePlacement('job "a".run', { by: "leastLoaded", where: null, broadcast: false, ...fields }),
  )
const refused = (fields: any) =>
  Result.getOrThrow(
    Result.flip(compilePlacement("run", { by: "leastLoaded", where: null, broadcast: false, ...fields })),
  )

/** A worker that can be given runs. */
interface Worker extends Candidate {
  inHand: number
  free: number
}
const worker = (name: string, slots = 1, labels: Labels = {}): Worker => ({
  name,
  slots,
  labels: labelsOf({ name, runtime: "node 24.21.0", version: "1.0.0", labels }),
  inHand: 0,
  free: slots,
})
const run = (n: number, fields: { readonly job?: string; readonly input?: unknown } = {}): Run =>
  Transition.enqueued(
    newRun(n, {
      job: fields.job ?? "a",
      input: fields.input === undefined ? null : JSON.stringify(fields.input),
    }),
    0,
    0,
  )

/** Chooses for `count` runs, each of which stays in hand. */
const give = (
  chooser: Chooser,
  placement: CompiledPlacement | null,
  workers: ReadonlyArray<Worker>,
  count: number,
  job = "a",
): Array<string | null> =>
  Array.from({ length: count }, (_, n) => {
    const name = chooser.choose(placement, run(n, { job }), workers)
    const chosen = workers.find((each) => each.name === name)
    if (chosen !== undefined) {
      chosen.inHand++
      chosen.free--
    }
    return name
  })

describe("placement > what is compiled", () => {
  test("by, where and broadcast are checked, and refusals name their field", () => {
    expect(compiled({ by: { hash: "order.id" } })).toMatchObject({ by: "hash", path: ["order", "id"] })
    expect(compiled({ by: "roundRobin", where: "gpu > 1" })).toMatchObject({ by: "roundRobin", path: [] })
    expect(refused({ by: "random" })).toMatchObject({
      field: "run.by",
      next: expect.stringContaining("roundRobin"),
    })
    for (const by of [{ hash: "" }, { hash: "a..b" }, { hash: 7 }, {}, { hash: "x".repeat(257) }])
      expect(refused({ by }).field).toBe("run.by")
    expect(refused({ by: null }).field).toBe("run.by")
    expect(refused({ where: "gpu >" })).toMatchObject({ field: "run.where", position: 5 })
    expect(refused({ where: "" }).field).toBe("run.where")
    const none = compilePlacement("run", null as unknown as Placement)
    expect(Result.isFailure(none) && none.failure.reason).toBe("null is no placement")
    expect(refused({ broadcast: "yes" }).field).toBe("run.broadcast")
    expect(refused({ broadcast: true, by: "roundRobin" }).reason).toContain("every worker")
  })

  test("a worker's name, runtime and version are labels, whatever it says of them itself", () => {
    const labels = labelsOf({
      name: "w1",
      runtime: "bun 1.4.5",
      version: "2.1",
      labels: { version: "9", gpu: 1 },
    })
    expect(labels).toEqual({ worker: "w1", runtime: "bun", version: "2.1", gpu: 1 })
    const rule = compiled({ where: "runtime = bun and version < 3 and worker = w1" })
    expect(fits(rule, { labels })).toBe(true)
    expect(fits(compiled({ where: "runtime = node" }), { labels })).toBe(false)
    expect(fits(compiled(), { labels })).toBe(true)
    expect(fits(null, { labels })).toBe(true)
  })
})

describe("placement > the least loaded", () => {
  test("is the one with the least in hand for its slots", () => {
    const workers = [worker("big", 6), worker("small", 2)]
    const given = give(new Chooser(), null, workers, 8)
    expect(given.filter((name) => name === "big")).toHaveLength(6)
    expect(given.slice(0, 4).filter((name) => name === "small")).toHaveLength(1)
    expect(give(new Chooser(), null, workers, 1)).toEqual([null])
  })

  test("what a worker takes beyond its slots does not make it look emptier", () => {
    const prefetching = { ...worker("prefetching", 1), free: 100 }
    const other = worker("other", 4)
    expect(give(new Chooser(), null, [prefetching, other], 6)).toEqual([
      "prefetching",
      "other",
      "other",
      "other",
      "other",
      "prefetching",
    ])
  })

  test("of equals, is the one that was asked longest ago, for whatever job", () => {
    const chooser = new Chooser()
    const workers = ["w1", "w2", "w3"].map((name) => worker(name, 10))
    // Each is over before the next one comes.
    const chosen = Array.from({ length: 6 }, (_, n) =>
      chooser.choose(n % 2 === 0 ? null : compiled(), run(n, { job: `job ${n}` }), workers),
    )
    expect(chosen).toEqual(["w1", "w2", "w3", "w1", "w2", "w3"])
  })

  test("is one that fits, and has room", () => {
    const workers = [worker("w1", 5, { region: "us" }), worker("w2", 1, { region: "eu" })]
    const placement = compiled({ where: "region = eu" })
    expect(give(new Chooser(), placement, workers, 2)).toEqual(["w2", null])
    expect(new Chooser().choose(placement, run(1), [])).toBe(null)
  })

  test("a worker that comes back with other labels is looked at anew", () => {
    const chooser = new Chooser()
    const placement = compiled({ where: "region = eu" })
    expect(chooser.choose(placement, run(1), [worker("w1", 1, { region: "us" })])).toBe(null)
    expect(chooser.choose(placement, run(1), [worker("w1", 1, { region: "eu" })])).toBe("w1")
    expect(chooser.choose(placement, run(1), [worker("w1", 1, { region: "us" })])).toBe(null)
  })

  test("a job whose rule changed goes by the new one", () => {
    const chooser = new Chooser()
    const workers = [worker("w1", 9, { gpu: 1 })]
    expect(chooser.choose(compiled({ where: "gpu = 1" }), run(1), workers)).toBe("w1")
    expect(chooser.choose(compiled({ where: "gpu = 2" }), run(1), workers)).toBe(null)
  })
})

describe("placement > round robin", () => {
  const turns = compiled({ by: "roundRobin" })

  test("goes round for each job by itself, whatever is in hand", () => {
    const chooser = new Chooser()
    const workers = ["w1", "w2", "w3"].map((name) => worker(name, 100))
    expect(give(chooser, turns, workers, 4, "a")).toEqual(["w1", "w2", "w3", "w1"])
    expect(give(chooser, compiled({ by: "roundRobin" }), workers, 2, "b")).toEqual(["w1", "w2"])
    expect(give(chooser, turns, workers, 2, "a")).toEqual(["w2", "w3"])
  })

  test("passes over who is full, and comes back to it first", () => {
    const chooser = new Chooser()
    const workers = ["w1", "w2", "w3"].map((name) => worker(name, 100)) as [Worker, Worker, Worker]
    give(chooser, turns, workers, 3)
    workers[0].free = 0
    expect(give(chooser, turns, workers, 3)).toEqual(["w2", "w3", "w2"])
    workers[0].free = 10
    expect(give(chooser, turns, workers, 3)).toEqual(["w1", "w3", "w2"])
  })

  test("stays fair while workers come, go and change places", () => {
    const chooser = new Chooser()
    const choice = new Choice(3)
    const all = Array.from({ length: 9 }, (_, n) => worker(`w${n}`, 1e6))
    const counts = new Map(all.map(({ name }) => [name, 0]))
    const there = new Map(all.map(({ name }) => [name, 0]))
    for (let round = 0; round < 3000; round++) {
      // Most of them, in any order.
      const workers = [...choice.some(all, 9)].sort(() => choice.random() - 0.5)
      if (workers.length < 7) continue
      for (const { name } of workers) there.set(name, (there.get(name) ?? 0) + 1 / workers.length)
      const name = chooser.choose(turns, run(round), workers) as string
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    // Nobody is more than a few turns from its share of the rounds in which it was there.
    for (const [name, count] of counts) expect(Math.abs(count - (there.get(name) ?? 0))).toBeLessThan(8)
  })

  test("a worker that is new gets its turn, and no flood", () => {
    const chooser = new Chooser()
    const old = ["w1", "w2"].map((name) => worker(name, 100))
    give(chooser, turns, old, 20)
    expect(give(chooser, turns, [...old, worker("w3", 100)], 4)).toEqual(["w3", "w1", "w2", "w3"])
  })
})

describe("placement > hash", () => {
  const byCustomer = compiled({ by: { hash: "customer" } })
  const workers = Array.from({ length: 10 }, (_, n) => worker(`w${n}`, 1e6))
  // What it remembers has no say in these choices.
  const anyChooser = new Chooser()
  const of = (customer: unknown, among: ReadonlyArray<Worker> = workers, n = 1): string =>
    anyChooser.choose(byCustomer, run(n, { input: { customer } }), among) as string

  test("the same value goes to the same worker, on any node and in any order of workers", () => {
    const chooser = new Chooser()
    for (let n = 0; n < 50; n++) {
      const customer = `customer ${n % 7}`
      const chosen = chooser.choose(byCustomer, run(n, { input: { customer } }), workers)
      expect(chosen).toBe(of(customer))
      expect(of(customer, [...workers].reverse(), n + 100)).toBe(chosen)
    }
    // These are the answers of every runtime and release: another hash would move every value at an update.
    expect(["a", "b", "c", 1, "1", { x: 1 }].map((value) => of(value))).toEqual([
      "w7",
      "w3",
      "w3",
      "w2",
      "w2",
      "w7",
    ])
  })

  test("values spread evenly", () => {
    const counts = new Map<string, number>()
    for (let n = 0; n < 20_000; n++) {
      const name = of(`customer ${n}`)
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(counts.size).toBe(10)
    for (const count of counts.values()) expect(Math.abs(count - 2000)).toBeLessThan(200)
  })

  test("a worker that goes moves only what was its own, and one that comes takes only its share", () => {
    const fewer = workers.filter(({ name }) => name !== "w4")
    let moved = 0
    for (let n = 0; n < 2000; n++) {
      const before = of(n)
      const after = of(n, fewer)
      if (before === "w4") moved++
      else expect(after).toBe(before)
      expect(after).not.toBe("w4")
    }
    expect(Math.abs(moved - 200)).toBeLessThan(60)
  })

  test("who is full is passed over, in an order that is the value's own, and has it again later", () => {
    const some = Array.from({ length: 5 }, (_, n) => worker(`w${n}`, 1))
    const chooser = new Chooser()
    const input = { customer: "a" }
    const order = Array.from({ length: 6 }, (_, n) => {
      const name = chooser.choose(byCustomer, run(n, { input }), some)
      const chosen = some.find((each) => each.name === name)
      if (chosen !== undefined) chosen.free = 0
      return name
    })
    expect(new Set(order.slice(0, 5)).size).toBe(5)
    expect(order[5]).toBe(null)
    for (const each of some) each.free = 1
    // Without the first one, the second in order is the first.
    for (let from = 0; from < 5; from++) {
      const left = some.filter(({ name }) => !order.slice(0, from).includes(name))
      expect(chooser.choose(byCustomer, run(9, { input }), left)).toBe(order[from])
    }
    const other = chooser.choose(byCustomer, run(9, { input: { customer: "e" } }), some)
    expect(other).not.toBe(order[0])
  })

  test("a path goes into the input; what is not there is chosen by the run", () => {
    const byId = compiled({ by: { hash: "order.ids.0" } })
    const choose = (n: number, input: unknown): string =>
      new Chooser().choose(byId, run(n, { input }), workers) as string
    expect(choose(1, { order: { ids: ["a"] } })).toBe(of("a"))
    expect(choose(2, { order: { ids: ["a", "b"] } })).toBe(of("a"))
    const fallback = of(runId(3))
    for (const input of [undefined, null, 5, "text", {}, { order: null }, { order: { ids: [] } }, [1]])
      expect(choose(3, input)).toBe(fallback)
    expect(choose(3, { order: { ids: [null] } })).toBe(fallback)
    // An object has more than what was written into it: what it has from elsewhere is the same for all.
    const own = compiled({ by: { hash: "constructor" } })
    for (let n = 0; n < 20; n++)
      expect(new Chooser().choose(own, run(n, { input: {} }), workers)).toBe(of(runId(n)))
    const broken = { ...run(3), input: "{" }
    expect(new Chooser().choose(byId, broken, workers)).toBe(fallback)
  })
})

describe("placement > what is remembered", () => {
  test("ten thousand names that come and go, and jobs without end, do not grow it without bound", () => {
    const chooser = new Chooser()
    const placement = compiled({ by: "roundRobin" })
    const { labels } = worker("w")
    for (let n = 0; n < 130_000; n++) {
      const next = { id: "", job: `job ${n % 5000}`, input: null }
      const name = chooser.choose(placement, next, [{ name: `w${n}`, labels, slots: 1, inHand: 0, free: 1 }])
      if (name !== `w${n}`) expect(name).toBe(`w${n}`)
    }
    expect(chooser.size).toBeLessThanOrEqual(100_002)
  })

  test("two choosers that are asked alike answer alike", () => {
    const choice = new Choice(5)
    const workers = Array.from({ length: 20 }, (_, n) => worker(`w${n}`, choice.int(1, 9), { gpu: n % 3 }))
    const placements = [
      null,
      compiled(),
      compiled({ by: "roundRobin", where: "gpu > 0" }),
      compiled({ by: { hash: "k" } }),
    ]
    const [one, other] = [new Chooser(), new Chooser()]
    for (let n = 0; n < 2000; n++) {
      const placement = choice.of(placements)
      const next = run(n, { job: `job ${placements.indexOf(placement)}`, input: { k: n % 9 } })
      const asked = choice.some(workers, 20)
      const chosen = one.choose(placement, next, asked)
      expect(other.choose(placement, next, asked)).toBe(chosen)
      const given = workers.find(({ name }) => name === chosen)
      if (given !== undefined && given.free > 0) {
        given.free--
        given.inHand++
      }
      const back = choice.of(workers)
      if (back.inHand > 0) {
        back.free++
        back.inHand--
      }
    }
  })
})

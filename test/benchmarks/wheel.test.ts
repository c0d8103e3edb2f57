// The wheel benchmark: that those it measures are timer queues at all, that all do the same work, and what it says.
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { contenders, epoch } from "../../benchmarks/wheel/contenders.ts"
import { Floor } from "../../benchmarks/wheel/Floor.ts"
import { makeLoad } from "../../benchmarks/wheel/load.ts"
import * as loops from "../../benchmarks/wheel/loops.ts"
import { parseOptions } from "../../benchmarks/wheel/options.ts"
import { barsOf, type Figures, markdown, type Report } from "../../benchmarks/wheel/report.ts"
import { soak } from "../../benchmarks/wheel/soak.ts"

describe("benchmarks > wheel > contenders", () => {
  test.each(Object.keys(contenders))(
    "%s fires each timer at its tick, in order, and what is cancelled not",
    (name) => {
      const queue = contenders[name]!(16)
      const load = makeLoad(5000)
      const due = load.delays.map((delay) => epoch + delay)
      load.handles.set(Array.from(due, (tick, row) => queue.schedule(tick, row)))
      const cancelled = new Set(load.order.subarray(0, 3000))
      for (const row of cancelled) expect(queue.cancel(load.handles[row]!)).toBe(true)
      for (const row of cancelled) expect(queue.cancel(load.handles[row]!)).toBe(false)
      expect(queue.size).toBe(2000)
      const fired: Array<number> = []
      let last = 0
      for (let next = queue.nextAt(); next !== Infinity; next = queue.nextAt()) {
        expect(next).toBeGreaterThanOrEqual(last)
        queue.advance(next, (row, tick) => {
          expect([tick, tick >= last]).toEqual([due[row], true])
          last = tick
          fired.push(row)
        })
      }
      const expected = load.order.subarray(3000).toSorted()
      expect(Int32Array.from(fired).toSorted()).toEqual(expected)
    },
  )

  test("in the mix all contenders fire the same at the same ticks, a tenth of what is armed", () => {
    const load = makeLoad(500)
    const results = Object.values(contenders).map((make) => {
      const queue = make(500)
      const before = loops.checksum()
      loops.insert(queue, load, epoch)
      const { at, armed } = loops.mixed(queue, load, epoch, 20_000)
      expect(queue.size).toBe(500)
      loops.expire(queue, load, at)
      return [at, armed, (loops.checksum() - before) | 0]
    })
    for (const result of results) expect(result).toEqual(results[0])
  })

  test("the floor links and unlinks all it was given", () => {
    const load = makeLoad(1000)
    const floor = new Floor(load)
    floor.insert(load)
    floor.mixed(load, 5000)
    expect(floor.expire()).toBe((999 * 1000) / 2)
    floor.insert(load)
    floor.cancel(load)
    expect(floor.expire()).toBe(0)
  })

  test("a short soak agrees", async () => {
    expect(await soak(20_000, () => {})).toBeGreaterThanOrEqual(20_000)
  })
})

describe("benchmarks > wheel > report", () => {
  test.each([
    [["--sizes", "99"], "--sizes"],
    [["--sizes", "1000,x"], "--sizes"],
    [["--sizes", "10000001"], "--sizes"],
    [["--rounds", "0"], "--rounds"],
    [["--only", "wheel,abacus"], "abacus"],
    [["--only", "heap4"], "add wheel"],
    [["--soak", "-1"], "--soak"],
  ])("%j is refused, and the option is named", (args, named) => {
    expect(() => parseOptions(args)).toThrow(named)
  })

  const cost = (nanos: number) => {
    const each = { bestNanos: nanos, cpuNanos: nanos }
    return { insert: each, cancel: each, mixed: each, expire: each }
  }
  const figuresAt = (size: number, wheel: number): Figures => ({
    sizes: [
      {
        size,
        costs: { wheel: cost(wheel), heap4: cost(20), flatqueue: cost(30), floor: cost(5) },
        checksums: {},
      },
    ],
    host: [{ size, hostArmNanos: 100, hostCancelNanos: 100, wheelArmNanos: wheel, wheelCancelNanos: wheel }],
    npmWheel: [],
    pauses: [],
    memory: { wheel: 23 },
    allocation: { armBytes: 0, cancelBytes: 0, fireBytes: 16 },
  })
  const verdicts = (figures: Figures) =>
    Object.fromEntries(barsOf(figures).map(({ name, verdict }) => [name, verdict]))

  test("each bar is judged by its figure, where there is one", () => {
    expect(verdicts(figuresAt(100_000, 10))).toMatchObject({
      "mixed, heap4 / wheel, 10^5": "held",
      "mixed, flatqueue / wheel, 10^5": "held",
      "expire, heap4 / wheel, 10^5": "held",
      "cancel, host / wheel, 100000": "held",
      "bytes left to the collector, an operation": "missed",
    })
    expect(verdicts(figuresAt(100_000, 18))).toMatchObject({
      "mixed, heap4 / wheel, 10^5": "missed",
      "mixed, flatqueue / wheel, 10^5": "missed",
      "expire, heap4 / wheel, 10^5": "missed",
    })
    expect(verdicts(figuresAt(1_000_000, 16))).toMatchObject({
      "mixed, heap4 / wheel, 10^6": "missed",
      "mixed, wheel / floor, 10^6": "missed",
      "bytes a timer": "held",
    })
    expect(Object.keys(verdicts(figuresAt(1000, 1)))).toEqual(["bytes left to the collector, an operation"])
  })

  test("a tiny run measures everything and says it as a document and as a page", { timeout: 120_000 }, () => {
    const root = fileURLToPath(new URL("../..", import.meta.url))
    const program = [...(process.versions["deno"] === undefined ? [] : ["run", "-A"]), "benchmarks/main.ts"]
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [...program, "wheel", "--sizes", "200", "--rounds", "1", "--json"],
      { cwd: root, encoding: "utf8" },
    )
    expect(status, stderr).toBe(0)
    const report = JSON.parse(stdout) as Report
    expect(report.troubles).toEqual([])
    const [sized] = report.figures.sizes
    expect(Object.keys(sized?.costs ?? {})).toEqual([...Object.keys(contenders), "floor"])
    expect(new Set(Object.values(sized?.checksums ?? {})).size).toBe(1)
    for (const costs of Object.values(sized?.costs ?? {}))
      for (const { bestNanos } of Object.values(costs)) expect(bestNanos).toBeGreaterThan(0)
    expect(report.figures.pauses[0]?.idleHourMicros).toBeGreaterThan(0)
    const page = markdown(report)
    for (const title of ["200 pending", "Timers of the host", "Worst single call", "Memory", "Bars"])
      expect(page).toContain(`## ${title}\n\n| `)
  })
})

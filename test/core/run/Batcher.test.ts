// Group commit: what is one batch, in which order answers come, whom a bad item takes with it (nobody), and what is
// seen when too many wait. The writer is held back by latches, never by time.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { describe, expect, test } from "vitest"
import { makeVirtualTime } from "../../../core/engine/VirtualTime.ts"
import { type Batcher, makeBatcher } from "../../../core/run/Batcher.ts"

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Bench {
  readonly batcher: Batcher<number, string, string>
  /** The items of every call of the writer. */
  readonly calls: Array<ReadonlyArray<number>>
  /** Whether that call was said to be a repeat. */
  readonly repeats: Array<boolean>
  /** What each caller heard, in the order of hearing. */
  readonly heard: Array<string>
  readonly add: (...items: ReadonlyArray<number>) => Array<boolean>
}

interface Options {
  readonly batchMax?: number
  readonly waitingMax?: number
  readonly writersMax?: number
  readonly sizeOf?: (item: number) => number
  /** Items that no batch with them in it succeeds for. */
  readonly bad?: ReadonlySet<number>
  /** What each call waits for; with `slow` only calls with one of these items. */
  readonly gate?: Latch.Latch
  readonly slow?: ReadonlySet<number>
}

const bench = (options: Options = {}): Effect.Effect<Bench, never, Scope.Scope> =>
  Effect.gen(function* () {
    const calls: Array<ReadonlyArray<number>> = []
    const repeats: Array<boolean> = []
    const heard: Array<string> = []
    const batcher = yield* makeBatcher<number, string, string>({
      batchMax: options.batchMax ?? 100,
      waitingMax: options.waitingMax ?? 1000,
      writersMax: options.writersMax ?? 1,
      sizeOf: options.sizeOf ?? (() => 1),
      abandoned: (isUnderWay) => (isUnderWay ? "abandoned under way" : "abandoned"),
      write: Effect.fnUntraced(function* (items: ReadonlyArray<number>, again: boolean) {
        calls.push(items)
        repeats.push(again)
        const waits = options.slow === undefined || items.some((item) => options.slow?.has(item))
        yield* options.gate === undefined || !waits ? Effect.void : options.gate.await
        if (items.includes(666)) return yield* Effect.die("a broken invariant")
        const wrong = items.find((item) => options.bad?.has(item))
        if (wrong !== undefined) return yield* Effect.fail(`${wrong} is bad`)
        return items.map((item) => `${item} is written`)
      }),
    })
    const add = (...items: ReadonlyArray<number>): Array<boolean> =>
      items.map((item) =>
        batcher.add(item, (answer) =>
          heard.push(`${item}: ${Result.isSuccess(answer) ? answer.success : answer.failure}`),
        ),
      )
    return { batcher, calls, repeats, heard, add }
  })

const promise = (name: string, program: Effect.Effect<void, unknown, Scope.Scope>): void => {
  // Its scheduler runs all that can go on in microtasks, so one turn of the event loop settles everything.
  const { context } = makeVirtualTime(0)
  test(name, () => Effect.runPromise(Effect.provideContext(Effect.scoped(program), context)))
}
/** Lets everything happen that can. */
const settled = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

describe("Batcher > batches", () => {
  promise(
    "the items of one turn of the event loop are one batch, in the order in which they came",
    Effect.gen(function* () {
      const { calls, heard, add, batcher } = yield* bench()
      expect(add(3, 1, 2)).toEqual([true, true, true])
      expect(calls).toEqual([])
      yield* batcher.flushed
      expect(calls).toEqual([[3, 1, 2]])
      expect(heard).toEqual(["3: 3 is written", "1: 1 is written", "2: 2 is written"])
    }),
  )

  promise(
    "items of many fibers of one turn are one batch, too",
    Effect.gen(function* () {
      const { calls, add, batcher } = yield* bench()
      yield* Effect.forEach([1, 2, 3], (item) => Effect.sync(() => add(item)), { concurrency: "unbounded" })
      yield* batcher.flushed
      expect(calls).toEqual([[1, 2, 3]])
    }),
  )

  promise(
    "items of a later turn are another batch",
    Effect.gen(function* () {
      const { calls, add } = yield* bench()
      add(1)
      yield* settled
      add(2)
      yield* settled
      expect(calls).toEqual([[1], [2]])
    }),
  )

  promise(
    "what comes while a batch is written is the next batch, and one call runs at a time",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const { calls, heard, add, batcher } = yield* bench({ gate })
      add(1)
      yield* settled
      add(2)
      yield* settled
      add(3)
      yield* settled
      expect(calls).toEqual([[1]])
      expect(heard).toEqual([])
      gate.openUnsafe()
      yield* batcher.flushed
      expect(calls).toEqual([[1], [2, 3]])
    }),
  )

  promise(
    "a batch is never larger than its limit, and the order goes on over its end",
    Effect.gen(function* () {
      const { calls, heard, add, batcher } = yield* bench({ batchMax: 3 })
      add(1, 2, 3, 4, 5, 6, 7)
      yield* batcher.flushed
      expect(calls).toEqual([[1, 2, 3], [4, 5, 6], [7]])
      expect(heard.map((line) => Number.parseInt(line, 10))).toEqual([1, 2, 3, 4, 5, 6, 7])
    }),
  )

  promise(
    "an item larger than the limit is a batch of its own, between the others",
    Effect.gen(function* () {
      const { calls, add, batcher } = yield* bench({ batchMax: 10, sizeOf: (item) => item })
      add(4, 6, 1, 50, 2, 9, 10, 11)
      yield* batcher.flushed
      expect(calls).toEqual([[4, 6], [1], [50], [2], [9], [10], [11]])
    }),
  )

  promise(
    "property: every item is written once, in order, and no batch of several is over the limit",
    Effect.gen(function* () {
      for (let seed = 1; seed <= 50; seed++) {
        const random = seeded(seed)
        const sizes = Array.from({ length: 200 }, () => 1 + Math.floor(random() ** 3 * 30))
        const sizeOf = (item: number): number => sizes[item] as number
        const { calls, heard, add, batcher } = yield* bench({ batchMax: 20, sizeOf })
        for (let item = 0; item < 200; item++) {
          add(item)
          if (random() < 0.1) yield* settled
        }
        yield* batcher.flushed
        expect(calls.flat()).toEqual(sizes.map((_, item) => item))
        expect(heard).toHaveLength(200)
        for (const items of calls) {
          const size = items.reduce((sum, item) => sum + sizeOf(item), 0)
          if (items.length > 1 && size > 20) throw new Error(`Seed ${seed}: a batch of ${size}`)
        }
      }
    }),
  )
})

describe("Batcher > several writers", () => {
  promise(
    "a full batch is written beside the one that is under way, no more than may be, and one that is not full waits",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const { calls, heard, add, batcher } = yield* bench({ gate, batchMax: 2, writersMax: 2 })
      add(1)
      yield* settled
      add(2)
      yield* settled
      expect(calls).toEqual([[1]])
      add(3, 4, 5, 6)
      yield* settled
      expect(calls).toEqual([[1], [2, 3]])
      const flushed = yield* Effect.forkChild(batcher.flushed)
      yield* settled
      expect(flushed.pollUnsafe()).toBeUndefined()
      gate.openUnsafe()
      yield* Fiber.join(flushed)
      expect(calls).toEqual([[1], [2, 3], [4, 5], [6]])
      expect(heard).toHaveLength(6)
    }),
  )

  promise(
    "flushed waits for the write that lasts longest",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const { heard, add, batcher } = yield* bench({ gate, batchMax: 2, writersMax: 2, slow: new Set([3]) })
      add(1, 2, 3, 4)
      const flushed = yield* Effect.forkChild(batcher.flushed)
      yield* settled
      expect(heard).toHaveLength(2)
      expect(flushed.pollUnsafe()).toBeUndefined()
      gate.openUnsafe()
      yield* Fiber.join(flushed)
      expect(heard).toHaveLength(4)
    }),
  )

  promise(
    "a writer that breaks takes its own batch with it, and the other goes on",
    Effect.gen(function* () {
      const { heard, add } = yield* bench({ batchMax: 2, writersMax: 2 })
      add(1, 666, 3, 4)
      yield* settled
      expect(heard.toSorted()).toEqual([
        "1: abandoned under way",
        "3: 3 is written",
        "4: 4 is written",
        "666: abandoned under way",
      ])
    }),
  )

  promise(
    "when the scope ends everybody is answered once: those under way in all writers, and those that wait",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const scope = yield* Scope.make()
      const { heard, add } = yield* Scope.provide(bench({ gate, batchMax: 2, writersMax: 2 }), scope)
      add(1, 2, 3, 4, 5)
      yield* settled
      yield* Scope.close(scope, Exit.void)
      expect(heard.toSorted()).toEqual([
        "1: abandoned under way",
        "2: abandoned under way",
        "3: abandoned under way",
        "4: abandoned under way",
        "5: abandoned",
      ])
    }),
  )
})

describe("Batcher > failures", () => {
  promise(
    "one bad item takes no other with it: each is asked again alone, in order",
    Effect.gen(function* () {
      const { calls, repeats, heard, add, batcher } = yield* bench({ bad: new Set([2]) })
      add(1, 2, 3)
      yield* batcher.flushed
      expect(calls).toEqual([[1, 2, 3], [1], [2], [3]])
      expect(repeats).toEqual([false, true, true, true])
      expect(heard).toEqual(["1: 1 is written", "2: 2 is bad", "3: 3 is written"])
    }),
  )

  promise(
    "a bad item alone is asked once, and its caller hears why",
    Effect.gen(function* () {
      const { calls, repeats, heard, add, batcher } = yield* bench({ bad: new Set([2]) })
      add(2)
      yield* batcher.flushed
      expect(calls).toEqual([[2]])
      expect(repeats).toEqual([false])
      expect(heard).toEqual(["2: 2 is bad"])
    }),
  )

  promise(
    "a failed batch leaves the next one whole",
    Effect.gen(function* () {
      const { calls, heard, add, batcher } = yield* bench({ batchMax: 2, bad: new Set([1]) })
      add(1, 2, 3, 4)
      yield* batcher.flushed
      expect(calls).toEqual([[1, 2], [1], [2], [3, 4]])
      expect(heard).toHaveLength(4)
      add(5)
      yield* batcher.flushed
      expect(heard[4]).toBe("5: 5 is written")
    }),
  )

  promise(
    "everybody hears of a writer that does nothing but fail",
    Effect.gen(function* () {
      const all = Array.from({ length: 250 }, (_, item) => item)
      const { heard, add, batcher } = yield* bench({ bad: new Set(all) })
      add(...all)
      yield* batcher.flushed
      expect(heard).toEqual(all.map((item) => `${item}: ${item} is bad`))
    }),
  )
})

describe("Batcher > bounds", () => {
  promise(
    "more than may wait are refused, nothing of them is kept, and there is room again afterwards",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const { calls, heard, add, batcher } = yield* bench({ waitingMax: 3, gate })
      expect(add(1, 2, 3, 4, 5)).toEqual([true, true, true, false, false])
      yield* settled
      // The three are being written: three others may wait.
      expect(add(6, 7, 8, 9)).toEqual([true, true, true, false])
      gate.openUnsafe()
      yield* batcher.flushed
      expect(calls).toEqual([
        [1, 2, 3],
        [6, 7, 8],
      ])
      expect(heard).toHaveLength(6)
      expect(add(10)).toEqual([true])
    }),
  )

  promise(
    "flushed waits for what waits and for what is being written, and not when there is nothing",
    Effect.gen(function* () {
      const gate = Latch.makeUnsafe(false)
      const { heard, add, batcher } = yield* bench({ gate })
      yield* batcher.flushed
      add(1)
      const waiting = yield* Effect.forkChild(batcher.flushed)
      yield* settled
      const alone = yield* Effect.forkChild(batcher.flushed)
      yield* settled
      add(2)
      const writing = yield* Effect.forkChild(batcher.flushed)
      yield* settled
      expect([waiting, alone, writing].map((fiber) => fiber.pollUnsafe())).toEqual([
        undefined,
        undefined,
        undefined,
      ])
      expect(heard).toEqual([])
      gate.openUnsafe()
      yield* Fiber.join(waiting)
      yield* Fiber.join(alone)
      yield* Fiber.join(writing)
      expect(heard).toHaveLength(2)
      yield* batcher.flushed
    }),
  )

  promise(
    "what an answer adds is written as well, before flushed lets go",
    Effect.gen(function* () {
      const { heard, add, batcher } = yield* bench()
      batcher.add(1, () => add(2, 3))
      yield* batcher.flushed
      expect(heard).toEqual(["2: 2 is written", "3: 3 is written"])
    }),
  )

  test("with its scope it stops: what waits or comes later is not written, and is told so", async () => {
    const { calls, add, heard } = await Effect.runPromise(
      Effect.scoped(Effect.tap(bench(), (made) => Effect.sync(() => made.add(1)))),
    )
    add(2)
    await Effect.runPromise(settled)
    expect(calls).toEqual([])
    expect(heard).toEqual(["1: abandoned", "2: abandoned"])
  })

  test("a batch under way when the scope ends is told so, and nobody waits for ever", async () => {
    const underWay = Effect.gen(function* () {
      const made = yield* bench({ gate: Latch.makeUnsafe(false) })
      made.add(1, 2)
      yield* settled
      expect(made.calls).toEqual([[1, 2]])
      return made.heard
    })
    const { context } = makeVirtualTime(0)
    const heard = await Effect.runPromise(Effect.provideContext(Effect.scoped(underWay), context))
    expect(heard).toEqual(["1: abandoned under way", "2: abandoned under way"])
  })

  test("when writing breaks, its batch is told, and what comes later is written all the same", async () => {
    const time = makeVirtualTime(0)
    const broken = Effect.gen(function* () {
      const { heard, add, batcher } = yield* bench()
      add(1, 666)
      yield* settled
      expect(heard).toEqual(["1: abandoned under way", "666: abandoned under way"])
      add(2)
      // The supervisor waits a moment before the loop begins anew.
      time.moveTo(time.nextAt())
      yield* batcher.flushed
      expect(heard.slice(2)).toEqual(["2: 2 is written"])
    })
    await Effect.runPromise(Effect.provideContext(Effect.scoped(broken), time.context))
  })
})

// The timing wheel against a sorted (tick, order of arming) oracle, and case by case at every border it has.
// Random programs are seeded: a failure names its seed, and `runProgram(seed)` repeats it.
import { describe, expect, test } from "vitest"
import { type Arena, makeCopyingArena } from "../../../core/wheel/Arena.ts"
import { TimingWheel } from "../../../core/wheel/TimingWheel.ts"

const DAY = 86_400_000
const EPOCH = 1_800_000_000_000
const SPAN = 2 ** 20
const SPAN_START = Math.floor(EPOCH / SPAN) * SPAN
const WINDOW = 2 ** 32

const mulberry32 = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What a check of the wheel's own bookkeeping has to see; nothing else looks inside. */
interface Internals {
  lists: {
    records: Int32Array
    occupied: Int32Array
    capacity: number
    used: number
    freeHead: number
    next(slot: number): number
    append(index: number, slot: number): void
    drop(index: number): void
  }
  far: { size: number; ticks: Float64Array; indices: Int32Array }
}
const inside = (wheel: TimingWheel): Internals => wheel as unknown as Internals
const SLOTS = 8192
const WORDS = 5

// The message is a function: built for each of a few million checks, the texts would be most of the run time.
const ensure = (holds: boolean, message: () => string): void => {
  if (!holds) throw new Error(message())
}

/** Throws unless lists, bitmaps, far heap and free list agree with each other and with `size`. */
const checkBookkeeping = (wheel: TimingWheel): void => {
  const { lists, far } = inside(wheel)
  const { records, occupied } = lists
  let listed = 0
  for (let slot = 0; slot < SLOTS; slot++) {
    const isMarked = ((occupied[slot >> 5]! >>> (slot & 31)) & 1) === 1
    if (!isMarked && records[slot * WORDS] === slot && records[slot * WORDS + 1] === slot) continue
    ensure(isMarked === (records[slot * WORDS] !== slot), () => `slot ${slot}: bitmap and list disagree`)
    let previous = slot
    for (let index = records[slot * WORDS]!; index !== slot; index = records[index * WORDS]!) {
      ensure(records[index * WORDS + 1] === previous, () => `record ${index}: prev and next disagree`)
      ensure(records[index * WORDS + 3]! > 0, () => `record ${index}: listed but free`)
      previous = index
      listed++
    }
    ensure(records[slot * WORDS + 1] === previous, () => `slot ${slot}: tail is not the last record`)
  }
  for (let word = 0; word < SLOTS / 32; word++) {
    const isMarked = ((occupied[SLOTS / 32 + (word >> 5)]! >>> (word & 31)) & 1) === 1
    ensure(isMarked === (occupied[word] !== 0), () => `bitmap word ${word}: summary disagrees`)
  }
  for (let position = 0; position < far.size; position++) {
    const index = far.indices[position]!
    ensure(
      records[index * WORDS] === position && records[index * WORDS + 1] === -1,
      () => `record ${index}: lost its far position`,
    )
    ensure(records[index * WORDS + 3]! > 0, () => `record ${index}: far but free`)
    ensure(
      far.ticks[(position - 1) >> 1]! <= far.ticks[position]! || position === 0,
      () => "far heap out of order",
    )
  }
  let free = 0
  for (let index = lists.freeHead; index !== -1; index = records[index * WORDS]!) {
    ensure(records[index * WORDS + 3]! <= 0, () => `record ${index}: free but live`)
    free++
  }
  ensure(
    listed + far.size === wheel.size,
    () => `${listed} listed + ${far.size} far, but size is ${wheel.size}`,
  )
  ensure(SLOTS + free + wheel.size === lists.used, () => "free + live records are not all that were made")
}

interface Entry {
  due: number
  order: number
  readonly payload: number
  readonly handle: number
}

class Thrown extends Error {}

/** A wheel with its oracle: every call goes to both, and any difference throws. */
class Pair {
  readonly wheel: TimingWheel
  readonly live = new Map<number, Entry>()
  readonly dead: Array<number> = []
  readonly fired: Array<string> = []
  moved = 0
  now: number
  private isFiring = false
  private order = 0
  private payload = 0

  constructor(now: number, capacity: number) {
    this.now = now
    this.wheel = new TimingWheel({ now, capacity })
  }

  private dueFor(tick: number): number {
    return tick > this.now ? tick : this.now + (this.isFiring ? 1 : 0)
  }

  schedule(tick: number): number {
    const payload = this.payload++
    const handle = this.wheel.schedule(tick, payload)
    ensure(!this.live.has(handle), () => `live handle ${handle} given out twice`)
    this.live.set(handle, { due: this.dueFor(tick), order: this.order++, payload, handle })
    return handle
  }

  cancel(handle: number): void {
    ensure(this.wheel.cancel(handle) === this.live.has(handle), () => `cancel(${handle}) answered wrongly`)
    if (this.live.delete(handle)) this.dead.push(handle)
    ensure(!this.wheel.cancel(handle), () => `cancel(${handle}) was true twice`)
  }

  reschedule(handle: number, tick: number): void {
    const entry = this.live.get(handle)
    ensure(
      this.wheel.reschedule(handle, tick) === (entry !== undefined),
      () => `reschedule(${handle}) answered wrongly`,
    )
    if (entry === undefined) return
    entry.due = this.dueFor(tick)
    entry.order = this.order++
  }

  prepare(budget: number): void {
    const moved = this.wheel.prepare(budget)
    ensure(moved >= 0 && moved <= budget, () => `prepare(${budget}) moved ${moved}`)
    this.moved += moved
  }

  earliest(): Entry | undefined {
    let first: Entry | undefined
    for (const entry of this.live.values()) {
      if (
        first === undefined ||
        entry.due < first.due ||
        (entry.due === first.due && entry.order < first.order)
      ) {
        first = entry
      }
    }
    return first
  }

  advance(target: number, limit: number, onVisit: () => void, movesMax = Infinity): void {
    const before = this.now
    let fired = 0
    let returned = -1
    try {
      returned = this.wheel.advance(
        target,
        (payload, tick) => {
          const expected = this.earliest()
          if (expected === undefined) throw new Error(`${payload} fired from an empty oracle`)
          ensure(
            expected.payload === payload && expected.due === tick,
            () => `fired ${payload}@${tick}, expected ${expected.payload}@${expected.due}`,
          )
          ensure(tick <= target && tick >= before, () => `${tick} fired outside ${before}..${target}`)
          ensure(this.wheel.now === tick, () => `now is ${this.wheel.now} while ${tick} fires`)
          this.live.delete(expected.handle)
          this.dead.push(expected.handle)
          this.fired.push(`${payload}@${tick}`)
          fired++
          ensure(this.wheel.size === this.live.size, () => "the entry still counts while it is visited")
          ensure(
            !this.wheel.cancel(expected.handle),
            () => "the entry could be cancelled while it is visited",
          )
          this.now = tick
          this.isFiring = true
          onVisit()
        },
        limit,
        movesMax,
      )
    } catch (error) {
      if (!(error instanceof Thrown)) throw error
    }
    this.isFiring = false
    if (returned >= 0) {
      ensure(returned === fired, () => `advance said ${returned}, ${fired} fired`)
      ensure(fired <= limit, () => `${fired} fired with limit ${limit}`)
    }
    const isComplete = returned >= 0 && fired < limit && movesMax === Infinity
    this.now = this.wheel.now
    ensure(
      !isComplete || this.now === Math.max(target, before),
      () => `now is ${this.now} after advance(${target})`,
    )
    ensure(
      this.now >= before && this.now <= Math.max(target, before),
      () => `now is ${this.now}, from ${before}`,
    )
    const next = this.earliest()
    ensure(next === undefined || next.due >= this.now, () => "now has passed a live entry")
    ensure(
      !isComplete || next === undefined || next.due > target,
      () => `left behind: ${next?.payload}@${next?.due}`,
    )
  }

  checkView(): void {
    ensure(this.wheel.size === this.live.size, () => `size is ${this.wheel.size}, not ${this.live.size}`)
    ensure(this.wheel.now === this.now, () => `now is ${this.wheel.now}, not ${this.now}`)
    const next = this.earliest()
    const nextAt = this.wheel.nextAt()
    ensure(
      (nextAt === Infinity) === (next === undefined),
      () => `nextAt is ${nextAt} with ${this.live.size} entries`,
    )
    ensure(
      next === undefined || (nextAt <= next.due && nextAt >= this.now),
      () => `nextAt is ${nextAt}, due ${next?.due}`,
    )
  }

  checkForEach(): void {
    let met = 0
    this.wheel.forEach((payload, tick, handle) => {
      const entry = this.live.get(handle)
      ensure(
        entry?.payload === payload && entry.due === tick,
        () => `forEach met ${payload}@${tick} (${handle})`,
      )
      met++
    })
    ensure(met === this.live.size, () => `forEach met ${met} of ${this.live.size}`)
  }
}

const horizons = [50, 1_024, 5_000, SPAN, 4 * SPAN, 40 * DAY, WINDOW, 2 * WINDOW, 3_468 * DAY]
const starts = [0, 1_000, SPAN - 3, WINDOW - 5, EPOCH, SPAN_START - 2, SPAN_START + 4_094 * SPAN - 7]

interface Options {
  readonly isPrepared: boolean
  readonly isBounded?: boolean
}

/**
 * One random program; with `isPrepared` false it leaves out every `prepare` and must fire exactly the same. With
 * `isBounded` some of its advances may move only a few entries, and then come less far.
 */
const runProgram = (seed: number, options: Options = { isPrepared: true }): Pair => {
  const random = mulberry32(seed)
  const pick = (from: ReadonlyArray<number>): number => from[Math.floor(random() * from.length)]!
  const horizon = pick(horizons)
  const pair = new Pair(pick(starts), 1 + Math.floor(random() * 20))
  const someHandle = (): number => {
    const handles = random() < 0.8 ? [...pair.live.keys()] : pair.dead
    return handles.length === 0 ? Math.floor(random() * 1e9) : handles[Math.floor(random() * handles.length)]!
  }
  const someTick = (): number => {
    const kind = random()
    if (kind < 0.08) return Math.max(0, pair.now - Math.floor(random() * 2_000))
    if (kind < 0.14) return pair.now
    // Ticks met before: equal ones that were armed at different distances are what order breaks at.
    if (kind < 0.4 && pair.live.size > 0) return pair.live.get([...pair.live.keys()][0]!)!.due
    if (kind < 0.5)
      return Math.max(0, Math.floor(pair.now / SPAN + random() * 3) * SPAN + pick([-1, 0, 1, 1_023, 1_024]))
    if (kind < 0.6)
      return (
        pair.now + pick([1, 1_023, 1_024, 1_025, SPAN - 1, SPAN, SPAN + 1, WINDOW - 1, WINDOW, WINDOW + 1])
      )
    if (kind < 0.8) return pair.now + Math.floor(random() * horizon)
    return pair.now + Math.floor(horizon ** random())
  }
  const onVisit = (): void => {
    const kind = random()
    if (kind < 0.12) pair.schedule(someTick())
    else if (kind < 0.2) pair.cancel(someHandle())
    else if (kind < 0.28) pair.reschedule(someHandle(), someTick())
    else if (kind < 0.32 && options.isPrepared) pair.prepare(5)
    if (random() < 0.05) throw new Thrown()
  }
  try {
    const steps = 40 + Math.floor(random() * 60)
    for (let step = 0; step < steps; step++) {
      const kind = random()
      const limit = random() < 0.3 ? Math.floor(random() * 4) : Infinity
      const movesMax = options.isBounded === true && random() < 0.3 ? Math.floor(random() * 4) : Infinity
      if (kind < 0.5) pair.schedule(someTick())
      else if (kind < 0.6) pair.cancel(someHandle())
      else if (kind < 0.7) pair.reschedule(someHandle(), someTick())
      else if (kind < 0.76) pair.advance(pair.now + Math.floor(horizon ** random()), limit, onVisit, movesMax)
      else if (kind < 0.82)
        pair.advance(Math.min(pair.earliest()?.due ?? pair.now, pair.now + horizon), limit, onVisit, movesMax)
      else if (kind < 0.86) pair.advance(pair.now, limit, onVisit, movesMax)
      else if (kind < 0.88) pair.advance(pair.now - 1 - Math.floor(random() * 100), limit, onVisit, movesMax)
      else if (kind < 0.9) pair.advance(pair.now + Math.floor(random() * horizon), limit, onVisit, movesMax)
      else {
        const budget = Math.floor(random() * 10)
        if (options.isPrepared) pair.prepare(budget)
      }
      pair.checkView()
      if (step === 35) checkBookkeeping(pair.wheel)
    }
    pair.checkForEach()
    // By nextAt alone every entry must come out, as a driver that sleeps until it would see.
    for (let wakes = 0; pair.live.size > 0; wakes++) {
      ensure(wakes < 2_000, () => "a driver that follows nextAt does not come to an end")
      pair.advance(pair.wheel.nextAt(), Infinity, () => {})
      if (options.isPrepared && random() < 0.3) pair.prepare(3)
      pair.checkView()
    }
    checkBookkeeping(pair.wheel)
  } catch (error) {
    throw new Error(`Program ${seed} failed: ${(error as Error).message}`, { cause: error })
  }
  return pair
}

/** Everything due at or before `target`, as "payload@tick". */
const drain = (wheel: TimingWheel, target: number, limit = Infinity, movesMax = Infinity): Array<string> => {
  const fired: Array<string> = []
  wheel.advance(target, (payload, tick) => fired.push(`${payload}@${tick}`), limit, movesMax)
  return fired
}

describe("random programs", () => {
  test("10,000 programs never differ from a sorted list in what fires, when, in which order and what is left", () => {
    let fired = 0
    for (let seed = 1; seed <= 10_000; seed++) {
      fired += runProgram(seed, { isPrepared: true, isBounded: seed % 2 === 0 }).fired.length
    }
    expect(fired).toBeGreaterThan(200_000)
  })

  test("one big advance fires what many small ones and what prepared ones fire", () => {
    for (let seed = 1; seed <= 150; seed++) {
      const random = mulberry32(seed)
      const now = starts[seed % starts.length]!
      const horizon = horizons[seed % horizons.length]!
      const [big, small, prepared] = [
        new TimingWheel({ now }),
        new TimingWheel({ now }),
        new TimingWheel({ now }),
      ]
      for (let payload = 0; payload < 80; payload++) {
        const tick = now + Math.floor(random() < 0.5 ? random() * horizon : horizon ** random())
        const handles = [big, small, prepared].map((wheel) => wheel.schedule(tick, payload))
        expect(new Set(handles).size).toBe(1)
        if (random() < 0.2) for (const wheel of [big, small, prepared]) wheel.cancel(handles[0]!)
      }
      const expected = drain(big, now + horizon)
      const bySteps: Array<string> = []
      const byPrepared: Array<string> = []
      while (small.now < now + horizon) {
        const target = Math.min(now + horizon, small.now + 1 + Math.floor((random() * horizon) / 20))
        bySteps.push(...drain(small, target))
        for (let i = 0; i < 3; i++) prepared.prepare(1 + Math.floor(random() * 8))
        byPrepared.push(...drain(prepared, target))
      }
      expect(bySteps).toEqual(expected)
      expect(byPrepared).toEqual(expected)
    }
  })
})

describe("borders", () => {
  const deltas = [
    1_023,
    1_024,
    1_025,
    2_047,
    2_048,
    SPAN - 1,
    SPAN,
    SPAN + 1,
    2 * SPAN,
    4_095 * SPAN,
    4_096 * SPAN - 1,
  ]
  const distances = [0, 1, 2, ...deltas, WINDOW, WINDOW + 1, 2 * WINDOW - 1, 2 * WINDOW + 1, 3_468 * DAY]
  const nows = [0, 1, 1_023, 1_024, SPAN - 1, SPAN, WINDOW - 1, WINDOW, WINDOW + 1, EPOCH, 2 ** 52]
  nows.push(SPAN_START, SPAN_START - 1, SPAN_START + 1_023, SPAN_START + 1_024, SPAN_START + 4_095 * SPAN)

  test("an entry armed at any level's border fires at its tick: not one earlier, not one later", () => {
    for (const now of nows) {
      for (const distance of distances) {
        const wheel = new TimingWheel({ now, capacity: 4 })
        wheel.schedule(now + distance, 7)
        expect(wheel.nextAt()).toBeLessThanOrEqual(now + distance)
        expect(drain(wheel, now + distance - 1)).toEqual([])
        expect(drain(wheel, now + distance)).toEqual([`7@${now + distance}`])
        expect(wheel.nextAt()).toBe(Infinity)
      }
    }
  })

  test("equal ticks fire in the order of arming, however many levels apart they were armed", () => {
    for (const now of nows) {
      for (const distance of distances) {
        const wheel = new TimingWheel({ now })
        const due = now + distance
        const expected: Array<string> = []
        // Armed from farther to nearer, with a little prepared in between: each lands one level lower.
        for (const before of [distance, 2 * SPAN, SPAN + 1, SPAN, 2_000, 1_024, 1_023, 1, 0]) {
          if (before > distance) continue
          drain(wheel, due - before - 1)
          wheel.prepare(1)
          for (let i = 0; i < 2; i++) {
            wheel.schedule(due, expected.length)
            expected.push(`${expected.length}@${due}`)
          }
          wheel.prepare(1)
        }
        expect(drain(wheel, due)).toEqual(expected)
      }
    }
  })

  test("neighbours on both sides of every border come out sorted, in one advance and following nextAt", () => {
    for (const now of nows) {
      const ticks = distances.flatMap((distance) => [
        now + distance,
        now + distance + 1,
        Math.max(now, now + distance - 1),
      ])
      const expected = ticks
        .map((tick, payload) => ({ tick, payload }))
        .sort((a, b) => a.tick - b.tick || a.payload - b.payload)
        .map(({ tick, payload }) => `${payload}@${tick}`)
      const [once, stepped] = [new TimingWheel({ now }), new TimingWheel({ now })]
      for (const wheel of [once, stepped]) ticks.forEach((tick, payload) => wheel.schedule(tick, payload))
      expect(drain(once, now + 3_469 * DAY)).toEqual(expected)
      const steps: Array<string> = []
      while (stepped.size > 0) steps.push(...drain(stepped, stepped.nextAt()))
      expect(steps).toEqual(expected)
    }
  })

  test("the circle of 4096 spans can be gone round, one occupied span after the other", () => {
    const now = SPAN_START + 4_090 * SPAN + 5
    const wheel = new TimingWheel({ now })
    const expected: Array<string> = []
    for (let i = 0; i < 9_000; i += 3) {
      wheel.schedule(now + i * SPAN, i)
      expected.push(`${i}@${now + i * SPAN}`)
    }
    expect(drain(wheel, now + 9_000 * SPAN)).toEqual(expected)
  })

  test("the largest safe tick can be armed and reached", () => {
    const wheel = new TimingWheel({ now: Number.MAX_SAFE_INTEGER - 2_000 })
    wheel.schedule(Number.MAX_SAFE_INTEGER, 1)
    expect(drain(wheel, Number.MAX_SAFE_INTEGER - 1)).toEqual([])
    expect(drain(wheel, Number.MAX_SAFE_INTEGER)).toEqual([`1@${Number.MAX_SAFE_INTEGER}`])
  })
})

describe("schedule", () => {
  test("a tick in the past fires at the next advance, as of now, behind what is already due then", () => {
    const wheel = new TimingWheel({ now: EPOCH })
    wheel.schedule(EPOCH, 1)
    wheel.schedule(0, 2)
    wheel.schedule(EPOCH - 1, 3)
    expect(wheel.nextAt()).toBe(EPOCH)
    expect(drain(wheel, EPOCH)).toEqual([`1@${EPOCH}`, `2@${EPOCH}`, `3@${EPOCH}`])
  })

  test("ticks that are not non-negative safe integers and payloads that are not int32 are refused, and change nothing", () => {
    const wheel = new TimingWheel({ now: 5 })
    const handle = wheel.schedule(9, 1)
    for (const tick of [NaN, Infinity, -Infinity, -1, 1.5, 2 ** 53]) {
      expect(() => wheel.schedule(tick, 0)).toThrow(RangeError)
      expect(() => wheel.reschedule(handle, tick)).toThrow(RangeError)
      expect(() => wheel.rebase(tick)).toThrow(RangeError)
      expect(() => new TimingWheel({ now: tick })).toThrow(RangeError)
    }
    for (const payload of [2 ** 31, -(2 ** 31) - 1, 0.5, NaN])
      expect(() => wheel.schedule(9, payload)).toThrow(RangeError)
    for (const capacity of [0, -1, 1.5, NaN, 2 ** 24])
      expect(() => new TimingWheel({ capacity })).toThrow(RangeError)
    expect(() => wheel.schedule(-1, 0)).toThrow(
      `Cannot schedule at tick "-1": not a non-negative safe integer`,
    )
    expect(wheel.size).toBe(1)
    expect(drain(wheel, 9)).toEqual(["1@9"])
  })

  test("payloads come back unchanged over the whole int32 range", () => {
    const wheel = new TimingWheel()
    const payloads = [0, -1, 2 ** 31 - 1, -(2 ** 31)]
    for (const payload of payloads) wheel.schedule(1, payload)
    expect(drain(wheel, 1)).toEqual(payloads.map((payload) => `${payload}@1`))
  })

  test("growth in mid-flight loses nothing, at any level, in order", () => {
    const wheel = new TimingWheel({ now: EPOCH, capacity: 1 })
    const random = mulberry32(11)
    const armed: Array<{ tick: number; payload: number }> = []
    for (let payload = 0; payload < 5_000; payload++) {
      const tick = EPOCH + Math.floor((200 * DAY) ** random())
      wheel.schedule(tick, payload)
      armed.push({ tick, payload })
    }
    checkBookkeeping(wheel)
    armed.sort((a, b) => a.tick - b.tick || a.payload - b.payload)
    expect(drain(wheel, EPOCH + 200 * DAY)).toEqual(armed.map(({ tick, payload }) => `${payload}@${tick}`))
  })

  test("a visit that makes the wheel grow does not disturb the entries behind it", () => {
    const wheel = new TimingWheel({ capacity: 2 })
    for (let payload = 0; payload < 4; payload++) wheel.schedule(10, payload)
    const fired: Array<number> = []
    wheel.advance(10, (payload) => {
      fired.push(payload)
      for (let i = 0; i < 50; i++) wheel.schedule(10 + i, 100)
    })
    expect(fired).toEqual([0, 1, 2, 3])
    expect(wheel.size).toBe(200)
    checkBookkeeping(wheel)
  })

  test("a full wheel refuses with RangeError, changes nothing, and takes entries again once one is cancelled", () => {
    const wheel = new TimingWheel({ capacity: 2 })
    const handle = wheel.schedule(5, 1)
    // As if 16.7 million records had been made: filling them for real takes 340 MB.
    const { lists } = inside(wheel)
    lists.used = lists.capacity = 2 ** 24
    expect(() => wheel.schedule(6, 2)).toThrow(RangeError)
    expect(wheel.size).toBe(1)
    expect(wheel.cancel(handle)).toBe(true)
    wheel.schedule(7, 3)
    expect(drain(wheel, 10)).toEqual(["3@7"])
  })
})

describe("handles", () => {
  test("cancel is true once; then, and after firing, it and reschedule are false", () => {
    const wheel = new TimingWheel()
    const [cancelled, fired] = [wheel.schedule(5, 1), wheel.schedule(6, 2)]
    expect(wheel.cancel(cancelled)).toBe(true)
    expect(wheel.cancel(cancelled)).toBe(false)
    expect(drain(wheel, 10)).toEqual(["2@6"])
    expect(wheel.cancel(fired)).toBe(false)
    expect(wheel.reschedule(fired, 20)).toBe(false)
    expect(wheel.size).toBe(0)
  })

  test("a stale handle never hits the entry that reuses its record", () => {
    const wheel = new TimingWheel({ capacity: 1 })
    const stale: Array<number> = []
    for (let i = 0; i < 1_000; i++) {
      const handle = wheel.schedule(i % 2 === 0 ? 5 : 2 * WINDOW, i)
      expect(wheel.reschedule(handle, 6)).toBe(true)
      for (const old of stale.slice(-3)) expect(wheel.cancel(old)).toBe(false)
      expect(wheel.cancel(handle)).toBe(true)
      stale.push(handle)
    }
    expect(new Set(stale).size).toBe(1_000)
  })

  test("forged handles hit nothing: sentinels, free records, records never made, other generations, odd numbers", () => {
    const wheel = new TimingWheel({ capacity: 8 })
    const handle = wheel.schedule(5, 1)
    const freed = wheel.schedule(5, 2)
    wheel.cancel(freed)
    const forged = [
      0,
      1,
      8_191,
      8_192,
      8_193,
      8_194,
      8_300,
      -1,
      -handle,
      NaN,
      Infinity,
      2 ** 53,
      2 ** 60,
      handle + 0.5,
    ]
    for (const generation of [-1, 0, 2, 3, 2 ** 28])
      forged.push(handle + generation * 2 ** 24, freed + generation * 2 ** 24)
    for (const near of [1, 2, 3, 1_000, 2 ** 24 - 1]) forged.push(2 ** 24 + 8_193 + near, handle + near)
    for (const number of forged.filter((candidate) => candidate !== handle)) {
      expect(wheel.cancel(number), `${number}`).toBe(false)
      expect(wheel.reschedule(number, 9), `${number}`).toBe(false)
    }
    checkBookkeeping(wheel)
    expect(drain(wheel, 10)).toEqual(["1@5"])
  })

  test("at the end of its 2^28 generations a record starts over, its handles stay safe integers and single", () => {
    const wheel = new TimingWheel({ capacity: 1 })
    const first = wheel.schedule(5, 1)
    wheel.cancel(first)
    inside(wheel).lists.records[SLOTS * WORDS + 3] = -(2 ** 28 - 1)
    const last = wheel.schedule(5, 2)
    expect(Number.isSafeInteger(last)).toBe(true)
    expect(Math.floor(last / 2 ** 24)).toBe(2 ** 28)
    expect(wheel.cancel(first)).toBe(false)
    expect(wheel.cancel(last)).toBe(true)
    const again = wheel.schedule(5, 3)
    expect(again).toBe(first)
    expect(wheel.cancel(last)).toBe(false)
    expect(drain(wheel, 5)).toEqual(["3@5"])
  })
})

describe("reschedule", () => {
  test("the handle stays valid from any level to any other, and only the last tick counts", () => {
    const distances = [0, 3, 1_500, 3 * SPAN, 2 * WINDOW]
    for (const now of [0, EPOCH, SPAN_START - 1]) {
      for (const from of distances) {
        for (const to of distances) {
          const wheel = new TimingWheel({ now })
          const handle = wheel.schedule(now + from, 1)
          wheel.schedule(now + to, 2)
          expect(wheel.reschedule(handle, now + to)).toBe(true)
          checkBookkeeping(wheel)
          expect(drain(wheel, now + 3 * WINDOW)).toEqual([`2@${now + to}`, `1@${now + to}`])
          expect(wheel.cancel(handle)).toBe(false)
        }
      }
    }
  })

  test("rescheduled and cancelled far entries leave nothing behind", () => {
    const wheel = new TimingWheel({ now: EPOCH })
    const random = mulberry32(3)
    const handles = Array.from({ length: 500 }, (_, i) => wheel.schedule(EPOCH + 2 * WINDOW + i, i))
    for (let i = 0; i < 5_000; i++)
      wheel.reschedule(handles[i % 500]!, EPOCH + 2 * WINDOW + Math.floor(random() * 1e6))
    expect(inside(wheel).far.size).toBe(500)
    for (const handle of handles) expect(wheel.cancel(handle)).toBe(true)
    expect(inside(wheel).far.size).toBe(0)
    expect(wheel.nextAt()).toBe(Infinity)
  })
})

describe("advance", () => {
  test("a target before now does nothing; one that is not a safe integer, or a bad limit, is refused", () => {
    const wheel = new TimingWheel({ now: 100 })
    wheel.schedule(100, 1)
    for (const target of [99, 0, -5]) expect(drain(wheel, target)).toEqual([])
    expect(wheel.now).toBe(100)
    for (const target of [NaN, Infinity, -Infinity, 100.5])
      expect(() => drain(wheel, target)).toThrow(RangeError)
    for (const limit of [NaN, -1]) expect(() => drain(wheel, 100, limit)).toThrow(RangeError)
    expect(drain(wheel, 100)).toEqual(["1@100"])
  })

  test("limit stops inside a tick, and the rest fires next, in order", () => {
    const wheel = new TimingWheel()
    for (let payload = 0; payload < 5; payload++) wheel.schedule(10 + (payload > 2 ? 5_000 : 0), payload)
    expect(drain(wheel, 6_000, 0)).toEqual([])
    expect(drain(wheel, 6_000, 2)).toEqual(["0@10", "1@10"])
    expect(wheel.now).toBe(10)
    expect(wheel.nextAt()).toBe(10)
    wheel.schedule(10, 9)
    expect(drain(wheel, 6_000, 2)).toEqual(["2@10", "9@10"])
    expect(wheel.now).toBe(10)
    expect(drain(wheel, 6_000, 3)).toEqual(["3@5010", "4@5010"])
    expect(wheel.now).toBe(6_000)
  })

  test("what a visit arms for now or earlier fires one tick later: no tick feeds itself for ever", () => {
    for (const now of [10, 1_023, SPAN - 1, WINDOW - 1, EPOCH, SPAN_START - 1]) {
      const wheel = new TimingWheel({ now })
      wheel.schedule(now, 0)
      const ticks: Array<number> = []
      const fired = wheel.advance(now + 3, (payload, tick) => {
        ticks.push(tick)
        wheel.schedule(payload % 2 === 0 ? tick : 0, payload + 1)
      })
      expect(fired).toBe(4)
      expect(ticks).toEqual([now, now + 1, now + 2, now + 3])
      expect(wheel.nextAt()).toBeLessThanOrEqual(now + 4)
      expect(drain(wheel, now + 4)).toEqual([`4@${now + 4}`])
    }
  })

  test("a visit can cancel and move the entries that are due behind it", () => {
    const wheel = new TimingWheel()
    const handles = [0, 1, 2, 3].map((payload) => wheel.schedule(10, payload))
    const fired: Array<string> = []
    wheel.advance(10, (payload, tick) => {
      fired.push(`${payload}@${tick}`)
      if (payload !== 0) return
      expect(wheel.cancel(handles[0]!)).toBe(false)
      expect(wheel.cancel(handles[1]!)).toBe(true)
      expect(wheel.reschedule(handles[2]!, 10)).toBe(true)
    })
    expect(fired).toEqual(["0@10", "3@10"])
    expect(drain(wheel, 11)).toEqual(["2@11"])
  })

  test("a visit that throws loses its own entry only, and arming afterwards is arming outside a visit", () => {
    const wheel = new TimingWheel()
    for (let payload = 0; payload < 3; payload++) wheel.schedule(10, payload)
    expect(() =>
      wheel.advance(20, () => {
        throw new Thrown()
      }),
    ).toThrow(Thrown)
    expect(wheel.size).toBe(2)
    expect(wheel.now).toBe(10)
    wheel.schedule(3, 9)
    expect(drain(wheel, 20)).toEqual(["1@10", "2@10", "9@10"])
  })

  test("a visit cannot advance or rebase; it can clear, prepare and walk the wheel", () => {
    const wheel = new TimingWheel()
    for (let payload = 0; payload < 3; payload++) wheel.schedule(10, payload)
    wheel.schedule(1_500, 3)
    const met: Array<number> = []
    const fired = wheel.advance(20, () => {
      expect(() => drain(wheel, 30)).toThrow("Cannot advance the wheel: a visit is running")
      expect(() => wheel.rebase(0)).toThrow("Cannot rebase the wheel: a visit is running")
      expect(wheel.prepare(9)).toBe(1)
      wheel.forEach((payload) => met.push(payload))
      wheel.clear()
    })
    expect(fired).toBe(1)
    expect(met.sort((a, b) => a - b)).toEqual([1, 2, 3])
    expect(wheel.size).toBe(0)
    checkBookkeeping(wheel)
  })

  test("an empty wheel can be advanced across years at once", () => {
    const wheel = new TimingWheel()
    expect(wheel.advance(EPOCH, () => {})).toBe(0)
    expect(wheel.now).toBe(EPOCH)
    wheel.schedule(EPOCH + 1, 1)
    expect(drain(wheel, EPOCH + 1)).toEqual([`1@${EPOCH + 1}`])
  })
})

describe("prepare", () => {
  test("a program fires the same entries, at the same ticks, in the same order when every prepare is left out", () => {
    let moved = 0
    for (let seed = 5_001; seed <= 5_600; seed++) {
      const prepared = runProgram(seed)
      expect(runProgram(seed, { isPrepared: false }).fired, `program ${seed}`).toEqual(prepared.fired)
      moved += prepared.moved
    }
    expect(moved).toBeGreaterThan(500)
  })

  test("work is bounded: each call keeps its budget, and once it returns 0 entering block and span moves late arrivals only", () => {
    const now = SPAN_START - 500
    const wheel = new TimingWheel({ now })
    for (let i = 0; i < 3_000; i++) wheel.schedule(SPAN_START + i * 300, i)
    for (const budget of [0, -1, NaN]) expect(wheel.prepare(budget)).toBe(0)
    let calls = 0
    for (let moved = wheel.prepare(64); moved > 0; moved = wheel.prepare(64)) {
      expect(moved).toBeLessThanOrEqual(64)
      calls++
    }
    expect(calls).toBeGreaterThanOrEqual(3_000 / 64)
    const { lists } = inside(wheel)
    const block = 2_048 + ((SPAN_START >>> 10) & 2_047)
    const span = 4_096 + (SPAN_START >>> 20)
    expect([lists.next(block), lists.next(span)]).toEqual([block, span])
    wheel.schedule(SPAN_START + 1, -1)
    // Down two levels, one a call, and then there is nothing left.
    expect([wheel.prepare(9), wheel.prepare(9), wheel.prepare(9)]).toEqual([1, 1, 0])
    expect(drain(wheel, SPAN_START + 300)).toEqual([
      `0@${SPAN_START}`,
      `-1@${SPAN_START + 1}`,
      `1@${SPAN_START + 300}`,
    ])
  })
})

describe("bounded work", () => {
  /** How many entries an advance with these limits moved from list to list, and how many it fired. */
  const workOf = (wheel: TimingWheel, target: number, limit: number, movesMax: number) => {
    const { lists } = inside(wheel)
    let moved = 0
    lists.append = (index, slot) => {
      moved++
      Object.getPrototypeOf(lists).append.call(lists, index, slot)
    }
    const fired = drain(wheel, target, limit, movesMax)
    Reflect.deleteProperty(lists, "append")
    return { moved, fired }
  }

  test.each([
    ["a block", 1_500, 1_000],
    ["a span", SPAN + 5_000, SPAN],
    ["far spans", 2 * WINDOW, 3 * SPAN],
    ["one far tick", 3 * WINDOW + 17, 1],
  ])("a burst in %s: no advance fires or moves more than it may, and all fire in order", (_, from, width) => {
    const random = mulberry32(7)
    const [once, sliced] = [new TimingWheel({ now: EPOCH }), new TimingWheel({ now: EPOCH })]
    for (let payload = 0; payload < 2_000; payload++) {
      const tick = EPOCH + from + Math.floor(random() * width)
      for (const wheel of [once, sliced]) wheel.schedule(tick, payload)
    }
    const target = EPOCH + from + width + 1
    const fired: Array<string> = []
    let calls = 0
    for (; sliced.now < target; calls++) {
      const work = workOf(sliced, target, 30, 20)
      ensure(work.moved <= 20, () => `${work.moved} moved`)
      ensure(work.fired.length <= 30, () => `${work.fired.length} fired`)
      ensure(calls < 1_000, () => "slices do not come to an end")
      ensure(sliced.now === target || sliced.nextAt() <= target, () => "nextAt hides that work is left")
      fired.push(...work.fired)
    }
    expect(calls).toBeGreaterThan(2_000 / 30)
    expect(fired).toEqual(drain(once, target))
    checkBookkeeping(sliced)
  })

  test("between two slices of a far burst, what is armed for its ticks queues behind what was", () => {
    const wheel = new TimingWheel({ now: EPOCH })
    const due = EPOCH + 2 * WINDOW
    for (let payload = 0; payload < 40; payload++) wheel.schedule(due, payload)
    const target = due + 10
    const fired = drain(wheel, target, Infinity, 15)
    expect(fired).toEqual([])
    const late = wheel.schedule(due, 40)
    wheel.schedule(due - 1, 41)
    expect(inside(wheel).far.size).toBeGreaterThan(0)
    expect(wheel.cancel(late)).toBe(true)
    wheel.schedule(due, 42)
    while (wheel.now < target) {
      fired.push(...drain(wheel, target, Infinity, 15))
      checkBookkeeping(wheel)
    }
    expect(fired).toEqual(
      [41, ...Array.from({ length: 40 }, (_, at) => at), 42].map(
        (payload) => `${payload}@${payload === 41 ? due - 1 : due}`,
      ),
    )
  })

  test("after prepare, an advance into the next block or span moves late arrivals only", () => {
    const wheel = new TimingWheel({ now: SPAN_START - 700 })
    for (let payload = 0; payload < 500; payload++) wheel.schedule(SPAN_START + payload, payload)
    while (wheel.prepare(100) > 0);
    for (let late = 0; late < 7; late++) wheel.schedule(SPAN_START + 600, late)
    const { moved, fired } = workOf(wheel, SPAN_START + 1_000, Infinity, Infinity)
    // Down two levels each.
    expect([moved, fired.length]).toEqual([14, 507])
  })

  test("no moves allowed: what needs none fires, and now stays before what needs one", () => {
    const wheel = new TimingWheel({ now: SPAN_START })
    wheel.schedule(SPAN_START + 5, 1)
    wheel.schedule(SPAN_START + 5_000, 2)
    expect(drain(wheel, SPAN_START + 9_000, Infinity, 0)).toEqual([`1@${SPAN_START + 5}`])
    expect(wheel.now).toBe(SPAN_START + 5)
    expect(wheel.nextAt()).toBe(SPAN_START + 5_000)
    for (const bad of [NaN, -1]) expect(() => drain(wheel, SPAN_START, 1, bad)).toThrow("movesMax")
  })
})

describe("timers/wheel", () => {
  test("an insert into the slot being swept or into the past fires once, within two ticks (SC-S09)", () => {
    const wheel = new TimingWheel({ now: EPOCH })
    const armedAt = new Float64Array(300_001)
    const fired = new Uint8Array(300_001)
    let payloads = 0
    let worst = 0
    const arm = (tick: number): void => {
      armedAt[++payloads] = wheel.now
      wheel.schedule(tick, payloads)
    }
    let repetitions = 0
    const visit = (payload: number, tick: number): void => {
      if (payload !== 0) {
        fired[payload]!++
        worst = Math.max(worst, tick - armedAt[payload]!)
        return
      }
      for (const delay of [0, 1, -5_000]) arm(tick + delay)
      if (++repetitions < 100_000) wheel.schedule(tick + 1 + (repetitions % 3), 0)
    }
    wheel.schedule(EPOCH + 1, 0)
    for (let now = EPOCH; wheel.size > 0; now += 1_000) wheel.advance(now, visit)
    expect([repetitions, payloads]).toEqual([100_000, 300_000])
    expect(fired.subarray(1).every((count) => count === 1)).toBe(true)
    expect(worst).toBeLessThanOrEqual(2)
  })
})

describe("storage", () => {
  test("growth in mid-flight keeps every entry, and every handle given out before", () => {
    const wheel = new TimingWheel({ now: EPOCH, capacity: 1 })
    const bytes = wheel.bytes
    const handles: Array<number> = []
    const random = mulberry32(5)
    const expected: Array<{ tick: number; payload: number }> = []
    const fired: Array<string> = []
    wheel.schedule(EPOCH + 1, -1)
    wheel.advance(EPOCH + 1, () => {
      // From inside a visit, with entries of all levels and of the far heap.
      for (let payload = 0; payload < 30_000; payload++) {
        const tick = EPOCH + 2 + Math.floor((3 * WINDOW) ** random())
        handles.push(wheel.schedule(tick, payload))
        expected.push({ tick, payload })
      }
    })
    expect(wheel.bytes).toBeGreaterThan(2 * bytes)
    checkBookkeeping(wheel)
    for (let payload = 0; payload < 30_000; payload += 2) expect(wheel.cancel(handles[payload]!)).toBe(true)
    fired.push(...drain(wheel, EPOCH + 4 * WINDOW))
    expect(fired).toEqual(
      expected
        .filter(({ payload }) => payload % 2 === 1)
        .sort((a, b) => a.tick - b.tick || a.payload - b.payload)
        .map(({ tick, payload }) => `${payload}@${tick}`),
    )
  })

  test("when there is no more memory a schedule throws, changes nothing, and goes on once there is", () => {
    const copying = makeCopyingArena()
    let isRefusing = false
    const arena: Arena = (words) => {
      if (isRefusing) throw new RangeError("no memory")
      return copying(words)
    }
    const wheel = new TimingWheel({ capacity: 2, arena })
    // As many as the lists and two entries take, so that the next one is the first to grow.
    const handles = [wheel.schedule(5, 0), wheel.schedule(2 * WINDOW, 1)]
    isRefusing = true
    for (const tick of [6, 3 * WINDOW, 0]) expect(() => wheel.schedule(tick, 2)).toThrow("no memory")
    expect(wheel.size).toBe(2)
    checkBookkeeping(wheel)
    expect(wheel.reschedule(handles[0]!, 7)).toBe(true)
    isRefusing = false
    wheel.schedule(6, 2)
    expect(drain(wheel, 10)).toEqual(["2@6", "0@7"])
  })
})

describe("nextAt", () => {
  test("it is exact inside the block of now, never late elsewhere, and Infinity again once everything is cancelled", () => {
    for (const distance of [0, 5, 1_500, 3 * SPAN, 2 * WINDOW]) {
      const wheel = new TimingWheel({ now: SPAN_START })
      expect(wheel.nextAt()).toBe(Infinity)
      const handle = wheel.schedule(SPAN_START + distance, 1)
      if (distance < 1_024) expect(wheel.nextAt()).toBe(SPAN_START + distance)
      expect(wheel.nextAt()).toBeLessThanOrEqual(SPAN_START + distance)
      expect(wheel.nextAt()).toBeGreaterThan(SPAN_START + distance - SPAN)
      wheel.cancel(handle)
      expect(wheel.nextAt()).toBe(Infinity)
    }
  })

  test("it is exact for an entry that is alone in its block, its span or the far heap, and for a block that is prepared", () => {
    for (const distance of [1_500, 3 * SPAN + 77, 4_095 * SPAN, 50 * WINDOW + 123]) {
      const wheel = new TimingWheel({ now: SPAN_START + 3 })
      wheel.schedule(wheel.now + distance, 1)
      expect(wheel.nextAt()).toBe(wheel.now + distance)
    }
    const wheel = new TimingWheel({ now: SPAN_START - 10 })
    for (const tick of [700, 300, 500]) wheel.schedule(SPAN_START + tick, tick)
    expect(wheel.nextAt()).toBe(SPAN_START)
    wheel.prepare(3)
    wheel.prepare(2)
    expect(wheel.nextAt()).toBe(SPAN_START)
    while (wheel.prepare(9) > 0);
    expect(wheel.nextAt()).toBe(SPAN_START + 300)
    wheel.schedule(SPAN_START + 200, 200)
    expect(wheel.nextAt()).toBe(SPAN_START)
    expect(drain(wheel, SPAN_START + 800)).toHaveLength(4)
  })

  test("a driver that sleeps until nextAt wakes at most four times for one entry", () => {
    for (const distance of [5, 1_500, 3 * SPAN + 77, 3_000 * SPAN + 5_000, 50 * WINDOW + 123_456_789]) {
      const wheel = new TimingWheel({ now: EPOCH })
      wheel.schedule(EPOCH + distance, 1)
      let wakes = 0
      while (wheel.size > 0) {
        drain(wheel, wheel.nextAt())
        wakes++
      }
      expect(wakes).toBeLessThanOrEqual(4)
    }
  })
})

describe("forEach and clear", () => {
  test("forEach meets every entry of every level once, with its full tick and a handle that works", () => {
    for (const now of [0, WINDOW - 1, EPOCH, SPAN_START - 1]) {
      const wheel = new TimingWheel({ now })
      const ticks = [0, 5, 1_500, SPAN, 4_000 * SPAN, WINDOW, 50 * WINDOW + 1].map(
        (distance) => now + distance,
      )
      const handles = ticks.map((tick, payload) => wheel.schedule(tick, payload))
      wheel.prepare(1)
      const met: Array<[number, number, number]> = []
      wheel.forEach((payload, tick, handle) => {
        met.push([payload, tick, handle])
        if (payload % 2 === 0) expect(wheel.cancel(handle)).toBe(true)
      })
      expect(met).toEqual(ticks.map((tick, payload) => [payload, tick, handles[payload]]))
      expect(wheel.size).toBe(3)
    }
  })

  test("clear leaves an empty wheel at the same now, on which old handles miss and new entries fire", () => {
    const wheel = new TimingWheel({ now: EPOCH, capacity: 2 })
    const handles = [0, 5, 1_500, SPAN, 4_000 * SPAN, 50 * WINDOW].map((distance) =>
      wheel.schedule(EPOCH + distance, 1),
    )
    wheel.clear()
    checkBookkeeping(wheel)
    expect([wheel.size, wheel.now, wheel.nextAt()]).toEqual([0, EPOCH, Infinity])
    expect(handles.map((handle) => wheel.cancel(handle))).toEqual(handles.map(() => false))
    wheel.schedule(EPOCH + 5, 2)
    expect(handles.map((handle) => wheel.cancel(handle))).toEqual(handles.map(() => false))
    expect(drain(wheel, EPOCH + 60 * WINDOW)).toEqual([`2@${EPOCH + 5}`])
  })
})

describe("rebase", () => {
  test("after any step back every entry keeps tick, order and handle", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = mulberry32(seed)
      const now = starts[seed % starts.length]! + 3_600_000
      const pair = new Pair(now, 4)
      const arm = (): void => {
        for (let i = 0; i < 30; i++) {
          const handle = pair.schedule(pair.now + Math.floor((3 * WINDOW) ** random()))
          if (random() < 0.3) pair.schedule(pair.live.get(handle)!.due)
        }
      }
      arm()
      for (let i = 0; i < 3; i++) {
        pair.advance(pair.now + Math.floor(random() * 2 * SPAN), Infinity, () => {})
        pair.wheel.prepare(Math.floor(random() * 20))
        const back = Math.floor(Math.min(pair.now, 2 * WINDOW) ** random())
        pair.wheel.rebase(pair.now - back)
        pair.now -= back
        pair.checkView()
        pair.checkForEach()
        checkBookkeeping(pair.wheel)
        arm()
        pair.cancel([...pair.live.keys()][3]!)
        pair.reschedule([...pair.live.keys()][5]!, pair.now + 4_000)
      }
      while (pair.live.size > 0) pair.advance(pair.wheel.nextAt(), Infinity, () => {})
      checkBookkeeping(pair.wheel)
    }
  })

  test("equal ticks that prepare has parted keep their order", () => {
    const wheel = new TimingWheel({ now: SPAN_START + 100 })
    const due = SPAN_START + 2 * SPAN - 1
    for (let payload = 0; payload < 6; payload++) wheel.schedule(due, payload)
    drain(wheel, due - 1_500)
    wheel.prepare(2)
    wheel.rebase(SPAN_START)
    expect(drain(wheel, due)).toEqual([0, 1, 2, 3, 4, 5].map((payload) => `${payload}@${due}`))
  })

  test("it goes back only: a later tick is refused, the same tick changes nothing", () => {
    const wheel = new TimingWheel({ now: 100 })
    wheel.schedule(100, 1)
    expect(() => wheel.rebase(101)).toThrow(`Cannot rebase to "101": now is "100"`)
    wheel.rebase(100)
    expect(drain(wheel, 100)).toEqual(["1@100"])
  })
})

// Ids: the layout of RFC 9562, and an order that holds within a millisecond, while the clock steps back, and when the
// counter overflows.
import { describe, expect, test } from "vitest"
import { flowStepMax } from "../../../core/domain/Flow.ts"
import { highestId, isRunId, lowestId, madeAt, makeIds, stepRunId } from "../../../core/domain/Ids.ts"

const start = 1_800_000_000_000

const seededInt32 = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return mixed ^ (mixed >>> 14)
  }
}

/** Throws at the first id that is not greater than the one before it. */
const ascending = (ids: Iterable<string>): number => {
  let before = ""
  let count = 0
  for (const id of ids) {
    if (!(id > before)) throw new Error(`Id ${count}: "${id}" is not greater than "${before}"`)
    before = id
    count++
  }
  return count
}

/** The fields of a UUIDv7, read bit by bit from its hex digits and not by the code under test. */
const fields = (id: string) => {
  const bits = BigInt(`0x${id.replaceAll("-", "")}`)
  const take = (from: number, width: number): number =>
    Number((bits >> BigInt(128 - from - width)) & ((1n << BigInt(width)) - 1n))
  return {
    millis: take(0, 48),
    version: take(48, 4),
    high: take(52, 12),
    variant: take(64, 2),
    low: take(66, 30),
    random: take(96, 32),
  }
}

describe("Ids > layout (RFC 9562)", () => {
  test("48 bits of milliseconds, version 7, variant 2, a counter of 42 bits, 32 random bits", () => {
    const randoms = [0x12345678, 0x2abcdef1, -1]
    const id = makeIds(
      () => start,
      () => randoms.shift() ?? 0,
    )()
    expect(id).toBe("01a3185c-5000-7678-aabc-def1ffffffff")
    expect(fields(id)).toEqual({
      millis: start,
      version: 7,
      high: 0x678,
      variant: 2,
      low: 0x2abcdef1,
      random: 0xffffffff,
    })
  })

  test("every id has the layout, and 36 characters in lower case", () => {
    let now = start
    const next = makeIds(() => now, seededInt32(1))
    for (let count = 0; count < 10_000; count++) {
      if (count % 3 === 0) now += 1
      const id = next()
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      const { version, variant, millis } = fields(id)
      expect([version, variant, millis]).toEqual([7, 2, now])
    }
  })

  test("a new millisecond starts the counter anew, at random, with room above it", () => {
    let now = start
    const next = makeIds(() => now, seededInt32(2))
    const starts = new Set<string>()
    for (let count = 0; count < 1000; count++) {
      now += 1
      const { high, low } = fields(next())
      expect(high).toBeLessThan(0x800)
      starts.add(`${high}.${low}`)
    }
    expect(starts.size).toBe(1000)
  })

  test("the last 32 bits are new in each id", () => {
    const next = makeIds(() => start, seededInt32(3))
    expect(new Set(Array.from({ length: 1000 }, () => fields(next()).random)).size).toBe(1000)
  })
})

describe("Ids > order", () => {
  test("100,000 ids of one millisecond ascend, and all name that millisecond", () => {
    for (const random of [seededInt32(4), () => 0, () => -1, () => 0x7fffffff, () => -0x80000000]) {
      const next = makeIds(() => start, random)
      const ids = Array.from({ length: 100_000 }, next)
      expect(ascending(ids)).toBe(100_000)
      expect(madeAt(ids[0] as string)).toBe(start)
      expect(madeAt(ids[99_999] as string)).toBe(start)
    }
  })

  test("ids ascend while the clock goes forwards and steps back", () => {
    const random = seededInt32(5)
    let now = start
    const next = makeIds(() => now, random)
    const made = function* () {
      for (let count = 0; count < 100_000; count++) {
        const dice = (random() >>> 0) % 100
        if (dice < 30) now += (random() >>> 0) % 50
        else if (dice === 99) now -= (random() >>> 0) % 3_600_000
        yield next()
      }
    }
    expect(ascending(made())).toBe(100_000)
  })

  test("after a step back of an hour they keep the latest instant, until the clock is past it", () => {
    let now = start
    const next = makeIds(() => now, seededInt32(6))
    const before = next()
    now = start - 3_600_000
    const back = Array.from({ length: 1000 }, next)
    now = start + 1
    expect(ascending([before, ...back, next()])).toBe(1002)
    expect(back.map(madeAt)).toEqual(back.map(() => start))
  })

  test("a clock with fractions of a millisecond does not break the order", () => {
    let now = start
    const random = seededInt32(7)
    const next = makeIds(() => now, random)
    const made = function* () {
      for (let count = 0; count < 20_000; count++) {
        now += ((random() >>> 0) % 100) / 128
        yield next()
      }
    }
    expect(ascending(made())).toBe(20_000)
  })

  test("two sources of one instant make different ids", () => {
    const first = makeIds(() => start, seededInt32(8))
    const second = makeIds(() => start, seededInt32(9))
    const ids = Array.from({ length: 1000 }, () => [first(), second()]).flat()
    expect(new Set(ids).size).toBe(2000)
  })
})

describe("Ids > overflow of the counter", () => {
  /** Ids whose counter begins at the given place: the first draws are its two parts. */
  const from = (high: number, low: number) => {
    const draws = [high, low]
    return makeIds(
      () => start,
      () => draws.shift() ?? 0,
    )
  }

  test("the low part carries into the high one", () => {
    const next = from(0x123, 0x3ffffffe)
    const ids = Array.from({ length: 4 }, next)
    expect(ascending(ids)).toBe(4)
    expect(ids.map(fields).map(({ high, low }) => [high, low])).toEqual([
      [0x123, 0x3ffffffe],
      [0x123, 0x3fffffff],
      [0x124, 0],
      [0x124, 1],
    ])
  })

  test("a carry crosses the byte, the top bit and its four bits beside the version", () => {
    for (const high of [0x0ff, 0x1ff, 0x6ff, 0x7ff]) {
      const ids = Array.from({ length: 3 }, from(high, 0x3fffffff))
      expect(ascending(ids)).toBe(3)
      expect(ids.map((id) => fields(id).high)).toEqual([high, high + 1, high + 1])
      expect(ids.every(isRunId)).toBe(true)
    }
  })
})

describe("Ids > madeAt and isRunId", () => {
  test("madeAt is the instant to the millisecond, from 1970 to the end of 48 bits", () => {
    for (const millis of [1, 255, 2 ** 31, 2 ** 32, start, 2 ** 47, 2 ** 48 - 1]) {
      const id = makeIds(() => millis, seededInt32(10))()
      expect(madeAt(id)).toBe(millis)
    }
  })

  test("what is no UUIDv7 is no run's id, and was made at no time", () => {
    const good = "01a3185c-5000-7678-aabc-def1ffffffff"
    expect(isRunId(good)).toBe(true)
    const bad = [
      "",
      "x",
      good.toUpperCase(),
      ` ${good}`,
      `${good}\n`,
      `${good}0`,
      good.slice(1),
      good.replaceAll("-", ""),
      `{${good}}`,
      "01a3185c-5000-4678-aabc-def1ffffffff",
      "01a3185c-5000-7678-7abc-def1ffffffff",
      "01a3185c-5000-7678-cabc-def1ffffffff",
      "01a3185g-5000-7678-aabc-def1ffffffff",
      "00000000-0000-0000-0000-000000000000",
    ]
    for (const id of bad) {
      expect(isRunId(id), id).toBe(false)
      expect(madeAt(id), id).toBeNaN()
    }
    for (const variant of "89ab") expect(isRunId(`01a3185c-5000-7678-${variant}abc-def1ffffffff`)).toBe(true)
  })
})

describe("Ids > runs of steps", () => {
  const parent = "01a3185c-5000-7678-aabc-def1ffffffff"

  test("the same for the same run, step and round, on every runtime and for ever", () => {
    expect(stepRunId(parent, 0, 1)).toBe(stepRunId(parent, 0, 1))
    // Stored rows carry them: another text would make a second run of a step.
    expect(stepRunId(parent, 0, 1)).toBe("01a3185c-5000-7000-8227-ed7c022be96e")
    expect(stepRunId(parent, 19_999, 7)).toBe("01a3185c-5000-74e1-bde1-4f0db9a1910b")
  })

  test("those of one round ascend with the steps, as far as a flow may go", () => {
    const steps = Array.from({ length: flowStepMax }, (_, step) => stepRunId(parent, step, 3))
    expect(ascending(steps)).toBe(flowStepMax)
  })

  test("well formed, made when the flow run was", () => {
    for (let step = 0; step < 2_000; step++) {
      const id = stepRunId(parent, step, 1 + (step % 3))
      expect(isRunId(id), id).toBe(true)
      expect(madeAt(id)).toBe(start)
      expect(fields(id)).toMatchObject({ version: 7, variant: 2 })
    }
  })

  test(
    "a million of one instant are all different: by step, by round, and by flow run",
    { timeout: 60_000 },
    () => {
      const seen = new Set<string>()
      const random = seededInt32(7)
      const ids = makeIds(() => start, random)
      for (let flow = 0; flow < 20; flow++) {
        const id = ids()
        for (let step = 0; step < 20_000; step++) seen.add(stepRunId(id, step, 1))
        for (let step = 0; step < 10_000; step++) seen.add(stepRunId(id, step, 2))
        for (let round = 3; round < 20_003; round++) seen.add(stepRunId(id, 0, round))
      }
      expect(seen.size).toBe(20 * 50_000)
    },
  )

  test("every one of its 58 bits of a hash depends on step, round and flow run", () => {
    const other = "01a3185c-5000-7678-aabc-def1fffffffe"
    const hashOf = (id: string): bigint => BigInt(`0x${id.replaceAll("-", "")}`) & ((1n << 58n) - 1n)
    const turned = (pairs: ReadonlyArray<readonly [string, string]>): number => {
      const ones = new Array<number>(58).fill(0)
      for (const [a, b] of pairs) {
        const difference = hashOf(a) ^ hashOf(b)
        for (let bit = 0; bit < 58; bit++) ones[bit]! += Number((difference >> BigInt(bit)) & 1n)
      }
      // A good hash turns each bit in half of the pairs.
      return ones.filter((count) => count > pairs.length * 0.4 && count < pairs.length * 0.6).length
    }
    const steps = Array.from({ length: 1_000 }, (_, step) => step)
    expect(turned(steps.map((step) => [stepRunId(parent, step, 1), stepRunId(parent, step + 1, 1)]))).toBe(58)
    expect(turned(steps.map((step) => [stepRunId(parent, step, 1), stepRunId(parent, step, 2)]))).toBe(58)
    expect(turned(steps.map((step) => [stepRunId(parent, step, 1), stepRunId(other, step, 1)]))).toBe(58)
  })
})

test("the lowest and highest id of an instant bound all that are made at it, and no others", () => {
  const ids = makeIds(() => start, seededInt32(7))
  const [low, high] = [lowestId(start), highestId(start)]
  expect([isRunId(low), isRunId(high), madeAt(low), madeAt(high)]).toEqual([true, true, start, start])
  for (let n = 0; n < 1_000; n++) {
    const id = ids()
    expect(id >= low && id <= high).toBe(true)
    const step = stepRunId(id, n, 1)
    expect(step >= low && step <= high).toBe(true)
  }
  expect(highestId(start - 1) < low && lowestId(start + 1) > high).toBe(true)
  expect([lowestId(-5), lowestId(Infinity)].map(isRunId)).toEqual([true, true])
  expect([madeAt(lowestId(-5)), madeAt(highestId(Infinity))]).toEqual([0, 2 ** 48 - 1])
})

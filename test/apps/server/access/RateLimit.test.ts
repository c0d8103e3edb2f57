// How often somebody may ask: the bucket, and that its memory is bounded.
import { expect, test } from "vitest"
import { bucketsMax, makeRateLimit } from "../../../../apps/server/access/RateLimit.ts"

test("a burst, then so many a second; each for itself", () => {
  let now = 0
  const { take, policy } = makeRateLimit({ perSecond: 10, burst: 20 }, () => now)
  expect(policy).toEqual({ quota: 20, seconds: 2 })
  const first = Array.from({ length: 20 }, () => take("a"))
  expect(first.every(({ may }) => may)).toBe(true)
  expect(first.map(({ remaining }) => remaining)).toEqual(Array.from({ length: 20 }, (_, used) => 19 - used))
  expect(take("a")).toEqual({ may: false, remaining: 0, waitMillis: 100 })
  expect(take("b").may).toBe(true)
  now += 99
  expect(take("a").may).toBe(false)
  now += 1
  expect(take("a").may).toBe(true)
  expect(take("a").may).toBe(false)
  // Never more than the burst, however long nobody asked.
  now += 3_600_000
  expect(Array.from({ length: 25 }, () => take("a").may).filter((may) => may)).toHaveLength(20)
})

test("of more than can be counted, the one that was used longest ago is forgotten, and no other", () => {
  const { take } = makeRateLimit({ perSecond: 1, burst: 1 }, () => 0)
  for (let each = 0; each < bucketsMax; each++) take(`address ${each}`)
  expect(take("address 0").may).toBe(false)
  take("one more")
  expect(take("address 0").may).toBe(false)
  expect(take("address 2").may).toBe(false)
  expect(take("address 1").may).toBe(true)
})

test.each([
  { perSecond: 0 },
  { perSecond: Number.NaN },
  { perSecond: -1 },
  { burst: 0 },
  { burst: Number.POSITIVE_INFINITY },
])("%j is no limit", (options) => expect(() => makeRateLimit(options)).toThrow(RangeError))

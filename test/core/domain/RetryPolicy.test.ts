// When a failed attempt is followed by another, and after how long; and what of a written policy is refused, with the
// path of what is wrong. Random policies come from fixed seeds.
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { InvalidInput } from "../../../core/domain/Errors.ts"
import {
  type Backoff,
  defaultRetryPolicy,
  type Jitter,
  nextDelay,
  parseRetry,
  type RetryOptions,
  type RetryPolicy,
} from "../../../core/domain/RetryPolicy.ts"

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const policy = (fields: Partial<RetryPolicy> = {}): RetryPolicy => ({
  ...defaultRetryPolicy,
  attemptMax: 1000,
  jitter: "none",
  ...fields,
})

interface Failure {
  readonly name?: string
  readonly retryable?: boolean
  readonly retryAfterMillis?: number | null
}

const delay = (of: RetryPolicy, attempt: number, failure: Failure = {}, random = 0.5): number | null =>
  nextDelay(
    of,
    {
      attempt,
      error: { name: failure.name ?? "Error", message: "It broke", kind: "error" },
      retryable: failure.retryable ?? true,
      retryAfterMillis: failure.retryAfterMillis ?? null,
    },
    random,
  )
const delays = (of: RetryPolicy, count: number): Array<number | null> =>
  Array.from({ length: count }, (_, index) => delay(of, index + 1))

describe("RetryPolicy > growth", () => {
  test("fixed: the base each time", () =>
    expect(delays(policy({ backoff: "fixed", baseMillis: 700 }), 4)).toEqual([700, 700, 700, 700]))

  test("linear: the base times the attempt", () =>
    expect(delays(policy({ backoff: "linear", baseMillis: 700 }), 4)).toEqual([700, 1400, 2100, 2800]))

  test("exponential: the first delay is the base, each later one `factor` times as long", () => {
    expect(delays(policy(), 5)).toEqual([1000, 2000, 4000, 8000, 16_000])
    expect(delays(policy({ factor: 10, baseMillis: 3 }), 4)).toEqual([3, 30, 300, 3000])
    expect(delays(policy({ factor: 1 }), 3)).toEqual([1000, 1000, 1000])
    expect(delays(policy({ factor: 1.5, baseMillis: 1 }), 4)).toEqual([1, 2, 2, 3])
  })

  test("a list: in order, the last one for all that follow", () => {
    expect(delays(policy({ delays: [5, 50, 10] }), 5)).toEqual([5, 50, 10, 10, 10])
    expect(delays(policy({ delays: [0] }), 2)).toEqual([0, 0])
  })

  test("the cap holds for all that is computed, and for a list", () => {
    const cap = { delayMaxMillis: 1500 }
    expect(delays(policy({ ...cap, backoff: "fixed", baseMillis: 9000 }), 2)).toEqual([1500, 1500])
    expect(delays(policy({ ...cap, backoff: "linear" }), 3)).toEqual([1000, 1500, 1500])
    expect(delays(policy(cap), 3)).toEqual([1000, 1500, 1500])
    expect(delays(policy({ ...cap, delays: [1, 2000, 3] }), 3)).toEqual([1, 1500, 3])
  })

  test("no attempt overflows: finite, whole, from 0 to the cap, never shorter than the one before (SC-S34)", () => {
    const attempts = [1, 2, 30, 31, 32, 53, 54, 63, 64, 1023, 1024, 1025, 1_000_000]
    for (const backoff of ["fixed", "linear", "exponential"] as const)
      for (const baseMillis of [0, 1, 3_600_000])
        for (const factor of [1, 1.5, 2, 10, 1000])
          for (const delayMaxMillis of [0, 1, 3_600_000, 3_155_760_000_000]) {
            const of = policy({
              attemptMax: Number.POSITIVE_INFINITY,
              backoff,
              baseMillis,
              factor,
              delayMaxMillis,
            })
            let before = 0
            for (const attempt of attempts) {
              const found = delay(of, attempt)
              const what = `${backoff} ${baseMillis} x ${factor}, cap ${delayMaxMillis}, attempt ${attempt}: ${found}`
              expect(Number.isSafeInteger(found), what).toBe(true)
              expect(found as number, what).toBeGreaterThanOrEqual(before)
              expect(found as number, what).toBeLessThanOrEqual(delayMaxMillis)
              before = found as number
            }
            expect(delay(of, 1)).toBe(Math.min(baseMillis, delayMaxMillis))
          }
  })
})

describe("RetryPolicy > jitter", () => {
  const nearlyOne = 1 - 2 ** -32

  test("none takes no chance", () =>
    expect([0, 0.5, nearlyOne].map((random) => delay(policy(), 2, {}, random))).toEqual([2000, 2000, 2000]))

  test("full is from 0 to the delay", () =>
    expect([0, 0.25, nearlyOne].map((random) => delay(policy({ jitter: "full" }), 2, {}, random))).toEqual([
      0, 500, 2000,
    ]))

  test("equal is from half the delay to the delay", () =>
    expect([0, 0.5, nearlyOne].map((random) => delay(policy({ jitter: "equal" }), 2, {}, random))).toEqual([
      1000, 1500, 2000,
    ]))

  test("a list may have jitter, too", () => {
    expect(delay(policy({ delays: [1000], jitter: "full" }), 1, {}, 0.1)).toBe(100)
    expect(delay(policy({ delays: [1000], jitter: "equal" }), 1, {}, 0.1)).toBe(550)
  })

  test("a thousand that fail at once do not return together (SC-S35)", () => {
    const random = seeded(35)
    const buckets = new Map<number, number>()
    for (let run = 0; run < 1000; run++) {
      const found = delay(policy({ baseMillis: 10_000, jitter: "full" }), 1, {}, random()) as number
      const bucket = Math.floor(found / 100)
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1)
    }
    expect(Math.max(...buckets.values())).toBeLessThanOrEqual(50)
  })

  test("property: every policy keeps its bounds for every attempt", () => {
    const random = seeded(7)
    const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)] as A
    const size = (max: number): number => Math.floor(max ** random())
    for (let round = 0; round < 20_000; round++) {
      const listed = random() < 0.3
      const of = policy({
        attemptMax: 1 + size(1000),
        backoff: pick<Backoff>(["fixed", "linear", "exponential"]),
        baseMillis: random() < 0.1 ? 0 : size(3e12),
        factor: random() < 0.5 ? 1 + random() * 3 : 1 + size(999),
        delayMaxMillis: size(3e12),
        delays: listed ? Array.from({ length: 1 + size(8) }, () => size(1e9)) : [],
        jitter: pick<Jitter>(["none", "full", "equal"]),
      })
      const attempt = 1 + size(1100)
      const found = delay(of, attempt, {}, random())
      const what = `${JSON.stringify(of)}, attempt ${attempt}: ${found}`
      if (attempt >= of.attemptMax) {
        expect(found, what).toBeNull()
        continue
      }
      const raw = listed
        ? (of.delays[Math.min(attempt, of.delays.length) - 1] as number)
        : of.baseMillis === 0
          ? 0
          : of.baseMillis *
            { fixed: 1, linear: attempt, exponential: of.factor ** (attempt - 1) }[of.backoff]
      const most = Math.min(raw, of.delayMaxMillis)
      const least = { none: most, full: 0, equal: most / 2 }[of.jitter]
      if (!Number.isSafeInteger(found)) throw new Error(what)
      if ((found as number) < Math.round(least) - 1 || (found as number) > Math.round(most))
        throw new Error(what)
      if (of.jitter === "none") expect(found, what).toBe(Math.round(most))
    }
  })
})

describe("RetryPolicy > when there is no other attempt", () => {
  test("max counts the first attempt: n means n attempts (SC-S33)", () => {
    for (const attemptMax of [1, 2, 3, 25]) {
      let attempts = 1
      while (delay(policy({ attemptMax }), attempts) !== null) attempts++
      expect(attempts).toBe(attemptMax)
    }
  })

  test("beyond the limit there is none either", () =>
    expect(delay(policy({ attemptMax: 3 }), 4, { retryAfterMillis: 5 })).toBeNull())

  test("what is not retryable is final, whatever else is said", () => {
    const of = policy({ rules: [{ error: "Error", retry: true, delayMillis: 1 }] })
    expect(delay(of, 1, { retryable: false })).toBeNull()
    expect(delay(of, 1, { retryable: false, retryAfterMillis: 10 })).toBeNull()
  })
})

describe("RetryPolicy > rules and wishes", () => {
  const of = policy({
    jitter: "full",
    delayMaxMillis: 5000,
    rules: [
      { error: "NotAllowed", retry: false },
      { error: "RateLimited", delayMillis: 60_000 },
      { error: "RateLimited", delayMillis: 1 },
      { error: "Plain" },
      { error: "Zero", delayMillis: 0 },
    ],
  })

  test("an error whose rule says so is final", () => {
    expect(delay(of, 1, { name: "NotAllowed" })).toBeNull()
    expect(delay(of, 1, { name: "NotAllowed", retryAfterMillis: 5 })).toBeNull()
  })

  test("a rule's delay is taken as it is, and the first rule holds", () => {
    expect(delay(of, 1, { name: "RateLimited" }, 0)).toBe(60_000)
    expect(delay(of, 7, { name: "RateLimited" }, 0)).toBe(60_000)
    expect(delay(of, 1, { name: "Zero" }, 0.9)).toBe(0)
  })

  test("a rule without a delay leaves it to the policy, and so do errors without a rule", () => {
    expect(delay(of, 1, { name: "Plain" }, 0.5)).toBe(500)
    expect(delay(of, 1, { name: "ratelimited" }, 0.5)).toBe(500)
  })

  test("the handler's wish goes before the rule's delay and is never shortened or jittered", () => {
    expect(delay(of, 1, { name: "RateLimited", retryAfterMillis: 90_000 }, 0)).toBe(90_000)
    expect(delay(of, 1, { retryAfterMillis: 1.2 }, 0)).toBe(2)
    expect(delay(of, 1, { retryAfterMillis: 0 }, 0.9)).toBe(0)
    expect(delay(of, 1, { retryAfterMillis: -5 }, 0.9)).toBe(0)
  })

  test("a wish does not give another attempt", () =>
    expect(delay(policy({ attemptMax: 1 }), 1, { retryAfterMillis: 5 })).toBeNull())
})

describe("RetryPolicy > what people write", () => {
  const read = (options?: unknown): RetryPolicy =>
    Result.getOrThrow(parseRetry("retry", options as RetryOptions))

  test("nothing written is the default", () => {
    expect(Result.getOrThrow(parseRetry("retry"))).toEqual(defaultRetryPolicy)
    expect(read({})).toEqual(defaultRetryPolicy)
    expect(defaultRetryPolicy).toMatchObject({ attemptMax: 3, jitter: "full", backoff: "exponential" })
  })

  test("everything written is taken over, spans in milliseconds", () =>
    expect(
      read({
        max: 7,
        backoff: "linear",
        delay: "2s",
        factor: 3,
        delayMax: "1h30m",
        jitter: "equal",
        on: [{ error: "RateLimited", delay: "1m" }, { error: "Denied", retry: false }, { error: "Other" }],
      }),
    ).toEqual({
      attemptMax: 7,
      backoff: "linear",
      baseMillis: 2000,
      factor: 3,
      delayMaxMillis: 5_400_000,
      delays: [],
      jitter: "equal",
      rules: [
        { error: "RateLimited", delayMillis: 60_000 },
        { error: "Denied", retry: false },
        { error: "Other" },
      ],
    }))

  test("a list of delays has no jitter unless it is asked for", () => {
    expect(read({ delays: ["1s", 50, "1m"] })).toMatchObject({ delays: [1000, 50, 60_000], jitter: "none" })
    expect(read({ delays: ["1s"], jitter: "full" }).jitter).toBe("full")
    expect(read({ delays: [] })).toEqual(defaultRetryPolicy)
  })

  test("the limits themselves are accepted", () => {
    expect(read({ max: 1 }).attemptMax).toBe(1)
    expect(read({ max: 1000 }).attemptMax).toBe(1000)
    expect(read({ factor: 1 }).factor).toBe(1)
    expect(read({ factor: 1000 }).factor).toBe(1000)
    expect(read({ delay: 0, delayMax: 0 })).toMatchObject({ baseMillis: 0, delayMaxMillis: 0 })
  })

  const wrong: ReadonlyArray<readonly [path: string, options: unknown]> = [
    ...[0, 1001, -1, 1.5, Number.NaN, Infinity, -Infinity, "3", true, {}, 2n].map(
      (max) => ["retry.max", { max }] as const,
    ),
    ...[0, 0.99, 1001, -2, Number.NaN, Infinity, "2", {}].map(
      (factor) => ["retry.factor", { factor }] as const,
    ),
    ...["", "Exponential", "random", 1, ["fixed"], {}].map(
      (backoff) => ["retry.backoff", { backoff }] as const,
    ),
    ...["", "FULL", "half", true, 0.5].map((jitter) => ["retry.jitter", { jitter }] as const),
    ...["5 minutes", "", "5", -1, Number.NaN, Infinity, 1e300, {}, true, "-1s", "101000w"].flatMap((span) => [
      ["retry.delay", { delay: span }] as const,
      ["retry.delayMax", { delayMax: span }] as const,
      ["retry.delays[1]", { delays: ["1s", span] }] as const,
      ["retry.on[1].delay", { on: [{ error: "A" }, { error: "B", delay: span }] }] as const,
    ]),
    ["retry.delays[0]", { delays: [null] }],
    ["retry.delays[0]", { delays: [undefined] }],
    ["retry.delays", { delays: "5m" }],
    ["retry.delays", { delays: 5 }],
    ["retry.delays", { delays: { 0: "1s" } }],
    ["retry.on", { on: {} }],
    ["retry.on", { on: "RateLimited" }],
    ["retry.on[0]", { on: [null] }],
    ["retry.on[0]", { on: ["RateLimited"] }],
    ["retry.on[0].error", { on: [{}] }],
    ["retry.on[0].error", { on: [{ error: "" }] }],
    ["retry.on[0].error", { on: [{ error: 5 }] }],
    ["retry.on[0].error", { on: [{ error: class RateLimited {} }] }],
    ["retry.on[0].retry", { on: [{ error: "A", retry: "no" }] }],
    ["retry.on[0].retry", { on: [{ error: "A", retry: 0 }] }],
    ["retry", 3],
    ["retry", "3 times"],
    ["retry", null],
    ["retry", ["1s", "5s"]],
  ]
  for (const [path, options] of wrong) {
    const text = JSON.stringify(options, (_key, value: unknown) =>
      typeof value === "number" || typeof value === "bigint" || value === undefined ? String(value) : value,
    )
    test(`${text} is refused at ${path}`, () => {
      const result = parseRetry("retry", options as RetryOptions)
      if (Result.isSuccess(result)) throw new Error(`It was accepted: ${JSON.stringify(result.success)}`)
      expect(result.failure).toBeInstanceOf(InvalidInput)
      expect(result.failure.field).toBe(path)
      expect(result.failure.reason).not.toBe("")
      expect(result.failure.next).toMatch(/\.$/)
      expect(result.failure.message).toContain(path)
    })
  }
})

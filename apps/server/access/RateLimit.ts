// How often somebody may ask: a bucket of so many requests for each key, or for each address where there is no key, which
// fills steadily. Its memory is bounded: a bucket that nobody used for longest is forgotten, and is full again.

/** How often. */
export interface RateOptions {
  /** Requests in a second, in the long run; default 1,000. */
  readonly perSecond?: number
  /** Requests at once, after a time without any; default 2,000. */
  readonly burst?: number
}

/** What is left after a request. */
export interface Allowance {
  /** Whether the request may go on. */
  readonly may: boolean
  /** How many more may come at once. */
  readonly remaining: number
  /** In how many milliseconds there is one more; 0: there is one. */
  readonly waitMillis: number
}

/** Counts requests. */
export interface RateLimit {
  /** One request of whoever this is. */
  readonly take: (who: string) => Allowance
  /** The limit as `RateLimit-Policy` says it: so many in so many seconds. */
  readonly policy: { readonly quota: number; readonly seconds: number }
}

/** Keys, or addresses, that are counted at a time. */
export const bucketsMax = 10_000

/** Starts to count. `now`: monotonic milliseconds. Throws `RangeError` for a limit that is none. */
export const makeRateLimit = (
  { perSecond = 1_000, burst = 2_000 }: RateOptions,
  now: () => number = () => performance.now(),
): RateLimit => {
  for (const [name, value, least] of [
    ["perSecond", perSecond, 0.001],
    ["burst", burst, 1],
  ] as const)
    if (!Number.isFinite(value) || value < least)
      throw new RangeError(`rate.${name}: ${value} is not a number from ${least} on`)
  // In the order of their last use.
  const buckets = new Map<string, { readonly left: number; readonly at: number }>()
  return {
    take: (who) => {
      const at = now()
      const bucket = buckets.get(who)
      const filled =
        bucket === undefined ? burst : Math.min(burst, bucket.left + ((at - bucket.at) / 1_000) * perSecond)
      const may = filled >= 1
      const left = may ? filled - 1 : filled
      buckets.delete(who)
      if (buckets.size >= bucketsMax) {
        const [oldest] = buckets.keys()
        if (oldest !== undefined) buckets.delete(oldest)
      }
      buckets.set(who, { left, at })
      return {
        may,
        remaining: Math.floor(left),
        waitMillis: left >= 1 ? 0 : Math.ceil(((1 - left) / perSecond) * 1_000),
      }
    },
    policy: { quota: Math.floor(burst), seconds: Math.max(1, Math.ceil(burst / perSecond)) },
  }
}

// Order statistics of small samples.

/** The value below which this share (0 to 1) of the sample lies, by nearest rank; NaN for an empty sample. */
export const quantile = (sample: ReadonlyArray<number>, share: number): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  const rank = Math.max(1, Math.ceil(share * sorted.length))
  return sorted[rank - 1] ?? Number.NaN
}

/** The middle value; the mean of the two middle ones of an even sample; NaN for an empty one. */
export const median = (sample: ReadonlyArray<number>): number => {
  const sorted = [...sample].sort((a, b) => a - b)
  const middle = sorted.length / 2
  const high = sorted[Math.floor(middle)] ?? Number.NaN
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN
  return (low + high) / 2
}

/** Rounded for a report: three decimals are below what any of these measurements can tell. */
export const rounded = (value: number): number => Math.round(value * 1000) / 1000

/** Count, p50, p99 and max of spans in milliseconds. */
export interface Spans {
  readonly count: number
  readonly p50Millis: number
  readonly p99Millis: number
  readonly maxMillis: number
}

/** Describes a sample of spans. */
export const spansOf = (sample: ReadonlyArray<number>): Spans => ({
  count: sample.length,
  p50Millis: rounded(quantile(sample, 0.5)),
  p99Millis: rounded(quantile(sample, 0.99)),
  maxMillis: rounded(quantile(sample, 1)),
})

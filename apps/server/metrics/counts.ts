// What metrics are counted in: by labels of a bounded number, and histograms of fixed buckets.
import type { Family, Labels } from "./text.ts"

type Samples = Family["samples"]

/** The value of a label in the place of those that came when there were as many as there may be. */
export const other = "other"

/** Answers a label's value, or `other` for the first one over the bound and all new ones after it. */
export const boundedLabel = (max: number): ((value: string) => string) => {
  const known = new Set<string>()
  return (value) => {
    if (known.has(value)) return value
    if (known.size >= max) return other
    known.add(value)
    return value
  }
}

/** A counter with labels. */
export const makeCounter = (names: ReadonlyArray<string>) => {
  const counts = new Map<string, { readonly labels: Labels; value: number }>()
  return {
    add: (values: ReadonlyArray<string>, by = 1): void => {
      const key = JSON.stringify(values)
      let count = counts.get(key)
      if (count === undefined) counts.set(key, (count = { labels: labelsOf(names, values), value: 0 }))
      count.value += by
    },
    samples: (): Samples => [...counts.values()].map(({ labels, value }) => ({ labels, value })),
  }
}

/** A histogram with labels; `bounds` ascend, in the metric's unit. */
export const makeHistogram = (names: ReadonlyArray<string>, bounds: ReadonlyArray<number>) => {
  const rows = new Map<string, { readonly labels: Labels; readonly counts: Array<number>; sum: number }>()
  return {
    observe: (values: ReadonlyArray<string>, value: number): void => {
      const key = JSON.stringify(values)
      let row = rows.get(key)
      if (row === undefined) {
        row = { labels: labelsOf(names, values), counts: [...bounds, 0].map(() => 0), sum: 0 }
        rows.set(key, row)
      }
      const place = bounds.findIndex((bound) => value <= bound)
      const at = place < 0 ? bounds.length : place
      row.counts[at] = (row.counts[at] ?? 0) + 1
      row.sum += value
    },
    samples: (): Samples =>
      [...rows.values()].flatMap(({ labels, counts, sum }) => {
        let total = 0
        const buckets = counts.map((count, place) => {
          total += count
          return {
            suffix: "_bucket",
            labels: { ...labels, le: String(bounds[place] ?? "+Inf") },
            value: total,
          }
        })
        return [
          ...buckets,
          { suffix: "_sum", labels, value: sum },
          { suffix: "_count", labels, value: total },
        ]
      }),
  }
}

const labelsOf = (names: ReadonlyArray<string>, values: ReadonlyArray<string>): Labels =>
  Object.fromEntries(names.map((name, place) => [name, values[place] ?? ""]))

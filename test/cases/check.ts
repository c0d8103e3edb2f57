// One case that can be run, of whatever file it comes, and what may be wrong with it.

/** One case that can be run; it answers with what is wrong, or with nothing. */
export interface Check {
  readonly id: string
  readonly title: string
  /** The zone that the process must have, where the case asks for one. */
  readonly processTz: string | undefined
  readonly run: () => Problem | undefined
}
/** What is wrong. */
export interface Problem {
  readonly what: string
  readonly expected: unknown
  readonly got: unknown
}

/** A check of a case. A thrown error is a failure of its case and of no other. */
export const check = (
  one: {
    readonly id: string
    readonly title?: string | undefined
    readonly why?: string | undefined
    readonly processTz?: string | undefined
  },
  run: () => Problem | undefined,
): Check => ({
  id: one.id,
  title: one.title ?? one.why ?? "",
  processTz: one.processTz,
  run: () => {
    try {
      return run()
    } catch (error) {
      return { what: "it throws", expected: "an answer", got: String(error) }
    }
  },
})

/** The problem that two values differ, if they do. */
export const problem = (what: string, expected: unknown, got: unknown): Problem | undefined =>
  JSON.stringify(expected) === JSON.stringify(got) ? undefined : { what, expected, got }

/** The problem that work takes longer than it may. Best of three: a pause of the machine is none of ours. */
export const tooSlow = (limitMs: number, work: () => unknown): Problem | undefined => {
  let best = Infinity
  for (let round = 0; round < 3 && best > limitMs; round += 1) {
    const start = performance.now()
    work()
    best = Math.min(best, performance.now() - start)
  }
  return best <= limitMs
    ? undefined
    : { what: "time", expected: `${limitMs} ms`, got: `${best.toFixed(1)} ms` }
}

// Seeds that once broke a promise, kept so that they never do again. A seed means the same only as long as workload and
// faults stay as they are; what lasts is the test that was made of each, which is named beside it.

/** A seed with the story behind it. */
export interface Regression {
  readonly seed: number
  readonly story: string
}

/** All of them, the oldest first. */
export const regressions: ReadonlyArray<Regression> = []

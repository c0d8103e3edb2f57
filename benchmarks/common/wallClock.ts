// Times of day with fractions of a millisecond.

/** Epoch milliseconds with fractions, true to `Date.now()`, which shows whole ones only. */
export const wallClock = (): (() => number) => {
  const tick = Date.now()
  while (Date.now() === tick);
  const origin = Date.now() - performance.now()
  return () => origin + performance.now()
}

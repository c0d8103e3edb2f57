// Timers of a worker: of any length, and never early by the clock that never steps.

/** The longest that a host timer takes, in milliseconds; a longer one would fire at once. */
export const timerMaxMillis = 2_147_483_647

/** Milliseconds of the monotonic clock. */
export const monotonic = (): number => performance.now()

/** Calls back once after this many milliseconds; the returned function takes it back. */
export const after = (millis: number, callback: () => void): (() => void) => {
  const dueAt = monotonic() + millis
  const arm = (): ReturnType<typeof setTimeout> =>
    setTimeout(fire, Math.min(timerMaxMillis, Math.max(1, Math.ceil(dueAt - monotonic()))))
  const fire = (): void => {
    // Node may be a millisecond early.
    if (monotonic() < dueAt) timer = arm()
    else callback()
  }
  let timer = arm()
  return () => clearTimeout(timer)
}

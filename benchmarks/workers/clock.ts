// One clock for the processes of a machine: the wall's, with the fractions of the monotonic one.

/** Epoch milliseconds with fractions. */
export const clock = (): number => performance.timeOrigin + performance.now()

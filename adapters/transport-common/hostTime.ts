// The host's own time for lines: the monotonic clock and its timers.
import type { LineTime } from "./Line.ts"

/** Milliseconds of the host's monotonic clock. All spans are far below what a host timer can take. */
export const hostTime: LineTime = {
  now: () => performance.now(),
  after: (millis, callback) => {
    const timer = setTimeout(callback, millis)
    return () => clearTimeout(timer)
  },
}

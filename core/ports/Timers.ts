// The timers port: callbacks after a span of monotonic time, cheap to set and to take back.

/** Sets timers; many of them share one host timer. */
export interface Timers {
  /** Calls back once, never early, after this many milliseconds; the returned function takes it back. */
  readonly after: (millis: number, callback: () => void) => () => void
}

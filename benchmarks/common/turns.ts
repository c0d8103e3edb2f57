// How long the event loop is kept from its timers: a timer of a millisecond that is set again and again, on every
// runtime alike. `monitorEventLoopDelay` is not used: under load Deno's answers 0, or one turn among a thousand idle ones,
// and none of them counts a turn that has not ended when the histogram is read.
import { rounded, quantile } from "./statistics.ts"

/** Delays of the timer beyond its millisecond. */
export interface Turns {
  readonly p50Millis: number
  readonly p99Millis: number
  readonly maxMillis: number
}

/** Starts watching; the returned function stops it and answers what was seen, with the turn that is under way. */
export const watchTurns = (): (() => Turns) => {
  const delays: Array<number> = []
  let last = performance.now()
  const note = (): void => {
    const now = performance.now()
    delays.push(Math.max(0, now - last - 1))
    last = now
  }
  const turn = (): void => {
    note()
    timer = setTimeout(turn, 1)
  }
  let timer = setTimeout(turn, 1)
  return () => {
    clearTimeout(timer)
    note()
    return {
      p50Millis: rounded(quantile(delays, 0.5)),
      p99Millis: rounded(quantile(delays, 0.99)),
      maxMillis: rounded(quantile(delays, 1)),
    }
  }
}

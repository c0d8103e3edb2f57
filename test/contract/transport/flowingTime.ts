// Virtual time that flows by itself: when nothing is left to do at an instant, the next timer's instant comes.
import type { LineTime } from "../../../adapters/transport-common/Line.ts"

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** Virtual time in which one can wait. */
export interface FlowingTime extends LineTime {
  readonly pass: (millis: number) => Promise<void>
}

// Promises and fibers that an instant woke need some turns of the event loop to do all that they can.
const turns = 3

/** Time that begins at 0 and stands still when nobody waits for anything. */
export const flowingTime = (): FlowingTime => {
  let now = 0
  let flowing = false
  const timers = new Set<Timer>()
  const next = (): Timer | undefined => {
    let soonest: Timer | undefined
    for (const timer of timers) if (soonest === undefined || timer.at < soonest.at) soonest = timer
    return soonest
  }
  const flow = async (): Promise<void> => {
    flowing = true
    for (;;) {
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      const timer = next()
      if (timer === undefined) break
      now = timer.at
      // All timers of an instant, in the order in which they were set.
      for (const each of [...timers].filter(({ at }) => at === now)) if (timers.delete(each)) each.callback()
    }
    flowing = false
  }
  const after: LineTime["after"] = (millis, callback) => {
    const timer = { at: now + Math.max(0, millis), callback }
    timers.add(timer)
    if (!flowing) void flow()
    return () => timers.delete(timer)
  }
  return { now: () => now, after, pass: (millis) => new Promise((resolve) => after(millis, resolve)) }
}

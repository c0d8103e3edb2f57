// The host's timers beside ours: arming with a callback each, and disarming in random order. Nothing fires.
import { TimingWheel } from "../../core/wheel/TimingWheel.ts"
import { makeWasmArena } from "../../adapters/arena-wasm/mod.ts"
import { rounded } from "../common/statistics.ts"
import { makeLoad } from "./load.ts"

/** Nanoseconds per timer, the best of the rounds. */
export interface HostCosts {
  readonly size: number
  readonly hostArmNanos: number
  readonly hostCancelNanos: number
  readonly wheelArmNanos: number
  readonly wheelCancelNanos: number
}

const rounds = 6
const callback = (): void => {}

// As `core/wheel/WheelTimers` does it: the wheel carries the row of a table of callbacks, and the clock is read for
// each timer, since a delay is counted from now.
const makeTimers = (size: number) => {
  const wheel = new TimingWheel({ capacity: size, arena: makeWasmArena() })
  const callbacks: Array<(() => void) | undefined> = []
  const free: Array<number> = []
  return {
    after: (millis: number, f: () => void): number => {
      const row = free.pop() ?? callbacks.length
      callbacks[row] = f
      return wheel.schedule(Math.ceil(performance.now() + millis), row)
    },
    clear: (handle: number, row: number): void => {
      if (!wheel.cancel(handle)) throw new Error("A timer was not there")
      callbacks[row] = undefined
      free.push(row)
    },
  }
}

/** Measures both, in turns; the delays are from an hour up and all different. */
export const measureHost = (size: number): HostCosts => {
  const { order, handles } = makeLoad(size)
  const own = makeTimers(size)
  const best = { hostArm: Infinity, hostCancel: Infinity, arm: Infinity, cancel: Infinity }
  const timed = (name: keyof typeof best, work: () => void): void => {
    const from = performance.now()
    work()
    best[name] = Math.min(best[name], ((performance.now() - from) * 1e6) / size)
  }
  const hosts = (): void => {
    const timers: Array<ReturnType<typeof setTimeout>> = new Array(size)
    timed("hostArm", () => {
      for (let row = 0; row < size; row++) timers[row] = setTimeout(callback, 3_600_000 + order[row]! * 100)
    })
    timed("hostCancel", () => {
      for (let at = 0; at < size; at++) clearTimeout(timers[order[at]!])
    })
  }
  const ours = (): void => {
    timed("arm", () => {
      for (let row = 0; row < size; row++) handles[row] = own.after(3_600_000 + order[row]! * 100, callback)
    })
    timed("cancel", () => {
      for (let at = 0; at < size; at++) own.clear(handles[order[at]!]!, order[at]!)
    })
  }
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 === 0 ? [hosts, ours] : [ours, hosts]) side()
  return {
    size,
    hostArmNanos: rounded(best.hostArm),
    hostCancelNanos: rounded(best.hostCancel),
    wheelArmNanos: rounded(best.arm),
    wheelCancelNanos: rounded(best.cancel),
  }
}

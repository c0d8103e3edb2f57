// `timer-wheel`, the one hierarchical wheel on npm. It keeps to the real clock (a second and more ahead, in steps of
// about a second), so only arming and disarming can be timed beside ours; and whether all that was armed fires.
import { TimerWheel } from "timer-wheel"
import { rounded } from "../common/statistics.ts"
import { makeLoad } from "./load.ts"

/** Nanoseconds per timer, the best of the rounds; and how many of those armed came out within twice their time. */
export interface NpmWheel {
  readonly size: number
  readonly armNanos: number
  readonly cancelNanos: number
  readonly armed: number
  readonly fired: number
}

const rounds = 3
const second = 1000

/** Measures it. */
export const measureNpmWheel = (size: number): NpmWheel => {
  const { delays, order } = makeLoad(size)
  let arm = Infinity
  let cancel = Infinity
  for (let round = 0; round < rounds; round++) {
    const wheel = new TimerWheel<number>()
    const handles = new Array<{ remove(): void }>(size)
    let from = performance.now()
    for (let row = 0; row < size; row++) handles[row] = wheel.schedule(row, delays[row]!)
    arm = Math.min(arm, performance.now() - from)
    from = performance.now()
    for (const row of order) handles[row]!.remove()
    cancel = Math.min(cancel, performance.now() - from)
  }
  const armed = 1000
  const wheel = new TimerWheel<number>()
  for (let row = 0; row < armed; row++) wheel.schedule(row, second + (row * 59_000) / armed)
  let fired = 0
  for (let now = 0; now <= 120 * second; now += second) fired += wheel.advance(now).length
  const nanos = (millis: number): number => rounded((millis * 1e6) / size)
  return { size, armNanos: nanos(arm), cancelNanos: nanos(cancel), armed, fired }
}

// What a timer costs in memory, and whether arming, disarming and firing leave anything to the garbage collector.
import { TimingWheel } from "../../core/wheel/TimingWheel.ts"
import { median, rounded } from "../common/statistics.ts"
import { type Contender, contenders, epoch } from "./contenders.ts"
import { type Load, makeLoad } from "./load.ts"
import * as loops from "./loops.ts"

/** Bytes of typed storage per timer, grown from empty: with the slack of the last doubling. */
export const bytesPerTimer = (name: string, size: number): number => {
  const queue = (contenders[name] as (capacity: number) => Contender)(1024)
  for (let row = 0; row < size; row++) queue.schedule(epoch + row, row)
  return rounded(queue.bytes / size)
}

/** Bytes on the host's heap for each operation of a steady state. */
export interface Allocation {
  readonly armBytes: number
  readonly cancelBytes: number
  readonly fireBytes: number
}

const chunk = 10_000
const chunks = 60

/** Measures the wheel; a host whose figure for the heap moves only with a collection answers 0 for all. */
export const measureAllocation = (): Allocation => {
  const load = makeLoad(chunk)
  const wheel = new TimingWheel({ now: epoch, capacity: chunk })
  let now = epoch
  const arm = (): void => loops.insert(wheel, load, now)
  const disarm = (): void => loops.cancel(wheel, load)
  const fire = (): void => {
    now = fireAll(wheel, load, now)
  }
  const deltas: Record<"empty" | "arm" | "cancel" | "fire", Array<number>> = {
    empty: [],
    arm: [],
    cancel: [],
    fire: [],
  }
  for (let round = 0; round < chunks * 2; round++) {
    // The first half of the rounds is for the compilers.
    const into = round < chunks ? undefined : deltas
    growthOf(() => {}, into?.empty)
    growthOf(arm, into?.arm)
    growthOf(disarm, into?.cancel)
    arm()
    growthOf(fire, into?.fire)
  }
  // Never below zero: a collection in between is no allocation, and the median drops it.
  const per = (list: ReadonlyArray<number>): number =>
    rounded(Math.max(0, (median(list) - median(deltas.empty)) / chunk))
  return { armBytes: per(deltas.arm), cancelBytes: per(deltas.cancel), fireBytes: per(deltas.fire) }
}

const fireAll = (wheel: TimingWheel, { size }: Load, now: number): number => {
  const target = now + 31 * 86_400_000
  const fired = wheel.advance(target, count)
  if (fired !== size) throw new Error(`${fired} of ${size} fired`)
  return target
}

let counted = 0
const count = (payload: number): void => {
  counted = (counted + payload) | 0
}

const growthOf = (work: () => void, into: Array<number> | undefined): void => {
  const before = process.memoryUsage().heapUsed
  work()
  const after = process.memoryUsage().heapUsed
  into?.push(after - before)
}

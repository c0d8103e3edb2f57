// A long run of the wheel against a heap that knows nothing of wheels: the same program on both, and after each slice
// what fired, at which ticks, must be the same, as a sum over all of it.
import { makeWasmArena } from "../../adapters/arena-wasm/mod.ts"
import { TimingWheel } from "../../core/wheel/TimingWheel.ts"
import { epoch } from "./contenders.ts"
import { Heap } from "./Heap.ts"
import { makeLoad } from "./load.ts"
import { ownLoops } from "./ownLoops.ts"

const pending = 50_000
const sliceSteps = 1_000_000

/** Runs at least `steps` arms, nine tenths of them disarmed and one fired; answers how many, throws on a difference. */
export const soak = async (steps: number, progress: (done: number) => void): Promise<number> => {
  const sides = await Promise.all(
    [new TimingWheel({ now: epoch, arena: makeWasmArena() }), new Heap(2, pending)].map(
      async (queue, side) => ({
        queue,
        load: makeLoad(pending),
        loops: await ownLoops(`soak-${side}`),
        now: epoch,
        armed: 0,
      }),
    ),
  )
  const [wheel, oracle] = sides as [(typeof sides)[number], (typeof sides)[number]]
  const compare = (): void => {
    const [a, b] = [wheel, oracle].map(({ loops, now, armed, queue }) =>
      [loops.checksum(), now, armed, queue.size].join(" "),
    )
    if (a !== b) throw new Error(`After ${wheel.armed} steps the wheel came to "${a}", the heap to "${b}"`)
  }
  for (const { queue, load, loops, now } of sides) loops.insert(queue, load, now)
  while (wheel.armed < steps) {
    for (const side of sides) {
      const { at, armed } = side.loops.mixed(side.queue, side.load, side.now, Math.min(sliceSteps, steps))
      side.now = at
      side.armed += armed
    }
    compare()
    progress(wheel.armed)
  }
  for (const side of sides) side.now = side.loops.expire(side.queue, side.load, side.now)
  compare()
  return wheel.armed
}

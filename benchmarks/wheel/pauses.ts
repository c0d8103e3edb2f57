// What a single call can take: over an idle hour, over 30 days of timers, into a burst, and when the storage grows.
// Each program is the same each time, so of each of its calls the fastest run counts, and then the slowest call: what
// the operating system takes away comes at another call each time.
import { makeWasmArena } from "../../adapters/arena-wasm/mod.ts"
import { type Arena, makeCopyingArena } from "../../core/wheel/Arena.ts"
import { TimingWheel } from "../../core/wheel/TimingWheel.ts"
import { median, rounded } from "../common/statistics.ts"
import { epoch } from "./contenders.ts"
import { makeLoad, seeded } from "./load.ts"

/** Milliseconds of single calls, with `size` timers pending. */
export interface Pauses {
  readonly size: number
  readonly idleHourMicros: number
  readonly uniformMillis: number
  readonly burstPreparedMillis: number
  readonly burstPrepareMillis: number
  /** The same burst without any preparation, by advances that may fire 1000 and move 1000. */
  readonly burstSliceMillis: number
  /** A thousand inserts, one of which made the storage double. */
  readonly growByCopyMillis: number
  readonly growInPlaceMillis: number
}

const hour = 3_600_000
const days30 = 720 * hour
const sliceMax = 1000
const preparedMax = 256
const repeats = 5
const noop = (): void => {}

/** Measures them. */
export const measurePauses = (size: number): Pauses => {
  const [burstPreparedMillis, burstPrepareMillis] = burst(size)
  return {
    size,
    idleHourMicros: idleHour(size),
    uniformMillis: slowest((note) => uniform(size, note)),
    burstPreparedMillis,
    burstPrepareMillis,
    burstSliceMillis: slowest((note) => burstInSlices(size, note)),
    growByCopyMillis: slowest((note) => growth(size, makeCopyingArena, note)),
    growInPlaceMillis: slowest((note) => growth(size, makeWasmArena, note)),
  }
}

type Note = (millis: number) => void

/** Notes each call of a program by its place in it, and keeps the fastest of its runs. */
class Calls {
  private readonly fastest: Array<number> = []
  private at = 0

  restart(): void {
    this.at = 0
  }

  note(millis: number): void {
    const before = this.fastest[this.at] ?? Infinity
    this.fastest[this.at++] = Math.min(before, millis)
  }

  slowest(): number {
    return rounded(this.fastest.reduce((worst, millis) => Math.max(worst, millis), 0))
  }
}

const slowest = (program: (note: Note) => void): number => {
  const calls = new Calls()
  for (let run = 0; run < repeats; run++) {
    calls.restart()
    program((millis) => calls.note(millis))
  }
  return calls.slowest()
}

const millisOf = (call: () => void): number => {
  const from = performance.now()
  call()
  return performance.now() - from
}

const idleHour = (size: number): number => {
  const wheel = new TimingWheel({ now: epoch, capacity: size })
  const random = seeded(1)
  for (let row = 0; row < size; row++) wheel.schedule(epoch + 300 * hour + Math.floor(random() * days30), row)
  const spans = Array.from({ length: 200 }, (_, at) =>
    millisOf(() => wheel.advance(epoch + (at + 1) * hour, noop)),
  )
  return rounded(median(spans) * 1000)
}

const uniform = (size: number, note: Note): void => {
  const wheel = churned(size)
  const random = seeded(2)
  for (let row = 0; row < size; row++) wheel.schedule(wheel.now + Math.ceil(random() * days30), row)
  while (wheel.size > 0) {
    const next = wheel.nextAt()
    note(millisOf(() => wheel.advance(next, noop)))
  }
}

/** A wheel whose free records lie in random order, as they do after a while. */
const churned = (size: number): TimingWheel => {
  const wheel = new TimingWheel({ now: epoch, capacity: size, arena: makeWasmArena() })
  const { order } = makeLoad(size)
  const handles = Float64Array.from(order, (row) => wheel.schedule(epoch + hour, row))
  for (const row of order) wheel.cancel(handles[row]!)
  return wheel
}

const burstStart = 20 * 60_000
const burstSpan = 10 * 60_000

const withBurst = (size: number): TimingWheel => {
  const wheel = churned(size)
  const random = seeded(3)
  for (let row = 0; row < size; row++)
    wheel.schedule(epoch + burstStart + Math.floor(random() * burstSpan), row)
  return wheel
}

const burst = (size: number): readonly [advance: number, prepare: number] => {
  const [advances, prepares] = [new Calls(), new Calls()]
  for (let run = 0; run < repeats; run++) {
    advances.restart()
    prepares.restart()
    const wheel = withBurst(size)
    // A turn of the event loop is an advance and, with nothing due, as much preparation as there is.
    while (wheel.size > 0) {
      for (;;) {
        let moved = 0
        const spent = millisOf(() => {
          moved = wheel.prepare(preparedMax)
        })
        prepares.note(spent)
        if (moved === 0) break
      }
      const next = wheel.nextAt()
      advances.note(millisOf(() => wheel.advance(next, noop, sliceMax, sliceMax)))
    }
  }
  return [advances.slowest(), prepares.slowest()]
}

const burstInSlices = (size: number, note: Note): void => {
  const wheel = withBurst(size)
  const end = epoch + burstStart + burstSpan
  while (wheel.size > 0) note(millisOf(() => wheel.advance(end, noop, sliceMax, sliceMax)))
}

const growth = (size: number, makeArena: () => Arena, note: Note): void => {
  const wheel = new TimingWheel({ now: epoch, arena: makeArena() })
  for (let from = 0; from < size; from += 1000) {
    const { bytes } = wheel
    const spent = millisOf(() => {
      for (let row = from; row < from + 1000; row++) wheel.schedule(epoch + row, row)
    })
    if (wheel.bytes !== bytes) note(spent)
  }
}

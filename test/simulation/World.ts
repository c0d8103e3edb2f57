// One thread, one clock, one order: everything that a simulation does is a task of a lane (a node, a worker, the store),
// and the seed picks which of the tasks that could run now is next. Time moves when nothing is left to do. A lane can be
// frozen, which keeps its tasks for later, and killed, which drops them: that is what kill -9 leaves, no finalizer runs.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectRandom from "effect/Random"
import { Scheduler } from "effect/Scheduler"
import { FarHeap } from "../../core/wheel/FarHeap.ts"
import { makeRandom, type Random } from "./Random.ts"

// A loop that never lets time go on would hold a run of many seeds for ever. The busiest instant has some thousands.
const stepsAtOnce = 500_000

interface Task {
  readonly lane: Lane
  readonly run: () => void
}

interface Timer extends Task {
  place: number
}

/** A world made from a seed. */
export class World {
  readonly random: Random
  /** The lane of what happens from outside: it never dies. */
  readonly watchman: Lane
  /** Milliseconds since the world began: the monotonic clock of all lanes. */
  elapsed = 0
  /** Tasks that ran. */
  steps = 0
  readonly #startAt: number
  #tasks: Array<Task> = []
  readonly #timers: Array<Timer | undefined> = []
  readonly #free: Array<number> = []
  readonly #heap = new FarHeap((index, place) => {
    const timer = this.#timers[index]
    if (timer !== undefined) timer.place = place
  })

  constructor(seed: number, startAt: number) {
    this.random = makeRandom(seed)
    this.#startAt = startAt
    this.watchman = new Lane(this, "world")
  }

  /** True time, in epoch milliseconds: what a clock without skew shows. */
  get now(): number {
    return this.#startAt + this.elapsed
  }

  lane(name: string): Lane {
    return new Lane(this, name)
  }

  /** Adds a task that can run at once. */
  add(lane: Lane, run: () => void): void {
    this.#tasks.push({ lane, run })
  }

  /** Adds a task for later; the answer takes it back. A frozen lane gets to it when it is thawed. */
  after(lane: Lane, millis: number, run: () => void): () => void {
    if (millis === Number.POSITIVE_INFINITY) return () => {}
    const timer: Timer = { lane, run, place: -1 }
    const index = this.#free.pop() ?? this.#timers.length
    this.#timers[index] = timer
    this.#heap.push(this.elapsed + Math.max(0, millis), index)
    return () => {
      if (this.#timers[index] !== timer) return
      this.#heap.remove(timer.place)
      this.#forget(index)
    }
  }

  /** Runs until the world is this old, or nothing is left to do. */
  runUntil(elapsed: number): void {
    for (;;) {
      this.#runTasks()
      const next = this.#heap.tickMin
      if (next > elapsed) break
      this.elapsed = Math.max(this.elapsed, next)
      while (this.#heap.tickMin <= this.elapsed) {
        const timer = this.#forget(this.#heap.pop())
        if (timer !== undefined && !timer.lane.isDead) this.#tasks.push(timer)
      }
    }
    this.elapsed = Math.max(this.elapsed, elapsed)
  }

  #runTasks(): void {
    const most = this.steps + stepsAtOnce
    while (this.#tasks.length > 0) {
      if (this.steps >= most) throw new Error(`${stepsAtOnce} tasks at one instant, and time does not go on`)
      const place = this.#tasks.length === 1 ? 0 : this.random.int(0, this.#tasks.length - 1)
      const task = this.#tasks[place] as Task
      const last = this.#tasks.pop() as Task
      if (place < this.#tasks.length) this.#tasks[place] = last
      if (task.lane.isDead) continue
      if (task.lane.isFrozen) {
        task.lane.parked.push(task.run)
        continue
      }
      this.steps++
      task.run()
    }
  }

  #forget(index: number): Timer | undefined {
    const timer = this.#timers[index]
    this.#timers[index] = undefined
    this.#free.push(index)
    return timer
  }
}

/** Something that runs by itself in a world: its tasks happen, wait or end together. */
export class Lane {
  readonly name: string
  /** Clock, scheduler and chance for effects that live in this lane. */
  readonly context: Context.Context<never>
  /** How far its wall clock is ahead of true time, in milliseconds. */
  skew = 0
  isDead = false
  isFrozen = false
  /** When it was last thawed; -1: never. */
  thawedAt = -1
  readonly parked: Array<() => void> = []
  readonly #world: World

  constructor(world: World, name: string) {
    this.#world = world
    this.name = name
    this.context = Context.make(Clock.Clock, makeClock(world, this)).pipe(
      Context.add(Scheduler, makeScheduler(world, this)),
      Context.add(EffectRandom.Random, {
        nextDoubleUnsafe: world.random.next,
        nextIntUnsafe: () => world.random.int(0, 2 ** 31),
      }),
    )
  }

  /** What its wall clock shows. */
  now(): number {
    return this.#world.now + this.skew
  }

  add(run: () => void): void {
    this.#world.add(this, run)
  }

  after(millis: number, run: () => void): () => void {
    return this.#world.after(this, millis, run)
  }

  kill(): void {
    this.isDead = true
    this.parked.length = 0
  }

  freeze(): void {
    this.isFrozen = true
  }

  thaw(): void {
    this.isFrozen = false
    this.thawedAt = this.#world.elapsed
    for (const run of this.parked.splice(0)) this.add(run)
  }
}

const makeClock = (world: World, lane: Lane): Clock.Clock => {
  const wall = (): number => lane.now()
  const nanos = (): bigint => BigInt(Math.round(wall() * 1000)) * 1000n
  const monotonic = (): bigint => BigInt(Math.round(world.elapsed * 1000)) * 1000n
  return {
    currentTimeMillisUnsafe: wall,
    currentTimeMillis: Effect.sync(wall),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const millis = Duration.toMillis(duration)
        if (millis <= 0) return resume(Effect.void)
        return Effect.sync(lane.after(millis, () => resume(Effect.void)))
      }),
  }
}

// A fiber gives way after a number of operations that the seed chooses, so that others come in between any two of them.
const makeScheduler = (world: World, lane: Lane): Scheduler => {
  let budget = 50
  return {
    executionMode: "async",
    shouldYield: (fiber) => {
      if (fiber.currentOpCount < budget) return false
      budget = world.random.int(10, 200)
      return true
    },
    makeDispatcher: () => ({
      scheduleTask: (run) => lane.add(run),
      flush: () => {},
    }),
  }
}

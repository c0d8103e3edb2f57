// The nodes of a simulation through their lives: a supervisor starts each again after it crashed, was drained or failed
// to start, as systemd or Kubernetes would.
import type { EngineService } from "../../core/engine/Engine.ts"
import type { Calendar } from "../../core/domain/Calendar.ts"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import type { Run } from "../../core/domain/Run.ts"
import type { Outcome } from "../../core/domain/Outcome.ts"
import * as Effect from "effect/Effect"
import type { Executor } from "../../core/ports/Executor.ts"
import type { Desk, WorkersConfig } from "../../core/worker/WorkersConfig.ts"
import type { StoreOperation } from "../../core/ports/Store.ts"
import { type Hands, inProcess, remote } from "./Executors.ts"
import type { Ground } from "./Ground.ts"
import type { Act, Attempt } from "./Handlers.ts"
import type { Bug } from "./Bug.ts"
import type { Line } from "./Line.ts"
import { HintBus, live } from "./Node.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import { type Link, makeFaults, type Weather, wired } from "./Wire.ts"
import type { Lane, World } from "./World.ts"

/** One place where a node runs, life after life. */
export interface Seat {
  readonly name: string
  lane: Lane
  engine: EngineService | null
  /** Where it serves workers, from its start to its end, and the connections of this life. */
  desk: Desk | null
  readonly lines: Set<Line>
  readonly link: Link
  isDraining: boolean
  /** Since when, on the world's clock, nothing disturbed this life: no call failed or took time, and it was not frozen. */
  calmSince: number
  /** Calls of this life that are under way. */
  underWay: number
  /** Ends the life politely. */
  stop: () => void
}

/** Hears what engines do, apart from what the store sees of it. */
export interface Hears {
  /** A call leaves its node. */
  readonly sent: (seat: Seat, operation: StoreOperation) => void
  /** An engine gives an attempt to its executor, and hears how it ended. */
  readonly assigned: (seat: Seat, run: Run) => void
  readonly reported: (seat: Seat, run: Run) => void
  /** An engine lets go of all that it carries, as its lease is lost. */
  readonly lost: (seat: Seat) => void
  readonly drains: (seat: Seat, engine: EngineService) => void
  readonly drained: (seat: Seat) => void
}

/** What the fleet is told. */
export interface FleetOptions {
  readonly world: World
  readonly swarm: Swarm
  readonly ground: Ground
  readonly watch: Watch
  readonly weather: Weather
  readonly bug: Bug
  readonly actOf: (run: Attempt) => Act
  /** The config of a node that starts now. */
  readonly schedules: () => ReadonlyArray<NewSchedule>
  readonly hears: Hears
  /** How workers are let in; `null`: none are. */
  readonly workers: () => WorkersConfig | null
  readonly calendars: ReadonlyArray<Calendar>
  readonly onStart: (node: string, run: Run) => void
  readonly onEnd: (node: string, run: Run, outcome: Outcome) => void
}

// Behind its own grace period, a drain waits for the store: twice five seconds, and the time of a lost call.
const lastWritesMillis = 14_000

/** All nodes. */
export class Fleet {
  readonly seats: ReadonlyArray<Seat>
  readonly #options: FleetOptions
  readonly #hints: HintBus
  /** Workers of the remote executor; they outlive nodes. */
  readonly #workers: Array<Lane>
  #lives = 0

  constructor(options: FleetOptions) {
    const { world, swarm, watch, weather } = options
    this.#options = options
    this.#hints = new HintBus((from, to, arrive) => {
      const { random } = world
      if (weather.isStormy && random.chance(swarm.lost)) {
        watch.counters.hintsLost++
        return
      }
      if (from === to) to.add(arrive)
      else to.after(weather.isStormy && random.chance(swarm.late) ? random.int(1, 3000) : 1, arrive)
      if (weather.isStormy && random.chance(swarm.repeated)) to.after(random.int(1, 500), arrive)
    })
    this.#workers = [0, 1].map((place) => world.lane(`worker${place}`))
    this.seats = Array.from({ length: swarm.nodes }, (_, place): Seat => ({
      name: `node${place}`,
      lane: world.lane(`node${place}`),
      engine: null,
      desk: null,
      lines: new Set(),
      link: { cut: null },
      isDraining: false,
      calmSince: 0,
      underWay: 0,
      stop: () => {},
    }))
    for (const seat of this.seats) this.#start(seat)
  }

  /** Nodes that can be asked now. */
  up(): ReadonlyArray<Seat & { readonly engine: EngineService }> {
    return this.seats.filter((seat): seat is Seat & { engine: EngineService } => seat.engine !== null)
  }

  crash(seat: Seat): void {
    const { watch, world } = this.#options
    if (seat.lane.isDead) return
    watch.counters.crashes++
    watch.tell(seat.name, () => "CRASHES")
    this.#end(seat)
    world.after(world.watchman, world.random.int(1, 8000), () => this.#start(seat))
  }

  /** A crash between two steps of the node: before a call is sent, or when it is done and nobody has heard of it. */
  #diesNow(seat: Seat, lane: Lane): boolean {
    const { weather, world, swarm } = this.#options
    if (!weather.isStormy || seat.lane !== lane || !world.random.chance(swarm.crashAtCall)) return false
    this.crash(seat)
    return true
  }

  freeze(seat: Seat, millis: number): void {
    const { watch, world } = this.#options
    const { lane } = seat
    if (lane.isDead || lane.isFrozen) return
    watch.counters.freezes++
    watch.tell(seat.name, () => `FREEZES for ${millis} ms`)
    lane.freeze()
    world.after(world.watchman, millis, () => {
      watch.tell(seat.name, () => "thaws")
      this.#thaw(seat, lane)
    })
  }

  /** Asks a node to stop, and starts the next life when it has. */
  drain(seat: Seat): void {
    const { watch, world, bug, swarm, hears } = this.#options
    const { engine, lane } = seat
    const { graceMillis } = swarm
    const drainMaxMillis = graceMillis + lastWritesMillis
    if (engine === null || seat.isDraining) return
    watch.counters.drains++
    watch.tell(seat.name, () => "begins to drain")
    seat.isDraining = true
    seat.engine = null
    hears.drains(seat, engine)
    const drain = bug.drain?.(engine, graceMillis) ?? engine.drain(graceMillis)
    Effect.runForkWith(lane.context)(drain).addObserver(() => {
      watch.tell(seat.name, () => "has drained")
      hears.drained(seat)
      seat.stop()
    })
    const begun = world.elapsed
    lane.after(drainMaxMillis, () => {
      // The time that it stood still is not its own.
      if (!seat.isDraining || seat.lane !== lane || lane.thawedAt >= begun) return
      watch.violated("I13", `${seat.name} has not drained after ${drainMaxMillis} ms`)
    })
  }

  worker(): Lane {
    const alive = this.#workers.filter((lane) => !lane.isDead)
    return this.#options.world.random.pick(alive)
  }

  /** A worker process is killed, or stands still; another one takes its place. */
  loseWorker(): void {
    const { watch, world } = this.#options
    const place = world.random.int(0, this.#workers.length - 1)
    const lane = this.#workers[place] as Lane
    watch.counters.workersGone++
    if (world.random.chance(0.5)) {
      watch.tell(lane.name, () => "is killed")
      lane.kill()
      this.#workers[place] = world.lane(lane.name)
    } else if (!lane.isFrozen) {
      watch.tell(lane.name, () => "stands still")
      lane.freeze()
      world.after(world.watchman, world.random.int(500, 20_000), () => lane.thaw())
    }
  }

  /** Nothing is cut or frozen any more. */
  heal(): void {
    for (const seat of this.seats) {
      seat.link.cut = null
      if (seat.lane.isFrozen) this.#thaw(seat, seat.lane)
    }
    for (const lane of this.#workers) if (lane.isFrozen) lane.thaw()
  }

  #thaw(seat: Seat, lane: Lane): void {
    lane.thaw()
    if (seat.lane === lane) seat.calmSince = this.#options.world.elapsed
  }

  #start(seat: Seat): void {
    const { world, swarm, ground, watch, weather, bug, hears } = this.#options
    const lane = world.lane(seat.name)
    const life = ++this.#lives
    seat.lane = lane
    seat.isDraining = false
    seat.engine = null
    seat.desk = null
    seat.calmSince = world.elapsed
    seat.underWay = 0
    lane.skew = swarm.skewMillis === 0 ? 0 : world.random.int(-swarm.skewMillis, swarm.skewMillis)
    const hands: Hands = {
      world,
      node: lane,
      watch,
      swarm,
      weather,
      actOf: this.#options.actOf,
      onStart: (run) => {
        watch.tell(seat.name, () => `starts ${run.job} ${run.id} attempt ${run.attempt}`)
        this.#options.onStart(seat.name, run)
      },
      onEnd: (run, outcome) => {
        watch.tell(seat.name, () => `ends ${run.job} ${run.id} ${outcome.kind}`)
        this.#options.onEnd(seat.name, run, outcome)
      },
    }
    const store = wired(
      ground.services,
      lane,
      ground.lane,
      makeFaults(swarm, weather, seat.link, world.random, watch),
      (operation) => {
        if (this.#diesNow(seat, lane)) return null
        const sentAt = world.elapsed
        seat.underWay++
        hears.sent(seat, operation)
        return (isDone) => {
          if (seat.lane !== lane || this.#diesNow(seat, lane)) return false
          seat.underWay--
          if (!isDone || world.elapsed > sentAt) seat.calmSince = world.elapsed
          return true
        }
      },
    )
    const executor = swarm.remote ? remote(hands, () => this.worker()) : inProcess(hands)
    watch.tell(seat.name, () => `starts, life ${life}`)
    seat.stop = live({
      lane,
      swarm: bug.swarm?.(swarm) ?? swarm,
      store: bug.store?.(store, { lane, ground, world }) ?? store,
      executor: heard(seat, bug.executor?.(executor, lane) ?? executor, hears),
      notifier: this.#hints.of(lane),
      schedules: this.#options.schedules(),
      calendars: this.#options.calendars,
      workers: this.#options.workers(),
      onEvent: (event) => {
        if (event.kind === "trouble" && event.doing.includes("begins anew"))
          watch.violated("I14", `${seat.name}: a loop broke: ${event.error}`)
        if (event.kind === "trouble") watch.tell(seat.name, () => `could not ${event.doing}: ${event.error}`)
        if (event.kind !== "leaseLost") return
        watch.tell(seat.name, () => `lost the lease of ${event.node}`)
        hears.lost(seat)
      },
      onReady: (engine) => {
        watch.tell(seat.name, () => `is up as ${engine.node()}`)
        seat.engine = engine
        seat.desk = engine.desk
      },
      onEnd: (problem) => {
        if (seat.lane !== lane) return
        watch.tell(seat.name, () => `has ended ${problem ?? ""}`)
        this.#end(seat)
        world.after(world.watchman, 1000, () => this.#start(seat))
      },
    })
  }

  #end(seat: Seat): void {
    seat.lane.kill()
    seat.engine = null
    seat.desk = null
    // Its system says so for it, or goes down with it.
    for (const line of seat.lines) line.cut(this.#options.world.random.chance(0.8) ? "worker" : "nobody")
    seat.lines.clear()
    seat.isDraining = false
  }
}

const heard = (seat: Seat, executor: Executor["Service"], hears: Hears): Executor["Service"] => ({
  jobs: executor.jobs,
  start: (assignment, done) => {
    const { run } = assignment
    hears.assigned(seat, run)
    return executor.start(assignment, (outcome) => {
      hears.reported(seat, run)
      done(outcome)
    })
  },
})

// One simulation: the world of a seed, from its first to its last moment. A storm of faults and requests, then calm in
// which everything must come to its end, then the last look.
import type { ScheduleRow } from "../../core/domain/Schedule.ts"
import { isFinal } from "../../core/domain/Run.ts"
import { type Attempt, actOf, expansionsOf } from "./Handlers.ts"
import { type Bug, honest } from "./Bug.ts"
import { attemptChecks } from "./checks/attempts.ts"
import type { Check, Scene } from "./checks/Check.ts"
import { flowChecks } from "./checks/flows.ts"
import { leaseCheck } from "./checks/leases.ts"
import { limitChecks } from "./checks/limits.ts"
import { livenessChecks } from "./checks/liveness.ts"
import { requestChecks } from "./checks/requests.ts"
import { ledgerCheck } from "./checks/ledger.ts"
import { runChecks } from "./checks/runs.ts"
import { stopChecks } from "./checks/stops.ts"
import { workerChecks } from "./checks/workers.ts"
import { makeClients } from "./Clients.ts"
import { Fleet } from "./Fleet.ts"
import { type Ground, makeGround } from "./Ground.ts"
import { makeSchedules } from "./Schedules.ts"
import { type Swarm, swarmOf } from "./Swarm.ts"
import { type Counters, type Violation, Watch } from "./Watch.ts"
import type { Weather } from "./Wire.ts"
import { Workers } from "./Workers.ts"
import { World } from "./World.ts"

/** What came of a seed. */
export interface Simulated {
  readonly seed: number
  readonly counters: Counters
  readonly violations: ReadonlyArray<Violation>
  /** Empty unless it was asked for. */
  readonly history: ReadonlyArray<string>
}

/** How to run it. */
export interface SimulateOptions {
  readonly history?: boolean
  readonly bug?: Bug
  /** In the place of what the seed turns on, for a look at one thing. */
  readonly swarm?: Partial<Swarm>
}

// Leases have ended and been taken over by then, whatever happened in the storm.
const calmSeconds = 15

// Handlers of workers that do not listen have ended by then, and all is told.
const lastSeconds = 60

const isDone = ({ table }: Ground): boolean => {
  for (const { run } of table.entries.values()) if (!isFinal(run.state)) return false
  return true
}

const goingOn = ({ driver }: Ground): ReadonlyArray<string> =>
  (driver.schedules() as ReadonlyArray<ScheduleRow>).flatMap(({ id, pausedAt }) =>
    pausedAt === null ? [id] : [],
  )

/** Runs a seed to its end. */
export const simulate = (seed: number, options: SimulateOptions = {}): Simulated => {
  const swarm = { ...swarmOf(seed), ...options.swarm }
  const bug = options.bug ?? honest
  const world = new World(seed, swarm.startAt)
  const watch = new Watch(world, { history: options.history === true })
  const weather: Weather = { isStormy: true, isStoreDown: false, isDiskFull: false }
  const checks: Array<Check> = []
  const ground = makeGround(
    world,
    { saw: (call, answer, refusal) => checks.forEach((check) => check.saw?.(call, answer, refusal)) },
    bug,
  )
  const scene: Scene = {
    world,
    swarm,
    ground,
    watch,
    isStormy: () => weather.isStormy,
    seats: () => fleet.seats,
    posts: () => workers?.posts ?? [],
  }
  const requests = requestChecks(scene)
  checks.push(
    runChecks(scene),
    flowChecks(scene),
    leaseCheck(scene),
    livenessChecks(scene),
    stopChecks(scene),
    limitChecks(scene),
    attemptChecks(scene),
    ...(swarm.workers === 0 ? [] : [workerChecks(scene)]),
    requests,
  )
  const expansions = expansionsOf(swarm)
  watch.tell("world", () => JSON.stringify(swarm))
  const schedules = makeSchedules(world, swarm, watch)
  const act = (run: Attempt) => actOf(run, seed, expansions)
  const workers: Workers | null =
    swarm.workers === 0
      ? null
      : new Workers({
          world,
          swarm,
          watch,
          weather,
          bug,
          ground,
          actOf: act,
          seats: (): Fleet["seats"] => fleet.seats,
          hears: {
            frame: (line, direction, frame) =>
              checks.forEach((check) => check.frame?.(line, direction, frame)),
            begins: (worker, assign) => checks.forEach((check) => check.begins?.(worker, assign)),
            ends: (worker, key, outcome) => checks.forEach((check) => check.ends?.(worker, key, outcome)),
            acknowledged: (...heard) => checks.forEach((check) => check.acknowledged?.(...heard)),
          },
        })
  const fleet: Fleet = new Fleet({
    world,
    swarm,
    ground,
    watch,
    weather,
    bug,
    actOf: act,
    workers: () => workers?.config() ?? null,
    schedules: schedules.config,
    calendars: schedules.calendars,
    hears: {
      sent: (seat, operation) => checks.forEach((check) => check.sent?.(seat, operation)),
      assigned: (seat, run) => checks.forEach((check) => check.assigned?.(seat, run)),
      reported: (seat, run) => checks.forEach((check) => check.reported?.(seat, run)),
      lost: (seat) => checks.forEach((check) => check.lost?.(seat)),
      drains: (seat, engine) => checks.forEach((check) => check.drains?.(seat, engine)),
      drained: (seat) => checks.forEach((check) => check.drained?.(seat)),
    },
    onStart: () => {},
    onEnd: () => {},
  })
  checks.push(ledgerCheck(scene, schedules, () => fleet.up().length > 0))
  const clients = makeClients(world, swarm, ground, watch, requests)

  const lane = world.watchman
  const { random } = world
  /** Does something again and again while the storm goes on. */
  const nowAndThen = (meanMillis: number, what: () => void): void => {
    if (meanMillis === 0) return
    const next = (): void => {
      lane.after(random.int(1, 2 * meanMillis), () => {
        if (!weather.isStormy) return
        what()
        next()
      })
    }
    next()
  }
  const someNode = () => {
    const up = fleet.up()
    return up.length === 0 ? undefined : random.pick(up)
  }
  const forAWhile = (maxMillis: number, begin: () => void, end: () => void): void => {
    begin()
    lane.after(random.int(100, maxMillis), end)
  }
  nowAndThen(swarm.requestMillis, () => {
    const node = someNode()
    if (node !== undefined) clients.request(node)
  })
  nowAndThen(swarm.operateMillis, () => {
    const node = someNode()
    if (node !== undefined) clients.operate(node)
  })
  if (swarm.schedules > 0) {
    nowAndThen(swarm.operateMillis, () => {
      const node = someNode()
      if (node !== undefined) schedules.operate(node)
    })
    nowAndThen(swarm.deployMillis, () => {
      schedules.edit()
      fleet.drain(random.pick(fleet.seats))
    })
  }
  nowAndThen(swarm.crashMillis, () => fleet.crash(random.pick(fleet.seats)))
  nowAndThen(swarm.freezeMillis, () => fleet.freeze(random.pick(fleet.seats), random.int(1000, 60_000)))
  nowAndThen(swarm.drainMillis, () => fleet.drain(random.pick(fleet.seats)))
  nowAndThen(swarm.remote ? swarm.workerGoneMillis : 0, () => fleet.loseWorker())
  if (workers !== null) {
    nowAndThen(swarm.holeMillis, () => workers.disturb())
    nowAndThen(swarm.lineCutMillis, () => workers.cutLine())
    nowAndThen(swarm.workerCrashMillis, () => workers.crash())
    nowAndThen(swarm.workerFreezeMillis, () => workers.freeze())
    nowAndThen(swarm.workerDrainMillis, () => workers.drain())
    nowAndThen(swarm.revokeMillis, () => workers.revoke())
  }
  nowAndThen(swarm.partitionMillis, () => {
    const { link, name } = random.pick(fleet.seats)
    const cut = random.pick(["requests", "answers"] as const)
    watch.counters.partitions++
    watch.tell(name, () => `is cut off: no ${cut}`)
    forAWhile(
      15_000,
      () => {
        link.cut = cut
      },
      () => {
        link.cut = null
      },
    )
  })
  nowAndThen(swarm.storeDownMillis, () =>
    forAWhile(
      8000,
      () => {
        watch.tell("store", () => "is down")
        weather.isStoreDown = true
      },
      () => {
        weather.isStoreDown = false
      },
    ),
  )
  nowAndThen(swarm.diskFullMillis, () =>
    forAWhile(
      8000,
      () => {
        watch.tell("store", () => "has no room on its disk")
        weather.isDiskFull = true
      },
      () => {
        weather.isDiskFull = false
      },
    ),
  )
  nowAndThen(swarm.clockStepMillis, () => {
    const step = random.int(-swarm.clockStepMaxMillis, swarm.clockStepMaxMillis)
    const whose = random.chance(0.5) ? ground.lane : random.pick(fleet.seats).lane
    watch.counters.clockSteps++
    watch.tell(whose.name, () => `clock steps by ${step} ms`)
    whose.skew += step
  })

  const runUntil = (elapsed: number): void => {
    for (let next = world.elapsed + 1000; next < elapsed; next += 1000) {
      world.runUntil(next)
      for (const check of checks) check.everySecond?.()
    }
    world.runUntil(elapsed)
    for (const check of checks) check.everySecond?.()
  }
  runUntil(swarm.activeMillis)
  watch.tell("world", () => "the storm is over")
  weather.isStormy = false
  weather.isStoreDown = false
  weather.isDiskFull = false
  fleet.heal()
  workers?.heal()
  for (let second = 1; second <= swarm.settleMillis / 1000; second++) {
    runUntil(swarm.activeMillis + second * 1000)
    for (const check of checks) check.tick?.()
    if (second < calmSeconds) continue
    // A schedule has no end by itself.
    const going = goingOn(ground)
    const node = someNode()
    if (node !== undefined) schedules.pause(node, going)
    if (node !== undefined && workers !== null) clients.callOff(node)
    if (going.length === 0 && isDone(ground)) break
  }
  // Of runs that were called off, handlers that do not listen may go on.
  const isBusy = () => workers?.posts.some(({ process }) => process?.isIdle !== true) === true
  const runUntilIdle = (): void => {
    for (let second = 1; second <= lastSeconds && isBusy(); second++) runUntil(world.elapsed + 1000)
  }
  runUntilIdle()
  // The latest heartbeat says how many slots are free. What waited for a worker that came back may begin meanwhile.
  if (workers !== null) {
    runUntil(world.elapsed + 6000)
    runUntilIdle()
  }
  for (const check of checks) check.end?.()
  clients.check()
  watch.counters.steps = world.steps
  watch.counters.fingerprint = random.int(0, 2 ** 31 - 1)
  return { seed, counters: watch.counters, violations: watch.violations, history: watch.history }
}

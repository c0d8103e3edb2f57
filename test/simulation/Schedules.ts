// The schedules of a seed: of every kind and policy, on the clocks of the seed's zone, and calendars for some of them.
// They change as configs do: the next config counts for the nodes that start from then on. And what people do to
// schedules by hand.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Calendar, CalendarSpan } from "../../core/domain/Calendar.ts"
import type { CatchUp, NewSchedule, Overlap, Trigger } from "../../core/domain/Schedule.ts"
import { closedModes, overlaps } from "../../core/domain/Schedule.ts"
import type { Served } from "./Clients.ts"
import { offsetAt } from "./checks/patterns.ts"
import { flowJobs } from "./Handlers.ts"
import { makeRandom, type Random } from "./Random.ts"
import type { Swarm } from "./Swarm.ts"
import type { Watch } from "./Watch.ts"
import type { World } from "./World.ts"

/** What is asked for by hand, beside pauses. */
export type ByHand = "runNow" | "skipNext" | "backfill"

/** The schedules of a simulation. */
export interface Schedules {
  /** The config of a node that starts now. */
  readonly config: () => ReadonlyArray<NewSchedule>
  readonly calendars: ReadonlyArray<Calendar>
  /** From now on the config is another one. */
  readonly edit: () => void
  /** One thing that a person does by hand. */
  readonly operate: (node: Served) => void
  /** How often something was asked for, whatever became of it. */
  readonly asked: (what: ByHand, id: string) => number
  /** Pauses them, so that everything can come to its end. */
  readonly pause: (node: Served, ids: ReadonlyArray<string>) => void
}

/** What a run of a job keeps a slot busy for, in milliseconds, give or take. */
const costs: ReadonlyArray<readonly [job: string, millis: number]> = [
  ["quick", 60],
  ["once", 60],
  ["flaky", 150],
  ["doomed", 150],
  ["moody", 200],
  ["clean", 150],
  ["report", 250],
  ["stuck", 1500],
  ["slow", 5000],
  ...flowJobs.map((job) => [job, 6000] as const),
]

// The part of all slots that schedules may take.
const share = 0.3
const periodMax = 20_000

/** Makes those of a seed. */
export const makeSchedules = (world: World, swarm: Swarm, watch: Watch): Schedules => {
  const random = makeRandom(swarm.seed ^ 0x5c4ed)
  const calendars = calendarsOf(random, swarm.startAt)
  let made = 0
  const another = (id = `schedule${made++}`): NewSchedule => newSchedule(random, swarm, calendars, id)
  let config: ReadonlyArray<NewSchedule> = Array.from({ length: swarm.schedules }, () => another())
  const asked = new Map<string, number>()

  const ask = <A, E>({ lane }: Served, what: string, effect: Effect.Effect<A, E>): void => {
    watch.tell(lane.name, () => `asked to ${what}`)
    Effect.runForkWith(lane.context)(effect).addObserver((exit) =>
      watch.tell(lane.name, () =>
        Exit.isSuccess(exit)
          ? `did ${what}: ${JSON.stringify(exit.value)?.slice(0, 200)}`
          : `failed to ${what}`,
      ),
    )
  }
  const byHand = (node: Served, what: ByHand, id: string): void => {
    asked.set(`${what} ${id}`, (asked.get(`${what} ${id}`) ?? 0) + 1)
    const { engine } = node
    if (what === "backfill") {
      const from = Math.floor(node.lane.now()) - world.random.int(1000, 120_000)
      const order = world.random.pick(["oldest", "newest"] as const)
      ask(node, `backfill ${id} from ${from}`, engine.backfill(id, { from, max: 3, order }))
    } else ask(node, `${what} ${id}`, engine[what](id) as Effect.Effect<unknown, unknown>)
  }

  return {
    config: () => config,
    calendars,
    edit: () => {
      const changed = config.map((schedule) => {
        const chance = random.next()
        if (chance < 0.3) return another(schedule.id)
        // Its times stay.
        return chance < 0.45 ? { ...another(schedule.id), trigger: schedule.trigger } : schedule
      })
      const kept = changed.filter(() => random.chance(0.9))
      config = kept.length < swarm.schedules && random.chance(0.7) ? [...kept, another()] : kept
      watch.tell("world", () => `the config is ${JSON.stringify(config)}`)
    },
    operate: (node) => {
      if (config.length === 0) return
      const { id } = world.random.pick(config)
      const what = world.random.pick(["runNow", "skipNext", "backfill", "pause", "resume", "resume"] as const)
      if (what === "pause" || what === "resume")
        ask(node, `${what} ${id}`, node.engine.pauseSchedule(id, what === "pause", "Not now"))
      else byHand(node, what, id)
    },
    asked: (what, id) => asked.get(`${what} ${id}`) ?? 0,
    pause: (node, ids) => {
      for (const id of ids) ask(node, `pause ${id}`, node.engine.pauseSchedule(id, true, "The end"))
    },
  }
}

/** Windows of seconds, as a simulation is over in minutes. */
const calendarsOf = (random: Random, startAt: number): ReadonlyArray<Calendar> => {
  const second = (seconds: number): string =>
    new Date(Math.floor(startAt / 1000) * 1000 + seconds * 1000).toISOString()
  const span = (from: number, to: number): CalendarSpan => ({ from: second(from), to: second(to) })
  const first = random.int(5, 15)
  const later = random.int(30, 45)
  const tomorrow = 86_400
  return [
    {
      name: "freeze",
      zone: "UTC",
      rule: {
        spans: [span(first, first + random.int(3, 14)), span(later, later + random.int(3, 30))],
      },
    },
    {
      name: "office",
      zone: "UTC",
      rule: { spans: [span(random.int(2, 12), later), span(later + random.int(3, 15), 3000)] },
    },
    { name: "half", zone: "UTC", rule: { cron: "* * * * *", lasting: `${random.int(10, 50)}s` } },
    { name: "tomorrow", zone: "UTC", rule: { spans: [span(tomorrow - 30, tomorrow + random.int(10, 90))] } },
  ]
}

const newSchedule = (
  random: Random,
  swarm: Swarm,
  calendars: ReadonlyArray<Calendar>,
  id: string,
): NewSchedule => {
  const capacity = swarm.nodes * swarm.slots * share
  const jobs = costs
    .map(([job, millis]) => [job, Math.max(250, (millis * swarm.schedules) / capacity)] as const)
    .filter(
      ([job, period]) => (period < periodMax && (swarm.flows || !flowJobs.includes(job))) || job === "quick",
    )
  const [job, periodMin] = random.pick(jobs)
  const pattern = patternOf(random, swarm, Math.min(Math.ceil(periodMin), periodMax))
  const overlap: Overlap = random.pick(overlaps)
  const isSerial = overlap !== "allow" && overlap !== "cancelRunning"
  const trigger: Trigger = {
    ...pattern,
    ...limitsOf(random, swarm, pattern),
    ...placementOf(random, calendars, pattern),
    ...(isSerial && random.chance(0.15) ? { holdOnFailure: true } : {}),
  }
  return {
    id,
    job,
    trigger,
    input: random.chance(0.2) ? JSON.stringify({ by: id }) : null,
    overlap,
    ...(random.chance(0.6) ? { catchUp: catchUpOf(random, overlap) } : {}),
    fromConfig: true,
  }
}

const catchUpOf = (random: Random, overlap: Overlap): CatchUp => {
  const mode = random.pick(
    overlap === "cancelRunning" ? (["skip", "latest"] as const) : (["skip", "latest", "all"] as const),
  )
  return {
    mode,
    ...(random.chance(0.4) ? { windowMillis: random.int(3000, 60_000) } : {}),
    ...(mode === "all" && random.chance(0.7) ? { max: random.int(1, 10) } : {}),
  }
}

const patternOf = (random: Random, swarm: Swarm, periodMin: number): Trigger => {
  const { startAt, zone } = swarm
  switch (random.pick(["cron", "cron", "cron", "every", "every", "after", "at"] as const)) {
    case "cron":
      return {
        kind: "cron",
        zone,
        expression: random.chance(0.5) ? wild(random, periodMin) : fixed(random, swarm),
        ...(random.chance(0.6) ? { gap: random.pick(["after", "before", "skip"] as const) } : {}),
        ...(random.chance(0.4) ? { ambiguous: random.pick(["auto", "first", "last", "both"] as const) } : {}),
      }
    case "every": {
      const periodMillis = random.int(periodMin, 3 * periodMin)
      const from = random.chance(0.5) ? null : Math.floor(startAt) + random.int(-60_000, 30_000)
      return { kind: "every", periodMillis, startAt: from }
    }
    case "after":
      return { kind: "after", delayMillis: random.int(periodMin, 3 * periodMin) }
    case "at":
      return { kind: "at", at: Math.floor(startAt) + random.int(-20_000, 60_000) }
  }
}

/** Of every so many seconds or minutes, whatever clocks show. */
const wild = (random: Random, periodMin: number): string => {
  const steps = [1, 2, 5, 7, 15, 20, 30].filter((step) => step * 1000 >= periodMin)
  if (steps.length === 0 || random.chance(0.2))
    return random.pick(["* * * * *", "*/2 * * * *", "30 * * * * *"])
  const step = random.pick(steps)
  return step === 1 ? "* * * * * *" : `*/${step} * * * * *`
}

/** At times that clocks show, skip or show twice while the simulation goes on. */
const fixed = (random: Random, { startAt, zone }: Swarm): string => {
  const near = startAt + random.int(-5000, 80_000)
  // What clocks would show by the offset of the day before, or after: the times that are skipped or come again.
  const offset = offsetAt(zone, random.pick([near, near, near - 43_200_000, near + 43_200_000]))
  const shown = new Date(near + offset)
  const isMissing = random.chance(0.3)
  const minute = isMissing ? random.int(0, 59) : shown.getUTCMinutes()
  const minutes = random.pick([String(minute), `${minute}`, `${Math.max(0, minute - 1)}-${minute}`, "0-59"])
  const time = `${minutes} ${shown.getUTCHours()}`
  const days = random.pick([
    "* * *",
    "* * *",
    "* * 0,6",
    `${shown.getUTCDate()} * *`,
    `${shown.getUTCDate()} * 1`,
  ])
  const seconds = random.pick([`${shown.getUTCSeconds()}`, "0,20,40", "5-55/10"])
  return random.chance(0.4) ? `${time} ${days}` : `${seconds} ${time} ${days}`
}

const limitsOf = (random: Random, { startAt }: Swarm, { kind }: Trigger): object => {
  if (kind === "at") return {}
  const from = Math.floor(startAt)
  return {
    ...(random.chance(0.15) ? { startsAt: from + random.int(0, 20_000) } : {}),
    ...(random.chance(0.15) ? { endsAt: from + random.int(20_000, 70_000) } : {}),
    ...(random.chance(0.15) ? { countMax: random.int(1, 8) } : {}),
  }
}

const placementOf = (random: Random, calendars: ReadonlyArray<Calendar>, pattern: Trigger): object => {
  const isPlaced = random.chance(0.35)
  const canMove =
    pattern.kind === "cron" &&
    !/^(\*|0-59)/.test(pattern.expression) &&
    pattern.expression.split(" ").length === 5
  const modes = closedModes.filter((mode) => mode === "skip" || mode === "hold" || canMove)
  // Known to the last millisecond only where calendars do not round it to their own.
  const closed = random.pick(modes)
  const canSpread = (pattern.kind === "cron" || pattern.kind === "every") && (!isPlaced || closed === "skip")
  const names = calendars.map(({ name }) => name)
  const only = random.pick(["office", "half"])
  const except = random.pick(names.filter((name) => name !== "office" && name !== only))
  return {
    ...(isPlaced ? random.pick([{ only }, { except }, { except }, { only, except }]) : {}),
    ...(isPlaced ? { closed } : {}),
    ...(canSpread && random.chance(0.2)
      ? { jitterMillis: pattern.kind === "every" ? pattern.periodMillis - 1 : random.int(2, 999) }
      : {}),
  }
}

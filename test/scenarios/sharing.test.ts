// Many schedules of one instant between several nodes in virtual time: each instant gets one run, on time while its node
// lives, and soon after when it does not, while nodes come and go.
import { afterEach, expect, test } from "vitest"
import type { NewSchedule } from "../../core/domain/Schedule.ts"
import type { Fire, StoreDriver } from "../../core/ports/StoreDriver.ts"
import {
  type Faults,
  faulty,
  jobRow,
  makeWorld,
  scheduleRow,
  startAt,
  type World,
} from "../core/engine/world.ts"

const second = 1000
const count = 150
const jobs = Array.from({ length: count }, (_, n) => jobRow(`tick ${n}`))
const schedules = jobs.map(({ name }): NewSchedule =>
  scheduleRow(name, { kind: "every", periodMillis: second, startAt: startAt + second }),
)

const worlds: Array<World> = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.end()
})

/** A world whose nodes can be cut off, as if they were killed, and that notes who fired what. */
const setUp = () => {
  const world = makeWorld()
  worlds.push(world)
  const steps = { fired: new Map<string, number>(), conflicts: 0, nodesRead: 0 }
  const watched = (name: string): StoreDriver => ({
    ...world.driver,
    nodes: () => {
      steps.nodesRead++
      return world.driver.nodes()
    },
    fire: async (fires: ReadonlyArray<Fire>) => {
      const answers = await world.driver.fire(fires)
      for (const answer of answers)
        if (answer === "conflict") steps.conflicts++
        else steps.fired.set(name, (steps.fired.get(name) ?? 0) + 1)
      return answers
    },
  })
  const start = async (name: string) => {
    const faults: Faults = new Map()
    const driver = faulty(watched(name), faults)
    const member = await world.start({ name, jobs, schedules, driver, slots: 500 })
    const kill = (): void => {
      for (const operation of Object.keys(world.driver) as Array<keyof StoreDriver>)
        faults.set(operation, "before")
    }
    return { ...member, kill }
  }
  /** Every instant from the first to the last has one row with one run; answers how late each was. */
  const lateness = async (from: number, until: number): Promise<ReadonlyArray<number>> => {
    const all = await Promise.all(jobs.map(({ name }) => world.ledger(name)))
    return all.flatMap((rows) => {
      const some = rows.filter(({ at }) => at >= startAt + from && at <= startAt + until)
      expect(some.map(({ at }) => (at - startAt) / second)).toEqual(
        Array.from({ length: (until - from) / second + 1 }, (_, n) => from / second + n),
      )
      expect(some.every(({ runId }) => runId !== null)).toBe(true)
      return some.map(({ at, decidedAt }) => decidedAt - at)
    })
  }
  return { world, steps, start, lateness }
}

test("three nodes plan a share each, and none for nothing", async () => {
  const { world, steps, start, lateness } = setUp()
  for (const name of ["a", "b", "c"]) await start(name)
  await world.advance(20 * second + 500)
  expect(Math.max(...(await lateness(3 * second, 20 * second)))).toBe(0)
  expect([...steps.fired.keys()].toSorted()).toEqual(["a", "b", "c"])
  for (const fired of steps.fired.values()) expect(fired).toBeGreaterThan((20 * count) / 6)
  // Before all knew of each other.
  expect(steps.conflicts).toBeLessThan(2 * count)
  // Four times in a lease each, however many schedules there are.
  expect(steps.nodesRead).toBeLessThan(3 * 20)
  const runs = world.executions.map(({ job, nominalAt }) => `${job} ${nominalAt}`)
  expect(new Set(runs).size).toBe(runs.length)
})

test("a node that is killed holds its share up for half a second, once; none of its instants is left out", async () => {
  const { world, steps, start, lateness } = setUp()
  await start("a")
  await start("b")
  const killed = await start("c")
  await world.advance(10 * second + 500)
  killed.kill()
  await world.advance(20 * second)
  const late = await lateness(11 * second, 30 * second)
  const behind = late.filter((millis) => millis > 0)
  // Only those that were its own, and only at their first instant after its end.
  expect(behind.length).toBeGreaterThan(count / 6)
  expect(behind.length).toBeLessThan(count / 2)
  expect(Math.min(...behind)).toBeGreaterThanOrEqual(500)
  expect(Math.max(...behind)).toBeLessThan(600)
  expect(await lateness(12 * second, 30 * second)).toEqual(Array.from({ length: 19 * count }, () => 0))
  // Both others took of it, and agree again when its lease is over.
  const before = steps.conflicts
  await world.advance(5 * second)
  expect(steps.conflicts).toBe(before)
})

test("nodes that leave and come hold nothing up", async () => {
  const { world, steps, start, lateness } = setUp()
  await start("a")
  const left = await start("b")
  await world.advance(5 * second + 500)
  await left.close()
  await world.advance(5 * second)
  await start("c")
  await world.advance(10 * second)
  expect(steps.fired.get("c")).toBeGreaterThan(count)
  const late = await lateness(3 * second, 20 * second)
  // The share of the one that left waits until the next look at who is there, if that comes late.
  expect(Math.max(...late)).toBeLessThan(600)
  expect(late.filter((millis) => millis > 0).length).toBeLessThan(count)
})

test("few schedules are planned by whoever sees them, at once, also after a kill", async () => {
  const { world } = setUp()
  const few = { jobs: jobs.slice(0, 10), schedules: schedules.slice(0, 10) }
  const faults: Faults = new Map()
  await world.start({ name: "a", ...few })
  await world.start({ name: "b", ...few, driver: faulty(world.driver, faults) })
  await world.advance(5 * second + 500)
  for (const operation of Object.keys(world.driver) as Array<keyof StoreDriver>)
    faults.set(operation, "before")
  await world.advance(10 * second)
  const rows = (await Promise.all(few.jobs.map(({ name }) => world.ledger(name)))).flat()
  expect(rows).toHaveLength(15 * 10)
  expect(rows.every(({ at, decidedAt }) => at === decidedAt)).toBe(true)
})

// Whole engines over one store, in virtual time: several at once, one that vanishes, one whose store fails, and
// what becomes of schedules that are edited, removed and made again.
import * as Effect from "effect/Effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { makeIds } from "../../../core/domain/Ids.ts"
import type { NewSchedule } from "../../../core/domain/Schedule.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { type Fault, type Faults, faulty, jobRow, makeWorld, scheduleRow, startAt, tally } from "./world.ts"
import type { World } from "./world.ts"

let world: World
beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.end())

const second = 1000
const beat = jobRow("beat")
const everySecond = scheduleRow("beat", { kind: "every", periodMillis: second, startAt })

const repeated = (values: Iterable<unknown>): ReadonlyArray<unknown> =>
  [...tally(values)].filter(([, count]) => count > 1).map(([value]) => value)

describe("two engines over one store", () => {
  test("share the runs that are sent, and none is executed twice", async () => {
    const work = jobRow("work")
    const handler = (_: unknown, signal: AbortSignal) => world.sleep(200, signal)
    const a = await world.start({ name: "a", jobs: [work], handler, slots: 4 })
    const b = await world.start({ name: "b", jobs: [work], handler, slots: 4 })
    for (let each = 0; each < 100; each++) {
      const { engine, run } = each % 2 === 0 ? a : b
      void run(engine.enqueue({ job: "work", input: String(each) }))
    }
    await world.advance(20 * second)
    expect(await world.driver.counts()).toEqual([{ job: "work", state: "succeeded", count: 100 }])
    expect(repeated(world.executions.map(({ id }) => id))).toEqual([])
    const shares = tally(world.executions.map(({ engine }) => engine))
    expect(shares.get("a")).toBeGreaterThan(20)
    expect(shares.get("b")).toBeGreaterThan(20)
  })

  test("fire each instant of a schedule once between them", async () => {
    await world.start({ name: "a", jobs: [beat], schedules: [everySecond] })
    await world.start({ name: "b", jobs: [beat], schedules: [everySecond] })
    await world.advance(60 * second)
    const instants = world.executions.map(({ nominalAt }) => nominalAt)
    expect(instants).toEqual(Array.from({ length: 61 }, (_, slot) => startAt + slot * second))
    expect(world.executions.every(({ at, nominalAt }) => at >= (nominalAt as number))).toBe(true)
  })

  test("one that leaves hands over at once, and its late outcome is not applied", async () => {
    const long = jobRow("long")
    let release: (() => void) | undefined
    const stubborn = () => new Promise<string>((resolve) => (release = () => resolve("late")))
    const a = await world.start({ name: "a", jobs: [long], handler: stubborn })
    const sent = await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(0)
    await world.start({ name: "b", jobs: [long], handler: () => "in time" })
    await a.close()
    await world.advance(2 * second)
    release?.()
    await world.advance(5 * second)
    expect(await world.driver.get([sent.id])).toMatchObject([
      { state: "succeeded", output: '"in time"', attempt: 2 },
    ])
    expect(world.executions.map(({ engine, token }) => [engine, token])).toEqual([
      ["a", 1],
      ["b", 2],
    ])
  })

  test("one that vanishes without a word loses nothing: the other goes on when its lease has ended", async () => {
    const long = jobRow("long")
    const faults: Faults = new Map()
    const forever = () => new Promise(() => {})
    const driver = faulty(world.driver, faults)
    const a = await world.start({ name: "a", jobs: [long], handler: forever, driver })
    const sent = await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(0)
    const b = await world.start({ name: "b", jobs: [long] })
    faults.set("leave", "before")
    await a.close()
    await world.advance(4 * second)
    expect(await world.driver.get([sent.id])).toMatchObject([{ state: "running" }])
    await world.advance(5 * second)
    expect(await world.driver.get([sent.id])).toMatchObject([{ state: "succeeded", attempt: 2 }])
    expect(await world.driver.attempts(sent.id)).toMatchObject([
      { attempt: 1, error: { name: "LeaseLost", kind: "lost" } },
    ])
    expect(b.events.filter(({ kind }) => kind === "reclaimed")).toMatchObject([{ id: sent.id }])
  })

  test("what a vanished one carried starts again in the moment when its lease ends, though nobody looks so often", async () => {
    const long = jobRow("long")
    const faults: Faults = new Map()
    const forever = () => new Promise(() => {})
    const driver = faulty(world.driver, faults)
    const times = { leaseMillis: 20 * second, pollMillis: 1000 }
    const a = await world.start({ name: "a", jobs: [long], handler: forever, driver, ...times })
    await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(0)
    // Each of the others looks every five seconds, at times of its own.
    for (const name of ["b", "c", "d"]) {
      await world.advance(1300)
      await world.start({ name, jobs: [long], ...times })
    }
    await world.advance(20 * second)
    const renewed = (await world.driver.nodes()).find(({ startedAt }) => startedAt === startAt)
    faults.set("leave", "before")
    await a.close()
    await world.advance(25 * second)
    const again = world.executions.find(({ engine, attempt }) => engine !== "a" && attempt === 2)
    expect((again?.at ?? 0) - (renewed?.expiresAt ?? 0)).toBeGreaterThanOrEqual(0)
    expect((again?.at ?? 0) - (renewed?.expiresAt ?? 0)).toBeLessThan(10)
  })

  test("who is alive is asked for about once a lease", async () => {
    const asked: Array<number> = []
    const driver: StoreDriver = {
      ...world.driver,
      nodes: () => {
        asked.push(world.now())
        return world.driver.nodes()
      },
    }
    await world.start({ name: "a", jobs: [beat], driver })
    await world.start({ name: "b", jobs: [beat] })
    const before = asked.length
    await world.advance(60 * second)
    expect(asked.length - before).toBeGreaterThan(10)
    expect(asked.length - before).toBeLessThanOrEqual(16)
  })

  test("an engine whose scope ends tells the handlers that still run to stop", async () => {
    const long = jobRow("long")
    let stopped: AbortSignal | undefined
    const handler = (_: unknown, signal: AbortSignal) => {
      stopped = signal
      return new Promise(() => {})
    }
    const a = await world.start({ jobs: [long], handler })
    await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(0)
    expect(stopped?.aborted).toBe(false)
    await a.close()
    expect(stopped?.aborted).toBe(true)
  })

  test("one that cannot renew its lease stops its handlers before the other may take its runs", async () => {
    const long = jobRow("long")
    const faults: Faults = new Map()
    const stops: Array<number> = []
    const stoppable = (_: unknown, signal: AbortSignal) => {
      signal.addEventListener("abort", () => stops.push(world.time.now()))
      return world.sleep(3600 * second, signal)
    }
    const driver = faulty(world.driver, faults)
    const a = await world.start({ name: "a", jobs: [long], handler: stoppable, driver })
    const sent = await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(0)
    await world.start({ name: "b", jobs: [long] })
    for (const operation of ["renew", "claim", "join", "reclaim"] as const) faults.set(operation, "before")
    await world.advance(20 * second)
    expect(await world.driver.get([sent.id])).toMatchObject([{ state: "succeeded" }])
    const taken = world.executions.find(({ engine }) => engine === "b")
    expect(stops).toHaveLength(1)
    expect(stops[0]).toBeLessThanOrEqual(taken?.at ?? 0)
    faults.clear()
    const again = await a.run(a.engine.enqueue({ job: "long", input: null }))
    await world.advance(20 * second)
    expect(await world.driver.get([again.id])).toHaveLength(1)
    expect(await world.driver.nodes()).toHaveLength(2)
  })

  test("one that was forgotten asks for nothing before it has joined again", async () => {
    const faults: Faults = new Map()
    const claimed: Array<string> = []
    const known = faulty(world.driver, faults)
    const driver: typeof known = {
      ...known,
      claim: (wish) => {
        claimed.push(wish.node)
        return known.claim(wish)
      },
    }
    const a = await world.start({ jobs: [jobRow("work")], driver })
    await world.advance(second)
    const [node] = await world.driver.nodes()
    await world.driver.leave(node?.id ?? "")
    faults.set("join", "before")
    const { id } = await a.run(a.engine.enqueue({ job: "work", input: null, delayMillis: 3 * second }))
    await world.advance(10 * second)
    expect(new Set(claimed)).toEqual(new Set([node?.id]))
    faults.clear()
    await world.advance(5 * second)
    expect(await world.driver.get([id])).toMatchObject([{ state: "succeeded" }])
  })
})

describe("an engine that gets no answers for a while", () => {
  test("finds the next attempt of a run that it claimed while the last one's outcome was on its way", async () => {
    const faults: Faults = new Map()
    let attempts = 0
    const a = await world.start({
      jobs: [jobRow("work")],
      driver: faulty(world.driver, faults),
      handler: () => {
        if (++attempts === 1) throw new Error("again")
        return "done"
      },
    })
    await world.advance(second)
    faults.set("settle", "after")
    const { id } = await a.run(a.engine.enqueue({ job: "work", input: null }))
    await world.advance(100)
    expect(await world.driver.get([id])).toMatchObject([{ state: "retrying", token: 1 }])
    faults.set("claim", "after")
    await world.advance(1500)
    expect(await world.driver.get([id])).toMatchObject([{ state: "running", token: 2 }])
    faults.delete("claim")
    await world.advance(3 * second)
    faults.clear()
    await world.advance(3 * second)
    expect(await world.driver.get([id])).toMatchObject([{ state: "succeeded", attempt: 2 }])
  })
})

describe("an engine of many slots", () => {
  test("finds what a lost claim gave it behind a thousand runs that it knows", async () => {
    const faults: Faults = new Map()
    const a = await world.start({
      jobs: [jobRow("long")],
      slots: 2000,
      driver: faulty(world.driver, faults),
      handler: () => new Promise(() => {}),
    })
    const send = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => a.run(a.engine.enqueue({ job: "long", input: null }))))
    await send(1001)
    await world.advance(second)
    expect(a.engine.load().carried).toBe(1001)
    faults.set("claim", "after")
    await send(3)
    await world.advance(0)
    faults.clear()
    await world.advance(3 * second)
    expect(a.engine.load().carried).toBe(1004)
    expect(world.executions).toHaveLength(1004)
  })
})

describe("many requests in one call", () => {
  test("whose answer was lost are not stored twice when they are sent again", async () => {
    const faults: Faults = new Map([["enqueue", "after"]])
    const a = await world.start({ jobs: [jobRow("work")], driver: faulty(world.driver, faults) })
    const ids = makeIds(
      () => world.time.now(),
      () => 7,
    )
    const requests = Array.from({ length: 1200 }, () => ({ job: "work", input: null, id: ids() }))
    const sending = a.run(Effect.result(a.engine.enqueueAll(requests)))
    await world.advance(20 * second)
    expect(await sending).toMatchObject({ _tag: "Failure", failure: { _tag: "StoreError" } })
    faults.clear()
    const answers = await a.run(a.engine.enqueueAll(requests))
    expect(answers.map(({ id }) => id)).toEqual(requests.map(({ id }) => id))
    await world.advance(5 * second)
    expect(await world.driver.counts()).toEqual([{ job: "work", state: "succeeded", count: 1200 }])
    expect(world.executions).toHaveLength(1200)
  })
})

describe("an engine over a store that takes its time", () => {
  test("claims the next runs while outcomes are on their way, and never runs more handlers than it has slots", async () => {
    let handlers = 0
    const most = { handlers: 0, running: 0, settling: 0, startedWhileSettling: 0 }
    let settling = 0
    const slow: StoreDriver = {
      ...world.driver,
      settle: async (settlements) => {
        most.settling = Math.max(most.settling, ++settling)
        await world.sleep(100, new AbortController().signal)
        settling--
        return world.driver.settle(settlements)
      },
    }
    const a = await world.start({
      jobs: [jobRow("work")],
      slots: 3,
      driver: slow,
      handler: async (_, signal) => {
        most.handlers = Math.max(most.handlers, ++handlers)
        if (settling > 0) most.startedWhileSettling++
        const counts = await world.driver.counts()
        const running = counts.find(({ state }) => state === "running")?.count ?? 0
        most.running = Math.max(most.running, running)
        await world.sleep(10, signal)
        handlers--
        return "done"
      },
    })
    await Promise.all(Array.from({ length: 30 }, () => a.run(a.engine.enqueue({ job: "work", input: null }))))
    await world.advance(5 * second)
    expect(await world.driver.counts()).toEqual([{ job: "work", state: "succeeded", count: 30 }])
    expect(most.handlers).toBe(3)
    expect(most.running).toBe(6)
    expect(most.startedWhileSettling).toBeGreaterThan(10)
    expect(world.executions).toHaveLength(30)
  })
})

describe("an engine that ends", () => {
  test("does not say of a request under way that it was refused: it may be stored", async () => {
    const silent: StoreDriver = {
      ...world.driver,
      enqueue: async (runs) => {
        await world.driver.enqueue(runs)
        return new Promise(() => {})
      },
    }
    const a = await world.start({ jobs: [jobRow("work")], driver: silent })
    const send = () => Effect.runPromise(Effect.flip(a.engine.enqueue({ job: "work", input: null })))
    const first = send()
    await world.advance(0)
    const other = send()
    await world.advance(0)
    const drained = a.run(a.engine.drain(0))
    await world.advance(20 * second)
    await drained
    await a.close()
    expect(await first).toMatchObject({ _tag: "StoreError", operation: "enqueue", outcomeUnknown: true })
    expect(await other).toMatchObject({ _tag: "EngineStopped" })
    expect(await world.driver.counts()).toMatchObject([{ job: "work", count: 1 }])
  })
})

describe("an engine that drains", () => {
  test("hands back what a claim gave it whose answer was lost, and no attempt is used", async () => {
    const faults: Faults = new Map()
    const a = await world.start({ jobs: [jobRow("work")], driver: faulty(world.driver, faults) })
    await world.advance(second)
    faults.set("claim", "after")
    const { id } = await a.run(a.engine.enqueue({ job: "work", input: null }))
    await world.advance(0)
    expect(await world.driver.get([id])).toMatchObject([{ state: "running", node: a.engine.node() }])
    faults.clear()
    const drained = a.run(a.engine.drain(10 * second))
    await world.advance(second)
    await drained
    expect(await world.driver.get([id])).toMatchObject([{ state: "ready", attempt: 0, node: null }])
    expect(world.executions).toEqual([])
  })

  test("does not wait out its grace period for a store that answers no more", async () => {
    const faults: Faults = new Map([["claim", "before"]])
    const a = await world.start({ jobs: [jobRow("work")], driver: faulty(world.driver, faults) })
    await a.run(a.engine.enqueue({ job: "work", input: null }))
    await world.advance(0)
    faults.set("carried", "before")
    let isDrained = false
    const drained = a.run(a.engine.drain(3600 * second)).then(() => (isDrained = true))
    await world.advance(4 * second)
    expect(isDrained).toBe(false)
    await world.advance(2 * second)
    expect(isDrained).toBe(true)
    await drained
  })
})

describe("an engine that has drained", () => {
  test("leaves once: a store that answers no more does not hold its end up a second time", async () => {
    let leaves = 0
    const silent: StoreDriver = {
      ...world.driver,
      leave: (id) => {
        leaves++
        return world.driver.leave(id)
      },
    }
    const a = await world.start({ jobs: [jobRow("work")], driver: silent })
    const drained = a.run(a.engine.drain(0))
    await world.advance(second)
    await drained
    await a.close()
    expect(leaves).toBe(1)
  })
})

describe("an engine whose store fails for a while", () => {
  const operations: ReadonlyArray<ReadonlyArray<keyof StoreDriver>> = [
    ["claim"],
    ["settle"],
    ["fire"],
    ["enqueue"],
    ["renew"],
    ["dueSchedules"],
    ["nextScheduleAt"],
    ["dueWithin"],
    ["carried", "claim"],
    ["reclaim"],
    ["claim", "settle", "fire", "enqueue", "renew", "reclaim", "dueSchedules", "dueWithin"],
  ]
  const cases = operations.flatMap((names) =>
    (["before", "after"] as const).map((fault): [string, ReadonlyArray<keyof StoreDriver>, Fault] => [
      `${names.join(", ")} ${fault} doing it`,
      names,
      fault,
    ]),
  )

  test.each(cases)("loses nothing and doubles nothing: %s", async (_, names, fault) => {
    const faults: Faults = new Map()
    const work = jobRow("work", { retry: { ...jobRow("").retry, attemptMax: 20 } })
    let failures = 0
    const { engine, events, run } = await world.start({
      jobs: [work, beat],
      schedules: [everySecond],
      driver: faulty(world.driver, faults),
      handler: ({ run: { job } }) => {
        // Some attempts fail, so that retries pass through the outage as well.
        if (job === "work" && failures++ % 3 === 0) throw new Error("again")
        return job
      },
    })
    const acknowledged: Array<string> = []
    const refused: Array<unknown> = []
    const send = (): void => {
      run(engine.enqueue({ job: "work", input: null, delayMillis: 300 })).then(
        ({ id }) => acknowledged.push(id),
        (error: unknown) => refused.push(error),
      )
    }
    for (let step = 0; step < 100; step++) {
      if (step === 20) for (const name of names) faults.set(name, fault)
      if (step === 60) faults.clear()
      send()
      await world.advance(250)
    }
    await world.advance(60 * second)

    expect(acknowledged.length + refused.length).toBe(100)
    for (const error of refused) expect(error).toMatchObject({ _tag: "StoreError", outcomeUnknown: true })
    if (!names.includes("enqueue")) expect(refused).toEqual([])
    const rows = []
    for (const id of acknowledged) rows.push(...(await world.driver.get([id])))
    expect(tally(rows.map(({ state }) => state))).toEqual(new Map([["succeeded", acknowledged.length]]))

    // Every instant has exactly one row, and every run of the schedule stands for one instant.
    const ledger = await world.ledger("beat")
    const instants = ledger.flatMap(({ at, count }) =>
      Array.from({ length: count }, (__, slot) => at + slot * second),
    )
    expect(instants).toEqual(Array.from({ length: instants.length }, (__, slot) => startAt + slot * second))
    expect(instants.length).toBeGreaterThan(80)
    const beats = world.executions.filter(({ job }) => job === "beat")
    expect(ledger.filter(({ runId }) => runId !== null)).toHaveLength(new Set(beats.map(({ id }) => id)).size)
    for (const { at, nominalAt } of beats) expect(at).toBeGreaterThanOrEqual(nominalAt as number)

    // A lease that was lost may repeat an attempt, under another token; nothing else may.
    expect(repeated(world.executions.map(({ id, token }) => `${id} ${token}`))).toEqual([])
    if (!events.some(({ kind }) => kind === "leaseLost")) {
      expect(repeated(beats.map(({ nominalAt }) => nominalAt))).toEqual([])
      expect(repeated(world.executions.map(({ id, attempt }) => `${id} ${attempt}`))).toEqual([])
    }
    const all = await world.driver.counts()
    expect(all.filter(({ state, count }) => state !== "succeeded" && count !== 0)).toEqual([])
    expect(engine.load().carried).toBe(0)
  })

  test("tells of it, once the store answers goes on by itself, and says what failed", async () => {
    const faults: Faults = new Map([["claim", "before"]])
    const { engine, events, run } = await world.start({
      jobs: [beat],
      driver: faulty(world.driver, faults),
    })
    await run(engine.enqueue({ job: "beat", input: null }))
    await world.advance(3 * second)
    expect(world.executions).toEqual([])
    expect(events).toContainEqual({
      kind: "trouble",
      doing: "claim runs",
      error: "Cannot claim in the memory store: the disk failed before claim",
    })
    faults.clear()
    await world.advance(2 * second)
    expect(world.executions).toHaveLength(1)
  })
})

describe("schedules of the config", () => {
  const instantsOf = (job: string): ReadonlyArray<string> =>
    world.executions.flatMap(({ job: name, nominalAt }) =>
      name === job ? [new Date(nominalAt as number).toISOString().slice(11, 19)] : [],
    )
  const cron = (expression: string): NewSchedule =>
    scheduleRow("beat", { kind: "cron", expression, zone: "UTC" })

  test("an edited schedule never fires its old pattern, also in an engine that still runs", async () => {
    await world.start({ name: "old", jobs: [beat], schedules: [cron("*/10 * * * *")] })
    await world.advance(35 * 60 * second)
    await world.start({ name: "new", jobs: [beat], schedules: [cron("7,37 * * * *")] })
    await world.advance(60 * 60 * second)
    expect(instantsOf("beat")).toEqual(["00:10:00", "00:20:00", "00:30:00", "00:37:00", "01:07:00"])
  })

  test("a fixed rate that was edited keeps no slot of the old one", async () => {
    const rate = (periodMillis: number) =>
      scheduleRow("beat", { kind: "every", periodMillis, startAt: startAt + 1 })
    await world.start({ name: "old", jobs: [beat], schedules: [rate(10_000)] })
    await world.advance(25 * second)
    await world.start({ name: "new", jobs: [beat], schedules: [rate(60_000)] })
    await world.advance(120 * second)
    expect(instantsOf("beat")).toEqual(["00:00:00", "00:00:10", "00:00:20", "00:01:00", "00:02:00"])
  })

  test("one that the config has no longer is removed, with those of others left alone", async () => {
    const other = jobRow("other")
    const a = await world.start({
      jobs: [beat, other],
      schedules: [
        cron("* * * * *"),
        { ...scheduleRow("other", { kind: "at", at: startAt + 1e9 }), fromConfig: false },
      ],
    })
    await world.advance(60 * second)
    await a.close()
    await world.start({ jobs: [beat, other], schedules: [] })
    await world.advance(600 * second)
    expect(instantsOf("beat")).toEqual(["00:01:00"])
    expect((await world.driver.schedules()).map(({ id }) => id)).toEqual(["other"])
  })

  test("more schedules than one call takes are saved, and removed again", async () => {
    const jobs = Array.from({ length: 2500 }, (_, index) => jobRow(`job ${index}`))
    const schedules = jobs.map(({ name }) => scheduleRow(name, { kind: "at", at: startAt + 1e10 }))
    const a = await world.start({ jobs, schedules })
    expect(await world.driver.schedules()).toHaveLength(2500)
    await a.close()
    await world.start({ jobs, schedules: [] })
    expect(await world.driver.schedules()).toEqual([])
  })

  test("the same instant, made again after it was removed, does not fire twice", async () => {
    const once = scheduleRow("beat", { kind: "at", at: startAt + 10 * second })
    const a = await world.start({ jobs: [beat], schedules: [once] })
    await world.advance(20 * second)
    await a.close()
    const b = await world.start({ jobs: [beat], schedules: [] })
    await world.advance(20 * second)
    await b.close()
    await world.start({ jobs: [beat], schedules: [once] })
    await world.advance(60 * second)
    expect(instantsOf("beat")).toEqual(["00:00:10"])
    expect(await world.ledger("beat")).toHaveLength(1)
    expect(await world.driver.dueSchedules(10)).toEqual([])
  })

  test("one with the same pattern keeps its place over a restart, and catches up the newest instant", async () => {
    const a = await world.start({ jobs: [beat], schedules: [cron("*/10 * * * *")] })
    await world.advance(25 * 60 * second)
    await a.close()
    await world.advance(40 * 60 * second)
    await world.start({ jobs: [beat], schedules: [cron("*/10 * * * *")] })
    await world.advance(6 * 60 * second)
    expect(instantsOf("beat")).toEqual(["00:10:00", "00:20:00", "01:00:00", "01:10:00"])
    expect((await world.ledger("beat")).map(({ reason }) => reason)).toEqual([
      null,
      null,
      "missed",
      "missed",
      "missed",
      null,
      null,
    ])
  })
})

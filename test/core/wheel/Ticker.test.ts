// The wheel that runs: never early, one sleep at most whatever waits, none when nothing does; and what stands on it, the
// timers and the horizon. Time is virtual; where a wall clock steps back or jumps, it is moved against that time.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { newRun } from "../../../core/contract/Fixtures.ts"
import type { StoreError } from "../../../core/domain/Errors.ts"
import { makeVirtualTime, type VirtualTime } from "../../../core/engine/VirtualTime.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { loadMax, makeHorizon, windowMillis } from "../../../core/wheel/Horizon.ts"
import { makeTicker, type Ticker } from "../../../core/wheel/Ticker.ts"
import { makeWheelTimers } from "../../../core/wheel/WheelTimers.ts"

const start = Date.UTC(2026, 0, 1)
const second = 1000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

const seeded = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface World {
  readonly time: VirtualTime
  /** The wall clock: the virtual time, and what it was stepped by. */
  readonly now: () => number
  readonly step: (millis: number) => void
  /** How many sleep now, and every sleep so far in milliseconds. */
  readonly sleeping: () => number
  readonly sleeps: ReadonlyArray<number>
  /** Runs an effect of this world; what it starts lives until the test ends. */
  readonly run: <A, R = never>(
    effect: Effect.Effect<A, never, R | Scope.Scope>,
    services?: Context.Context<R>,
  ) => A
  /** Moves time by this much, instant by instant. */
  readonly advance: (millis: number) => Promise<void>
  /** Moves time by this much at once, as for a host that was suspended. */
  readonly jump: (millis: number) => Promise<void>
  readonly end: () => Promise<void>
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A world whose host sleeps as long as `host` says for what it was asked. */
const makeWorld = (startAt = start, host = (millis: number): number => millis): World => {
  const time = makeVirtualTime(startAt)
  const sleeps: Array<number> = []
  const clock = Context.get(time.handlerContext, Clock.Clock)
  const context = Context.add(time.handlerContext, Clock.Clock, {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
    currentTimeMillis: clock.currentTimeMillis,
    currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
    currentTimeNanos: clock.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration: Duration.Duration) => {
      const millis = Duration.toMillis(duration)
      sleeps.push(millis)
      return clock.sleep(Duration.millis(host(millis)))
    },
  })
  const scope = Scope.makeUnsafe()
  let stepped = 0
  const jump = async (millis: number): Promise<void> => {
    time.moveTo(time.now() + millis)
    await turn()
  }
  return {
    time,
    now: () => time.now() + stepped,
    step: (millis) => {
      stepped += millis
    },
    sleeping: time.sleeping,
    sleeps,
    run: <A, R = never>(effect: Effect.Effect<A, never, R | Scope.Scope>, services?: Context.Context<R>) => {
      const all = Context.merge(Context.add(context, Scope.Scope, scope), services ?? Context.empty())
      return Effect.runSync(Effect.provideContext(effect, all as Context.Context<R | Scope.Scope>))
    },
    advance: async (millis) => {
      const target = time.now() + millis
      await turn()
      for (let next = time.nextAt(); next <= target; next = time.nextAt()) await jump(next - time.now())
      await jump(target - time.now())
    },
    jump,
    end: async () => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      await turn()
    },
  }
}

/** A ticker, and when each of its payloads was visited, by the wall clock. */
const withTicker = async (
  body: (
    bench: World & { readonly ticker: Ticker; readonly visits: Array<readonly [number, number]> },
  ) => Promise<void>,
  onVisit: (payload: number, ticker: Ticker, world: World) => void = () => {},
): Promise<void> => {
  const world = makeWorld()
  const visits: Array<readonly [number, number]> = []
  const ticker: Ticker = world.run(
    makeTicker({
      now: world.now,
      visit: (payload) => {
        visits.push([payload, world.now() - start])
        onVisit(payload, ticker, world)
      },
    }),
  )
  await turn()
  try {
    await body({ ...world, ticker, visits })
  } finally {
    await world.end()
  }
  expect(world.sleeping()).toBe(0)
}

describe("Ticker > visits", () => {
  test("each at its instant: never early, and in virtual time not late either", () =>
    withTicker(async ({ ticker, visits, advance, now }) => {
      const random = seeded(1)
      const expected: Array<readonly [number, number]> = []
      for (let payload = 0; payload < 2000; payload++) {
        const at = now() - start + Math.floor(random() ** 3 * hour)
        ticker.schedule(start + at, payload)
        expected.push([payload, at])
        if (random() < 0.1) await advance(Math.floor(random() * 500))
      }
      await advance(2 * hour)
      expect(visits).toEqual([...expected].sort(([a, x], [b, y]) => x - y || a - b))
      expect(ticker.size()).toBe(0)
    }))

  test("an instant with a fraction is visited in the next whole millisecond", () =>
    withTicker(async ({ ticker, visits, advance }) => {
      ticker.schedule(start + 10.2, 1)
      await advance(10)
      expect(visits).toEqual([])
      await advance(1)
      expect(visits).toEqual([[1, 11]])
    }))

  test("what is overdue when it comes is visited at once", () =>
    withTicker(async ({ ticker, visits, advance }) => {
      await advance(5)
      for (const at of [start + 5, start, start - 400 * day, 0, -1e15]) ticker.schedule(at, 1)
      await advance(0)
      expect(visits).toEqual([1, 1, 1, 1, 1].map((payload) => [payload, 5]))
    }))

  test("entries of one instant are visited in the order in which they came, and all in that instant", () =>
    withTicker(async ({ ticker, visits, advance }) => {
      for (let payload = 0; payload < 5500; payload++) ticker.schedule(start + minute, payload)
      await advance(minute)
      expect(visits).toEqual(Array.from({ length: 5500 }, (_, payload) => [payload, minute]))
    }))

  test("a visit may add others: this instant's become the next, and all are visited once", () =>
    withTicker(
      async ({ ticker, visits, advance }) => {
        ticker.schedule(start + 10, 1)
        await advance(20 * second)
        expect(visits).toEqual(Array.from({ length: 1000 }, (_, index) => [index + 1, 10 + index * 10]))
        expect(ticker.size()).toBe(0)
      },
      (payload, ticker, { now }) => {
        if (payload < 1000) ticker.schedule(now() + 10, payload + 1)
      },
    ))

  test("what is taken back is not visited; it can be taken back once, and not after its visit", () =>
    withTicker(async ({ ticker, visits, advance }) => {
      const first = ticker.schedule(start + 10, 1)
      const second = ticker.schedule(start + 20, 2)
      expect(ticker.size()).toBe(2)
      expect([ticker.cancel(second), ticker.cancel(second)]).toEqual([true, false])
      await advance(100)
      expect(visits).toEqual([[1, 10]])
      expect(ticker.cancel(first)).toBe(false)
    }))

  test("cleared, nothing is visited, and what comes afterwards is", () =>
    withTicker(async ({ ticker, visits, advance }) => {
      for (let payload = 0; payload < 100; payload++) ticker.schedule(start + payload, payload)
      await advance(0)
      ticker.clear()
      ticker.schedule(start + 50_000, 7)
      await advance(minute)
      expect(visits).toEqual([
        [0, 0],
        [7, 50_000],
      ])
    }))

  test("with its scope it stops: nothing more is visited, nobody sleeps", async () => {
    let visits = 0
    const world = makeWorld()
    const ticker = world.run(makeTicker({ now: world.now, visit: () => void visits++ }))
    ticker.schedule(start + 10, 1)
    await world.advance(5)
    await world.end()
    await world.advance(minute)
    expect([visits, world.sleeping()]).toEqual([0, 0])
  })
})

describe("Ticker > sleeps", () => {
  test("an empty ticker has none, before its first entry and after its last", () =>
    withTicker(async ({ ticker, sleeping, sleeps, advance }) => {
      await advance(hour)
      expect([sleeping(), sleeps.length]).toEqual([0, 0])
      ticker.schedule(start + hour + 10, 1)
      await turn()
      expect(sleeping()).toBe(1)
      await advance(10)
      expect(sleeping()).toBe(0)
      const handle = ticker.schedule(start + 2 * hour, 1)
      await advance(second)
      ticker.cancel(handle)
      await advance(hour)
      expect(sleeping()).toBe(0)
    }))

  test("a thousand entries are one sleep", () =>
    withTicker(async ({ ticker, sleeping, sleeps, advance }) => {
      for (let payload = 0; payload < 1000; payload++) {
        ticker.schedule(start + 5 * second + payload * 7, payload)
        await turn()
        expect(sleeping()).toBe(1)
      }
      // Later entries woke nobody.
      expect(sleeps).toHaveLength(1)
      await advance(3 * second)
      expect([sleeping(), sleeps.length]).toEqual([1, 1])
    }))

  test("an earlier entry wakes it, a later one does not", () =>
    withTicker(async ({ ticker, visits, sleeping, sleeps, advance }) => {
      ticker.schedule(start + 20 * second, 20)
      await advance(second)
      ticker.schedule(start + 5 * second, 5)
      await advance(0)
      ticker.schedule(start + 10 * second, 10)
      await advance(0)
      expect(sleeping()).toBe(1)
      expect(sleeps).toHaveLength(2)
      await advance(minute)
      expect(visits).toEqual([5, 10, 20].map((seconds) => [seconds, seconds * second]))
      // Besides one for each entry, the wheel looks at the start of a block or span (of 1,024 ms and 17 minutes).
      expect(sleeps.length).toBeLessThanOrEqual(9)
    }))

  test("SC-S01 no sleep is longer than 30 s, for deadlines of 25, 40 and 400 days: one visit each, at its instant", () =>
    withTicker(async ({ ticker, visits, sleeps, advance, jump, time }) => {
      const deadlines = [25, 40, 365, 400, 3650].map((days) => days * day)
      for (const [payload, at] of deadlines.entries()) ticker.schedule(start + at, payload)
      await advance(day / 2)
      expect(sleeps).toHaveLength(1441)
      for (const [payload, at] of deadlines.entries()) {
        await jump(start + at - 1 - time.now())
        expect(visits).toHaveLength(payload)
        await advance(minute)
        expect(visits[payload]).toEqual([payload, at])
      }
      await advance(hour)
      expect(visits).toHaveLength(deadlines.length)
      expect(Math.max(...sleeps)).toBeLessThanOrEqual(30 * second)
      expect(Math.min(...sleeps)).toBeGreaterThan(0)
    }))

  test("a host that was suspended visits what came meanwhile at once, in order", () =>
    withTicker(async ({ ticker, visits, jump }) => {
      for (const hours of [3, 1, 2, 9]) ticker.schedule(start + hours * hour, hours)
      await turn()
      await jump(8 * hour)
      expect(visits).toEqual([1, 2, 3].map((hours) => [hours, 8 * hour]))
    }))
})

describe("Ticker > a host that is not exact", () => {
  /** Arms a thousand entries on such a host and answers how late each was visited. */
  const latenessOn = async (host: (millis: number) => number): Promise<ReadonlyArray<number>> => {
    const world = makeWorld(start, host)
    const random = seeded(11)
    const due = Array.from({ length: 1000 }, () => start + Math.floor(random() ** 2 * minute))
    const late: Array<number> = []
    const ticker = world.run(
      makeTicker({ now: world.now, visit: (payload) => late.push(world.now() - (due[payload] as number)) }),
    )
    for (const [payload, at] of due.entries()) ticker.schedule(at, payload)
    await world.advance(2 * minute)
    await world.end()
    return late
  }

  test("woken too early, it sleeps again: nothing is early, nothing is lost", async () => {
    const late = await latenessOn((millis) => Math.ceil(millis / 2))
    expect(late).toHaveLength(1000)
    expect([Math.min(...late), Math.max(...late)]).toEqual([0, 0])
  })

  test("woken too late, it visits all that has come meanwhile, and is late by that only", async () => {
    const late = await latenessOn((millis) => millis + 7)
    expect(late).toHaveLength(1000)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...late)).toBeLessThanOrEqual(7)
  })
})

describe("Ticker > a burst", () => {
  test("whatever is due, a turn of the event loop visits at most a thousand, and each turn goes on", async () => {
    // Not in virtual time, whose scheduler finishes all work of an instant in one turn.
    const scope = Scope.makeUnsafe()
    const count = 50_000
    let now = start
    let visited = 0
    const ticker = await Effect.runPromise(
      Effect.provideService(makeTicker({ now: () => now, visit: () => visited++ }), Scope.Scope, scope),
    )
    for (let payload = 0; payload < count; payload++)
      ticker.schedule(start + hour + (payload % minute), payload)
    now += 2 * hour
    // An earlier entry wakes it.
    ticker.schedule(start + second, count)
    const perTurn: Array<number> = []
    for (let turns = 0; ticker.size() > 0 && turns < 1000; turns++) {
      const before = visited
      await turn()
      perTurn.push(visited - before)
    }
    await Effect.runPromise(Scope.close(scope, Exit.void))
    expect(visited).toBe(count + 1)
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(1000)
    expect(perTurn.length).toBeGreaterThan(count / 1000)
  })
})

describe("Ticker > a clock that steps", () => {
  test("back by an hour: an entry waits until the clock shows its instant again", () =>
    withTicker(async ({ ticker, visits, advance, step, sleeping }) => {
      ticker.schedule(start + 10 * second, 1)
      await advance(4 * second)
      step(-hour)
      await advance(hour)
      expect(visits).toEqual([])
      expect(sleeping()).toBe(1)
      await advance(6 * second)
      expect(visits).toEqual([[1, 10 * second]])
    }))

  test("back by an hour: a new entry is visited at its instant, not an hour late", () =>
    withTicker(async ({ ticker, visits, advance, step, now }) => {
      ticker.schedule(start + day, 1)
      await advance(2 * hour)
      step(-hour)
      ticker.schedule(now() + 5 * second, 2)
      ticker.schedule(now() + 2 * second, 3)
      await advance(minute)
      ticker.schedule(now() + second, 4)
      await advance(minute)
      expect(visits.map(([payload, at]) => [payload, at - hour])).toEqual([
        [3, 2 * second],
        [2, 5 * second],
        [4, minute + second],
      ])
    }))

  test("back by an hour inside a visit: what the visit adds is neither early nor lost", () =>
    withTicker(
      async ({ ticker, visits, advance }) => {
        ticker.schedule(start + 2 * hour, 1)
        await advance(2 * hour)
        await advance(2 * hour)
        expect(visits.map(([payload]) => payload)).toEqual([1, 2])
        expect(visits[1]?.[1]).toBeGreaterThanOrEqual(hour + 5 * second)
      },
      (payload, ticker, { now, step }) => {
        if (payload !== 1) return
        step(-hour)
        ticker.schedule(now() + 5 * second, 2)
      },
    ))

  test("back by less than a second: waited out, never early and at most that late", () =>
    withTicker(async ({ ticker, visits, advance, step, now }) => {
      ticker.schedule(start + 5 * second, 1)
      await advance(5 * second)
      step(-900)
      ticker.schedule(now() + 100, 2)
      ticker.schedule(now() + 5 * second, 3)
      await advance(minute)
      expect(visits.map(([payload]) => payload)).toEqual([1, 2, 3])
      const lateness = (visits[1]?.[1] as number) - (5 * second - 800)
      expect(lateness).toBeGreaterThanOrEqual(0)
      expect(lateness).toBeLessThanOrEqual(900)
      expect(visits[2]?.[1]).toBe(10 * second - 900)
    }))

  test("forward by an hour: noticed within 30 s", () =>
    withTicker(async ({ ticker, visits, advance, step }) => {
      ticker.schedule(start + 10 * minute, 1)
      await advance(second)
      step(hour)
      await advance(30 * second)
      expect(visits).toHaveLength(1)
      expect(visits[0]?.[1]).toBeGreaterThanOrEqual(10 * minute)
    }))

  test("property: whatever the clock does, nothing is early by it, and all is visited once", async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seeded(seed)
      const due = new Map<number, number>()
      // Not thrown: whatever a visit throws is the supervisor's.
      const wrong: Array<string> = []
      await withTicker(
        async ({ ticker, advance, step, now }) => {
          for (let payload = 0; payload < 150; payload++) {
            const dice = random()
            if (dice < 0.1) step(-Math.floor(random() ** 3 * hour))
            else if (dice < 0.2) step(Math.floor(random() ** 3 * hour))
            const at = now() + Math.floor((random() ** 3 - 0.05) * 10 * minute)
            due.set(payload, at)
            ticker.schedule(at, payload)
            if (random() < 0.7) await advance(Math.floor(random() ** 2 * minute))
          }
          await advance(5 * hour)
          await advance(5 * day)
          expect([...due.keys()]).toEqual([])
        },
        (payload, _, { now }) => {
          const at = due.get(payload)
          if (at === undefined) wrong.push(`Seed ${seed}: ${payload} was visited twice`)
          else if (at > now()) wrong.push(`Seed ${seed}: ${payload} was visited ${at - now()} ms early`)
          due.delete(payload)
        },
      )
      expect(wrong).toEqual([])
    }
  })
})

describe("WheelTimers", () => {
  const withTimers = async (
    body: (
      bench: World & { readonly after: (millis: number, callback: () => void) => () => void },
    ) => Promise<void>,
    startAt = start,
  ): Promise<void> => {
    const world = makeWorld(startAt)
    const { after } = world.run(makeWheelTimers)
    await turn()
    try {
      await body({ ...world, after })
    } finally {
      await world.end()
    }
  }

  for (const startAt of [0, start, start + 0.4]) {
    test(`a callback comes once, after its span, from ${startAt}`, () =>
      withTimers(async ({ after, advance, time }) => {
        const called: Array<number> = []
        for (const millis of [0, 1, 30, 30.5, 1000, hour])
          after(millis, () => called.push(time.now() - startAt))
        await advance(2 * hour)
        expect(called).toHaveLength(6)
        for (const [index, millis] of [0, 1, 30, 30.5, 1000, hour].entries()) {
          // Less than the virtual clock's own grain is no time.
          expect(called[index]).toBeGreaterThanOrEqual(millis - 0.001)
          expect(called[index]).toBeLessThanOrEqual(millis + 1)
        }
      }, startAt))
  }

  test("a timer that was taken back never calls, however often it is taken back", () =>
    withTimers(async ({ after, advance }) => {
      let calls = 0
      const takeBack = after(10, () => calls++)
      await advance(5)
      takeBack()
      takeBack()
      await advance(minute)
      expect(calls).toBe(0)
    }))

  test("taking back what has called does not touch the timer that has its place now", () =>
    withTimers(async ({ after, advance }) => {
      const called: Array<string> = []
      const first = after(10, () => called.push("first"))
      await advance(10)
      const second = after(10, () => called.push("second"))
      first()
      await advance(10)
      expect(called).toEqual(["first", "second"])
      second()
      after(10, () => called.push("third"))
      first()
      second()
      await advance(10)
      expect(called).toEqual(["first", "second", "third"])
    }))

  test("a callback may set timers, and take back its own and those of its instant", () =>
    withTimers(async ({ after, advance }) => {
      const called: Array<string> = []
      const own: () => void = after(10, () => {
        own()
        other()
        called.push("own")
        after(0, () => called.push("at once"))
        after(10, () => called.push("later"))
      })
      const other = after(10, () => called.push("other"))
      await advance(hour)
      expect(called).toEqual(["own", "at once", "later"])
    }))

  test("10,000 timers are one sleep; half of them taken back, each of the others calls once at its time", () =>
    withTimers(async ({ after, advance, time, sleeping }) => {
      const random = seeded(9)
      const waiting = new Map<number, () => void>()
      const wrong: Array<string> = []
      let calls = 0
      const set = (id: number): void => {
        const from = time.now()
        const millis = Math.floor(random() * 20 * second)
        const takeBack = after(millis, () => {
          if (!waiting.delete(id)) wrong.push(`Timer ${id} called, and it was not waiting`)
          const passed = time.now() - from
          if (passed !== millis) wrong.push(`Timer ${id}: ${passed} and not ${millis} ms`)
          calls++
          // A third of them goes on, so places are taken again and again.
          if (random() < 0.33) set(id)
        })
        waiting.set(id, takeBack)
      }
      for (let id = 0; id < 10_000; id++) set(id)
      await turn()
      expect(sleeping()).toBe(1)
      let takenBack = 0
      for (let round = 0; round < 50; round++) {
        for (const [id, takeBack] of waiting) {
          if (random() > 0.02) continue
          takeBack()
          waiting.delete(id)
          takenBack++
        }
        await advance(100)
        expect(sleeping()).toBe(1)
      }
      await advance(hour)
      expect(wrong).toEqual([])
      expect(waiting.size).toBe(0)
      expect(sleeping()).toBe(0)
      expect(takenBack).toBeGreaterThan(1000)
      expect(calls).toBeGreaterThan(5000)
    }))
})

describe("Horizon", () => {
  type Bench = World & {
    readonly driver: StoreDriver
    readonly store: { calls: number; fails: boolean; gate: Promise<void> | undefined }
    readonly horizon: { readonly add: (dueAt: number) => void; readonly size: () => number }
    /** When it woke, from the start. */
    readonly wakes: Array<number>
    readonly errors: Array<StoreError>
    /** Stores runs that are due then, and says so to nobody. */
    readonly put: (...dueAts: ReadonlyArray<number>) => void
  }
  const withHorizon = async (
    before: ReadonlyArray<number>,
    body: (bench: Bench) => Promise<void>,
  ): Promise<void> => {
    const world = makeWorld()
    const memory = memoryDriver({ now: world.time.now })
    const store: Bench["store"] = { calls: 0, fails: false, gate: undefined }
    const driver: StoreDriver = {
      ...memory,
      dueWithin: (from, until, limit) => {
        store.calls++
        if (store.fails) throw new Error("The store is away")
        const found = memory.dueWithin(from, until, limit)
        return store.gate === undefined ? found : store.gate.then(() => found)
      },
    }
    let id = 0
    const put = (...dueAts: ReadonlyArray<number>): void => {
      const runs = dueAts.map((dueAt) => newRun(++id, { dueAt: start + dueAt }))
      for (let from = 0; from < runs.length; from += 1000) void driver.enqueue(runs.slice(from, from + 1000))
    }
    put(...before)
    const wakes: Array<number> = []
    const errors: Array<StoreError> = []
    const horizon = world.run(
      makeHorizon(
        () => wakes.push(world.time.now() - start),
        (error) => Effect.sync(() => void errors.push(error)),
      ),
      contextDriver(driver),
    )
    await turn()
    try {
      await body({ ...world, driver, store, horizon, wakes, errors, put })
    } finally {
      await world.end()
    }
    expect(world.sleeping()).toBe(0)
  }
  const ten = 10 * second

  test("what waits in the store wakes at its instant, and only the next minute of it is held", () =>
    withHorizon([ten, 50 * second, 50 * second, 70 * second, 10 * minute, 25 * hour], async (bench) => {
      expect(bench.horizon.size()).toBe(2)
      await bench.advance(11 * minute)
      expect(bench.wakes).toEqual([ten, 50 * second, 70 * second, 10 * minute])
      expect(bench.horizon.size()).toBe(0)
    }))

  test("an idle horizon asks twice a minute, and sleeps once besides", () =>
    withHorizon([], async ({ store, advance, sleeping, wakes, sleeps }) => {
      expect(sleeping()).toBe(1)
      await advance(hour)
      expect(store.calls).toBe(121)
      expect(wakes).toEqual([])
      expect(Math.max(...sleeps)).toBeLessThanOrEqual(30 * second)
    }))

  test("a hint within the minute is held and wakes, one beyond it is found in the store in time", () =>
    withHorizon([], async ({ horizon, put, advance, wakes }) => {
      await advance(second)
      put(5 * second, 3 * minute)
      horizon.add(start + 5 * second)
      horizon.add(start + 3 * minute)
      expect(horizon.size()).toBe(1)
      await advance(hour)
      expect(wakes).toEqual([5 * second, 3 * minute])
    }))

  test("a hint of the past wakes at once", () =>
    withHorizon([], async ({ horizon, advance, wakes }) => {
      horizon.add(start - hour)
      horizon.add(0)
      await advance(0)
      expect(wakes).toEqual([0, 0])
    }))

  test("a hint that comes while a load is under way is not lost between the two", () =>
    withHorizon([], async ({ horizon, store, put, advance, wakes }) => {
      let open = (): void => {}
      store.gate = new Promise((resolve) => {
        open = resolve
      })
      await advance(30 * second)
      // The load has read the store and not yet answered; the row comes behind its window so far.
      put(80 * second)
      horizon.add(start + 80 * second)
      store.gate = undefined
      open()
      await advance(hour)
      expect(wakes).toEqual([80 * second])
    }))

  test("more rows than one load: none comes due without a wake, memory and calls stay bounded", () => {
    const count = 2 * loadMax + 5000
    return withHorizon(
      Array.from({ length: count }, (_, index) => index + 1),
      async ({ horizon, store, wakes, jump }) => {
        expect(horizon.size()).toBe(loadMax)
        let most = 0
        // In steps of a few milliseconds, as on a host that is busy.
        for (let at = 0; at < count; at += 37) {
          const before = wakes.length
          await jump(37)
          if (wakes.length === before) throw new Error(`Nothing woke from ${at} to ${at + 37} ms`)
          most = Math.max(most, horizon.size())
        }
        expect(most).toBeLessThanOrEqual(windowMillis)
        expect(store.calls).toBeLessThanOrEqual(10)
        expect(horizon.size()).toBe(0)
      },
    )
  })

  test("a run and its twin of the same instant are one instant", () =>
    withHorizon(
      Array.from({ length: 3000 }, () => ten),
      async ({ horizon, advance, wakes }) => {
        expect(horizon.size()).toBe(1)
        await advance(minute)
        expect(wakes).toEqual([ten])
      },
    ))

  test("rows that are overdue, and that nobody takes, cause no look at the store and no wake", () =>
    withHorizon(
      Array.from({ length: 3000 }, (_, index) => second + index),
      async ({ store, advance, wakes, sleeps }) => {
        await advance(ten)
        const woken = wakes.length
        const calls = store.calls
        const slept = sleeps.length
        await advance(10 * minute)
        expect(wakes).toHaveLength(woken)
        expect(store.calls - calls).toBe(20)
        expect(sleeps.length - slept).toBeLessThanOrEqual(21)
      },
    ))

  test("rows that were overdue from the start are left to whoever claims", () =>
    withHorizon([-1, -hour, 0, ten], async ({ horizon, store, advance, wakes }) => {
      expect(horizon.size()).toBe(1)
      await advance(10 * minute)
      expect(wakes).toEqual([ten])
      expect(store.calls).toBe(21)
    }))

  test("while the store is away it is asked about once a second, each failure is told, and then it goes on", () =>
    withHorizon([ten], async ({ store, put, advance, wakes, errors }) => {
      store.fails = true
      await advance(10 * minute)
      expect(wakes).toEqual([ten])
      expect(errors.length).toBe(store.calls - 1)
      expect(store.calls).toBeGreaterThan(100)
      expect(store.calls).toBeLessThanOrEqual(610)
      store.fails = false
      put(11 * minute)
      await advance(2 * minute)
      expect(wakes).toEqual([ten, 11 * minute])
    }))

  test("a store that is away from the start is asked no more often", () => {
    const world = makeWorld()
    const memory = memoryDriver({ now: world.time.now })
    let calls = 0
    const driver: StoreDriver = {
      ...memory,
      dueWithin: () => {
        calls++
        throw new Error("The store is away")
      },
    }
    world.run(
      makeHorizon(
        () => {},
        () => Effect.void,
      ),
      contextDriver(driver),
    )
    return world
      .advance(minute)
      .then(() => expect(calls).toBeLessThanOrEqual(62))
      .finally(world.end)
  })
})

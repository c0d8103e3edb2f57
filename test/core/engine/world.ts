// A small world for tests of whole engines: one store, one clock that moves only when told, and engines that
// come and go over it. A store can be told to fail, before or after it has done what it was asked.
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Result from "effect/Result"
import { type Handler, layerInline } from "../../../adapters/executor-inline/mod.ts"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import { type Job, parseJobs } from "../../../core/domain/Job.ts"
import { defaultRetryPolicy } from "../../../core/domain/RetryPolicy.ts"
import type { Occurrence, NewSchedule, Trigger } from "../../../core/domain/Schedule.ts"
import { Engine, type EngineService } from "../../../core/engine/Engine.ts"
import { makeVirtualTime, type VirtualTime } from "../../../core/engine/VirtualTime.ts"
import type { EngineEvent } from "../../../core/observe/Event.ts"
import { Notifier } from "../../../core/ports/Notifier.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import type { ZoneSource } from "../../../core/trigger/ZoneData.ts"
import type { WorkersConfig } from "../../../core/worker/WorkersConfig.ts"

/** Where the clock of every world starts. */
export const startAt = Date.UTC(2026, 0, 1)

/** All that could go on at this instant has, when this answers. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Moves time by `millis`, instant by instant. */
export const advance = async (time: VirtualTime, millis: number): Promise<void> => {
  const target = time.now() + millis
  await turn()
  for (let next = time.nextAt(); next <= target; next = time.nextAt()) {
    time.moveTo(next)
    await turn()
  }
  time.moveTo(target)
  await turn()
}

/** A job with defaults: three attempts, one second apart. */
export const jobRow = (name: string, fields: Partial<Job> = {}): Job => ({
  name,
  queue: "default",
  priority: 0,
  retry: { ...defaultRetryPolicy, backoff: "fixed", jitter: "none" },
  timeoutMillis: null,
  needs: [],
  ...fields,
})

/** A schedule of the job of the same name. */
export const scheduleRow = (
  job: string,
  trigger: Trigger,
  overlap: NewSchedule["overlap"] = "allow",
): NewSchedule => ({ id: job, job, trigger, input: null, overlap, fromConfig: true })

/** `before`: the operation throws and does nothing; `after`: it does its work, and then throws. */
export type Fault = "before" | "after"

/** Faults by operation; change it while engines run. */
export type Faults = Map<keyof StoreDriver, Fault>

/** The same driver, but what is in `faults` at the time of a call fails. */
export const faulty = (driver: StoreDriver, faults: Faults): StoreDriver =>
  new Proxy(driver, {
    get: (target, name) => {
      const value = target[name as keyof StoreDriver] as unknown
      if (typeof value !== "function") return value
      return (...args: ReadonlyArray<unknown>): unknown => {
        const fault = faults.get(name as keyof StoreDriver)
        if (fault === "before") throw new Error(`the disk failed before ${String(name)}`)
        const answer = (value as (...all: ReadonlyArray<unknown>) => unknown).apply(target, [...args])
        if (fault === "after") throw new Error(`the disk failed after ${String(name)}`)
        return answer
      }
    },
  })

/** One attempt that a handler saw. */
export interface Execution {
  readonly engine: string
  readonly job: string
  readonly id: string
  readonly attempt: number
  readonly token: number
  readonly nominalAt: number | null
  readonly at: number
}

/** An engine in a world. */
export interface Member {
  readonly engine: EngineService
  readonly events: ReadonlyArray<EngineEvent>
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /** Ends its scope, as the end of a program does: no drain. */
  readonly close: () => Promise<void>
}

/** How to start an engine. */
export interface MemberOptions {
  readonly name?: string
  readonly jobs: ReadonlyArray<Job>
  readonly schedules?: ReadonlyArray<NewSchedule>
  readonly handler?: Handler
  /** Jobs that it has the handler for itself; default all. */
  readonly own?: ReadonlyArray<string>
  /** How it serves workers; absent: it serves none. */
  readonly workers?: WorkersConfig
  readonly slots?: number
  readonly driver?: StoreDriver
  /** Default 5 s. */
  readonly leaseMillis?: number
  /** Default 1 s; longer for tests of days. */
  readonly pollMillis?: number
  /** Its zone data; default the host's. */
  readonly zones?: ZoneSource
}

/** A store, a clock, and engines over it. */
export const makeWorld = () => {
  const time = makeVirtualTime(startAt)
  // The wall clock: the virtual time, which is the monotonic clock too, and what it was stepped by.
  let stepped = 0
  const now = (): number => time.now() + stepped
  const sleeps: Array<number> = []
  const context = steppable(time, () => stepped, sleeps)
  const driver = memoryDriver({ now })
  const executions: Array<Execution> = []
  const members: Array<Member> = []

  const start = async (options: MemberOptions): Promise<Member> => {
    const events: Array<EngineEvent> = []
    const work: Handler = (assignment, signal) => {
      const { run } = assignment
      executions.push({
        engine: options.name ?? "engine",
        job: run.job,
        id: run.id,
        attempt: run.attempt,
        token: run.token,
        nominalAt: run.nominalAt,
        at: now(),
      })
      return options.handler?.(assignment, signal)
    }
    const own = options.own ?? options.jobs.map(({ name }) => name)
    const layer = Engine.layer({
      book: Result.getOrThrow(parseJobs(options.jobs)),
      schedules: options.schedules ?? [],
      slots: options.slots ?? 10,
      leaseMillis: options.leaseMillis ?? 5000,
      pollMillis: options.pollMillis ?? 1000,
      retentionMillis: null,
      identity: { host: "test", pid: 1, runtime: "test" },
      ...(options.zones === undefined ? {} : { zones: options.zones }),
      ...(options.workers === undefined ? {} : { workers: options.workers }),
      onEvent: (event) => events.push(event),
    }).pipe(
      Layer.provide(layerInline(new Map(own.map((name) => [name, work])))),
      Layer.provide(Notifier.layerLocal),
      Layer.provide(Layer.succeedContext(contextDriver(options.driver ?? driver))),
      Layer.provide(Layer.succeedContext(context)),
    )
    const runtime = ManagedRuntime.make(layer)
    const run = <A, E>(effect: Effect.Effect<A, E, Engine>): Promise<A> =>
      runtime.runPromise(Effect.provide(effect, context))
    const engine = await run(Engine)
    let closing: Promise<void> | undefined
    const member: Member = { engine, events, run, close: () => (closing ??= runtime.dispose()) }
    members.push(member)
    return member
  }

  return {
    time,
    driver,
    executions,
    start,
    advance: (millis: number) => advance(time, millis),
    /** What the wall clock shows. */
    now,
    /** Every sleep so far, in milliseconds. */
    sleeps: sleeps as ReadonlyArray<number>,
    /** Steps the wall clock, while the monotonic one stands still. */
    step: (millis: number): void => {
      stepped += millis
    },
    /** Waits, by the world's clock; ends early by throwing when the signal is aborted. */
    sleep: (millis: number, signal: AbortSignal): Promise<void> =>
      Effect.runPromiseWith(time.context)(Effect.sleep(millis), { signal }),
    /** The whole ledger, oldest first. */
    ledger: async (scheduleId: string): Promise<ReadonlyArray<Occurrence>> => {
      const rows: Array<Occurrence> = []
      for (let before = Number.MAX_SAFE_INTEGER; ;) {
        const page = await driver.occurrences({ scheduleId, before, limit: 200 })
        rows.push(...page)
        if (page.length < 200) return rows.reverse()
        before = page[page.length - 1]?.at ?? 0
      }
    },
    end: async (): Promise<void> => {
      for (const member of members) await member.close()
    },
  }
}

/** The clock of a virtual time whose wall can be stepped, and that notes each sleep. */
const steppable = (
  time: VirtualTime,
  stepped: () => number,
  sleeps: Array<number>,
): Context.Context<never> => {
  const clock = Context.get(time.context, Clock.Clock)
  const now = (): number => clock.currentTimeMillisUnsafe() + stepped()
  const nanos = (): bigint => clock.currentTimeNanosUnsafe() + BigInt(stepped()) * 1_000_000n
  const stepping: Clock.Clock = {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration: Duration.Duration) => {
      sleeps.push(Duration.toMillis(duration))
      return clock.sleep(duration)
    },
  }
  return Context.add(time.context, Clock.Clock, stepping)
}

/** A world. */
export type World = ReturnType<typeof makeWorld>

/** How often each value is there. */
export const tally = (values: Iterable<unknown>): Map<unknown, number> => {
  const counts = new Map<unknown, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

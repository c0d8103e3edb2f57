// Jobs in the style of Effect, on virtual time: what a handler fails with decides what comes next, schemas stand at
// both ends, needs come from the context, and an interrupted handler cleans up.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import type { Run } from "../../../core/domain/Run.ts"
import { Engine } from "../../../core/engine/Engine.ts"
import * as Job from "../../../core/engine/JobLayer.ts"
import { NonRetryable, RetryAfter, Snooze } from "../../../core/domain/Signals.ts"
import { makeVirtualTime, type VirtualTime } from "../../../core/engine/VirtualTime.ts"
import { Notifier } from "../../../core/ports/Notifier.ts"
import { contextDriver } from "../../../core/ports/Store.ts"
import type { StoreDriver } from "../../../core/ports/StoreDriver.ts"
import { advance, startAt } from "./world.ts"

let time: VirtualTime
let driver: StoreDriver
let ends: Array<() => Promise<void>>
beforeEach(() => {
  time = makeVirtualTime(startAt)
  driver = memoryDriver({ now: time.now })
  ends = []
})
afterEach(async () => {
  for (const end of ends) await end()
})

const second = 1000
const pass = (millis: number): Promise<void> => advance(time, millis)

type Handlers = Layer.Layer<never, never, Job.JobRegistry>

/** Starts an engine of these handlers; answers how to run an effect in it. */
const start = async (
  handlers: Handlers,
  options: Parameters<typeof Job.layerEngine>[0] = {},
): Promise<{
  readonly run: <A, E>(effect: Effect.Effect<A, E, Engine>) => Promise<A>
  readonly close: () => Promise<void>
}> => {
  const layer = Job.layerEngine(options).pipe(
    Layer.provide(handlers),
    Layer.provide(Job.JobRegistry.layer),
    Layer.provide(Notifier.layerLocal),
    Layer.provide(Layer.succeedContext(contextDriver(driver))),
    Layer.provide(Layer.succeedContext(time.context)),
  )
  const runtime = ManagedRuntime.make(layer)
  const close = () => runtime.dispose()
  ends.push(close)
  const run = <A, E>(effect: Effect.Effect<A, E, Engine>) =>
    runtime.runPromise(Effect.provide(effect, time.context))
  await run(Engine)
  return { run, close }
}

const stored = async (id: string): Promise<Run> => {
  const [run] = await driver.get([id])
  if (run === undefined) throw new Error(`Run ${id} is not stored`)
  return run
}

const fixed = { max: 3, backoff: "fixed", delay: "10s", jitter: "none" } as const

class Refused extends Schema.TaggedError<Refused>()("Refused", { code: Schema.Number }) {}

describe("what a handler fails with", () => {
  test("a typed failure is retried by the policy, and then the run is dead with each error kept", async () => {
    const starts: Array<number> = []
    const job = Job.make("job", { error: Refused, retry: fixed })
    const handler = Job.toLayer(job, () => {
      starts.push((time.now() - startAt) / second)
      return Effect.fail(new Refused({ code: starts.length }))
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(starts).toEqual([0, 10, 20])
    expect(await stored(id)).toMatchObject({ state: "dead", attempt: 3, error: { name: "Refused" } })
    expect(await driver.attempts(id)).toMatchObject([1, 2, 3].map((attempt) => ({ attempt })))
    expect(await driver.deadLetters({ limit: 10 })).toMatchObject([{ runId: id, attempt: 3 }])
  })

  test("a rule of the policy knows a typed failure by its tag", async () => {
    const job = Job.make("job", {
      error: Refused,
      retry: { ...fixed, on: [{ error: "Refused", retry: false }] },
    })
    const { run } = await start(Job.toLayer(job, () => Effect.fail(new Refused({ code: 1 }))))
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(await stored(id)).toMatchObject({ state: "dead", attempt: 1 })
  })

  test("NonRetryable ends it at once", async () => {
    const job = Job.make("job", { retry: fixed })
    const { run } = await start(Job.toLayer(job, () => Effect.fail(new NonRetryable("no such account"))))
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(await stored(id)).toMatchObject({
      state: "dead",
      attempt: 1,
      error: { name: "NonRetryable", message: "no such account" },
    })
  })

  test("RetryAfter chooses the delay, and an attempt is used", async () => {
    const starts: Array<number> = []
    const job = Job.make("job", { retry: fixed })
    const handler = Job.toLayer(job, () => {
      starts.push((time.now() - startAt) / second)
      return starts.length === 1 ? Effect.fail(new RetryAfter("7m")) : Effect.void
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(600 * second)
    expect(starts).toEqual([0, 420])
    expect(await stored(id)).toMatchObject({ state: "succeeded", attempt: 2 })
  })

  test("Snooze comes back later, and no attempt is used", async () => {
    const starts: Array<number> = []
    const job = Job.make("job", { retry: { max: 1 } })
    const handler = Job.toLayer(job, () => {
      starts.push((time.now() - startAt) / second)
      return starts.length < 4 ? Effect.fail(new Snooze("15m")) : Effect.void
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(3600 * second)
    expect(starts).toEqual([0, 900, 1800, 2700])
    expect(await stored(id)).toMatchObject({ state: "succeeded", attempt: 1 })
  })

  test("a defect ends its own attempt as an error, and the engine lives on", async () => {
    const job = Job.make("job", { retry: fixed })
    const handler = Job.toLayer(job, () =>
      Effect.sync((): void => {
        throw new TypeError("undefined is not a cat")
      }),
    )
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(await stored(id)).toMatchObject({
      state: "dead",
      attempt: 3,
      error: { name: "TypeError", message: "undefined is not a cat", kind: "error" },
    })
  })

  test("a handler that throws before it returns an effect fails as one that dies within it", async () => {
    const job = Job.make("job", { retry: { max: 1 } })
    const handler = Job.toLayer(job, (): Effect.Effect<void> => {
      throw new RangeError("too early")
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(second)
    expect(await stored(id)).toMatchObject({ state: "dead", error: { name: "RangeError" } })
  })

  test("one that interrupts itself fails its attempt and is retried", async () => {
    let tries = 0
    const job = Job.make("job", { retry: fixed })
    const handler = Job.toLayer(job, () => (++tries === 1 ? Effect.interrupt : Effect.void))
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(await stored(id)).toMatchObject({ state: "succeeded", attempt: 2 })
  })
})

describe("interruption runs the handler's finalizers", () => {
  const log: Array<string> = []
  const careful = (name: string, options: Job.JobOptions = {}) => {
    const job = Job.make(name, options)
    const handler = Job.toLayer(job, () =>
      Effect.acquireUseRelease(
        Effect.sync(() => log.push("open")),
        () => Effect.sleep("1 hour"),
        (_, exit) =>
          Effect.sync(() => log.push(Exit.hasInterrupts(exit) ? "closed by interruption" : "closed")),
      ),
    )
    return { job, handler }
  }
  beforeEach(() => log.splice(0))

  test("on timeout, and the attempt says so", async () => {
    const { job, handler } = careful("job", { timeout: "30s", retry: { max: 1 } })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(29 * second)
    expect(log).toEqual(["open"])
    await pass(2 * second)
    expect(log).toEqual(["open", "closed by interruption"])
    expect(await stored(id)).toMatchObject({ state: "dead", error: { name: "Timeout", kind: "timeout" } })
  })

  test("on cancel, whose late outcome changes nothing", async () => {
    const { job, handler } = careful("job")
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(second)
    await run(Effect.flatMap(Engine, (engine) => engine.cancel([id], "Not needed")))
    await pass(second)
    expect(log).toEqual(["open", "closed by interruption"])
    expect(await stored(id)).toMatchObject({ state: "cancelled", reason: "Not needed" })
  })

  test("on drain, which hands the run back unused", async () => {
    const { job, handler } = careful("job")
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(second)
    const drained = run(Effect.flatMap(Engine, (engine) => engine.drain(10 * second)))
    await pass(20 * second)
    await drained
    expect(log).toEqual(["open", "closed by interruption"])
    expect(await stored(id)).toMatchObject({ state: "ready", attempt: 0 })
  })

  test("when the engine's scope ends without a drain", async () => {
    const { job, handler } = careful("job")
    const { run, close } = await start(handler)
    await run(Job.send(job, undefined))
    await pass(second)
    await close()
    await pass(0)
    expect(log).toEqual(["open", "closed by interruption"])
  })
})

describe("what a handler needs", () => {
  class Greeter extends Context.Service<Greeter, { readonly greet: (name: string) => string }>()(
    "uhrwerk/test/Greeter",
  ) {}

  test("comes from the context of its layer", async () => {
    const job = Job.make("job", { input: Schema.String, output: Schema.String })
    const handler = Job.toLayer(job, (name) => Effect.map(Greeter, ({ greet }) => greet(name)))
    const { run } = await start(
      Layer.provide(handler, Layer.succeed(Greeter, { greet: (name) => `Hello, ${name}` })),
    )
    const { id } = await run(Job.send(job, "Ada"))
    await pass(second)
    expect(await stored(id)).toMatchObject({ state: "succeeded", output: '"Hello, Ada"' })
  })

  test("includes the run that it works for", async () => {
    const job = Job.make("job", { output: Schema.Struct({ id: Schema.String, attempt: Schema.Number }) })
    const handler = Job.toLayer(job, () => Effect.map(Job.CurrentRun, ({ id, attempt }) => ({ id, attempt })))
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(second)
    expect(JSON.parse((await stored(id)).output ?? "")).toEqual({ id, attempt: 1 })
  })
})

describe("schemas", () => {
  const Order = Schema.Struct({ due: Schema.DateFromString, amount: Schema.FiniteFromString })

  test("the input is stored encoded and the handler gets it decoded; the output the other way round", async () => {
    const seen: Array<unknown> = []
    const job = Job.make("job", { input: Order, output: Schema.Struct({ paid: Schema.DateFromString }) })
    const handler = Job.toLayer(job, (order) => {
      seen.push(order)
      return Effect.succeed({ paid: new Date(order.due.getTime() + order.amount) })
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, { due: new Date(startAt), amount: 5 }))
    await pass(second)
    expect(seen).toEqual([{ due: new Date(startAt), amount: 5 }])
    expect(await stored(id)).toMatchObject({
      state: "succeeded",
      input: '{"due":"2026-01-01T00:00:00.000Z","amount":"5"}',
      output: '{"paid":"2026-01-01T00:00:00.005Z"}',
    })
  })

  test("an input that does not fit is refused where it is sent, and nothing is stored", async () => {
    const job = Job.make("job", { input: Order })
    const { run } = await start(Job.toLayer(job, () => Effect.void))
    for (const wrong of [
      undefined,
      null,
      {},
      { due: "soon", amount: 1 },
      { due: new Date(0), amount: "1" },
    ]) {
      await expect(run(Job.send(job, wrong as never))).rejects.toMatchObject({
        _tag: "InvalidPayload",
        field: 'input of job "job"',
        reason: expect.stringMatching(/^it does not fit the job's schema \(/),
        next: expect.stringMatching(/\S/),
      })
    }
    expect(await driver.counts()).toEqual([])
  })

  test("how a run is to start is checked where it is sent, and nothing is stored", async () => {
    const job = Job.make("job", {})
    const { run } = await start(Job.toLayer(job, () => Effect.void))
    const wrong: ReadonlyArray<[string, Parameters<typeof Job.send>[2]]> = [
      ["id", { id: "run-1" }],
      ["key", { key: "" }],
      ["key", { key: "k".repeat(513) }],
      ["priority", { priority: 1.5 }],
      ["priority", { priority: 1001 }],
      ["delayMillis", { delayMillis: Number.NaN }],
      ["delayMillis", { delayMillis: -1 }],
      ["dueAt", { dueAt: Number.POSITIVE_INFINITY }],
      ["startWithinMillis", { startWithinMillis: 0 }],
      ["queue", { queue: "nobody" }],
    ]
    for (const [field, options] of wrong) {
      await expect(run(Job.send(job, undefined, options))).rejects.toMatchObject({
        _tag: "InvalidInput",
        field,
        reason: expect.stringMatching(/\S/),
        next: expect.stringMatching(/\S/),
      })
    }
    expect(await driver.counts()).toEqual([])
  })

  test("a stored input that fits no longer is dead after one attempt, and says why", async () => {
    const before = Job.make("job", { input: Schema.String, retry: fixed })
    const a = await start(Job.toLayer(before, () => Effect.void))
    const { id } = await a.run(Job.send(before, "text", { delayMillis: 10 * second }))
    await a.close()
    const now = Job.make("job", { input: Schema.Struct({ name: Schema.String }), retry: fixed })
    let called = 0
    await start(Job.toLayer(now, () => Effect.sync(() => void called++)))
    await pass(60 * second)
    expect(called).toBe(0)
    expect(await stored(id)).toMatchObject({
      state: "dead",
      attempt: 1,
      error: { message: expect.stringMatching(/^The input does not fit the job's schema: /) },
    })
  })

  test("an output that does not fit is not tried again: the work is done", async () => {
    let called = 0
    const job = Job.make("job", { output: Schema.FiniteFromString, retry: fixed })
    const handler = Job.toLayer(job, () => {
      called++
      return Effect.succeed("seven" as unknown as number)
    })
    const { run } = await start(handler)
    const { id } = await run(Job.send(job, undefined))
    await pass(60 * second)
    expect(called).toBe(1)
    expect(await stored(id)).toMatchObject({
      state: "dead",
      attempt: 1,
      error: { kind: "payload", message: expect.stringMatching(/output/) },
    })
  })
})

describe("an engine of layers", () => {
  test("starts its schedules with their inputs, and they end with the job's layer", async () => {
    const seen: Array<unknown> = []
    const job = Job.make("job", {
      input: Schema.Struct({ day: Schema.DateFromString }),
      on: {
        trigger: { kind: "cron", expression: "*/10 * * * *", zone: "UTC" },
        input: { day: new Date(0) },
      },
    })
    const { close } = await start(Job.toLayer(job, (input) => Effect.sync(() => void seen.push(input))))
    await pass(1800 * second)
    expect(seen).toEqual([1, 2, 3].map(() => ({ day: new Date(0) })))
    await close()
    await start(Job.toLayer(Job.make("other"), () => Effect.void))
    expect(await driver.schedules()).toEqual([])
  })

  const refused: ReadonlyArray<[string, Handlers, object]> = [
    [
      "two jobs of one name",
      Layer.mergeAll(
        Job.toLayer(Job.make("twin"), () => Effect.void),
        Job.toLayer(Job.make("twin"), () => Effect.void),
      ),
      { _tag: "DuplicateName", field: "jobs[1].name", name: "twin" },
    ],
    [
      "a name with a control character",
      Job.toLayer(Job.make("a\nb"), () => Effect.void),
      { _tag: "InvalidInput", field: "jobs[0].name" },
    ],
    [
      "a timeout of nothing",
      Job.toLayer(Job.make("job", { timeout: 0 }), () => Effect.void),
      { _tag: "InvalidInput", field: 'job "job".timeout' },
    ],
    [
      "a priority that is no whole number",
      Job.toLayer(Job.make("job", { priority: 1.5 }), () => Effect.void),
      { _tag: "InvalidInput", field: 'job "job".priority' },
    ],
    [
      "a wrong retry policy",
      Job.toLayer(Job.make("job", { retry: { max: 0 } }), () => Effect.void),
      { _tag: "InvalidInput", field: 'job "job".retry.max' },
    ],
    [
      "a wrong cron text",
      Job.toLayer(
        Job.make("job", { on: { trigger: { kind: "cron", expression: "61 * * * *", zone: "UTC" } } }),
        () => Effect.void,
      ),
      { _tag: "InvalidSchedule", field: 'schedule "job".cron.minute', position: 0 },
    ],
    [
      "a rate of nothing",
      Job.toLayer(
        Job.make("job", { on: { trigger: { kind: "every", periodMillis: 0, startAt: null } } }),
        () => Effect.void,
      ),
      { _tag: "InvalidInput", field: 'job "job".on.trigger.periodMillis' },
    ],
    [
      "an instant that is no date",
      Job.toLayer(Job.make("job", { on: { trigger: { kind: "at", at: Number.NaN } } }), () => Effect.void),
      { _tag: "InvalidInput", field: 'job "job".on.trigger.at' },
    ],
    [
      "a schedule whose input does not fit",
      Job.toLayer(
        Job.make("job", {
          input: Schema.String,
          on: { trigger: { kind: "after", delayMillis: 1000 }, input: 5 },
        }),
        () => Effect.void,
      ),
      { _tag: "InvalidPayload", field: 'input of job "job"' },
    ],
  ]
  test.each(refused)("is refused: %s; nothing is stored", async (_, handlers, error) => {
    await expect(start(handlers)).rejects.toMatchObject({
      ...error,
      reason: expect.stringMatching(/\S/),
      next: expect.stringMatching(/\S/),
    })
    expect(await driver.schedules()).toEqual([])
    expect(await driver.counts()).toEqual([])
  })

  test("several of them share one store, each with its own handlers, none doubles a run", async () => {
    const seen: Array<string> = []
    const job = Job.make("job", { input: Schema.Number })
    const named = (name: string) =>
      Job.toLayer(job, (input) =>
        Effect.andThen(
          Effect.sleep(200),
          Effect.sync(() => void seen.push(`${name} ${input}`)),
        ),
      )
    const a = await start(named("a"), { slots: 2 })
    const b = await start(named("b"), { slots: 2 })
    for (let each = 0; each < 20; each++) void (each % 2 === 0 ? a : b).run(Job.send(job, each))
    await pass(20 * second)
    expect(seen.map((text) => Number(text.slice(2))).sort((x, y) => x - y)).toEqual(
      Array.from({ length: 20 }, (_, each) => each),
    )
    expect(new Set(seen.map((text) => text[0]))).toEqual(new Set(["a", "b"]))
  })

  test("a job that no handler is registered for is refused where it is sent", async () => {
    const { run } = await start(Job.toLayer(Job.make("known"), () => Effect.void))
    await expect(run(Job.send(Job.make("unknown"), undefined))).rejects.toMatchObject({
      _tag: "UnknownJob",
      job: "unknown",
      field: "job",
      next: expect.stringContaining("known"),
    })
    expect(await driver.counts()).toEqual([])
  })
})

describe("a job that is left to workers", () => {
  const placement = { by: "leastLoaded", where: "gpu > 1", broadcast: false } as const

  test("has no handler here, whether its layer has one or not, and its runs wait", async () => {
    const seen: Array<string> = []
    const note = (name: string) => () => Effect.sync(() => void seen.push(name))
    const bare = Job.make("bare", { placement })
    const unplaced = Job.make("unplaced")
    const handled = Job.make("handled", { placement })
    const here = Job.make("here")
    const { run } = await start(
      Layer.mergeAll(
        Job.onWorkers(bare),
        Job.onWorkers(unplaced),
        Job.toLayer(handled, note("handled")),
        Job.toLayer(here, note("here")),
      ),
    )
    const sent = await Promise.all(
      [bare, unplaced, handled, here].map((job) => run(Job.send(job, undefined))),
    )
    await pass(10 * second)
    expect(seen).toEqual(["here"])
    const states = await Promise.all(sent.map(({ id }) => stored(id)))
    expect(states.map(({ state, attempt }) => [state, attempt])).toEqual([
      ["ready", 0],
      ["ready", 0],
      ["ready", 0],
      ["succeeded", 1],
    ])
  })

  test("a placement that is wrong is refused at the start", async () => {
    const of = (fields: object) => Job.make("job", { placement: { ...placement, ...fields } })
    await expect(start(Job.onWorkers(of({ where: "gpu >" })))).rejects.toMatchObject({
      _tag: "InvalidInput",
      field: 'job "job".placement.where',
      position: 5,
    })
    await expect(start(Job.onWorkers(of({ by: "any" })))).rejects.toMatchObject({
      field: 'job "job".placement.by',
    })
  })
})

// Sending runs: what is wrong is refused by a typed error and nothing is stored; ids and keys make one run of many
// sends; and an input that fits no longer, because the code has changed, is dead with a clear error.
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { afterEach, describe, expect, test } from "vitest"
import { type Config, job, type SendOptions } from "uhrwerk"
import { contextDriver, makeIds } from "uhrwerk/effect"
import { memoryDriver } from "../../../adapters/store-memory/mod.ts"
import type { StandardSchema } from "../../../apps/sdk/input.ts"
import { type TestEngine, testEngine } from "uhrwerk/testing"

const started: Array<TestEngine> = []
const start = async (config: Config): Promise<TestEngine> => {
  const engine = await testEngine(config)
  started.push(engine)
  return engine
}
afterEach(async () => {
  for (const engine of started.splice(0)) await engine.stop({ grace: 0 })
})

const nextId = makeIds(
  () => Date.UTC(2026, 0, 1),
  () => 7,
)

interface Refusal {
  readonly _tag: string
  readonly field: string
  readonly reason?: RegExp
  readonly next?: RegExp
}

const expectRefusal = async (sending: Promise<unknown>, refusal: Refusal): Promise<void> => {
  const { _tag, field, reason = /\S/, next = /\S/ } = refusal
  await expect(sending).rejects.toMatchObject({
    _tag,
    field,
    reason: expect.stringMatching(reason),
    next: expect.stringMatching(next),
  })
}

interface Mail {
  readonly to: string
  readonly copies: ReadonlyArray<number>
}

// As zod, valibot and arktype give them, written by hand.
const validate = (value: unknown): ReturnType<StandardSchema<Mail>["~standard"]["validate"]> => {
  const { to, copies } = (value ?? {}) as Partial<Mail>
  if (typeof to !== "string") return { issues: [{ message: "must be text", path: ["to"] }] }
  const wrong = (copies ?? []).findIndex((copy) => typeof copy !== "number")
  return wrong < 0
    ? { value: { to, copies: copies ?? [] } }
    : { issues: [{ message: "must be a number", path: [{ key: "copies" }, wrong] }] }
}
const standard = (check: StandardSchema<Mail>["~standard"]["validate"]): StandardSchema<Mail> => ({
  "~standard": { version: 1, vendor: "test", validate: check },
})
const schemas = {
  "a Standard Schema": standard(validate),
  "a Standard Schema that answers later": standard(async (value) => {
    await Promise.resolve()
    return validate(value)
  }),
  "an Effect Schema": Schema.Struct({ to: Schema.String, copies: Schema.Array(Schema.Number) }),
}

describe.each(Object.entries(schemas))("an input with %s", (_, input) => {
  test("that does not fit is refused with the place of the fault, and nothing is stored", async () => {
    const mail = job("mail", { input, run: () => {} })
    const engine = await start({ jobs: [mail] })
    const refusal = { _tag: "InvalidPayload", field: 'input of job "mail"', next: /schema/ }
    await expectRefusal(mail.send({ to: 5 } as never), { ...refusal, reason: /schema \(to: / })
    await expectRefusal(mail.send({ to: "a", copies: [1, "2"] } as never), {
      ...refusal,
      reason: /schema \(copies\.1: /,
    })
    for (const wrong of [undefined, null, "text", 5, []]) {
      await expectRefusal(mail.send(wrong as never), refusal)
    }
    expect(await engine.counts()).toEqual([])
  })

  test("that fits reaches the handler", async () => {
    const seen: Array<unknown> = []
    const mail = job("mail", { input, run: (value) => void seen.push(value) })
    const engine = await start({ jobs: [mail] })
    await mail.send({ to: "ada", copies: [1, 2] })
    await engine.advance("1s")
    expect(seen).toEqual([{ to: "ada", copies: [1, 2] }])
  })
})

test("a schema that throws refuses what it cannot judge, and nothing is stored", async () => {
  const broken = standard(() => {
    throw new Error("no database")
  })
  const late = standard(() => Promise.reject(new Error("no database")))
  for (const input of [broken, late]) {
    const mail = job("mail", { input, run: () => {} })
    const engine = await start({ jobs: [mail] })
    await expectRefusal(mail.send({ to: "ada", copies: [] }), {
      _tag: "InvalidPayload",
      field: 'input of job "mail"',
      reason: /no database/,
    })
    expect(await engine.counts()).toEqual([])
  }
})

describe("an input that cannot be stored", () => {
  const circle: Record<string, unknown> = {}
  circle["self"] = circle
  const bad: ReadonlyArray<[string, unknown, RegExp]> = [
    ["a function", () => {}, /a function, which JSON cannot express/],
    ["a function within", { call: () => {} }, /"call" is a function/],
    ["a symbol", { sign: Symbol("s") }, /"sign" is a symbol/],
    ["a bigint", 5n, /cannot be written as JSON/],
    ["a circle", circle, /cannot be written as JSON/],
    ["NaN", Number.NaN, /NaN, which JSON cannot express/],
    ["an infinite number", { list: [Number.POSITIVE_INFINITY] }, /Infinity/],
    [
      "a getter that throws",
      {
        get now() {
          throw new Error("not now")
        },
      },
      /not now/,
    ],
    ["text over 256 KiB", "x".repeat(262_143), /262145 bytes are more than the 262144 allowed/],
    ["text over 256 KiB in UTF-8 only", "é".repeat(131_072), /262146 bytes/],
  ]
  test.each(bad)("is refused, and nothing is stored: %s", async (_, input, reason) => {
    const plain = job("plain", { run: (_input: unknown) => {} })
    const engine = await start({ jobs: [plain] })
    await expectRefusal(plain.send(input), {
      _tag: "InvalidPayload",
      field: 'input of job "plain"',
      reason,
      next: /plain data|reference/,
    })
    expect(await engine.counts()).toEqual([])
  })

  test("but one of exactly 256 KiB is stored and comes back whole", async () => {
    let length = 0
    const plain = job("plain", { run: (text: string) => void (length = text.length) })
    const engine = await start({ jobs: [plain] })
    await plain.send("x".repeat(262_142))
    await engine.advance("1s")
    expect(length).toBe(262_142)
  })
})

describe("how a run is to start", () => {
  const wrong: ReadonlyArray<[string, SendOptions, string, RegExp]> = [
    ["an empty key", { key: "" }, "key", /"" is not a text of 1 to 512/],
    ["a key of 513 characters", { key: "k".repeat(513) }, "key", /is not a text of 1 to 512/],
    ["a key that is a number", { key: 5 as never }, "key", /5 is not a text/],
    ["a key of null", { key: null as never }, "key", /null is not a text/],
    ["an id that is no UUIDv7", { id: "order-1" }, "id", /"order-1" is not a UUIDv7/],
    ["an id of version 4", { id: "7d444840-9dc0-4fd1-b245-5ffdce74fad2" }, "id", /UUIDv7/],
    ["an id in capitals", { id: nextId().toUpperCase() }, "id", /lower case/],
    ["an id that is a number", { id: 5 as never }, "id", /5 is not a UUIDv7/],
    ["half a priority", { priority: 0.5 }, "priority", /0.5 is not a whole number/],
    ["a priority of 1001", { priority: 1001 }, "priority", /-1000 to 1000/],
    ["a priority that is text", { priority: "1" as never }, "priority", /"1" is not/],
    ["a queue that no job has", { queue: "nobody" }, "queue", /nobody would ever look there/],
    ["an empty queue", { queue: "" }, "queue", /nobody would ever look there/],
    ["a queue that is a number", { queue: 5 as never }, "queue", /\S/],
    ["a delay in words", { delay: "5 minutes" as never }, "delay", /"5 minutes" is not a time span/],
    ["a delay of NaN", { delay: Number.NaN }, "delay", /NaN is not a finite number/],
    ["a delay below zero", { delay: -1 }, "delay", /-1 is less than the 0 ms/],
    ["a delay of more than 100 years", { delay: "6000w" }, "delay", /100 years/],
    ["an instant without a zone", { at: "2027-01-31T09:00:00" }, "at", /is not an instant/],
    ["an invalid date", { at: new Date(Number.NaN) }, "at", /Invalid Date is not a valid date/],
    ["an instant beyond all dates", { at: 1e300 }, "at", /is not a valid date/],
    ["a delay and an instant", { delay: "1s", at: 0 }, "at", /not both/],
    ["no time to start within", { startWithin: 0 }, "startWithin", /0 is less than the 1 ms/],
    ["text to start within", { startWithin: "soon" as never }, "startWithin", /"soon" is not a time span/],
  ]
  test.each(wrong)("is refused, and nothing is stored: %s", async (_, options, field, reason) => {
    const work = job("work", { run: () => {} })
    const engine = await start({ jobs: [work] })
    await expectRefusal(work.send(undefined, options), { _tag: "InvalidInput", field, reason })
    await expectRefusal(engine.send(work, undefined, options), { _tag: "InvalidInput", field, reason })
    expect(await engine.counts()).toEqual([])
    expect(engine.load()).toMatchObject({ carried: 0, waitingInWheel: 0 })
  })

  test.each([
    ["a key", { key: "a" }, "key"],
    ["an id", { id: nextId() }, "id"],
  ])("%s for a job that needs others is refused: its chain has none", async (_, options, field) => {
    const first = job("first", { run: () => {} })
    const then = job("then", { needs: { first }, run: () => {} })
    const engine = await start({ jobs: [first, then] })
    await expectRefusal(then.send(undefined, options), {
      _tag: "InvalidInput",
      field,
      reason: /needs other jobs/,
    })
    expect(await engine.counts()).toEqual([])
  })

  test("an instant that has passed means at once", async () => {
    const work = job("work", { run: () => "done" })
    const engine = await start({ jobs: [work] })
    const sent = await work.send(undefined, { at: "1969-07-20T20:17:00Z" })
    await engine.advance(0)
    expect(await sent.result()).toBe("done")
  })
})

describe("where a run is sent", () => {
  test("a job without a started engine says so, before the start and after the stop", async () => {
    const work = job("work", { run: () => {} })
    const refusal = {
      _tag: "EngineStopped",
      field: 'job "work"',
      reason: /no engine with it is started/,
      next: /start\(\)/,
    }
    await expectRefusal(work.send(), refusal)
    const engine = await testEngine({ jobs: [work] })
    await engine.stop()
    await expectRefusal(work.send(), refusal)
  })

  test("a job of another config is refused, also one of the same name, and nothing is stored", async () => {
    const work = job("work", { run: () => {} })
    const engine = await start({ jobs: [work] })
    const unknown = { _tag: "UnknownJob", field: "job", next: /config/ }
    for (const foreign of [job("other", { run: () => {} }), job("work", { run: () => {} })]) {
      await expectRefusal(engine.send(foreign, undefined), unknown)
    }
    expect(await engine.counts()).toEqual([])
  })

  test.each(["cancel", "replay", "pauseSchedule"] as const)(
    "%s of what is not there is refused",
    async (what) => {
      const engine = await start({ jobs: [job("work", { run: () => {} })] })
      await expect(engine[what]("nothing")).rejects.toMatchObject({
        _tag: "NotFound",
        id: "nothing",
        reason: expect.stringContaining('"nothing"'),
        next: expect.stringMatching(/\S/),
      })
      expect(await engine.run("nothing")).toBeUndefined()
    },
  )
})

describe("one run of many sends", () => {
  test("an id sent twice, one after the other or at once, makes one run, also when it has ended", async () => {
    let runs = 0
    const work = job("work", { run: (input: number) => (input > 0 ? ++runs : 0) })
    const engine = await start({ jobs: [work] })
    const id = nextId()
    const together = await Promise.all([work.send(1, { id }), work.send(2, { id })])
    expect(together.map((sent) => [sent.id, sent.created])).toEqual([
      [id, true],
      [id, false],
    ])
    await engine.advance("1s")
    const late = await work.send(3, { id })
    expect(late).toMatchObject({ id, created: false })
    await engine.advance("1s")
    expect(await late.result()).toBe(1)
    expect(await engine.counts()).toEqual([{ job: "work", state: "succeeded", count: 1 }])
    expect(await engine.run(id)).toMatchObject({ input: "1" })
  })

  test("a key answers the run that has not ended; when it has, there is a new one", async () => {
    const work = job("work", { run: (input: number) => input, retry: { max: 1 } })
    const engine = await start({ jobs: [work] })
    const first = await work.send(1, { key: "k", delay: "1h" })
    const second = await work.send(2, { key: "k" })
    expect([first.created, second.created]).toEqual([true, false])
    expect(second.id).toBe(first.id)
    await engine.advance("2h")
    expect(await second.result()).toBe(1)
    const third = await work.send(3, { key: "k" })
    expect(third.created).toBe(true)
    expect(third.id).not.toBe(first.id)
  })

  test("keys of different jobs, and other keys of the same job, have nothing to do with each other", async () => {
    const a = job("a", { run: () => {} })
    const b = job("b", { run: () => {} })
    await start({ jobs: [a, b] })
    const sent = await Promise.all([
      a.send(undefined, { key: "k" }),
      b.send(undefined, { key: "k" }),
      a.send(undefined, { key: "K" }),
      a.send(),
      a.send(),
    ])
    expect(new Set(sent.map(({ id }) => id)).size).toBe(5)
    expect(sent.every(({ created }) => created)).toBe(true)
  })

  test("a key is free again when its run is cancelled", async () => {
    const work = job("work", { run: () => {} })
    const engine = await start({ jobs: [work] })
    const first = await work.send(undefined, { key: "k", delay: "1h" })
    await engine.cancel(first.id)
    expect(await work.send(undefined, { key: "k" })).toMatchObject({ created: true })
  })
})

describe("a stored input that the job's schema takes no longer", () => {
  const changed: ReadonlyArray<[string, NonNullable<Parameters<typeof job<{ name: string }>>[1]["input"]>]> =
    [
      ["as an Effect Schema", Schema.Struct({ name: Schema.String })],
      [
        "as a Standard Schema",
        {
          "~standard": {
            version: 1,
            vendor: "test",
            validate: () => ({ issues: [{ message: "is missing", path: ["name"] }] }),
          },
        },
      ],
      [
        "because the schema throws",
        {
          "~standard": {
            version: 1,
            vendor: "test",
            validate: () => {
              throw new Error("name is missing")
            },
          },
        },
      ],
    ]
  test.each(changed)("makes its run dead after one attempt, with a clear error: %s", async (_, input) => {
    let engine: TestEngine | undefined
    const driver = memoryDriver({ now: () => engine?.now().getTime() ?? Date.UTC(2026, 0, 1) })
    const storage = { name: "shared", layer: Layer.succeedContext(contextDriver(driver)) }
    const before = job("mail", { run: (_input: string) => {} })
    engine = await start({ jobs: [before], storage })
    const { id } = await before.send("ada", { delay: "1h" })
    await engine.stop()

    let called = 0
    const now = job("mail", { input, retry: { max: 5 }, run: () => void called++ })
    engine = await start({ jobs: [now], storage })
    await engine.advance("1d")
    expect(called).toBe(0)
    expect(await engine.run(id)).toMatchObject({
      state: "dead",
      attempt: 1,
      error: {
        name: "NonRetryable",
        message: expect.stringMatching(
          new RegExp(`^input of run ${id}: .*name.*missing|^input of run ${id}: .*(name|Expected)`),
        ),
      },
    })
    expect(await engine.deadLetters()).toMatchObject([{ runId: id }])
  })
})

describe("many at once", () => {
  const square = () => job("square", { run: (n: number) => n * n })

  test("are stored in their order, each with its own options, and all run", async () => {
    const work = square()
    const engine = await start({ jobs: [work] })
    const ids = Array.from({ length: 1500 }, nextId)
    const inputs = ids.map((_, n) => n)
    const sent = await engine.sendAll(work, inputs, (n, index) => ({ id: ids[index] ?? "", priority: n % 7 }))
    expect(sent).toEqual(ids.map((id) => ({ id, created: true })))
    expect(await engine.run(ids[13] ?? "")).toMatchObject({ input: "13", priority: 6 })
    await engine.advance("1s")
    expect(await engine.counts()).toEqual([{ job: "square", state: "succeeded", count: 1500 }])
    // Again, as after a call whose end nobody saw.
    expect(await engine.sendAll(work, [13, 14], (_, index) => ({ id: ids[13 + index] ?? "" }))).toEqual(
      [13, 14].map((n) => ({ id: ids[n], created: false })),
    )
    expect(await engine.sendAll(work, [])).toEqual([])
  })

  test("with options that hold for all of them", async () => {
    const work = square()
    const engine = await start({ jobs: [work] })
    await engine.sendAll(work, [1, 2], { delay: "1h" })
    expect(await engine.counts()).toEqual([{ job: "square", state: "scheduled", count: 2 }])
  })

  test("one of which is refused: nothing is stored", async () => {
    const work = job("mail", { input: standard(validate), run: () => 1 })
    const engine = await start({ jobs: [work] })
    const good = { to: "a", copies: [] }
    const sending = engine.sendAll(work, [good, { to: "b", copies: ["x" as unknown as number] }])
    await expectRefusal(sending, { _tag: "InvalidPayload", field: 'input of job "mail"' })
    await expectRefusal(
      engine.sendAll(work, [good, good], (_, index) => ({ priority: index * 5000 })),
      { _tag: "InvalidInput", field: "priority" },
    )
    await expectRefusal(
      engine.sendAll(
        work,
        Array.from({ length: 100_001 }, () => good),
      ),
      { _tag: "InvalidInput", field: "inputs", reason: /100001 of them/, next: /in parts/ },
    )
    await expectRefusal(engine.sendAll(work, "no list" as never), { _tag: "InvalidInput", field: "inputs" })
    expect(await engine.counts()).toEqual([])
  })
})

// What a config may say: each wrong thing is refused before anything is opened, by an error that names its field,
// says why and what to do next.
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { describe, expect, test } from "vitest"
import { after, at, type Config, cron, every, job } from "uhrwerk"
import { layerMemory } from "uhrwerk/memory"
import { checkConfig } from "../../../apps/sdk/config.ts"
import { parseStorage } from "../../../apps/sdk/storage.ts"

const run = (): void => {}
const one = job("one", { run })

/** A config of one job with these options, as code without types might write it. */
const withJob = (options: object): unknown => ({ jobs: [job("one", { run, ...options })] })
const named = (name: unknown): unknown => ({ jobs: [job(name as string, { run })] })
const needed = job("needed", { run })
const withOn = (on: unknown): unknown => withJob({ on })

interface Refusal {
  readonly _tag?: string
  readonly field: string
  readonly reason?: RegExp
  readonly next?: RegExp
  readonly [more: string]: unknown
}

const expectRefusal = async (config: unknown, refusal: Refusal): Promise<void> => {
  const { _tag = "InvalidInput", field, reason = /\S/, next = /\S/, ...more } = refusal
  const error: unknown = await checkConfig(config as Config).then(
    () => "accepted",
    (refused: unknown) => refused,
  )
  expect(error).toMatchObject({
    _tag,
    field,
    reason: expect.stringMatching(reason),
    next: expect.stringMatching(next),
    ...more,
  })
  const { message, reason: why, next: what } = error as Record<string, string>
  expect(message).toBe(`${field}: ${why}. ${what}`)
}

type Table = ReadonlyArray<[string, unknown, Refusal]>

describe("jobs", () => {
  const noJobs = { field: "config", reason: /no list of jobs/, next: /defineConfig/ }
  const noJob = { field: "jobs[0]", reason: /is not a job made by/, next: /job\("name"/ }
  const table: Table = [
    ["nothing", undefined, noJobs],
    ["null", null, noJobs],
    ["text", "jobs", noJobs],
    ["a list instead of an object", [one], noJobs],
    ["no jobs", {}, noJobs],
    ["jobs by name", { jobs: { one } }, noJobs],
    ["a job that is null", { jobs: [null] }, noJob],
    ["a job that is a function", { jobs: [run] }, noJob],
    ["a job that job() did not make", { jobs: [{ name: "one", options: { run } }] }, noJob],
    ["a job after a good one", { jobs: [one, 5] }, { ...noJob, field: "jobs[1]" }],
    ["a hole in the list", { jobs: Array(1) }, noJob],
    [
      "a job without a function",
      withJob({ run: "now" }),
      { field: 'job "one".run', reason: /"now" is not a function/ },
    ],
    [
      "a name twice",
      { jobs: [one, job("two", { run }), job("one", { run })] },
      { _tag: "DuplicateName", field: "jobs[2].name", reason: /"one" is defined already/, name: "one" },
    ],
    ["the same job twice", { jobs: [one, one] }, { _tag: "DuplicateName", field: "jobs[1].name" }],
  ]
  test.each(table)("refused: %s", (_, config, refusal) => expectRefusal(config, refusal))
})

describe("names", () => {
  const bad: ReadonlyArray<[string, unknown, RegExp]> = [
    ["an empty one", "", /0 characters/],
    ["one of 129 characters", "x".repeat(129), /129 characters/],
    ["one with a line break", "a\nb", /control characters/],
    ["one with an escape", "\u001b[31mred", /control characters/],
    ["one with a C1 control", "a\u009bb", /control characters/],
    ["one with DEL", "a\u007f", /control characters/],
    ["a blank in front", " a", /blanks at its ends/],
    ["a blank behind", "a\u00a0", /blanks at its ends/],
    ["a number", 5, /5 is not a name/],
    ["null", null, /null is not a name/],
    ["an object", {}, /an object is not a name/],
  ]
  const next = /1 to 128 characters/
  test.each(bad)("refused of a job: %s", (_, name, reason) =>
    expectRefusal(named(name), { field: "jobs[0].name", reason, next }),
  )
  test.each(bad.filter(([, name]) => name !== null))("refused of a queue: %s", (_, queue, reason) =>
    expectRefusal(withJob({ queue }), { field: 'job "one".queue', reason, next }),
  )
  test("one of 128 characters, and any script, is a good one", async () => {
    for (const name of ["x".repeat(128), "夜間 バッチ", "a b", "mail.digest", "__proto__", "constructor"]) {
      const project = await checkConfig(named(name) as Config)
      expect([...project.book.jobs.keys()]).toEqual([name])
    }
  })
})

describe("needs", () => {
  const circle = (): unknown => {
    const a = job("a", { run, needs: {} })
    const b = job("b", { run, needs: { a } })
    const c = job("c", { run, needs: { b } })
    const closed = { ...a, options: { ...a.options, needs: { c } } }
    return { jobs: [job("free", { run }), closed, b, c] }
  }
  const self = (): unknown => {
    const a = job("a", { run })
    return { jobs: [{ ...a, options: { ...a.options, needs: { a } } }] }
  }
  const table: Table = [
    [
      "a job that the config does not list",
      withJob({ needs: { two: job("two", { run }) } }),
      {
        _tag: "UnknownJob",
        job: "two",
        field: 'job "one".needs',
        reason: /no job named "two" is defined/,
        next: /Known jobs: one/,
      },
    ],
    [
      "itself",
      self(),
      {
        _tag: "DependencyCycle",
        field: 'job "a".needs',
        reason: /a -> a/,
        next: /Remove one of these needs/,
        cycle: ["a", "a"],
      },
    ],
    [
      "a circle of three",
      circle(),
      { _tag: "DependencyCycle", field: 'job "a".needs', cycle: ["a", "c", "b", "a"] },
    ],
    [
      "one that is undefined",
      withJob({ needs: { two: undefined } }),
      { field: 'job "one".needs.two', reason: /undefined/ },
    ],
    [
      "one by its name",
      withJob({ needs: { two: "two" } }),
      { field: 'job "one".needs.two', reason: /"two" is not a job/ },
    ],
    ["a list", withJob({ needs: [one] }), { field: 'job "one".needs', next: /needs: \{/ }],
    ["text", withJob({ needs: "two" }), { field: 'job "one".needs', next: /needs: \{/ }],
  ]
  test.each(table)("refused: %s", (_, config, refusal) => expectRefusal(config, refusal))
})

describe("cron", () => {
  const texts: ReadonlyArray<[unknown, string, number | undefined, RegExp]> = [
    ["", "cron", 0, /the text is empty/],
    ["   ", "cron", 0, /the text is empty/],
    ["0 9 * *", "cron", 7, /has 5, 6 or 7 fields, this one has 4/],
    ["* * * * * * * *", "cron", 14, /this one has 8/],
    ["60 * * * *", "cron.minute", 0, /"60" is not between 0 and 59/],
    ["* 24 * * *", "cron.hour", 2, /"24" is not between 0 and 23/],
    ["* * 0 * *", "cron.day", 4, /"0" is not between 1 and 31/],
    ["* * * 13 *", "cron.month", 6, /"13" is not between 1 and 12/],
    ["* * * * 8", "cron.weekday", 8, /"8" is not between 0 and 7/],
    ["* * * * * *x", "cron.weekday", 10, /"\*x"/],
    ["60 * * * * *", "cron.second", 0, /"60"/],
    ["* * * FOO *", "cron.month", 6, /"FOO" is not a month/],
    ["* * * * MONDAY", "cron.weekday", 8, /"MONDAY" is not a weekday/],
    ["5-1 * * * *", "cron.minute", 0, /runs downwards/],
    ["*/0 * * * *", "cron.minute", 2, /a step must be 1 or more/],
    ["*/90 * * * *", "cron.minute", 2, /the step 90 is larger/],
    ["*/2/3 * * * *", "cron.minute", 0, /two steps/],
    ["1, * * * *", "cron.minute", 2, /a value is missing/],
    ["1--2 * * * *", "cron.minute", 0, /is not a range/],
    ["? * * * *", "cron.minute", 0, /day and weekday fields only/],
    ["* * * * 5#6", "cron.weekday", 8, /"5#6"/],
    ["* * 32W * *", "cron.day", 4, /"32"/],
    ["-5 * * * *", "cron.minute", 0, /"-5" is not a range/],
    ["1.5 * * * *", "cron.minute", 0, /"1.5" is not a minute/],
    ["* * * * *\n", "cron", 9, /U\+000A is not allowed/],
    ["٣ * * * *", "cron", 0, /U\+0663 is not allowed/],
    [`${"1,".repeat(600)}1 * * * *`, "cron", 1024, /more than 1024/],
    ["@reboot", "cron", 0, /names no time/],
    ["@every 5m", "cron", 0, /not a known nickname/],
    ["@fortnightly", "cron", 0, /not a known nickname/],
    ["0 0 30 2 *", "cron", undefined, /never runs/],
    [5, "cron", undefined, /must be a string/],
    [null, "cron", undefined, /must be a string/],
  ]
  test.each(texts)("refused: %o", async (text, field, position, reason) => {
    await expectRefusal(withOn(cron(text as never)), {
      _tag: "InvalidSchedule",
      field: `job "one".on.${field}`,
      reason,
      ...(position === undefined ? {} : { position }),
    })
  })

  test.each([
    ["Mars/Olympus", /"Mars\/Olympus"/],
    ["utc+1", /"utc\+1"/],
    ["", /the zone is empty/],
    [5, /must be a string/],
  ])("the zone %o is refused, not ignored", (tz, reason) =>
    expectRefusal(withOn(cron("0 9 * * *", { tz: tz as string })), {
      _tag: "InvalidSchedule",
      field: 'job "one".on.zone',
      reason,
      next: /UTC/,
    }),
  )

  test("the place among several triggers is named", () =>
    expectRefusal(withOn([cron("0 9 * * *"), cron("0 25 * * *")]), {
      _tag: "InvalidSchedule",
      field: 'job "one".on[1].cron.hour',
      position: 2,
    }))
})

const badSpans: ReadonlyArray<[unknown, RegExp]> = [
  [Number.NaN, /NaN is not a finite number/],
  [Number.POSITIVE_INFINITY, /Infinity is not a finite number/],
  [-1, /-1 is less than/],
  ["-1s", /"-1s" is not a time span/],
  ["5 minutes", /"5 minutes" is not a time span/],
  ["5", /"5" is not a time span/],
  ["", /"" is not a time span/],
  ["1e3ms", /not a time span/],
  [{}, /an object is not a time span/],
  [[], /an object is not a time span/],
  [new Date(0), /is not a time span/],
  [Symbol("5s"), /a symbol is not a time span/],
  [true, /a boolean is not a time span/],
  ["200000w", /more than 100 years/],
  [1e300, /more than 100 years/],
  ["9".repeat(60), /not a time span/],
]
const spanNext = /"500ms", "30s", "5m"/

describe("durations", () => {
  const places: ReadonlyArray<[string, (span: never) => unknown]> = [
    ["grace", (grace) => ({ jobs: [one], grace })],
    ["retention", (retention) => ({ jobs: [one], retention })],
    ["lease", (lease) => ({ jobs: [one], lease })],
    ["poll", (poll) => ({ jobs: [one], poll })],
    ['job "one".timeout', (timeout) => withJob({ timeout })],
    ['job "one".on.every', (period) => withOn(every(period))],
    ['job "one".on.after', (delay) => withOn(after(delay))],
    ['job "one".retry.delay', (delay) => withJob({ retry: { delay } })],
    ['job "one".retry.delayMax', (delayMax) => withJob({ retry: { delayMax } })],
    ['job "one".retry.delays[1]', (delay) => withJob({ retry: { delays: ["1s", delay] } })],
    ['job "one".retry.on[0].delay', (delay) => withJob({ retry: { on: [{ error: "E", delay }] } })],
  ]
  describe.each(places)("%s", (field, config) => {
    test.each(badSpans)("refuses %o", (span, reason) =>
      expectRefusal(config(span as never), { field, reason, next: spanNext }),
    )
  })

  const limits: Table = [
    ['every("5ms")', withOn(every("5ms")), { field: 'job "one".on.every', reason: /less than the 10 ms/ }],
    ["every(0)", withOn(every(0)), { field: 'job "one".on.every', reason: /0 is less than the 10 ms/ }],
    ["a timeout of 0", withJob({ timeout: 0 }), { field: 'job "one".timeout', reason: /less than the 1 ms/ }],
    ["a timeout of null", withJob({ timeout: null }), { field: 'job "one".timeout' }],
    ["a lease below 1 s", { jobs: [one], lease: 999 }, { field: "lease", reason: /less than the 1000 ms/ }],
    ["a lease above 10 min", { jobs: [one], lease: "10m1ms" }, { field: "lease", next: /"1s" to "10m"/ }],
    ["a poll below 10 ms", { jobs: [one], poll: 9 }, { field: "poll", reason: /less than the 10 ms/ }],
    ["a poll above 1 min", { jobs: [one], poll: "61s" }, { field: "poll", next: /"10ms" to "1m"/ }],
    ["a grace above 100 years", { jobs: [one], grace: "6000w" }, { field: "grace", reason: /100 years/ }],
  ]
  test.each(limits)("refused: %s", (_, config, refusal) => expectRefusal(config, refusal))
})

describe("dates", () => {
  const dates: ReadonlyArray<[unknown, RegExp]> = [
    [new Date("soon"), /Invalid Date is not a valid date/],
    ["2027-01-31", /"2027-01-31" is not an instant/],
    ["2027-01-31T09:00:00", /is not an instant/],
    ["2027-02-30T09:00:00Z", /is not a valid date/],
    ["2027-13-01T09:00:00Z", /is not a valid date/],
    ["2027-01-31T25:00:00Z", /is not a valid date/],
    ["soon", /"soon" is not an instant/],
    ["", /"" is not an instant/],
    [1e300, /is not a valid date/],
    [Number.NaN, /NaN is not a valid date/],
    [Number.NEGATIVE_INFINITY, /is not a valid date/],
    [null, /null is not an instant/],
    [{}, /an object is not an instant/],
  ]
  const next = /"2027-01-31T09:00:00Z"/
  test.each(dates)("at(%o) is refused", (date, reason) =>
    expectRefusal(withOn(at(date as never)), { field: 'job "one".on.at', reason, next }),
  )
  test.each(dates)("a first slot at %o is refused", (date, reason) =>
    expectRefusal(withOn(every("1m", { startAt: date as never })), {
      field: 'job "one".on.startAt',
      reason,
      next,
    }),
  )
})

describe("retry", () => {
  const attempts = { field: 'job "one".retry.max', next: /1 to 1000/ }
  const table: Table = [
    ["null", withJob({ retry: null }), { field: 'job "one".retry', reason: /null is not an object/ }],
    ["a number", withJob({ retry: 5 }), { field: 'job "one".retry', reason: /5 is not an object/ }],
    ["a list", withJob({ retry: [] }), { field: 'job "one".retry' }],
    ["no attempt", withJob({ retry: { max: 0 } }), attempts],
    ["half an attempt", withJob({ retry: { max: 1.5 } }), attempts],
    ["1,001 attempts", withJob({ retry: { max: 1001 } }), attempts],
    ["NaN attempts", withJob({ retry: { max: Number.NaN } }), attempts],
    ["text for attempts", withJob({ retry: { max: "3" } }), { ...attempts, reason: /"3"/ }],
    ["a factor below 1", withJob({ retry: { factor: 0.5 } }), { field: 'job "one".retry.factor' }],
    [
      "an endless factor",
      withJob({ retry: { factor: Number.POSITIVE_INFINITY } }),
      { field: 'job "one".retry.factor' },
    ],
    [
      "an unknown backoff",
      withJob({ retry: { backoff: "quadratic" } }),
      { field: 'job "one".retry.backoff', next: /"linear"/ },
    ],
    [
      "an unknown jitter",
      withJob({ retry: { jitter: true } }),
      { field: 'job "one".retry.jitter', next: /"full"/ },
    ],
    ["delays that are no list", withJob({ retry: { delays: "1s" } }), { field: 'job "one".retry.delays' }],
    ["rules that are no list", withJob({ retry: { on: { error: "E" } } }), { field: 'job "one".retry.on' }],
    ["a rule that is text", withJob({ retry: { on: ["E"] } }), { field: 'job "one".retry.on[0]' }],
    ["a rule without an error", withJob({ retry: { on: [{}] } }), { field: 'job "one".retry.on[0].error' }],
    [
      "a rule with a class",
      withJob({ retry: { on: [{ error: TypeError }] } }),
      { field: 'job "one".retry.on[0].error' },
    ],
    [
      "a rule with a wrong word",
      withJob({ retry: { on: [{ error: "E", retry: "no" }] } }),
      { field: 'job "one".retry.on[0].retry' },
    ],
  ]
  test.each(table)("refused: %s", (_, config, refusal) => expectRefusal(config, refusal))
})

describe("numbers", () => {
  test.each([1001, -1001, 1.5, Number.NaN, "5", {}])("the priority %o is refused", (priority) =>
    expectRefusal(withJob({ priority }), { field: 'job "one".priority', next: /-1000 to 1000/ }),
  )
  test.each([-1, 10_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "8", {}])(
    "the concurrency %o is refused",
    (concurrency) =>
      expectRefusal(
        { jobs: [one], worker: { concurrency } },
        { field: "worker.concurrency", reason: /is not a whole number/, next: /0 to 10000/ },
      ),
  )
})

describe("storage", () => {
  const wrong = [
    "mysql://x",
    "postgres:x",
    "sqlite:",
    "sqlite",
    "uhrwerk.db",
    "memory",
    "",
    5,
    true,
    null,
    {},
    { name: "mine" },
  ]
  test.each([...wrong, ["sqlite:a.db"]].map((storage): [unknown] => [storage]))("%o is refused", (storage) =>
    expectRefusal(
      { jobs: [one], storage },
      { field: "storage", reason: /is not a storage/, next: /"sqlite:FILE"/ },
    ),
  )

  test("what is no storage is told without what may be a password", () => {
    const told = Result.getOrThrow(
      Result.flip(parseStorage("mysql://me:secret@x/y?password=secret" as never)),
    )
    expect(told.message).toContain('"mysql://...@x/y?..." is not a storage')
    expect(told.message).not.toContain("secret")
  })

  test("a PostgreSQL address is shown without its password", () => {
    const text = "postgres://me:secret@db:5433/jobs?schema=mine&sslmode=require&password=secret" as const
    const { name, open } = Result.getOrThrow(parseStorage(text))
    expect(name).toBe("postgres://me@db:5433/jobs, schema mine")
    expect(open).not.toBeNull()
  })

  test.each([
    ["postgres://[", /no address/],
    ["postgres://me:secret@x/y?prepare=maybe", /prepare is "maybe"/],
    ["postgres://me:a:secret/b@c@[", /no address/],
    ["postgres://x/y?prepare=maybe&password=secret", /prepare is "maybe"/],
  ] as const)("%s is refused, and no password shown", async (storage, reason) => {
    await expectRefusal({ jobs: [one], storage }, { field: "storage", reason, next: /postgres:\/\/USER/ })
    const told = Result.getOrThrow(Result.flip(parseStorage(storage)))
    expect(told.message).not.toContain("secret")
  })
})

describe("triggers", () => {
  const what = {
    field: 'job "one".on',
    reason: /is not one of/,
    next: /cron\(\), every\(\), after\(\), at\(\)/,
  }
  const table: Table = [
    ["text", withOn("0 9 * * *"), what],
    ["null", withOn(null), what],
    ["a number", withOn(5000), what],
    ["an object", withOn({ every: "5s" }), what],
    ["one of several", withOn([every("5s"), "5s"]), { ...what, field: 'job "one".on[1]' }],
    [
      'overlap "queue"',
      withOn(every("5s", { overlap: "queue" as never })),
      { field: 'job "one".on.overlap', next: /"queueOne"/ },
    ],
    [
      'catchUp "some"',
      withOn(every("5s", { catchUp: "some" as never })),
      { field: 'job "one".on.catchUp', next: /"skip", "latest", "all"/ },
    ],
    [
      "catchUp all with cancelRunning",
      withOn(every("5s", { catchUp: "all", overlap: "cancelRunning" })),
      { field: 'job "one".on.catchUp', reason: /would cancel the one before/ },
    ],
    [
      "cancelRunning of a job with needs",
      {
        jobs: [needed, job("one", { on: every("5s", { overlap: "cancelRunning" }), needs: { needed }, run })],
      },
      { field: 'job "one".on.overlap', reason: /would go on/ },
    ],
    [
      "catchUpMax without all",
      withOn(every("5s", { catchUpMax: 5 })),
      { field: 'job "one".on.catchUpMax', reason: /not chosen/ },
    ],
    ...[0, 501, 1.5, Number.NaN].map((catchUpMax): [string, unknown, Refusal] => [
      `catchUpMax ${catchUpMax}`,
      withOn(every("5s", { catchUp: "all", catchUpMax })),
      { field: 'job "one".on.catchUpMax', next: /1 to 500/ },
    ]),
    [
      "a window that is no span",
      withOn(every("5s", { catchUpWindow: "often" as never })),
      { field: 'job "one".on.catchUpWindow' },
    ],
    [
      "an end before the start",
      withOn(every("5s", { startsAt: "2027-01-02T00:00:00Z", endsAt: "2027-01-01T00:00:00Z" })),
      { field: 'job "one".on.endsAt', next: /startsAt/ },
    ],
    [
      "an instant outside its limits",
      withOn(at("2027-01-01T00:00:00Z", { startsAt: "2027-01-02T00:00:00Z" })),
      { field: 'job "one".on.at', next: /startsAt/ },
    ],
    ...[0, -1, 2.5].map((countMax): [string, unknown, Refusal] => [
      `countMax ${countMax}`,
      withOn(cron("0 9 * * *", { countMax })),
      { field: 'job "one".on.countMax', next: /from 1/ },
    ]),
    [
      "an input that is a function",
      withOn(every("5s", { input: run })),
      { _tag: "InvalidPayload", field: 'job "one".on.input' },
    ],
    [
      "an input over 256 KiB",
      withOn(every("5s", { input: "x".repeat(262_144) })),
      { _tag: "InvalidPayload", field: 'job "one".on.input', reason: /262146 bytes/ },
    ],
    [
      "an input that the job's schema does not take",
      withJob({ input: Schema.Struct({ to: Schema.String }), on: every("5s", { input: { to: 5 } }) }),
      { _tag: "InvalidPayload", field: 'job "one".on.input', reason: /does not fit the job's schema \(to: / },
    ],
    [
      "no input where the schema wants one",
      withJob({ input: Schema.Struct({ to: Schema.String }), on: every("5s") }),
      { _tag: "InvalidPayload", field: 'job "one".on.input' },
    ],
    [
      "a schema that is none",
      withJob({ input: { parse: run }, on: every("5s") }),
      { field: 'job "one".input', reason: /is not a schema/ },
    ],
  ]
  test.each(table)("refused: %s", (_, config, refusal) => expectRefusal(config, refusal))
})

describe("a good config", () => {
  test("with nothing but jobs has the defaults that the documentation names", async () => {
    const { book, schedules, storage, ...rest } = await checkConfig({ jobs: [one] })
    expect(rest).toEqual({
      jobs: new Map([["one", one]]),
      works: {
        rules: { origins: [], networks: [], secrets: new Map(), ca: undefined },
        byJob: new Map(),
      },
      calendars: [],
      dialects: new Map(),
      flows: new Map(),
      slots: 10,
      leaseMillis: 5000,
      pollMillis: 1000,
      graceMillis: 30_000,
      retentionMillis: 30 * 86_400_000,
    })
    expect(book.jobs.get("one")).toEqual({
      name: "one",
      queue: "default",
      priority: 0,
      timeoutMillis: null,
      needs: [],
      retry: {
        attemptMax: 3,
        backoff: "exponential",
        baseMillis: 1000,
        factor: 2,
        delayMaxMillis: 3_600_000,
        delays: [],
        jitter: "full",
        rules: [],
      },
    })
    expect(schedules).toEqual([])
    expect(storage).toMatchObject({ name: "uhrwerk.db", open: expect.any(Function) })
  })

  test("is taken word by word", async () => {
    const two = job("two", { run })
    const full = job("full", {
      run,
      input: Schema.Struct({ n: Schema.Number }),
      queue: "slow",
      priority: -1000,
      timeout: "1m30s",
      needs: { two, again: two },
      retry: { max: 5, delays: ["1s", 2000] },
      on: [
        cron("0 9 * * 1-5", { input: { n: 1 }, tz: "Etc/UTC" }),
        every("2d", { input: { n: 2 }, startAt: "2026-01-01T00:00:00+01:00", overlap: "allow" }),
        after(0, { input: { n: 3 } }),
        at(new Date(5), { input: { n: 4 } }),
      ],
    })
    const project = await checkConfig({
      jobs: [full, two],
      storage: "memory:",
      worker: { concurrency: 10_000 },
      grace: 0,
      retention: "100d",
      lease: "10m",
      poll: 10,
    })
    expect(project).toMatchObject({
      slots: 10_000,
      graceMillis: 0,
      retentionMillis: 100 * 86_400_000,
      leaseMillis: 600_000,
      pollMillis: 10,
      storage: { name: "memory", open: null },
    })
    expect(project.book.jobs.get("full")).toMatchObject({
      queue: "slow",
      priority: -1000,
      timeoutMillis: 90_000,
      needs: ["two"],
      retry: { attemptMax: 5, delays: [1000, 2000], jitter: "none" },
    })
    expect(project.book.layers).toEqual([["two"], ["full"]])
    const base = { job: "full", overlap: "skip", fromConfig: true }
    expect(project.schedules).toEqual([
      {
        ...base,
        id: "full",
        input: '{"n":1}',
        trigger: { kind: "cron", expression: "0 9 * * 1-5", zone: "Etc/UTC" },
      },
      {
        ...base,
        id: "full#2",
        input: '{"n":2}',
        overlap: "allow",
        trigger: { kind: "every", periodMillis: 172_800_000, startAt: Date.UTC(2025, 11, 31, 23) },
      },
      { ...base, id: "full#3", input: '{"n":3}', trigger: { kind: "after", delayMillis: 0 } },
      { ...base, id: "full#4", input: '{"n":4}', trigger: { kind: "at", at: 5 } },
    ])
  })

  test("may bring a store of its own", async () => {
    const { storage } = await checkConfig({ jobs: [one], storage: { name: "mine", layer: layerMemory } })
    expect(storage).toMatchObject({ name: "mine", open: null })
    expect(storage.layer).toBe(layerMemory)
  })

  test("may bring one that the commands can open, and say what that would change", async () => {
    const open = () => Promise.reject(new Error("not here"))
    const plan = () => Promise.resolve("create table;")
    const own = { name: "mine", layer: layerMemory, open, plan }
    const { storage } = await checkConfig({ jobs: [one], storage: own })
    expect(storage).toMatchObject({ name: "mine", open, plan, enqueueIn: null })
  })

  test("with schedules whose names would collide is refused: each has an id of its own", () =>
    expectRefusal(
      { jobs: [job("a", { run, on: [every("1s"), every("2s")] }), job("a#2", { run, on: every("3s") })] },
      { _tag: "DuplicateName", field: 'job "a#2".on', name: "a#2", next: /name/ },
    ))
})

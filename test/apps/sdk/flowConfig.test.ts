// What a flow must be like to be started, how a refusal says what is wrong, and what the engine is told of a good one.
import * as Schema from "effect/Schema"
import { describe, expect, test } from "vitest"
import { cron, every, flow, type FlowBuilder, InvalidFlow, job } from "uhrwerk"
import { checkConfig, type Config } from "../../../apps/sdk/config.ts"

type Loose = FlowBuilder<any, any>
const run = (): void => {}
const of = (build: (f: Loose) => unknown, options: object = {}, name = "etl") =>
  flow(name, options, build as never)
const check = (...jobs: ReadonlyArray<unknown>) => checkConfig({ jobs: jobs as Config["jobs"] })
const step = (options: unknown, id: unknown = "a") => of((f) => void f.step(id as string, options as never))
const map = (options: unknown) => of((f) => void f.map("a", options as never))
const other = of((f) => f.step("x", { run }), {}, "other")
const strange = other.output

describe("refused", () => {
  const long = "x".repeat(125)
  const table: ReadonlyArray<readonly [what: string, member: unknown, refusal: string | RegExp]> = [
    ["a name that is none", of(() => {}, {}, " a "), "jobs[0].name"],
    ["a name that is no text", of(() => {}, {}, 5 as never), "jobs[0].name"],
    ["a queue that is no name", of(() => {}, { queue: "" }), 'flow "etl".queue'],
    ["a priority that is none", of(() => {}, { priority: 1.5 }), 'flow "etl".priority'],
    ["no attempt at all", of(() => {}, { retry: { max: 0 } }), 'flow "etl".retry.max'],
    ["retry that is no object", of(() => {}, { retry: 5 }), 'flow "etl".retry'],
    ["a limit that is no span", of(() => {}, { timeout: "soon" }), 'flow "etl".timeout'],
    ["a flag that is none", of(() => {}, { failFast: "yes" }), 'flow "etl".failFast'],
    ["another flag that is none", of(() => {}, { holdOnFailure: 1 }), 'flow "etl".holdOnFailure'],
    ["an input that is no schema", of(() => {}, { input: {} }), 'flow "etl".input'],
    ["an output that is no step", of(() => 5), 'flow "etl".output'],
    ["an output of another flow", of(() => strange), 'flow "etl".output'],
    ["a builder that waits", of(async () => {}), 'flow "etl".output'],
    ["a trigger that is none", of(() => {}, { on: "0 9 * * *" }), 'flow "etl".on'],
    ["a cron text that is wrong", of(() => {}, { on: cron("0 25 * * *") }), 'flow "etl".on'],
    ["an input of a trigger", of(() => {}, { on: every("1h"), input: Schema.String }), 'flow "etl".on.input'],
    ["an id that is empty", step({ run }, ""), 'flow "etl": steps[0].id'],
    ["an id that is no text", step({ run }, 5), 'flow "etl": steps[0].id'],
    [
      "an id with a control character",
      step({ run }, "a\nb"),
      'flow "etl": step "a\\nb".id: the name of its job',
    ],
    ["an id that is too long", step({ run }, long), /step "x+…".id: the name of its job.* 129 characters/],
    ["options that are none", step(null), 'flow "etl": step "a": null'],
    ["no function", step({}), 'flow "etl": step "a".run'],
    ["a rule that is none", step({ run, rule: "some" }), 'flow "etl": step "a".rule'],
    ["a condition that is none", step({ run, when: true }), 'flow "etl": step "a".when'],
    ["an allowed failure that is none", step({ run, allowFailure: 1 }), 'flow "etl": step "a".allowFailure'],
    ["a list of needs", step({ run, needs: [] }), 'flow "etl": step "a".needs'],
    ["a need that is missing", step({ run, needs: { b: undefined } }), 'flow "etl": step "a".needs.b'],
    ["a need of another flow", step({ run, needs: { b: strange } }), 'flow "etl": step "a".needs.b'],
    ["a need that only looks like one", step({ run, needs: { b: { flow: "etl", id: "a" } } }), "needs.b"],
    ["a step's queue", step({ run, queue: 5 }), 'flow "etl": step "a".queue'],
    ["a step's timeout", step({ run, timeout: -1 }), 'flow "etl": step "a".timeout'],
    ["a step's retry", step({ run, retry: { max: 5000 } }), 'flow "etl": step "a".retry.max'],
    ["a step's output", step({ run, output: "text" }), 'flow "etl": step "a".output'],
    ["a step's input", step({ run, input: { n: 1 } }), 'flow "etl": step "a".input'],
    ["a list without items", map({ run }), 'flow "etl": step "a".over'],
    ["a list without a function", map({ over: () => [] }), 'flow "etl": step "a".run'],
    ["a limit of a list over ours", map({ run, over: () => [], max: 1001 }), 'flow "etl": step "a".max'],
    ["a limit of a list under one", map({ run, over: () => [], max: 0 }), 'flow "etl": step "a".max'],
    ["a flow that is none", of((f) => void f.flow("a", job("b", { run }) as never)), 'step "a".flow'],
    [
      "a flow that is not in the config",
      of((f) => void f.flow("a", other)),
      /flow "other" is not one of the config/,
    ],
  ]
  test.each(table)("%s", async (_, member, refusal) => {
    await expect(check(member)).rejects.toThrow(refusal)
  })

  test("two steps of one id name the step, as an error of their own", async () => {
    const twice = of((f) => {
      f.step("a", { run })
      f.step("a", { run })
    })
    const error = await check(twice).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InvalidFlow)
    expect(error).toMatchObject({ kind: "duplicate", nodes: ["a"], field: 'flow "etl": steps[1].id' })
  })

  test("two members of one name, and names that steps have", async () => {
    const etl = of((f) => {
      f.step("load", { run })
      f.map("list", { over: () => [], run })
    })
    await expect(check(etl, job("etl", { run }))).rejects.toThrow(
      'jobs[1].name: a flow named "etl" is defined already',
    )
    await expect(check(etl, etl)).rejects.toThrow("already")
    await expect(check(etl, job("etl/load", { run }))).rejects.toThrow(
      'flow "etl": step "load": a job named "etl/load" is defined already',
    )
    await expect(check(job("etl/list[]", { run }), etl)).rejects.toThrow('"etl/list[]"')
    const nested = of((f) => void f.step("c", { run }), {}, "a/b")
    await expect(
      check(
        nested,
        of((f) => void f.step("b/c", { run }), {}, "a"),
      ),
    ).rejects.toThrow('"a/b/c"')
    const own = of((f) => {
      f.map("a", { over: () => [], run })
      f.step("a[]", { run })
    })
    await expect(check(own)).rejects.toThrow('a job of flow "etl" named "etl/a[]" is defined already')
  })

  test("a job that needs a flow", async () => {
    await expect(check(other, job("after", { needs: { other } as never, run }))).rejects.toThrow(
      'job "after".needs.other',
    )
  })

  test("a step that is added after the builder has returned", () => {
    let kept: Loose | undefined
    of((f) => void (kept = f))
    expect(() => kept?.step("late", { run })).toThrow('step "late" is added after its builder has returned')
  })
})

describe("a good flow", () => {
  const full = () =>
    of(
      (f) => {
        const a = f.step("a", { run, queue: "fast", priority: 7, timeout: "5s", retry: { max: 2 } })
        const list = f.map("list", { needs: { a }, over: () => [], run, timeout: "1m", retry: { max: 4 } })
        const sub = f.flow("sub", other, { needs: { a, same: a }, rule: "all_done", allowFailure: true })
        return f.step("end", { needs: { list, sub }, run })
      },
      { queue: "slow", priority: 3, timeout: "1h", failFast: true },
    )

  test("is one job, one for each step, and one for the items of a list", async () => {
    const { book, flows } = await check(full(), other)
    const jobs = [...book.jobs.values()].filter(({ name }) => name.startsWith("etl"))
    expect(
      jobs.map(({ name, queue, priority, retry, timeoutMillis, expands }) => [
        name,
        queue,
        priority,
        retry.attemptMax,
        timeoutMillis,
        expands === true,
      ]),
    ).toEqual([
      ["etl", "slow", 3, 1, null, true],
      ["etl/a", "fast", 7, 2, 5000, false],
      ["etl/list", "slow", 3, 4, null, true],
      ["etl/list[]", "slow", 3, 4, 60_000, false],
      ["etl/sub", "slow", 3, 1, null, true],
      ["etl/end", "slow", 3, 3, null, false],
    ])
    expect(flows.get("etl")?.definition).toMatchObject({
      name: "etl",
      output: "end",
      failFast: true,
      timeoutMillis: 3_600_000,
      steps: [
        { id: "a", needs: [], job: "etl/a", queue: "fast", priority: 7, attemptMax: 2 },
        { id: "list", needs: ["a"], job: "etl/list" },
        { id: "sub", needs: ["a", "a"], rule: "all_done", allowFailure: true, job: "etl/sub" },
        { id: "end", needs: ["list", "sub"], job: "etl/end" },
      ],
    })
  })

  test("has a version that follows from what it says, and from nothing else", async () => {
    const versionOf = async (member: unknown) =>
      (await check(member, other)).flows.get("etl")?.definition.version
    const version = await versionOf(full())
    expect(await versionOf(full())).toBe(version)
    const again = of((f) => f.step("a", { run: () => "another code" }))
    const same = of((f) => f.step("a", { run }), { on: every("1h") })
    expect(await versionOf(again)).toBe(await versionOf(same))
    const changed = [
      of((f) => f.step("b", { run })),
      of((f) => void f.step("a", { run })),
      of((f) => f.step("a", { run, priority: 1 })),
      of((f) => f.step("a", { run, allowFailure: true })),
      of((f) => f.step("a", { run, rule: "all_done" })),
      of((f) => f.step("a", { run, retry: { max: 9 } })),
      of((f) => f.step("a", { run }), { failFast: true }),
      of((f) => f.step("a", { run }), { timeout: "1h" }),
    ]
    const versions = await Promise.all([same, ...changed].map(versionOf))
    expect(new Set(versions).size).toBe(1 + changed.length)
  })

  test("a name of 128 characters with that of a step is taken, and one more is not", async () => {
    const name = "n".repeat(64)
    await check(of((f) => void f.step("s".repeat(63), { run }), {}, name))
    await expect(check(of((f) => void f.step("s".repeat(64), { run }), {}, name))).rejects.toThrow(".id")
    // The items' job has two characters more.
    const items = { over: () => [], run }
    await expect(check(of((f) => void f.map("s".repeat(62), items), {}, name))).rejects.toThrow(".id")
  })

  test("has schedules as a job has", async () => {
    const timed = of(() => {}, { on: [every("1h"), cron("0 3 * * *", { overlap: "allow" })] })
    const { schedules } = await check(timed)
    expect(schedules.map(({ id, job: of_, overlap }) => [id, of_, overlap])).toEqual([
      ["etl", "etl", "skip"],
      ["etl#2", "etl", "allow"],
    ])
    const held = await check(of(() => {}, { on: every("1h"), holdOnFailure: true }))
    expect(held.schedules[0]).toMatchObject({ overlap: "queueOne", trigger: { holdOnFailure: true } })
  })
})

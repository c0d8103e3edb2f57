// `/metrics`: the text format by a parser of its own, what is counted, and that neither labels nor reads of the store grow
// with what somebody does.
import { afterEach, describe, expect, test } from "vitest"
import { makeMetrics } from "../../../../apps/server/metrics/Metrics.ts"
import { metricsText } from "../../../../apps/server/metrics/text.ts"
import { type RunningServer, serve } from "../../../../apps/server/mod.ts"
import type { Run } from "../../../../core/domain/Run.ts"
import type { EngineEvent } from "../../../../core/observe/Event.ts"
import { startWorld, type World } from "../api/world.ts"
import { broken, config, greet, until } from "../project.ts"

const worlds: Array<World> = []
const servers: Array<RunningServer> = []
afterEach(async () => {
  for (const each of worlds.splice(0)) await each.stop()
  await Promise.all(servers.splice(0).map((each) => each.stop({ grace: 0 })))
})

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
/** Reads the format as strictly as its description has it; throws for what is not as it says. */
const parse = (text: string) => {
  if (!text.endsWith("\n")) throw new Error("no line break at the end")
  const types = new Map<string, string>()
  const samples: Array<Sample> = []
  let family = ""
  for (const line of text.slice(0, -1).split("\n")) {
    const help = /^# HELP ([a-z_]+) ((?:[^\\]|\\\\|\\n)*)$/.exec(line)
    const type = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line)
    const sample = /^([a-z_]+)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|NaN)$/.exec(line)
    if (help !== null) {
      family = help[1] ?? ""
      if (types.has(family)) throw new Error(`${family} comes twice`)
    } else if (type !== null) {
      if (type[1] !== family) throw new Error(`type of ${type[1]} without its help`)
      types.set(family, type[2] ?? "")
    } else if (sample !== null) {
      const [, name = "", given = "", value = ""] = sample
      const labels: Record<string, string> = {}
      const read = given.replaceAll(/([a-z_]+)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(?:,|$)/g, (_, label, text) => {
        labels[label] = text.replaceAll(/\\(.)/g, (__: string, mark: string) => (mark === "n" ? "\n" : mark))
        return ""
      })
      if (read !== "") throw new Error(`labels: ${given}`)
      const own = types.get(family) === "histogram" ? /_(bucket|sum|count)$/ : /$^|$/
      if (name.replace(own, "") !== family) throw new Error(`${name} is below ${family}`)
      samples.push({ name, labels, value: Number(value.replace("+Inf", "Infinity")) })
    } else throw new Error(`line: ${line}`)
  }
  return { types, samples }
}
const valueOf = (text: string, name: string, labels: Record<string, string> = {}) =>
  parse(text).samples.find(
    (each) =>
      each.name === name && Object.entries(labels).every(([label, value]) => each.labels[label] === value),
  )?.value

const empty = { queueDepths: async () => [], counts: async () => [], now: async () => 1_000 }
const ended = (job: string, state = "succeeded", durationMillis = 20): EngineEvent =>
  ({
    kind: "ended",
    run: { job } as Run,
    state,
    durationMillis,
    error: null,
    output: null,
    dueAt: null,
  }) as EngineEvent

describe("the format", () => {
  test("values of labels are escaped, so that no name can write a line of its own", () => {
    const job = 'a"} 1\n# TYPE x counter\\'
    const text = metricsText([
      { name: "m", type: "gauge", help: "a\nb\\", samples: [{ labels: { job }, value: 1 }] },
    ])
    expect(parse(text).samples).toEqual([{ name: "m", labels: { job }, value: 1 }])
    expect(text.split("\n").length).toBe(4)
  })

  test("buckets of a histogram are cumulative, end with +Inf, and their count is that of all", async () => {
    const metrics = makeMetrics({ store: empty })
    for (const millis of [1, 20, 400, 90_000_000]) metrics.hear(ended("a", "succeeded", millis))
    const { samples } = parse(await metrics.text())
    const buckets = samples.filter(({ name }) => name === "uhrwerk_run_duration_seconds_bucket")
    const values = buckets.map(({ value }) => value)
    expect(values).toEqual([...values].sort((a, b) => a - b))
    expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: 4 })
    expect(buckets.find(({ labels }) => labels["le"] === "0.025")?.value).toBe(2)
    expect(valueOf(await metrics.text(), "uhrwerk_run_duration_seconds_count")).toBe(4)
    expect(valueOf(await metrics.text(), "uhrwerk_run_duration_seconds_sum")).toBeCloseTo(90_000.421)
  })
})

describe("bounds", () => {
  test("jobs over the 200th, and queues, are counted as `other`", async () => {
    const depths = Array.from({ length: 300 }, (_, place) => ({
      queue: `q${place}`,
      ready: 300 - place,
      oldestDueAt: 500,
      running: 0,
    }))
    const metrics = makeMetrics({ store: { ...empty, queueDepths: async () => depths } })
    for (let index = 0; index < 500; index++) metrics.hear(ended(`job${index}`))
    metrics.hear(ended("job0"))
    const text = await metrics.text()
    expect(valueOf(text, "uhrwerk_runs_total", { job: "other" })).toBe(300)
    expect(valueOf(text, "uhrwerk_runs_total", { job: "job0", state: "succeeded" })).toBe(2)
    expect(valueOf(text, "uhrwerk_queue_depth", { queue: "other" })).toBe((100 * 101) / 2)
    expect(valueOf(text, "uhrwerk_oldest_ready_age_seconds", { queue: "other" })).toBe(0.5)
    const { samples } = parse(text)
    const jobs = new Set(samples.flatMap(({ labels }) => labels["job"] ?? []))
    const queues = new Set(samples.flatMap(({ labels }) => labels["queue"] ?? []))
    expect([jobs.size, queues.size]).toEqual([201, 201])
  })

  test("a hundred that ask at once read the store once; one that fails costs its gauges only", async () => {
    let reads = 0
    let isUp = true
    const queueDepths = async () => {
      reads++
      if (!isUp) throw new Error("down")
      return [{ queue: "mail", ready: 3, oldestDueAt: null, running: 0 }]
    }
    const metrics = makeMetrics({ store: { ...empty, queueDepths } })
    const texts = await Promise.all(Array.from({ length: 100 }, () => metrics.text()))
    expect(reads).toBe(1)
    expect(valueOf(texts[99] ?? "", "uhrwerk_queue_depth", { queue: "mail" })).toBe(3)
    isUp = false
    const failing = makeMetrics({ store: { ...empty, queueDepths } })
    failing.hear(ended("a"))
    const text = await failing.text()
    expect(valueOf(text, "uhrwerk_runs_total")).toBe(1)
    expect(text).not.toContain("uhrwerk_queue_depth")
  })
})

describe("over an engine", () => {
  test("what ran is counted, and every family of a busy server is as the format says", async () => {
    const world = await startWorld(config)
    worlds.push(world)
    await (await world.engine.send(greet, { name: "x" })).result()
    await world.engine.send(broken, {} as never)
    world.outlets.hear({ kind: "occurrence", scheduleId: "a", at: 1, count: 3, reason: "paused" })
    await until(
      "both ends",
      async () => (await world.outlets.metrics.text()).match(/uhrwerk_runs_total\{/g)?.length ?? 0,
      (count) => count === 2,
    )
    const answer = await world.ask("GET", "/metrics")
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8")
    const { types } = parse(answer.text)
    expect(Object.fromEntries(types)).toMatchObject({
      uhrwerk_runs_total: "counter",
      uhrwerk_run_duration_seconds: "histogram",
      uhrwerk_start_delay_seconds: "histogram",
      uhrwerk_schedule_missed_total: "counter",
      uhrwerk_dead_runs: "gauge",
      uhrwerk_worker_slots: "gauge",
      uhrwerk_wheel_entries: "gauge",
    })
    expect(valueOf(answer.text, "uhrwerk_runs_total", { job: "broken", state: "dead" })).toBe(1)
    expect(valueOf(answer.text, "uhrwerk_schedule_missed_total", { reason: "paused" })).toBe(3)
    expect(valueOf(answer.text, "uhrwerk_worker_slots", { state: "free" })).toBeGreaterThan(0)
  })

  test('a server times its store; with `metrics: "open"` whoever reaches it may read them', async () => {
    const server = await serve(config, { port: 0, guard: false, metrics: "open" })
    servers.push(server)
    await (await server.engine.send(greet, { name: "x" })).result()
    const response = await fetch(`${server.url}/metrics`)
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/plain; version=0.0.4; charset=utf-8",
    ])
    const text = await response.text()
    expect(
      valueOf(text, "uhrwerk_store_operation_duration_seconds_count", { operation: "settle" }),
    ).toBeGreaterThan(0)
  })
})

// Scenarios that need real processes: workers that are killed, told to stop, cut off, or that take themselves down, and a
// server that is started again under their hands.
import { expect, test } from "vitest"
import { type Child, eventually } from "../children.ts"
import { filesOf, readLines } from "../evidence.ts"
import type { WorkerLine } from "./evidence.ts"
import { poisonName } from "./project.ts"
import { Stage } from "./Stage.ts"

// For a machine that does other things as well.
const slackMillis = 3000

const many = <A>(count: number, make: () => Promise<A>): Promise<ReadonlyArray<A>> =>
  Promise.all(Array.from({ length: count }, make))

test("SC-S14 a worker that starts again under its name runs again what the old process had, and none of it is the old one's", () =>
  Stage.with(async (stage) => {
    const old = stage.worker("w1", 5)
    const ids = await many(5, () => stage.send("slow", 3000))
    const before = await stage.started(5)
    const killedAt = Date.now()
    old.signal("SIGKILL")
    const next = stage.worker("w1", 5)
    const again = await stage.started(5, ({ pid }) => pid === next.pid)
    expect(before.map(({ pid }) => pid)).toEqual(ids.map(() => old.pid))
    expect(new Set(again.map(({ id }) => id))).toEqual(new Set(ids))
    expect(again.map(({ attempt }) => attempt)).toEqual(ids.map(() => 2))
    // The lease of 15 s and a second; most of it is the start of the process.
    expect(Math.max(...again.map(({ at }) => at)) - killedAt).toBeLessThan(16_000)
    await stage.allEnd(ids)
    for (const id of ids) expect((await stage.run(id)).output).toMatchObject({ pid: next.pid })
    const [view] = await stage.views()
    expect(view).toMatchObject({ name: "w1", status: "alive", inHand: 0 })
  }))

test("SC-S16 a job that takes its worker down is dead after its attempts, with a reason, and the others go on", () =>
  Stage.with(async (stage) => {
    const isOver = new AbortController()
    const deaths: Array<number | NodeJS.Signals> = []
    const lives: Array<Child> = []
    // As a supervisor does: what ends is started again.
    const supervise = async (name: string): Promise<void> => {
      while (!isOver.signal.aborted) {
        const life = stage.worker(name, 3)
        lives.push(life)
        deaths.push(await life.ended(200_000))
      }
    }
    const supervisors = ["w1", "w2"].map(supervise)
    try {
      const good = [...(await many(10, () => stage.send("slow", 300)))]
      const bad = await stage.sendJob(poisonName, null)
      good.push(...(await many(10, () => stage.send("slow", 300))))
      await stage.allEnd([bad], "dead", 120_000)
      await stage.allEnd(good)
      const run = await stage.run(bad)
      expect(run).toMatchObject({ state: "dead", error: { kind: "lost" } })
      expect(run.error?.message).not.toBe("")
      // A process that ends before it has said that it began uses no attempt: that is counted apart, and bounded.
      expect(run.attempt).toBeLessThanOrEqual(3)
      expect(deaths.filter((end) => end === 9)).toHaveLength(run.attempt + run.losses)
    } finally {
      isOver.abort()
      // Those that have ended do not mind.
      for (const life of lives) life.signal("SIGKILL")
      await Promise.allSettled(supervisors)
    }
  }))

test("SC-S20 all slots are free again after workers that were killed mid-run, and handlers that threw", () =>
  Stage.with(async (stage) => {
    const ids: Array<string> = []
    // Twenty kills, four at a time.
    for (let round = 0; round < 5; round++) {
      const lives = ["w1", "w2", "w3", "w4"].map((name) => stage.worker(name, 5))
      ids.push(...(await many(12, () => stage.send("slow", 2000))), await stage.send("refused", 0))
      await stage.started(8, ({ pid }) => lives.some((life) => life.pid === pid), 60_000)
      for (const life of lives) life.signal("SIGKILL")
      await Promise.all(lives.map((life) => life.ended()))
    }
    const last = stage.worker("w1", 5)
    // A kill takes attempts, of which there are enough.
    await eventually(
      "all have ended",
      async () => {
        for (const id of ids)
          if (!["succeeded", "dead"].includes((await stage.run(id)).state)) return undefined
        return true
      },
      60_000,
    )
    const probe = new Set(await many(5, () => stage.send("slow", 3000)))
    const sentAt = Date.now()
    const found = await stage.started(5, ({ id }) => probe.has(id))
    // At once, and all before the first has ended.
    expect(Math.max(...found.map(({ at }) => at)) - sentAt).toBeLessThan(2500)
    expect(new Set(found.map(({ pid }) => pid))).toEqual(new Set([last.pid]))
    await stage.allEnd([...probe])
  }))

test("SC-S39 SIGTERM of a worker: what ends in the grace counts, the rest is another's within a second, its attempt unused", () =>
  Stage.with(async (stage) => {
    const first = stage.worker("w1", 2)
    const short = await stage.send("slow", 1000)
    const long = await stage.send("slow", 60_000)
    await stage.started(2)
    const second = stage.worker("w2", 2)
    await eventually("both are there", async () => ((await stage.views()).length === 2 ? true : undefined))
    const askedAt = Date.now()
    first.signal("SIGTERM")
    expect(await first.ended()).toBe(0)
    const endedAt = Date.now()
    // The grace of 3 s and two more.
    expect(endedAt - askedAt).toBeLessThan(5000 + slackMillis)
    await stage.allEnd([short])
    const [again] = await stage.started(1, ({ id, pid }) => id === long && pid === second.pid)
    expect(again).toMatchObject({ attempt: 1, token: 2 })
    expect((again?.at ?? 0) - endedAt).toBeLessThan(1000 + slackMillis)
    expect((await stage.run(short)).attempt).toBe(1)
    expect(stage.starts()).toHaveLength(3)
  }))

test("SC-S41 a half-open connection: the server takes the runs back in time, the worker comes again, each run goes on once", () =>
  Stage.with(
    async (stage) => {
      const worker = stage.worker("w1", 3)
      const ids = await many(3, () => stage.send("slow", 5000))
      await stage.started(3)
      const from = Date.now()
      stage.proxy.lose("both")
      await eventually("the worker is free of them", async () =>
        (await stage.views()).every(({ inHand }) => inHand === 0) ? true : undefined,
      )
      // Three beats and a second.
      expect(Date.now() - from).toBeLessThan(2500 + slackMillis)
      const aborted = await eventually("the handlers are told", () => {
        const lines = readLines<WorkerLine>(filesOf(stage.folder).effects)
        const aborts = lines.filter(({ kind }) => kind === "abort")
        return aborts.length === 3 ? aborts : undefined
      })
      expect(Math.max(...aborted.map(({ at }) => at)) - from).toBeLessThan(2500 + slackMillis)
      stage.proxy.heal()
      const again = await stage.started(3, ({ token }) => token === 2)
      expect(again.map(({ pid, attempt }) => [pid, attempt])).toEqual(ids.map(() => [worker.pid, 2]))
      await stage.allEnd(ids)
      expect(stage.starts()).toHaveLength(6)
    },
    {
      terms: {
        heartbeatMillis: 500,
        suspectMillis: 1000,
        lostMillis: 1500,
        graceMillis: 400,
        restartMillis: 400,
      },
    },
  ))

// "Shorter than the lease", on a machine on which the start of a process may take as long as the default lease.
const patient = { leaseMillis: 20_000, terms: { restartMillis: 15_000 } }

test("SC-S43 a server that restarts while 20 runs are under way: 20 completions, 20 starts", () =>
  Stage.with(async (stage) => {
    const lives = [stage.worker("w1", 10), stage.worker("w2", 10, "bun")]
    const ids = await many(20, () => stage.send("slow", 10_000))
    await stage.started(20)
    stage.server?.signal("SIGTERM")
    expect(await stage.server?.ended()).toBe(0)
    await stage.beginServer()
    await stage.allEnd(ids)
    expect(stage.starts()).toHaveLength(20)
    for (const id of ids) expect(await stage.run(id)).toMatchObject({ attempt: 1, token: 1 })
    const pids = new Set(lives.map(({ pid }) => pid))
    expect(stage.starts().every(({ pid }) => pids.has(pid))).toBe(true)
  }, patient))

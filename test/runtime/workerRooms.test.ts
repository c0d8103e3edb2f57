// Handlers in threads and in processes, on whichever runtime this is: one that blocks, exits or crashes costs its own
// attempt and nothing else, and heartbeats go on all the while.
import { fileURLToPath } from "node:url"
import { afterEach, describe, expect, test } from "vitest"
import { type ConfigOptions, type RunningWorker, worker, type WorkerEvent } from "../../apps/worker/mod.ts"
import { type ScriptedServer, scriptedServer, until } from "../common/scriptedServer.ts"

const config = fileURLToPath(new URL("./roomConfig.ts", import.meta.url))
const isDeno = (process.versions as Readonly<Record<string, string | undefined>>)["deno"] !== undefined

let closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closing.toReversed()) await close()
  closing = []
})

const quick = { heartbeatMillis: 100, suspectMillis: 1_000, lostMillis: 4_000, resendMillis: 10_000 }

const both = async (
  handlers: "here" | "thread" | "process",
  options: Partial<ConfigOptions> = {},
): Promise<{ server: ScriptedServer; each: RunningWorker; events: ReadonlyArray<WorkerEvent> }> => {
  const server = await scriptedServer({ terms: quick })
  closing.push(() => server.close())
  const events: Array<WorkerEvent> = []
  const each = await worker({ url: server.url, config, handlers, name: "w-1", ...options }).start({
    onEvent: (event) => events.push(event),
  })
  closing.push(() => each.stop({ grace: 0 }))
  await until("a session", () => each.state().phase === "connected")
  return { server, each, events }
}
const settled = (events: ReadonlyArray<WorkerEvent>, count = 1): Promise<void> =>
  until("the end", () => events.filter(({ kind }) => kind === "acknowledged").length >= count, 30_000)
const outputOf = (server: ScriptedServer, run: string): any => {
  const result = server.all("result").find((message) => message.run === run)
  if (result?.outcome.kind !== "succeeded") throw new Error(JSON.stringify(server.all("failure")))
  return JSON.parse(result.outcome.output ?? "null")
}

describe("handlers here, of a config", () => {
  test("are those of the config, and its storage is not opened", async () => {
    const { server, each } = await both("here")
    expect(server.all("hello")[0]).toMatchObject({ slots: 3, capabilities: ["resume", "flows"] })
    expect(each.state().jobs.toSorted()).toEqual(
      "block crash first leave pair pair/a pair/b program snooze speak wait where".split(" "),
    )
  })
})

describe.each(["thread", "process"] as const)("handlers in a %s", (kind) => {
  test("are given the same, run elsewhere, and one after the other in the same one", async () => {
    const { server, events } = await both(kind, { concurrency: 1, prefetch: 1 })
    for (const run of ["r1", "r2"])
      server.assign({
        run,
        job: "where",
        input: '{"a":[1]}',
        attempt: 2,
        token: 3,
        dueAt: 1_790_000_000_000,
        nominalAt: 1_789_999_999_000,
        needs: [{ job: "first", output: "1" }],
        shard: { index: 0, count: 2 },
      })
    await settled(events, 2)
    const output = outputOf(server, "r1")
    expect(output).toMatchObject({
      input: { a: [1] },
      run: {
        id: "r1",
        job: "where",
        attempt: 2,
        attemptMax: 3,
        token: 3,
        dueAt: "2026-09-21T14:13:20.000Z",
        nominalAt: "2026-09-21T14:13:19.000Z",
        late: true,
      },
      needs: { first: 1 },
      shard: { index: 0, count: 2 },
    })
    if (kind === "process") expect(output.process).not.toBe(process.pid)
    else expect(output).toMatchObject({ process: process.pid, thread: expect.any(Number) })
    const again = outputOf(server, "r2")
    expect([again.process, again.thread]).toEqual([output.process, output.thread])
  })

  test("speak, snooze, run programs and flows", async () => {
    const { server, events } = await both(kind)
    server.assign({ run: "r1", job: "speak" })
    server.assign({ run: "r2", job: "snooze" })
    server.assign({ run: "r3", job: "program" })
    await settled(events, 3)
    server.assign({ run: "r4", job: "pair" })
    await settled(events, 4)
    expect(server.all("log").flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual(["one", "two"])
    expect(server.all("progress")).toMatchObject([{ run: "r1", percent: 50, note: "half" }])
    const results = server.all("result")
    expect(results.find(({ run }) => run === "r2")?.outcome).toEqual({
      kind: "snoozed",
      delayMillis: 300_000,
    })
    expect(outputOf(server, "r3")).toMatch(/\d+\.\d+\.\d+/)
    expect(results.find(({ run }) => run === "r4")?.outcome).toMatchObject({ kind: "expanded" })
  })

  test("block for longer than the server waits, and their result counts (SC-S10)", async () => {
    const { server, events } = await both(kind)
    server.assign({ run: "r1", job: "block", input: String(3 * quick.suspectMillis) })
    await settled(events)
    expect(outputOf(server, "r1")).toBe("blocked")
    expect(server.closes).toEqual([])
    expect(server.effects.filter(({ kind: each }) => each === "status")).toEqual([])
    expect(server.all("heartbeat").length).toBeGreaterThan(5)
  })

  test("are told to stop", async () => {
    const { server, events, each } = await both(kind)
    server.assign({ run: "r1", job: "wait" })
    server.assign({ run: "r2", job: "wait", timeoutMillis: 100 })
    await until("both", () => events.filter((event) => event.kind === "started").length === 2)
    server.stop("r1", "cancelled")
    await settled(events, 2)
    const failures = server.all("failure")
    expect(failures.find(({ run }) => run === "r1")?.error.kind).toBe("cancelled")
    expect(failures.find(({ run }) => run === "r2")?.error.kind).toBe("timeout")
    await until("their slots", () => each.state().running === 0)
  })

  test("are ended when they block and do not stop: the slot comes back, with another one in its place", async () => {
    const { server, events, each } = await both(kind, { concurrency: 1, stopGrace: 200 })
    // Deno lets a thread that is busy go on: it is not to outlive the test by much.
    server.assign({ run: "r1", job: "block", input: "4000", timeoutMillis: 100 })
    await settled(events)
    expect(server.all("failure")[0]).toMatchObject({ run: "r1", error: { kind: "timeout" } })
    await until("its slot", () => each.state().strays === 0, 3_000)
    await until("the server's word for it", () => server.state()?.slots === 1)
    server.assign({ run: "r2", job: "where", needs: [{ job: "first", output: "1" }] })
    await settled(events, 2)
    expect(outputOf(server, "r2").run.id).toBe("r2")
  })

  test("that leave the process lose their own attempt, and no other", async () => {
    const { server, events } = await both(kind)
    server.assign({ run: "r1", job: "block", input: "500" })
    server.assign({ run: "r2", job: "leave", input: "7" })
    await settled(events, 2)
    expect(outputOf(server, "r1")).toBe("blocked")
    expect(server.all("failure")).toMatchObject([
      { run: "r2", error: { name: "HandlerLost", kind: "lost" }, retryable: true },
    ])
    expect(server.all("failure")[0]?.error.message).toContain("7")
    server.assign({ run: "r3", job: "where", needs: [{ job: "first", output: "1" }] })
    await settled(events, 3)
    expect(outputOf(server, "r3").run.id).toBe("r3")
    expect(server.closes).toEqual([])
  })
})

test("a process that crashes loses its own attempt", async () => {
  const { server, events } = await both("process")
  server.assign({ run: "r1", job: "crash" })
  await settled(events)
  expect(server.all("failure")).toMatchObject([{ run: "r1", error: { kind: "lost" }, retryable: true }])
  expect(server.all("failure")[0]?.error.message).toContain("SIGKILL")
})

test.skipIf(isDeno)("a thread that was ended uses no time any more", async () => {
  const { server, events, each } = await both("thread", { concurrency: 1, stopGrace: 100 })
  server.assign({ run: "r1", job: "block", input: "60000", timeoutMillis: 100 })
  await settled(events)
  await until("its slot", () => each.state().strays === 0, 5_000)
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const { user } = process.cpuUsage(before)
  expect(user).toBeLessThan(700_000)
})

// Functions, programs and requests side by side in one engine: as jobs, as needs, as steps and items of flows.
import * as Schema from "effect/Schema"
import { afterEach, describe, expect, test } from "vitest"
import { checkConfig, type Config } from "../../../apps/sdk/config.ts"
import {
  command,
  engine,
  flow,
  job,
  type Refusal,
  request,
  type RunningEngine,
} from "../../../apps/sdk/mod.ts"
import { testEngine } from "../../../apps/sdk/testing.ts"
import { aliveWith, until } from "../../adapters/executor-subprocess/programs.ts"
import { closeAll, serve } from "../../adapters/executor-http/servers.ts"

const state: { app?: RunningEngine } = {}
const lines: Array<string> = []
afterEach(async () => {
  await state.app?.stop({ grace: 0 })
  delete state.app
  lines.length = 0
  await closeAll()
})
const shell = (script: string, options: object = {}) =>
  command("/bin/sh", ["-c", script], { pass: ["PATH"], ...options } as object)
const programs = ["cat", "/bin/sh"]
const start = async (config: Config): Promise<RunningEngine> => {
  state.app = await engine({ storage: "memory:", ...config }).start({ guard: false })
  state.app.on((event) => {
    if (event.kind === "log") lines.push(`${event.run.job}: ${event.line}`)
  })
  return state.app
}

describe("one engine", () => {
  test("a function, a program and a request hand their outputs on in a chain", async () => {
    const { port, asked } = await serve(({ body }, response) => response.end(`{"got":${body}}`))
    const origin = `http://127.0.0.1:${port}`
    const numbers = job("numbers", { run: () => [3, 1, 2] })
    const sorted = job("sorted", {
      needs: { list: numbers },
      run: command<unknown>("cat", [], { output: "json" }),
    })
    const posted = job("posted", {
      needs: { sorted },
      run: request<{ got: unknown }>(`${origin}/hook`, { output: "json" }),
    })
    await start({
      jobs: [numbers, sorted, posted],
      executors: { command: { programs }, request: { origins: [origin], networks: ["127.0.0.1"] } },
    })
    const run = await posted.send()
    const sortedSaw = { input: null, needs: { list: [3, 1, 2] } }
    expect(await run.result({ timeout: "10s" })).toEqual({
      got: { input: null, needs: { sorted: sortedSaw } },
    })
    expect(asked[0]?.headers).toMatchObject({ "idempotency-key": run.id, "uhrwerk-attempt": "1" })
  })

  test("an input goes in as it was sent, lines come out as logs, and a failure is tried again", async () => {
    const flaky = job<{ day: string }, unknown>("flaky", {
      input: Schema.Struct({ day: Schema.String }),
      retry: { max: 2, delay: 0, jitter: "none" },
      run: shell('echo "attempt $UHRWERK_ATTEMPT" >&2; [ "$UHRWERK_ATTEMPT" = 2 ] && cat', {
        output: "json",
      }),
    })
    await start({ jobs: [flaky], executors: { command: { programs } } })
    const run = await flaky.send({ day: "today; rm -rf x" })
    expect(await run.result({ timeout: "10s" })).toEqual({ day: "today; rm -rf x" })
    expect(lines).toEqual(["flaky: attempt 1", "flaky: attempt 2"])
    await expect(flaky.send({ day: 5 } as never)).rejects.toThrow("does not fit")
  })

  test("steps and items of a flow do work of each kind, and what they gave is checked by their schema", async () => {
    const { port } = await serve(({ body }, response) => response.end(body.toUpperCase()))
    const origin = `http://127.0.0.1:${port}`
    const Rows = Schema.Struct({ rows: Schema.Number })
    const nightly = flow("nightly", {}, (f) => {
      const extract = f.step("extract", {
        output: Rows,
        run: shell("cat >/dev/null; echo '{\"rows\":3}'", { output: "json" }) as never,
      })
      const each = f.map("each", {
        needs: { extract },
        over: ({ extract }) => ["a", "b"].map((letter) => `${letter}${(extract as { rows: number }).rows}`),
        run: request<string>(origin, { output: "json" }),
      })
      f.step("skipped", { needs: { extract }, when: () => false, run: command("cat") })
      return f.step("joined", {
        needs: { each },
        input: ({ each }) => each.join("+"),
        run: command<string>("cat", [], { output: "json" }),
      })
    })
    const wrong = flow("wrong", {}, (f) =>
      f.step("extract", { output: Rows, run: command("cat", [], { output: "json" }) as never }),
    )
    const app = await start({
      jobs: [nightly, wrong],
      executors: { command: { programs }, request: { origins: [origin], networks: ["127.0.0.1"] } },
    })
    const run = await nightly.send()
    expect(await run.result({ timeout: "20s" })).toBe("A3+B3")
    const steps = (await app.flow(run.id))?.steps.map(({ id, state: ended }) => `${id} ${ended}`)
    expect(steps).toEqual(["extract succeeded", "each succeeded", "skipped skipped", "joined succeeded"])

    const bad = await wrong.send()
    await expect(bad.result({ timeout: "20s" })).rejects.toThrow("dead")
    const [step] = (await app.runs({ state: "dead" })).filter(({ job: name }) => name === "wrong/extract")
    expect(step).toMatchObject({ attempt: 1, error: { kind: "payload" } })
  })

  test("a time-out, a cancel and a stop end programs, of jobs and of steps", async () => {
    const mark = String(process.pid)
    const sleeper = job("sleeper", { timeout: 300, retry: { max: 1 }, run: shell(`exec sleep 61.${mark}`) })
    const cancelled = job("cancelled", { run: shell(`echo up; exec sleep 62.${mark}`) })
    const inFlow = flow("inFlow", {}, (f) => {
      f.step("step", { run: shell(`echo up; exec sleep 63.${mark}`) })
    })
    const app = await start({
      jobs: [sleeper, cancelled, inFlow],
      executors: { command: { programs } },
    })
    const slept = await sleeper.send()
    await expect(slept.result({ timeout: "10s" })).rejects.toThrow("longer than its limit")
    await until("it is gone", () => aliveWith(`61.${mark}`).length === 0)

    const run = await cancelled.send()
    await inFlow.send()
    await until("both are up", () => lines.length === 2)
    await app.cancel(run.id)
    await until("it is gone", () => aliveWith(`62.${mark}`).length === 0)
    expect(aliveWith(`63.${mark}`)).toHaveLength(1)
    await app.stop({ grace: 0 })
    expect(aliveWith(`63.${mark}`)).toEqual([])
  })

  test("the next attempt begins when nothing of the last one is left, also when that was deaf (SC-S38)", async () => {
    const mark = `64.${process.pid}`
    const look = "ps -e -o stat=,args= | grep -v '^Z' | grep -c \"[s]leep $1\" >&2"
    const text = `${look}; trap '' TERM; sleep $1 & sleep $1; sleep $1`
    const deaf = job("deaf", {
      timeout: 400,
      retry: { max: 3, delay: 0, jitter: "none" },
      run: command("/bin/sh", ["-c", text, "script", mark], { pass: ["PATH"] }),
    })
    const app = await start({
      jobs: [deaf],
      executors: { command: { programs } },
      worker: { concurrency: 1 },
    })
    const run = await deaf.send()
    await expect(run.result({ timeout: "10s" })).rejects.toThrow("longer than its limit")
    expect(lines).toEqual(["deaf: 0", "deaf: 0", "deaf: 0"])
    expect(app.load().carried).toBe(0)
    await app.stop({ grace: 0 })
    expect(aliveWith(mark)).toEqual([])
  })

  test("in virtual time programs are waited for", async () => {
    const nightly = job("nightly", { run: command("cat", [], { output: "json" }) })
    const app = await testEngine({ jobs: [nightly], executors: { command: { programs } } })
    const run = await app.send(nightly as never, 7 as never, { delay: "1d" })
    await app.advance("2d")
    expect(await app.run(run.id)).toMatchObject({ state: "succeeded", output: "7" })
    await app.stop()
  })
})

describe("a config is refused, and its field is named", () => {
  const refusal = async (config: unknown): Promise<Refusal> => {
    try {
      await checkConfig(config as Config)
    } catch (error) {
      return error as Refusal
    }
    throw new Error("It was taken")
  }
  const withCommand = (...args: Parameters<typeof command>) => ({
    jobs: [job("report", { run: command(...args) as never })],
    executors: { command: { programs: ["python3", "/opt/report"] } },
  })
  const bad = (options: unknown) => withCommand("python3", [], options as never)

  test.each<[string, unknown, string, string]>([
    [
      "a program that is not on the list",
      withCommand("perl"),
      "program",
      '"perl" is not a program that may run',
    ],
    ["a path in the place of a name", withCommand("/usr/bin/python3"), "program", "these are"],
    ["a name with a path", withCommand("./python3"), "program", "these are"],
    ["no program", withCommand(undefined as never), "program", "undefined"],
    ["a zero byte", withCommand("python3", ["a\0b"]), "args[0]", "zero byte"],
    ["an argument that is no text", withCommand("python3", ["a", 5 as never]), "args[1]", "5"],
    ["arguments as a text", withCommand("python3", "-c x" as never), "args", "a list"],
    ["another output", bad({ output: "xml" }), "output", "xml"],
    ["too much output", bad({ output: "text", outputMax: 262_145 }), "outputMax", "262145"],
    ["too many lines", bad({ logMax: -1 }), "logMax", "-1"],
    ["a long grace", bad({ killGrace: "31s" }), "killGrace", "31s"],
    ["a name of ours", bad({ env: { UHRWERK_TOKEN: "1" } }), "env", "ours"],
    ["a name that is none", bad({ env: { "A=B": "1" } }), "env", "A=B"],
    ["a value that is none", bad({ env: { A: 5 } }), "env.A", "text"],
    ["a variable of ours to pass", bad({ pass: ["UHRWERK_X"] }), "pass", "ours"],
    ["one name to pass", bad({ pass: "PATH" }), "pass", "list"],
    ["a folder that is none", bad({ cwd: "" }), "cwd", "folder"],
    ["exit code 0", bad({ fatalExits: [0] }), "fatalExits", "1 to 255"],
    ["an exit code with two meanings", bad({ fatalExits: [75] }), "laterExits", "75"],
    ["no options", bad(null), "options", "null"],
  ])("%s", async (_, config, field, reason) => {
    const refused = await refusal(config)
    expect(refused.field).toBe(`job "report".run.${field}`)
    expect(refused.message).toContain(reason)
  })

  test.each<[unknown, string]>([
    [{ command: { programs: ["./report"] } }, "executors.command.programs[0]"],
    [{ command: { programs: ["a/b"] } }, "executors.command.programs[0]"],
    [{ command: { programs: [".."] } }, "executors.command.programs[0]"],
    [{ command: { programs: ["ok", 5] } }, "executors.command.programs[1]"],
    [{ command: { programs: "python3" } }, "executors.command.programs"],
    [{ command: null }, "executors.command"],
    [{ request: { origins: ["a.example"] } }, "executors.request.origins[0]"],
    [{ request: 5 }, "executors.request"],
    [null, "executors"],
  ])("executors %j", async (executors, field) => {
    expect((await refusal({ jobs: [], executors })).field).toBe(field)
  })

  test("without rules nothing may run, in jobs, steps and items", async () => {
    const one = flow("one", {}, (f) => void f.step("a", { run: command("ls") }))
    const two = flow("two", {}, (f) => void f.map("b", { over: () => [], run: request("https://a.example") }))
    expect((await refusal({ jobs: [job("report", { run: command("ls") })] })).message).toContain("none is")
    expect((await refusal({ jobs: [one] })).field).toBe('flow "one": step "a".run.program')
    expect((await refusal({ jobs: [two] })).field).toBe('flow "two": step "b".run.url')
  })

  test("what is neither a function nor work", async () => {
    for (const run of [5, "ls", {}, { "~work": null }, { "~work": { kind: "x" } }, null]) {
      const refused = await refusal({ jobs: [job("report", { run: run as never })] })
      expect(refused).toMatchObject({ field: 'job "report".run' })
    }
  })
})

// `uhrwerk worker` as a person or a supervisor runs it: a process, its output, its signals and its exit codes.
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { scriptedServer, type ScriptedServer, type ScriptOptions } from "../../common/scriptedServer.ts"
import { cli, inProcess, moduleUrl } from "../cli/cli.ts"

const script = fileURLToPath(moduleUrl("apps/cli/main.ts"))
let folder = ""
let server: ScriptedServer | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uhrwerk-worker-"))
  writeFileSync(
    join(folder, "uhrwerk.config.ts"),
    `import { defineConfig, job } from "${moduleUrl("apps/sdk/mod.ts")}"
export default defineConfig({
  storage: "sqlite:nowhere/at/all.db",
  grace: "10s",
  jobs: [
    job("greet", { run: (name, ctx) => { ctx.log("greeting"); return "hello " + name } }),
    job("pid", { run: () => process.pid }),
    job("slow", { run: (_, ctx) => new Promise((resolve) => setTimeout(resolve, 500)) }),
  ],
})
`,
  )
})
afterEach(async () => {
  await server?.close()
  server = undefined
  rmSync(folder, { recursive: true, force: true })
})
const serve = async (options: ScriptOptions = {}): Promise<ScriptedServer> => {
  server = await scriptedServer(options)
  return server
}

test("takes the jobs of the config, says who it is, drains on SIGTERM and ends with 0", async () => {
  let authorization: string | undefined
  const { url, all, assign, until } = await serve({
    deny: (header) => {
      authorization = header
      return null
    },
  })
  writeFileSync(join(folder, "token"), "secret\n")
  const flags = ["--token-file", "token", "--name", "w-1", "--concurrency", "3", "--prefetch", "2"]
  const labels = ["--label", "region=eu", "--label", "gpu=2", "--label", "spot=true", "--queue", "mail"]
  const ended = cli(["worker", "--url", url, ...flags, ...labels], {
    cwd: folder,
    until: /slow.* started/,
  })
  await until("hello", () => all("hello").length === 1, 20_000)
  expect(authorization).toBe("Bearer secret")
  expect(all("hello")[0]).toMatchObject({
    worker: "w-1",
    jobs: ["greet", "pid", "slow"],
    slots: 3,
    prefetch: 2,
    labels: { region: "eu", gpu: 2, spot: true },
    queues: ["mail"],
  })
  assign({ run: "r1", job: "greet", input: '"you"' })
  await until("the result", () => all("result").length === 1)
  assign({ run: "r2", job: "slow" })
  const { code, stdout, stderr } = await ended
  expect([code, stderr]).toEqual([0, ""])
  expect(all("result").map(({ run, outcome }) => [run, outcome.kind])).toEqual([
    ["r1", "succeeded"],
    ["r2", "succeeded"],
  ])
  expect(all("drain")).toMatchObject([{ graceMillis: 10_000 }])
  expect(all("bye")).toHaveLength(1)
  for (const line of [
    'uhrwerk worker "w-1"',
    "jobs: greet, pid, slow",
    "Connected to scripted",
    "greeting",
    "greet succeeded",
    "Draining",
    "Ended: drained",
  ])
    expect(stdout).toContain(line)
  expect(stdout).not.toContain("secret")
})

const isAlive = (pid: number): boolean => {
  try {
    // One that has ended and that nobody has asked about is there still, as Z.
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") === false
  } catch {
    return false
  }
}

test.skipIf(process.platform !== "linux")(
  "processes of handlers: Ctrl-C to the group lets them end, and none outlives a worker that is killed",
  async () => {
    const { url, all, assign, until } = await serve()
    const args = ["worker", "--url", url, "--handlers", "process", "--name", "w-1"]
    const open = (): ChildProcess =>
      spawn(process.execPath, [script, ...args], { cwd: folder, detached: true, stdio: "ignore" })
    const roomOf = async (run: string): Promise<number> => {
      const count = all("hello").length
      await until("hello", () => all("hello").length > count, 20_000)
      assign({ run, job: "pid" })
      await until("the result", () => all("result").some((each) => each.run === run), 20_000)
      const outcome = all("result").find((each) => each.run === run)?.outcome
      return Number(outcome?.kind === "succeeded" ? outcome.output : Number.NaN)
    }
    const first = open()
    try {
      const room = await roomOf("r1")
      expect(isAlive(room)).toBe(true)
      assign({ run: "r2", job: "slow" })
      await until("the start", () => all("ack").some(({ acks }) => acks.some((each) => each.run === "r2")))
      const ended = new Promise((resolve) => first.on("close", resolve))
      process.kill(-(first.pid ?? Number.NaN), "SIGINT")
      expect(await ended).toBe(0)
      expect(all("result").find((each) => each.run === "r2")?.outcome.kind).toBe("succeeded")
      expect(isAlive(room)).toBe(false)
    } finally {
      first.kill("SIGKILL")
    }
    const second = open()
    try {
      const room = await roomOf("r3")
      second.kill("SIGKILL")
      await until("its end", () => !isAlive(room))
    } finally {
      second.kill("SIGKILL")
    }
  },
)

test("the token may be in the environment", async () => {
  let authorization: string | undefined
  const { url } = await serve({
    deny: (header) => {
      authorization = header
      return [4401, "the token was revoked"]
    },
  })
  const { code, stdout, stderr } = await cli(["worker", "--url", url], {
    cwd: folder,
    env: { UHRWERK_WORKER_TOKEN: "secret" },
  })
  expect(authorization).toBe("Bearer secret")
  expect(code).toBe(4)
  expect(stderr).toContain("the token was revoked")
  expect(stderr).toContain("Give it a token that is valid")
  expect(stdout + stderr).not.toContain("secret")
})

describe("exit codes", () => {
  test.each([
    [4403, 4],
    [4409, 1],
    [4406, 1],
    [1000, 0],
  ])("of a close with %i: %i", async (close, code) => {
    const { url } = await serve({ deny: () => [close, "why not"] })
    expect(await cli(["worker", "--url", url], { cwd: folder })).toMatchObject({ code })
  })

  test("of a server that is not there: it says so and tries on; told to give up, 6", async () => {
    const { url, close } = await serve()
    await close()
    server = undefined
    const { code, stdout, stderr } = await cli(["worker", "--url", url, "--give-up", "800ms"], {
      cwd: folder,
    })
    expect(code).toBe(6)
    // Once, though there were several tries.
    expect(stdout.match(/No server/g)).toHaveLength(1)
    expect(stderr).toContain("did not reach")
  })
})

describe("wrong use is refused with 2 and the next step", () => {
  test.each([
    [["worker", "extra"], "takes no argument"],
    [["worker", "--url", "http://x"], "url: "],
    [["worker", "--label", "region"], "NAME=VALUE"],
    [["worker", "--concurrency", "many"], "--concurrency"],
    [["worker", "--handlers", "moon"], "handlers: "],
    [["worker", "--token-file", "none"], "--token-file"],
    [["worker", "--give-up", "soon"], "giveUp: "],
    [["worker", "--config", "none.ts"], "config: "],
  ])("%j", async (args, text) => {
    const { code, stderr } = await inProcess(args, folder)
    expect(stderr).toContain(text)
    expect(code).toBe(2)
  })

  test("a folder without a config", async () => {
    rmSync(join(folder, "uhrwerk.config.ts"))
    const { code, stderr } = await inProcess(["worker"], folder)
    expect(stderr).toContain("uhrwerk worker --config FILE")
    expect(code).toBe(2)
  })
})

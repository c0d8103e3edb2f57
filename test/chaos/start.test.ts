// What `npm start` does, as a person meets it, on each runtime: Ctrl-C once and twice, SIGTERM, a kill in the
// middle, a second engine, and the other commands beside a running engine and after it.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { Run } from "../../core/domain/Run.ts"
import { type Child, eventually, inFolder, pause, root, type RuntimeName, runtimes } from "./children.ts"

const cli = join(root, "apps/cli/main.ts")

// Jobs that tell by files what they did, and are steered by files: a flag named `mended` mends `broken`.
const config = (folder: string): string => `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { at, defineConfig, job, NonRetryable } from ${JSON.stringify(join(root, "apps/sdk/mod.ts"))}
const folder = ${JSON.stringify(folder)}
const did = (what) => appendFileSync(folder + "/did.txt", what + "\\n")
const once = at("2020-01-01T00:00:00Z")
const jobs = [
  job("slow", { on: once, run: async (_, ctx) => {
    did("slow began " + ctx.run.attempt)
    await new Promise((resolve) => setTimeout(resolve, 1200))
    did("slow ended " + ctx.run.attempt)
    return "well"
  } }),
  job("stubborn", { on: once, run: (_, ctx) => {
    did("stubborn began " + ctx.run.attempt)
    return new Promise(() => {})
  } }),
  job("broken", { on: once, run: (_, ctx) => {
    did("broken began")
    if (!existsSync(folder + "/mended")) throw new NonRetryable("Not mended yet")
    did("broken works")
  } }),
  job("beat", { on: at("2020-01-01T00:00:00Z"), run: () => did("beat") }),
]
const wanted = readFileSync(folder + "/jobs.txt", "utf8").split(" ")
export default defineConfig({ storage: "sqlite:" + folder + "/uhrwerk.db", grace: "20s", jobs: jobs.filter(({ name }) => wanted.includes(name)) })
`

interface Place {
  readonly folder: string
  readonly dev: () => Child
  /** Runs a command to its end; answers what it printed. */
  readonly command: (
    ...words: ReadonlyArray<string>
  ) => Promise<{ code: number | string; text: string; stdout: string }>
  readonly did: () => string
  /** Waits until the handlers' file has this line. */
  readonly done: (line: string) => Promise<void>
  /** The run of a job, as the store has it. */
  readonly runOf: (job: string) => Run | undefined
}

const project = (runtime: RuntimeName, jobs: string, body: (place: Place) => Promise<void>) =>
  inFolder(async (folder, startChild) => {
    writeFileSync(join(folder, "uhrwerk.config.ts"), config(folder))
    writeFileSync(join(folder, "jobs.txt"), jobs)
    const file = join(folder, "uhrwerk.db")
    const did = (): string =>
      existsSync(join(folder, "did.txt")) ? readFileSync(join(folder, "did.txt"), "utf8") : ""
    const run = (words: ReadonlyArray<string>): Child => startChild(runtime, [cli, ...words])
    await body({
      folder,
      dev: () => run(["dev", join(folder, "uhrwerk.config.ts")]),
      command: async (...words) => {
        const child = run([...words, "--storage", `sqlite:${file}`])
        return { code: await child.ended(), text: child.output(), stdout: child.stdout() }
      },
      did,
      done: (line) =>
        eventually(
          `"${line}" on ${runtime}`,
          () => did().split("\n").includes(line) || undefined,
          20_000,
        ).then(() => {}),
      runOf: (job) => {
        const store = sqliteDriver({ file, role: "tool", create: false, now: () => Date.now() })
        try {
          return (store.list({ job, limit: 1 }) as ReadonlyArray<Run>)[0]
        } finally {
          void store.close()
        }
      },
    })
  })

describe.each(runtimes)("dev on %s", (runtime) => {
  test.each([["SIGINT"], ["SIGTERM"]] as const)(
    "%s drains: the handler in flight finishes, and the process ends with 0",
    (signal) =>
      project(runtime, "slow", async ({ dev, done, did, runOf }) => {
        const child = dev()
        await done("slow began 1")
        child.signal(signal)
        await child.until(/Draining: 1 run in hand/)
        expect(await child.ended()).toBe(0)
        expect(child.output()).toContain("Stopped. Nothing was lost")
        expect(did()).toContain("slow ended 1")
        expect(runOf("slow")).toMatchObject({ state: "succeeded", attempt: 1, output: '"well"' })
      }),
  )

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("a second %s ends it at once with %i, and its run goes on at the next start", (signal, code) =>
    project(runtime, "stubborn", async ({ dev, done, runOf }) => {
      const child = dev()
      await done("stubborn began 1")
      child.signal(signal)
      await child.until(/Draining/)
      await pause(400)
      const from = performance.now()
      child.signal(signal)
      expect(await child.ended()).toBe(code)
      // The grace period is 20 s: it was not waited for.
      expect(performance.now() - from).toBeLessThan(10_000)
      expect(runOf("stubborn")).toMatchObject({ state: "running", attempt: 1 })
      const next = dev()
      await done("stubborn began 2")
      expect(next.output()).toContain("taken back from a lost node")
    }),
  )

  test("one press that arrives twice is one press", () =>
    project(runtime, "slow", async ({ dev, done, did }) => {
      const child = dev()
      await done("slow began 1")
      child.signal("SIGINT")
      child.signal("SIGTERM")
      expect(await child.ended()).toBe(0)
      expect(did()).toContain("slow ended 1")
    }))

  test("kill -9 in the middle: the run goes on at the next start, and nothing is stuck", () =>
    project(runtime, "slow beat", async ({ dev, done, did, runOf }) => {
      const child = dev()
      await done("slow began 1")
      // Settled as well: an effect before it may come twice.
      await eventually("the beat", () => runOf("beat")?.state === "succeeded" || undefined)
      child.signal("SIGKILL")
      expect(await child.ended()).toBe("SIGKILL")
      expect(did()).not.toContain("slow ended")
      const next = dev()
      await done("slow ended 2")
      await eventually("the end", () => runOf("slow")?.state === "succeeded" || undefined)
      expect(did().match(/beat/g)).toHaveLength(1)
      next.signal("SIGTERM")
      expect(await next.ended()).toBe(0)
    }))

  test("a second engine on the file is refused with 5 and told who has it; the first goes on", () =>
    project(runtime, "slow", async ({ dev, done, runOf }) => {
      const first = dev()
      await done("slow began 1")
      const second = dev()
      expect(await second.ended()).toBe(5)
      expect(second.output()).toContain(`the engine in process ${first.pid} on `)
      expect(second.output()).toContain("Stop that engine first")
      await eventually("the end", () => runOf("slow")?.state === "succeeded" || undefined)
      first.signal("SIGINT")
      expect(await first.ended()).toBe(0)
    }))

  test("other commands look and replay beside it, and after it", () =>
    project(runtime, "broken beat", async ({ folder, dev, done, command, runOf }) => {
      const child = dev()
      await child.until(/broken.* is dead/)
      const dead = runOf("broken")?.id ?? "none"
      const list = await command("run", "list")
      expect(list.code).toBe(0)
      expect(list.text).toMatch(new RegExp(`${dead} +broken +dead`))
      expect(list.text).toMatch(/beat +succeeded/)
      const shown = await command("run", "show", dead)
      expect(shown.code).toBe(0)
      expect(shown.text).toContain("NonRetryable: Not mended yet")
      const letters = await command("dead", "list", "--output", "json")
      expect(letters.code).toBe(0)
      expect(JSON.parse(letters.stdout)).toMatchObject([{ runId: dead }])

      appendFileSync(join(folder, "mended"), "")
      const replay = await command("dead", "replay", dead)
      expect(replay.code).toBe(0)
      await done("broken works")
      const run = await eventually("the end", () => {
        const found = runOf("broken")
        return found?.state === "succeeded" ? found : undefined
      })
      expect(run).toMatchObject({ id: replay.stdout.trim(), replayOf: dead })
      // The interface says "within a second".
      expect((run.startedAt ?? Infinity) - run.createdAt).toBeLessThan(2000)

      child.signal("SIGINT")
      expect(await child.ended()).toBe(0)
      expect((await command("run", "list", "--state", "succeeded")).text).toContain(run.id)
      const again = await command("dead", "replay", dead)
      expect(again.text).toContain("was replayed before")
    }))

  test("whoever reads its output may go away: it works on, and still ends when told", () =>
    project(runtime, "slow beat", async ({ dev, done, runOf }) => {
      const child = dev()
      await done("slow began 1")
      child.stopReading()
      await done("slow ended 1")
      await eventually("the end", () => runOf("slow")?.state === "succeeded" || undefined)
      child.signal("SIGTERM")
      expect(await child.ended()).toBe(0)
    }))
})

// Programs of an engine that ends in each way that a process can: none goes on without it, none runs beside the next
// attempt, and what was handed back uses no attempt.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { sqliteDriver } from "../../adapters/store-sql/sqlite.ts"
import type { Run } from "../../core/domain/Run.ts"
import { aliveWith } from "../adapters/executor-subprocess/programs.ts"
import { type Child, eventually, inFolder, root, type RuntimeName, runtimes } from "./children.ts"

const cli = join(root, "apps/cli/main.ts")

// It notes its attempt, and how many programs of its kind it found; then it sleeps, heeds no SIGTERM, nor does its child.
const script = `others=$(ps -e -o stat=,args= | grep -v '^Z' | grep -c "[s]leep $1")
echo "began $UHRWERK_ATTEMPT beside $others" >> "$2"
trap '' TERM
sleep $1 & sleep $1
sleep $1`

const config = (folder: string, mark: string): string => `
import { at, command, defineConfig, job } from ${JSON.stringify(join(root, "apps/sdk/mod.ts"))}
const args = ["-c", ${JSON.stringify(script)}, "script", ${JSON.stringify(mark)}, ${JSON.stringify(join(folder, "did.txt"))}]
const deaf = job("deaf", {
  on: at("2020-01-01T00:00:00Z"),
  retry: { delay: 0, jitter: "none" },
  run: command("/bin/sh", args, { pass: ["PATH"], killGrace: "30s" }),
})
export default defineConfig({
  storage: "sqlite:" + ${JSON.stringify(join(folder, "uhrwerk.db"))},
  grace: "200ms",
  executors: { command: { programs: ["/bin/sh"] } },
  jobs: [deaf],
})
`

interface Place {
  readonly dev: () => Child
  /** Waits for the line of the attempt; answers how many others it found. */
  readonly began: (attempt: number) => Promise<number>
  /** Waits until no program is left. */
  readonly gone: () => Promise<void>
  readonly alive: () => number
  readonly run: () => Run | undefined
}

let marks = 0

const project = (runtime: RuntimeName, body: (place: Place) => Promise<void>) =>
  inFolder(async (folder, startChild) => {
    const mark = `60.${process.pid}${String(marks++).padStart(3, "0")}`
    const file = join(folder, "uhrwerk.config.ts")
    writeFileSync(file, config(folder, mark))
    const did = join(folder, "did.txt")
    const alive = (): number => aliveWith(`sleep ${mark}`).length
    await body({
      dev: () => startChild(runtime, [cli, "dev", file]),
      began: async (attempt) => {
        const pattern = new RegExp(`^began ${attempt} beside (\\d+)$`, "m")
        const look = () =>
          existsSync(did) ? (pattern.exec(readFileSync(did, "utf8")) ?? undefined) : undefined
        const [, others] = await eventually(`attempt ${attempt} on ${runtime}`, look, 20_000)
        await eventually("its programs", () => alive() === 2 || undefined)
        return Number(others)
      },
      gone: () => eventually("the end of all programs", () => alive() === 0 || undefined).then(() => {}),
      alive,
      run: () => {
        const store = sqliteDriver({
          file: join(folder, "uhrwerk.db"),
          role: "tool",
          create: false,
          now: () => Date.now(),
        })
        try {
          return (store.list({ job: "deaf", limit: 1 }) as ReadonlyArray<Run>)[0]
        } finally {
          void store.close()
        }
      },
    })
  })

describe.each(runtimes)("programs on %s", (runtime) => {
  test("kill -9 of the engine ends them, and the next attempt begins beside none", () =>
    project(runtime, async ({ dev, began, gone }) => {
      const first = dev()
      expect(await began(1)).toBe(0)
      first.signal("SIGKILL")
      const second = dev()
      expect(await began(2)).toBe(0)
      second.signal("SIGKILL")
      await gone()
    }))

  test("SIGTERM hands the run back unfinished, and nothing is left when the engine has ended", () =>
    project(runtime, async ({ dev, began, alive, run }) => {
      const child = dev()
      expect(await began(1)).toBe(0)
      child.signal("SIGTERM")
      expect(await child.ended()).toBe(0)
      expect(alive()).toBe(0)
      expect(run()).toMatchObject({ state: "ready", attempt: 0 })
    }))

  test("a second SIGTERM ends the engine at once, and them with it", () =>
    project(runtime, async ({ dev, began, gone }) => {
      const child = dev()
      await began(1)
      child.signal("SIGTERM")
      await child.until(/Draining/)
      child.signal("SIGTERM")
      expect([143, 0]).toContain(await child.ended())
      await gone()
    }))
})

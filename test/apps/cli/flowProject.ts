// A project with flows, for the tests of the command line: a folder with its config, and an engine in this process
// that runs it over a file.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { vi } from "vitest"
import { checkConfig, type Config } from "../../../apps/sdk/config.ts"
import { type RunningEngine, startProject } from "../../../apps/sdk/engine.ts"
import { isFinal, type Run } from "../../../core/domain/Run.ts"
import { inProcess, moduleUrl } from "./cli.ts"

const config = `import { defineConfig, flow, job, NonRetryable } from ${JSON.stringify(moduleUrl("apps/sdk/mod.ts"))}
const once = { max: 1 }
// So long that the critical path is the same on every machine.
const later = (millis, value) => new Promise((resolve) => setTimeout(() => resolve(value), millis))
const inner = flow("inner", {}, (f) => f.step("one", { run: () => 1 }))
const validate = (value) => value === undefined || typeof value.day === "number" ? { value } : { issues: [{ message: "the day is no number" }] }
const input = { "~standard": { version: 1, vendor: "test", validate } }
const etl = flow("etl", { input }, (f) => {
  const extract = f.step("extract", { run: () => later(20, [1, 2, 3]) })
  const check = f.step("check", { needs: { extract }, allowFailure: true, retry: once, run: () => { throw new Error("no country") } })
  const files = f.map("files", { needs: { extract }, over: ({ extract }) => extract, run: (n) => later(40, n * 2) })
  const sub = f.flow("sub", inner, { needs: { extract } })
  const load = f.step("load", { needs: { files, sub }, retry: once, run: ({ files }) => {
    if (!globalThis.flowsMended) throw new NonRetryable("the disk is full")
    return files.length
  } })
  const monday = f.step("monday", { needs: { extract }, when: () => false, run: () => 1 })
  f.step("monday.report", { needs: { monday }, run: () => 1 })
  f.step("tell", { needs: { load, check }, rule: "all_done", run: () => "told" })
  return f.step("publish", { needs: { load }, run: ({ load }) => load })
})
const gate = flow("gate", {}, (f) => {
  const wait = f.step("the partner's file", { run: (_, ctx) => ctx.sleep("1h") })
  return f.step("next", { needs: { wait }, run: ({ wait }) => wait })
})
const wide = flow("wide", {}, (f) => {
  for (let n = 0; n < 8; n++) f.step(\`s\${n}\`, { run: () => n })
})
export default defineConfig({ jobs: [etl, inner, gate, wide, job("plain", { run: () => 1 })], poll: "50ms" })
`

/** A started project. */
export const flowProject = async () => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-flows-"))
  const bare = mkdtempSync(join(tmpdir(), "uhrwerk-flows-bare-"))
  const file = join(folder, "uhrwerk.config.mjs")
  writeFileSync(file, config)
  const storage = `sqlite:${join(folder, "uhrwerk.db")}` as const
  const module = (await import(file)) as { readonly default: Config }
  const engine: RunningEngine = await startProject(await checkConfig({ ...module.default, storage }), {
    guard: false,
  })
  const until = <A>(look: () => Promise<A | undefined>): Promise<A> =>
    vi.waitFor(
      async () => {
        const found = await look()
        if (found === undefined) throw new Error("not yet")
        return found
      },
      { timeout: 10_000, interval: 20 },
    )
  const at = (...args: ReadonlyArray<string>) => inProcess(args, folder)
  const begin = async (...args: ReadonlyArray<string>): Promise<string> =>
    (await at("flow", "run", ...args)).stdout.trim()
  const ended = (id: string): Promise<Run> =>
    until(async () => {
      const run = await engine.run(id)
      return run !== undefined && isFinal(run.state) ? run : undefined
    })
  /** Whether the disk of step `load` has room. */
  const mend = (isMended: boolean): void => {
    Object.assign(globalThis, { flowsMended: isMended })
  }
  return {
    folder,
    /** A folder without a config. */
    bare,
    engine,
    /** The command line in the project's folder, and over its store from elsewhere. */
    at,
    beside: (...args: ReadonlyArray<string>) => inProcess([...args, "--storage", storage], bare),
    begin,
    ended,
    mend,
    /** A run of `etl` that has died of step `load`. */
    dead: async (): Promise<string> => {
      mend(false)
      const id = await begin("etl")
      await ended(id)
      return id
    },
    stepRun: async (id: string, step: string): Promise<string> =>
      (await engine.flow(id))?.steps.find((each) => each.id === step)?.runId as string,
    /** A run of `gate` whose first step is running, and the run of that step. */
    waiting: async (): Promise<{ readonly id: string; readonly step: string }> => {
      const id = await begin("gate")
      const step = await until(async () => {
        const runId = (await engine.flow(id))?.steps[0]?.runId ?? ""
        return (await engine.run(runId))?.state === "running" ? runId : undefined
      })
      return { id, step }
    },
    close: async (): Promise<void> => {
      await engine.stop({ grace: 0 })
      for (const each of [folder, bare]) rmSync(each, { recursive: true, force: true })
    },
  }
}

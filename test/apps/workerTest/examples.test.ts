// The example workers keep every promise of the protocol: each has full marks, in a process of its own as people start
// it. Which runtimes there are is looked up; what is not there is skipped.
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { afterAll, expect, test } from "vitest"
import { type Launch, launchCommand, type Report, testWorker } from "../../../apps/worker-test/mod.ts"

const root = new URL("../../../", import.meta.url)
const at = (path: string): string => fileURLToPath(new URL(path, root))
const answers = (program: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(program, [...args], { stdio: "ignore" }).status === 0
const bin = (name: string): string => at(`node_modules/.bin/${name}`)
const typescript = "apps/examples/workers/typescript/worker.ts"

const workers: ReadonlyArray<{
  readonly name: string
  /** Why it cannot be started here; null: it can. */
  readonly missing: string | null
  readonly command: ReadonlyArray<string>
}> = [
  {
    name: "python",
    missing: answers("python3", "--version") ? null : "there is no python3",
    command: ["python3", at("apps/examples/workers/python/worker.py")],
  },
  {
    name: "deno",
    missing: null,
    command: [bin("deno"), "run", "--allow-net", "--allow-env", at("apps/examples/workers/deno/worker.ts")],
  },
  // The package's own worker, on all three.
  ...[
    { runtime: "Node", start: [bin("node")] },
    { runtime: "Bun", start: [bin("bun")] },
    { runtime: "Deno", start: [bin("deno"), "run", "-A"] },
  ].map(({ runtime, start }) => ({
    name: `typescript on ${runtime}`,
    missing: existsSync(at(typescript)) ? null : `there is no ${typescript} yet`,
    command: [...start, at(typescript)],
  })),
]

const pids: Array<number> = []
const noted =
  (launch: Launch): Launch =>
  (env) => {
    const started = launch(env)
    if (started.pid !== null) pids.push(started.pid)
    return started
  }

test.for(workers)("$name has full marks", { timeout: 120_000 }, async ({ missing, command }, { skip }) => {
  skip(missing !== null, missing ?? "")
  const launch = noted(launchCommand(command))
  const first = await testWorker({ launch })
  const lost = lostIn(first)
  // What a machine that is too busy for the spans of a case made it lose, it does not lose again.
  const second = lost.length === 0 ? first : await testWorker({ launch, cases: lost.map(({ id }) => id) })
  expect(lostIn(second)).toEqual([])
  expect(lost.length).toBeLessThan(3)
  expect(first.pointsMax).toBeGreaterThan(80)
})

const lostIn = ({ cases }: Report): ReadonlyArray<{ readonly id: string }> =>
  cases.filter(({ ok }) => !ok).map(({ id, lost }) => ({ id, ...lost }))

afterAll(() => {
  // No process outlives the kit.
  const alive = execFileSync("ps", ["-eo", "pid="]).toString().split("\n").map(Number)
  expect(pids.filter((pid) => alive.includes(pid))).toEqual([])
})

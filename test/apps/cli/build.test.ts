// What npm gets: the build has JavaScript only, its launcher starts, and its manifest names files that are there.
import { execFileSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"

const root = new URL("../../../", import.meta.url).pathname
const dist = join(root, "dist")
const json = (file: string): Record<string, any> =>
  JSON.parse(readFileSync(file, "utf8")) as Record<string, any>

beforeAll(() => {
  execFileSync(process.execPath, ["apps/cli/build.ts"], { cwd: root })
}, 60_000)

test("every entry of the manifest is a built file with its types", () => {
  const { exports, bin } = json(join(dist, "package.json"))
  const files = Object.values(exports as Record<string, string | Record<string, string>>).flatMap((entry) =>
    typeof entry === "string" ? [entry] : Object.values(entry),
  )
  expect(files.length).toBeGreaterThan(9)
  for (const file of [...files, ...Object.values(bin as Record<string, string>)]) {
    expect(existsSync(join(dist, file)), file).toBe(true)
  }
})

test("it has what authors of workers in other languages read and copy", () => {
  for (const file of [
    "core/protocol/README.md",
    "core/protocol/spec/asyncapi.json",
    "core/protocol/transcripts/one-run.json",
    "apps/worker-test/README.md",
    "apps/examples/workers/python/worker.py",
    "apps/examples/workers/deno/worker.ts",
  ])
    expect(existsSync(join(dist, file)), file).toBe(true)
})

test("there is no TypeScript source in it, which runtimes refuse inside node_modules, but one to copy", () => {
  const sources = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".d.ts"),
  )
  expect(sources).toEqual([join("apps/examples/workers/deno/worker.ts")])
})

test("the built command starts and knows its version", () => {
  const said = execFileSync(process.execPath, [join(dist, "apps/cli/bin.js"), "--version"], {
    encoding: "utf8",
  })
  expect(said.trim()).toBe(json(join(root, "package.json"))["version"])
})

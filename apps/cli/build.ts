// Builds what npm gets, into `dist/` or the folder that is given: JavaScript, declarations and a manifest of its own.
// Runtimes refuse TypeScript inside node_modules, so the entries that point at sources here point at JavaScript there.
import { execFileSync } from "node:child_process"
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = new URL("../../", import.meta.url)
const at = (path: string): string => fileURLToPath(new URL(path, root))
const out = resolve(process.argv[2] ?? at("dist"))

type Manifest = {
  readonly exports: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}
const manifest = JSON.parse(readFileSync(at("package.json"), "utf8")) as Manifest

// `./core/mod.ts` is built to `./core/mod.js` beside `./core/mod.d.ts`; other targets are shipped as they are.
const entry = (source: string): string | { types: string; default: string } =>
  source.endsWith(".ts")
    ? { types: source.replace(/\.ts$/, ".d.ts"), default: source.replace(/\.ts$/, ".js") }
    : source

const kept = ["name", "version", "description", "license", "type", "engines", "bin", "dependencies"]

rmSync(out, { recursive: true, force: true })
execFileSync(at("node_modules/.bin/tsc"), ["-p", "tsconfig.build.json", "--outDir", out], {
  cwd: at("."),
  stdio: "inherit",
})

// The launcher is JavaScript in the repository too; there it starts the source, here what was built of it.
const launcher = "apps/cli/bin.js"
writeFileSync(join(out, launcher), readFileSync(at(launcher), "utf8").replace("./main.ts", "./main.js"))
// What authors of workers in other languages read and copy.
for (const path of [
  "core/protocol/README.md",
  "core/protocol/spec",
  "core/protocol/transcripts",
  "apps/worker-test/README.md",
  "apps/examples/workers/python",
  "apps/examples/workers/deno",
])
  cpSync(at(path), join(out, path), { recursive: true })
for (const file of ["LICENSE", "README.md"]) if (existsSync(at(file))) copyFileSync(at(file), join(out, file))

const published = {
  ...Object.fromEntries(kept.map((field) => [field, manifest[field]])),
  // The repository brings its own Node; whoever installs the package needs one with `node:sqlite`.
  engines: { node: ">=22.19" },
  exports: Object.fromEntries(
    Object.entries(manifest.exports).map(([name, source]) => [name, entry(source)]),
  ),
}
writeFileSync(join(out, "package.json"), `${JSON.stringify(published, null, 2)}\n`)

// The rules of the house, run over every file that git knows or would add, and over samples that break them:
// a rule that cannot fail guards nothing.
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { describe, expect, test } from "vitest"
import * as manifestRules from "./tidy/manifests.ts"
import type { DenoManifest, TypeScriptConfig } from "./tidy/manifests.ts"
import * as rules from "./tidy/rules.ts"
import type { Manifest } from "./tidy/rules.ts"
import { parse } from "./tidy/source.ts"

const root = new URL("..", import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, root), "utf8")

const paths = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z"], { cwd: root })
  .toString()
  .split("\0")
  .filter((path) => path !== "" && existsSync(new URL(path, root)))
const files = paths.map((path) => ({ path, text: read(path) })).filter(({ text }) => !text.includes("\0"))
const sources = files.filter(({ path }) => /\.tsx?$/.test(path)).map(({ path, text }) => parse(path, text))
const manifests = new Map(
  files
    .filter(({ path }) => /(^|\/)package\.json$/.test(path))
    .map(({ path, text }) => [dirname(path), JSON.parse(text) as Manifest] as const),
)
const manifest = manifests.get(".") ?? {}
const deno = JSON.parse(read("deno.json")) as DenoManifest

describe("tidy > the repository", () => {
  test("the rules see the sources and the manifest", () => {
    expect(paths).toContain("core/domain/Errors.ts")
    expect(manifest.name).toBe("uhrwerk")
  })
  test("no file is too long", () => expect(rules.fileLength(sources)).toEqual([]))
  test("every file of the product opens with a comment", () =>
    expect(rules.openingComment(sources)).toEqual([]))
  test("relative imports end in .ts", () => expect(rules.importExtensions(sources)).toEqual([]))
  test("bare imports are declared", () => expect(rules.declaredImports(sources, manifests)).toEqual([]))
  test("imports follow the dependency rule", () => expect(rules.importDirection(sources)).toEqual([]))
  test("each folder imports only its packages", () => expect(rules.packageImports(sources)).toEqual([]))
  test("core has no globals of a host and no async", () => expect(rules.bannedInCore(sources)).toEqual([]))
  test("versions are exact", () => expect(manifestRules.exactVersions(manifests)).toEqual([]))
  test("deno.json and scripts name the versions of package.json", () =>
    expect(manifestRules.equalVersions(manifest, deno)).toEqual([]))
  test("deno.json has the entries of package.json", () =>
    expect(manifestRules.equalEntries(manifest, deno)).toEqual([]))
  test("deno publish takes what npm gets", () =>
    expect(manifestRules.equalPublished(manifest, deno)).toEqual([]))
  test("tsconfig.json finds the entries of package.json", () =>
    expect(manifestRules.equalPaths(manifest, JSON.parse(read("tsconfig.json")) as TypeScriptConfig)).toEqual(
      [],
    ))
  test("the three lockfiles agree with package.json", () =>
    expect(
      manifestRules.equalLocks(manifest, {
        npm: read("package-lock.json"),
        bun: read("bun.lock"),
        deno: read("deno.lock"),
      }),
    ).toEqual([]))
  test("no file holds a machine's path or a registry's address", () =>
    expect(manifestRules.noAddresses(files)).toEqual([]))
})

const problems =
  (rule: (sources: ReadonlyArray<ReturnType<typeof parse>>) => Array<string>, path: string) =>
  (text: string): ReadonlyArray<string> =>
    rule([parse(path, text)])

describe("tidy > each rule finds what it forbids", () => {
  test("file length: one line over is found, generated files and tests are not counted", () => {
    const long = "// x\n".repeat(rules.lineMax + 1)
    expect(problems(rules.fileLength, "core/run/A.ts")(long)).toHaveLength(1)
    expect(problems(rules.fileLength, "core/run/A.ts")(long.slice(5))).toEqual([])
    expect(problems(rules.fileLength, "test/a.test.ts")(long)).toEqual([])
    expect(problems(rules.fileLength, "apps/dashboard/page.gen.ts")(long)).toEqual([])
  })

  test("opening comment: code first is found, a hashbang may stand before the comment", () => {
    const opening = problems(rules.openingComment, "apps/cli/main.ts")
    expect(opening("export const a = 1 // late")).toHaveLength(1)
    expect(opening("#!/usr/bin/env node\n// What it is.\nexport const a = 1")).toEqual([])
  })

  test.each([
    ['import "./a"', 1],
    ['import type { A } from "../b.js"', 1],
    ['export * from "./c.mjs"', 1],
    ['const a = () => import("./d")', 1],
    ['type A = import("./e").A', 1],
    ['import a from "./f.ts"; import b from "../package.json" with { type: "json" }', 0],
    ['// import "./a"\nconst a = `import "./a"`', 0],
  ])("extensions: %s", (text, count) => {
    expect(problems(rules.importExtensions, "core/run/A.ts")(text)).toHaveLength(count)
  })

  test.each([
    ["core/run/A.ts", "effect/Effect", 0],
    ["core/run/A.ts", "left-pad", 1],
    ["adapters/a/mod.ts", "tool", 1],
    ["adapters/a/mod.ts", "node:http", 0],
    ["apps/examples/a.ts", "uhrwerk/effect", 0],
    ["apps/examples/a.ts", "uhrwerk/core/run/A", 1],
    ["test/a.test.ts", "tool", 0],
    ["test/a.test.ts", "@scope/tool/sub", 0],
    ["plugins/p/mod.ts", "uhrwerk/effect", 0],
    ["plugins/p/mod.ts", "effect/Effect", 1],
    ["plugins/q/mod.ts", "uhrwerk/effect", 1],
    ["plugins/p/mod.ts", "runner", 1],
    ["plugins/p/test/a.test.ts", "runner", 0],
  ])("declared imports: %s imports %s", (path, specifier, count) => {
    const given = new Map<string, Manifest>([
      [
        ".",
        {
          name: "uhrwerk",
          exports: { ".": "", "./effect": "" },
          dependencies: { effect: "1.0.0" },
          devDependencies: { tool: "1.0.0", "@scope/tool": "1.0.0" },
        },
      ],
      ["plugins/p", { name: "p", peerDependencies: { uhrwerk: "*" }, devDependencies: { runner: "1.0.0" } }],
      ["plugins/q", { name: "q" }],
    ])
    expect(rules.declaredImports([parse(path, `import "${specifier}"`)], given)).toHaveLength(count)
  })

  test.each([
    ["core/domain/A.ts", "../run/B.ts", 1],
    ["core/domain/A.ts", "./B.ts", 0],
    ["core/run/A.ts", "../domain/B.ts", 0],
    ["core/run/A.ts", "../ports/B.ts", 0],
    ["core/run/A.ts", "../flow/B.ts", 1],
    ["core/run/A.ts", "../engine/B.ts", 1],
    ["core/run/A.ts", "../mod.ts", 1],
    ["core/engine/A.ts", "../flow/B.ts", 0],
    ["core/engine/A.ts", "../contract/B.ts", 1],
    ["core/novel/A.ts", "../domain/B.ts", 1],
    ["core/mod.ts", "./engine/B.ts", 0],
    ["core/run/A.ts", "../../adapters/a/mod.ts", 1],
    ["adapters/a/mod.ts", "../../core/run/B.ts", 0],
    ["adapters/a/mod.ts", "../../apps/sdk/mod.ts", 1],
    ["adapters/a/mod.ts", "../../test/helper.ts", 1],
    ["apps/cli/main.ts", "../../adapters/a/mod.ts", 0],
    ["apps/cli/main.ts", "../../plugins/p/mod.ts", 1],
    ["apps/cli/main.ts", "../../package.json", 0],
    ["core/run/A.ts", "../../package.json", 1],
    ["plugins/p/mod.ts", "../../core/mod.ts", 1],
    ["plugins/p/mod.ts", "../q/mod.ts", 1],
    ["plugins/p/src/mod.ts", "../package.json", 0],
  ])("direction: %s imports %s", (path, specifier, count) => {
    expect(problems(rules.importDirection, path)(`import "${specifier}"`)).toHaveLength(count)
    expect(problems(rules.importDirection, path)(`import type { B } from "${specifier}"`)).toHaveLength(count)
  })

  test.each([
    ["core/run/A.ts", "effect", 1],
    ["core/run/A.ts", "effect/Effect", 0],
    ["core/run/A.ts", "node:fs", 1],
    ["core/run/A.ts", "uhrwerk", 1],
    ["core/wheel/TimingWheel.ts", "effect/Schema", 1],
    ["core/wheel/Ticker.ts", "effect/Effect", 0],
    ["core/domain/A.ts", "effect/Schema", 0],
    ["core/domain/A.ts", "effect/Effect", 1],
    ["adapters/a/mod.ts", "effect", 1],
    ["adapters/a/mod.ts", "uhrwerk/effect", 1],
    ["apps/cli/main.ts", "effect", 1],
    ["benchmarks/main.ts", "effect", 1],
    ["test/a.test.ts", "effect", 0],
  ])("packages: %s imports %s", (path, specifier, count) => {
    expect(problems(rules.packageImports, path)(`import type * as X from "${specifier}"`)).toHaveLength(count)
  })

  test.each([
    "Date.now()",
    "new Date(0)",
    "Date()",
    "setTimeout(f, 1)",
    "setInterval(f, 1)",
    "process.pid",
    "Buffer.from(a)",
    "console.log(a)",
    "const f = async () => 1",
    "class A { async m() {} }",
    "try { f() } catch {}",
    'require("a")',
    "Math.random()",
    "performance.now()",
    "crypto.randomUUID()",
    "const o = { crypto }",
    "`${process.pid}`",
    "/* why */ o[process]",
    "globalThis.setTimeout",
  ])("banned in core: %s", (text) => {
    expect(problems(rules.bannedInCore, "core/run/A.ts")(text)).not.toEqual([])
    expect(problems(rules.bannedInCore, "adapters/a/mod.ts")(text)).toEqual([])
  })

  test.each([
    "// Date.now(), try { async",
    'const a = "setTimeout(process.pid)"',
    "const a = `console.log`",
    "const a = /process\\.pid/",
    "Effect.try({ try: f, catch: g })",
    "yield_(Clock.now, queue.process, o.crypto)",
    "const o = { process: 1, try: 2, async: 3 }",
    "interface A { process: number; require(): void }",
    'import { process as work } from "./B.ts"',
    "Date.UTC(2026, 0)",
  ])("allowed in core: %s", (text) => {
    expect(problems(rules.bannedInCore, "core/run/A.ts")(text)).toEqual([])
  })

  test("exact versions: a range, a tag and an address are found, a peer's range is not", () => {
    const given = {
      dependencies: { a: "^1.0.0", b: "latest" },
      devDependencies: { c: "git+ssh://x", d: "1.2.3" },
    }
    expect(manifestRules.exactVersions(new Map([[".", given]]))).toHaveLength(3)
    expect(manifestRules.exactVersions(new Map([[".", { peerDependencies: { a: ">=1" } }]]))).toEqual([])
  })

  test("equal versions: another version, a range and no version are found", () => {
    const given = { devDependencies: { vitest: "5.1.2" }, scripts: { a: "deno run -A npm:vitest@5.1.1 run" } }
    expect(manifestRules.equalVersions(given, {})).toHaveLength(1)
    const none = { devDependencies: { vitest: "5.1.2" } }
    const tasks = {
      a: "npm:vitest run",
      b: "npm:vitest@^5.1.2",
      c: "npm:vitest@5.1.2 run",
      d: "npm:other@1.0.0",
    }
    expect(manifestRules.equalVersions(none, { tasks })).toHaveLength(3)
  })

  test("equal entries: a missing, a foreign and a different entry are found", () => {
    const given = {
      name: "uhrwerk",
      exports: { ".": "./a.ts", "./b": "./b.ts", "./package.json": "./package.json" },
    }
    const imports = { uhrwerk: "./x.ts", "uhrwerk/c": "./c.ts", other: "npm:other@1.0.0" }
    expect(manifestRules.equalEntries(given, { imports })).toHaveLength(3)
    expect(
      manifestRules.equalEntries(given, { imports: { uhrwerk: "./a.ts", "uhrwerk/b": "./b.ts" } }),
    ).toEqual([])
  })

  test("equal published: another version, and a missing and a different entry, are found", () => {
    const given = {
      version: "1.0.0",
      exports: { ".": "./a.ts", "./b": "./b.ts", "./package.json": "./package.json" },
    }
    expect(
      manifestRules.equalPublished(given, { version: "0.9.0", exports: { ".": "./x.ts" } }),
    ).toHaveLength(3)
    expect(
      manifestRules.equalPublished(given, { version: "1.0.0", exports: { ".": "./a.ts", "./b": "./b.ts" } }),
    ).toEqual([])
  })

  test("equal paths: a missing and a different entry are found", () => {
    const given = { name: "uhrwerk", exports: { ".": "./a.ts", "./b": "./b.ts" } }
    const paths = { uhrwerk: ["./x.ts"] }
    expect(manifestRules.equalPaths(given, { compilerOptions: { paths } })).toEqual([
      expect.stringContaining("in tsconfig.json"),
      expect.stringContaining('"uhrwerk/b"'),
    ])
    const all = { uhrwerk: ["./a.ts"], "uhrwerk/b": ["./b.ts"] }
    expect(manifestRules.equalPaths(given, { compilerOptions: { paths: all } })).toEqual([])
  })

  test("equal locks: each lockfile that is behind is named", () => {
    const given = { dependencies: { a: "1.0.0" } }
    const locks = (npm: string, bun: string, deno: string) => ({
      npm: JSON.stringify({ packages: { "node_modules/a": { version: npm } } }),
      bun: `{ "packages": { "a": ["a@${bun}", "", {}, "sha512-x"], }, }`,
      deno: JSON.stringify({ specifiers: { [`npm:a@${deno}`]: `${deno}_peer@2.0.0` } }),
    })
    expect(manifestRules.equalLocks(given, locks("1.0.0", "1.0.0", "1.0.0"))).toEqual([])
    expect(manifestRules.equalLocks(given, locks("0.9.0", "0.9.0", "0.9.0"))).toEqual([
      expect.stringContaining("package-lock.json"),
      expect.stringContaining("bun.lock"),
      expect.stringContaining("deno.lock"),
    ])
  })

  test("addresses: paths of a machine, registries and fetch addresses are found", () => {
    const check = (text: string) => manifestRules.noAddresses([{ path: "a", text }])
    expect(check(["see ", "work", "x"].join("/"))).toHaveLength(1)
    expect(check(["", "home", "me", "x"].join("/"))).toHaveLength(1)
    expect(check(`a\nhttps://${["registry", "npmjs", "org"].join(".")}/a`)).toEqual([
      "a:2 holds the address of a registry",
    ])
    expect(check(['"resolved"', '"https://x/a.tgz"'].join(": "))).toHaveLength(1)
    expect(check("apps/worker/work/a.ts, registry.size, https://hono.dev/docs")).toEqual([])
  })
})

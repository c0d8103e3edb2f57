// `init` and `completions`: files that are a project, nothing overwritten; a script that a shell takes.
import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, describe, expect, test } from "vitest"
import { commandTable } from "../../../apps/cli/help.gen.ts"
import { commandOf, initFiles, initRuntimes, initTemplates, installOf } from "../../../apps/cli/initFiles.ts"
import { version } from "../../../apps/cli/version.ts"
import type { Config } from "../../../apps/sdk/mod.ts"
import { testEngine } from "../../../apps/sdk/testing.ts"
import { inProcess } from "./cli.ts"

// Below the repository, so that the configs find the package.
const folder = mkdtempSync(fileURLToPath(new URL("../../.init-", import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("the version is the package's", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as {
    readonly version: string
  }
  expect(version).toBe(manifest.version)
})

describe("init", () => {
  test.each(initTemplates)("%s: its config works", async (template) => {
    const made = await inProcess(["init", template, "--template", template, "--runtime", "node"], folder)
    expect([made.code, made.stderr.trim()]).toEqual([
      0,
      `Next: cd ${template} && ${installOf("node")} && ${commandOf("node")} dev`,
    ])
    const { default: config } = (await import(join(folder, template, "uhrwerk.config.ts"))) as {
      readonly default: Config
    }
    const engine = await testEngine({ ...config, storage: "memory:" }, { startAt: "2026-03-02T08:30:00Z" })
    await engine.advance("2m")
    const ended = await engine.runs({ state: "succeeded" })
    expect(ended.length).toBeGreaterThan(1)
    expect(await engine.runs({ state: "dead" })).toEqual([])
    await engine.stop()
  })

  test.each(initRuntimes)("%s: its manifest is JSON that names the package and its version", (runtime) => {
    const files = initFiles({ name: "a", runtime, template: "basic", version })
    const manifest = files.get(runtime === "deno" ? "deno.json" : "package.json") ?? ""
    expect(JSON.stringify(JSON.parse(manifest))).toContain(version)
    expect(files.get("README.md")).toContain(`${commandOf(runtime)} dev`)
  })

  test("what is there stays, and is said", async () => {
    await inProcess(["init", "mine"], folder)
    const path = join(folder, "mine/uhrwerk.config.ts")
    writeFileSync(path, "// my own\n")
    rmSync(join(folder, "mine/.gitignore"))
    const again = await inProcess(["init", "mine"], folder)
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("uhrwerk.config.ts")])
    expect(existsSync(join(folder, "mine/.gitignore"))).toBe(false)
    const forced = await inProcess(["init", "mine", "--force"], folder)
    expect([forced.code, forced.stdout]).toEqual([0, `${join("mine", ".gitignore")}\n`])
    expect(readFileSync(path, "utf8")).toBe("// my own\n")
  })

  test.each([
    [["init", "x", "--runtime", "php"], "node, bun, deno"],
    [["init", "x", "--template", "all"], "basic, flow"],
    [["init", "x", "y"], "one folder"],
  ])("%j is refused", async (args, said) => {
    const { code, stderr } = await inProcess(args, folder)
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)])
    expect(existsSync(join(folder, "x"))).toBe(false)
  })
})

describe("completions", () => {
  const script = async (shell: string): Promise<string> => {
    const { code, stdout } = await inProcess(["completions", shell], folder)
    expect(code).toBe(0)
    return stdout
  }

  test("bash completes words, second words and a command's flags", async () => {
    const file = join(folder, "completions.bash")
    writeFileSync(file, await script("bash"))
    const complete = (...words: ReadonlyArray<string>): ReadonlyArray<string> =>
      execFileSync(
        "bash",
        [
          "-c",
          `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _uhrwerk; printf '%s\\n' "\${COMPREPLY[@]}"`,
          file,
          "uhrwerk",
          ...words,
        ],
        { encoding: "utf8", cwd: folder },
      )
        .split("\n")
        .filter((line) => line !== "")
    expect(complete("wor")).toEqual(["worker", "worker-test"])
    expect(complete("run", "li")).toEqual(["list"])
    expect(complete("run", "list", "--st")).toEqual(["--storage", "--state"])
    expect(complete("dev", "--fast")).toEqual(["--fast-forward"])
    const firsts = new Set(commandTable.map(([name]) => name.split(" ")[0]))
    expect(new Set(complete(""))).toEqual(firsts)
  })

  test("the other shells get the same commands, and another one is refused", async () => {
    for (const shell of ["zsh", "fish"]) {
      const text = await script(shell)
      for (const [name] of commandTable) expect(text).toContain(name.split(" ")[0] ?? "")
    }
    expect((await inProcess(["completions", "tcsh"], folder)).code).toBe(2)
    expect((await inProcess(["completions"], folder)).code).toBe(2)
  })
})

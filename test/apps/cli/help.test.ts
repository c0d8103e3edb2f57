// What the help says without loading a command is what the commands say, and a command takes only the flags of its usage.
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { checkFlags, flagTypes } from "../../../apps/cli/flags.ts"
import { allCommands } from "../../../apps/cli/groups.ts"
import { commandTable } from "../../../apps/cli/help.gen.ts"
import { inProcess } from "./cli.ts"

test("help.gen.ts is what `npm run spec` writes", async () => {
  const commands = await allCommands()
  expect(commandTable).toEqual(
    Object.entries(commands).map(([name, { usage, about }]) => [name, usage, about]),
  )
})

test("every flag of a usage is one that there is, and each flag belongs to a command", () => {
  const all = new Set<string>(Object.keys(flagTypes))
  const used = new Set(["help", "version", "storage", "output", "watch"])
  for (const [, usage] of commandTable)
    for (const [, flag = ""] of usage.matchAll(/--([a-z][a-z-]*)/g)) {
      expect(all.has(flag), `${usage}: --${flag}`).toBe(true)
      used.add(flag)
    }
  expect([...all].filter((flag) => !used.has(flag))).toEqual([])
})

test("a flag that a command does not take is refused, with those that it takes", async () => {
  expect(() => checkFlags("run list", "run list [--state S]", { state: "dead", storage: "x" })).not.toThrow()
  expect(() => checkFlags("run list", "run list [--state S]", { tz: "UTC" })).toThrow(
    "run list takes no --tz; it takes --state",
  )
  const { code, stderr } = await inProcess(["run", "list", "--dry-run"], process.cwd())
  expect([code, stderr]).toEqual([2, expect.stringContaining("run list takes no --dry-run")])
})

test("the help imports no module that needs a package", () => {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = readFileSync(new URL(`../../../apps/cli/${file}`, import.meta.url), "utf8")
    for (const [, from = ""] of text.matchAll(/^(?:import|export) (?!type)[^;]*? from "([^"]+)"/gms)) {
      expect(from, file).toMatch(/^(node:|\.\/)/)
      if (from.startsWith("./")) visit(from.slice(2))
    }
  }
  visit("main.ts")
  expect([...seen].sort()).toEqual([
    "exits.ts",
    "flags.ts",
    "groups.ts",
    "help.gen.ts",
    "main.ts",
    "version.ts",
  ])
  expect(fileURLToPath(import.meta.url)).toContain("help.test")
})

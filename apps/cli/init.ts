// `uhrwerk init`: a project that runs, in this folder or a new one. Nothing that is there is changed.
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import { exitCodes, UsageError } from "./exits.ts"
import { commandOf, initFiles, initRuntimes, initTemplates, installOf } from "./initFiles.ts"
import type { Command } from "./open.ts"
import { version } from "./version.ts"

/** The command. */
export const init: Command = {
  usage: "init [FOLDER] [--runtime node|bun|deno] [--template basic|flow] [--force]",
  about: "make a project that runs; --force: beside files of these names, which stay as they are",
  run: (args, flags) => {
    const [folder = ".", ...more] = args
    if (more.length > 0) throw new UsageError("This command takes one folder")
    const runtime = oneOf("--runtime", flags.runtime ?? runtimeOf(), initRuntimes)
    const template = oneOf("--template", flags.template ?? "basic", initTemplates)
    const files = initFiles({ name: nameOf(folder), runtime, template, version })
    const there = [...files.keys()].filter((path) => existsSync(join(folder, path)))
    if (there.length > 0 && flags.force !== true)
      throw new UsageError(
        `There is ${there.join(", ")} in "${folder}" already. Choose another folder, or --force to write the others only`,
      )
    mkdirSync(folder, { recursive: true })
    for (const [path, text] of files) {
      if (there.includes(path)) continue
      // "wx": what appears in the meantime is not overwritten either.
      writeFileSync(join(folder, path), text, { flag: "wx" })
      console.log(join(folder, path))
    }
    const steps = [
      ...(folder === "." ? [] : [`cd ${folder}`]),
      installOf(runtime),
      `${commandOf(runtime)} dev`,
    ]
    console.error(`Next: ${steps.join(" && ")}`)
    return Promise.resolve(exitCodes.ok)
  },
}

const runtimeOf = (): string =>
  process.versions.bun !== undefined ? "bun" : process.versions["deno"] !== undefined ? "deno" : "node"

const oneOf = <A extends string>(flag: string, given: string, all: ReadonlyArray<A>): A => {
  const found = all.find((each) => each === given)
  if (found === undefined) throw new UsageError(`${flag} ${given} is none of ${all.join(", ")}`)
  return found
}

/** A name that npm takes. */
const nameOf = (folder: string): string => {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]/g, "-")
    .replaceAll(/^[._-]+/g, "")
  return name === "" ? "jobs" : name.slice(0, 214)
}

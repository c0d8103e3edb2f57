// The README "Write a storage plugin" does what it says: each of its blocks is carried out, in its order, by somebody
// who has a clone of Uhrwerk and its package, and nothing else of this repository.
import { execFile, execFileSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

const root = new URL("../../", import.meta.url).pathname
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string
}
const template = join(root, "plugins/store-template")
// The contract makes a thousand files: where there is memory that poses as a disk, nobody waits for a real one.
const memory = "/dev/shm"
const binaries = join(root, "node_modules/.bin")

/** A block of the README: a file with its text, or commands. */
interface Block {
  readonly heading: string
  readonly file: string | null
  readonly text: string
}

const blocksOf = (readme: string): ReadonlyArray<Block> =>
  readme.split(/^## /m).flatMap((section) => {
    const heading = section.slice(0, section.indexOf("\n"))
    return [...section.matchAll(/^```(ts|sh)\n([\s\S]*?)^```$/gm)].map(([, kind, text = ""]) => {
      const file = kind === "ts" ? (/^\/\/ (\S+)\n/.exec(text)?.[1] ?? null) : null
      if (kind === "ts" && file === null) throw new Error(`A block of "${heading}" does not name its file`)
      return { heading, file, text }
    })
  })

const blocks = blocksOf(readFileSync(join(template, "README.md"), "utf8"))

// Node, as npm would: the others run its commands in the same way, and each has its turn within them.
const isNode = process.versions["bun"] === undefined && process.versions["deno"] === undefined

describe.skipIf(!isNode)("the README of the store template", { timeout: 240_000 }, () => {
  let home = ""
  let where = ""

  beforeAll(() => {
    home = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "uhrwerk-plugin-"))
    where = home
    const clone = join(home, "uhrwerk/plugins")
    mkdirSync(clone, { recursive: true })
    cpSync(template, join(clone, "store-template"), { recursive: true })
    execFileSync(process.execPath, [join(root, "apps/cli/build.ts"), join(home, "built")])
    execFileSync("npm", ["pack", join(home, "built"), "--pack-destination", home], { stdio: "pipe" })
    mkdirSync(join(home, "tmp"))
  }, 120_000)
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  /** Puts a package that npm has packed where it would install it. */
  const unpack = (tarball: string, name: string): void => {
    const folder = join(where, "node_modules", name)
    mkdirSync(folder, { recursive: true })
    execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"])
  }

  // As the registry is not asked: the packages of this repository are linked, Uhrwerk and the plugin are unpacked.
  const install = (tarball: string | undefined): void => {
    const modules = join(where, "node_modules")
    mkdirSync(modules)
    for (const name of readdirSync(join(root, "node_modules")))
      symlinkSync(join(root, "node_modules", name), join(modules, name))
    unpack(join(home, `uhrwerk-${version}.tgz`), "uhrwerk")
    if (tarball === undefined) return
    const name = /([^/]+)-\d+\.\d+\.\d+\.tgz$/.exec(tarball)?.[1] ?? ""
    unpack(join(where, tarball), name)
    // As npm makes one where there is none; Deno takes what it names.
    const dependencies = { [name]: `file:${tarball}`, uhrwerk: version }
    writeFileSync(join(where, "package.json"), JSON.stringify({ dependencies }))
  }

  const command = async (line: string): Promise<string> => {
    const [first, ...words] = line.split(" ")
    if (first === "cd") {
      where = join(where, words[0] ?? "")
      return ""
    }
    if (line.startsWith("npm install")) {
      install(words[1])
      return ""
    }
    // What vitest tells its own workers is not for the one that is started here.
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(VITEST|NODE_ENV$|TEST$|FORCE_COLOR$)/.test(name),
    )
    const PATH = `${binaries}${delimiter}${process.env["PATH"]}`
    const env = { ...Object.fromEntries(inherited), PATH, TMPDIR: join(home, "tmp"), NO_COLOR: "1" }
    const { stdout, stderr } = await promisify(execFile)("sh", ["-c", line], {
      cwd: where,
      env,
      timeout: 120_000,
      maxBuffer: 64 * 2 ** 20,
    })
    return stdout + stderr
  }

  /** Carries out the blocks of a step; answers what its commands said, by their lines. */
  const step = async (number: number): Promise<ReadonlyMap<string, string>> => {
    const said = new Map<string, string>()
    for (const { heading, file, text } of blocks) {
      if (!heading.startsWith(`${number}. `)) continue
      if (file !== null) writeFileSync(join(where, file), text)
      else for (const line of text.trim().split("\n")) said.set(line, await command(line))
    }
    return said
  }

  test("its steps have the blocks that are carried out here", () => {
    expect(blocks.map(({ heading, file }) => `${heading.slice(0, 1)} ${file ?? "sh"}`)).toEqual([
      "1 sh",
      "2 sh",
      "3 Database.ts",
      "3 mod.ts",
      "3 test/open.ts",
      "5 sh",
      "6 try.ts",
      "6 sh",
      "7 sh",
      "7 sh",
    ])
  })

  test("1 and 2: the copy has a name of its own, and passes the contract", async () => {
    await step(1)
    const said = await step(2)
    expect(said.get("npx vitest run")).toMatch(/shelf[\s\S]*Tests {2}\d{3} passed/)
    const manifest = readFileSync(join(where, "package.json"), "utf8")
    expect(JSON.parse(manifest)).toMatchObject({ name: "uhrwerk-store-shelf" })
    expect(await command("grep -ril template --exclude=README.md --exclude-dir=node_modules . || true")).toBe(
      "",
    )
  })

  test("3 and 5: with rows in a file it passes still, under vitest, bun test and deno test", async () => {
    await step(3)
    const said = await step(5)
    expect(said.get("npm test")).toMatch(/Tests {2}\d{3} passed/)
    expect(said.get("npm run test:bun")).toMatch(/\d{3} pass\n[\s\S]*\n 0 fail/)
    expect(said.get("npm run test:deno")).toMatch(/ok \| \d{3} passed \| 0 failed/)
  })

  test("6: an engine does its work on it, and one that is started again finds it done", async () => {
    const said = await step(6)
    expect(said.get("node try.ts")).toContain("Hello shelf\nsucceeded\n")
  })

  test("6: a second engine is kept away from the file, in another process as well", async () => {
    const open = `const open = () => import("./mod.ts").then(({ shelfDriver }) => shelfDriver("two.db", Date.now))`
    const tell = `then(() => console.log("opened"), ({ message }) => console.log(message))`
    writeFileSync(join(where, "second.ts"), `${open}\nawait open().${tell}\n`)
    writeFileSync(
      join(where, "first.ts"),
      `import { execFileSync } from "node:child_process"\n${open}\nconst driver = await open()
        console.log(String(execFileSync(process.execPath, ["second.ts"])))
        driver.close()\nawait open().${tell}\n`,
    )
    expect((await command("node first.ts")).trim()).toMatch(/^database is locked\s+opened$/)
  })

  test("7: what is packed works for whoever installs it, on each runtime", async () => {
    const said = await step(7)
    expect(said.get("node try.ts")).toContain("Hello shelf\nsucceeded\n")
    expect(await command("bun try.ts")).toContain("Hello shelf\nsucceeded\n")
    expect(await command("deno run -A try.ts")).toContain("Hello shelf\nsucceeded\n")
  })
})

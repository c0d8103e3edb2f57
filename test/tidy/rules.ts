// The rules of the house as pure functions: files in, problems out. A problem is one line of text that opens
// with `path:line`. `test/tidy.test.ts` runs them over the repository and over samples that break each one.
import { posix } from "node:path"
import { lineOf, walk, type Node, type Source } from "./source.ts"

export const lineMax = 320

const published = /^(core|adapters|apps)\//
const isTest = (path: string): boolean => path.startsWith("test/")

/** No file outside `test/` is longer than `lineMax` lines; generated files (`*.gen.ts`) are not counted. */
export const fileLength = (sources: ReadonlyArray<Source>): Array<string> =>
  sources
    .filter(({ path }) => !isTest(path) && !path.endsWith(".gen.ts"))
    .map(({ path, text }) => ({ path, lines: text.replace(/\n$/, "").split("\n").length }))
    .filter(({ lines }) => lines > lineMax)
    .map(({ path, lines }) => `${path}:${lineMax + 1} has ${lines} lines, at most ${lineMax}`)

/** Every file of the product opens with a comment that says what it is. */
export const openingComment = (sources: ReadonlyArray<Source>): Array<string> =>
  sources
    .filter(({ path }) => published.test(path))
    .filter(({ text }) => !/^(\/\/|\/\*)/.test(text.replace(/^#!.*\n/, "").trimStart()))
    .map(({ path }) => `${path}:1 does not open with a comment`)

/** Relative imports name the file they mean: Node strips types and adds no extension. */
export const importExtensions = (sources: ReadonlyArray<Source>): Array<string> =>
  sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier }) => specifier.startsWith(".") && !/\.(tsx?|json)$/.test(specifier))
      .map(({ specifier, line }) => `${path}:${line} imports "${specifier}", which does not end in .ts`),
  )

const specifierPackage = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

export type Manifest = {
  readonly name?: string
  readonly version?: string
  readonly exports?: Readonly<Record<string, unknown>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const manifestOf = (path: string, manifests: ReadonlyMap<string, Manifest>): Manifest => {
  for (let folder = posix.dirname(path); ; folder = posix.dirname(folder)) {
    const manifest = manifests.get(folder)
    if (manifest !== undefined) return manifest
    if (folder === ".") return {}
  }
}

/**
 * Every bare import is declared in the nearest package.json: in its dependencies, or also in its
 * devDependencies for files that are not shipped. The package's own name counts where `exports` has the entry.
 */
export const declaredImports = (
  sources: ReadonlyArray<Source>,
  manifests: ReadonlyMap<string, Manifest>,
): Array<string> =>
  sources.flatMap(({ path, imports }) => {
    const manifest = manifestOf(path, manifests)
    const root = manifests.get(".") ?? {}
    const shipped = published.test(path) || /^plugins\/[^/]+\/(?!test\/)/.test(path)
    const declared = new Set([
      ...Object.keys(manifest.dependencies ?? {}),
      ...Object.keys(manifest.peerDependencies ?? {}),
      ...Object.keys(manifest.optionalDependencies ?? {}),
      ...(shipped ? [] : Object.keys(manifest.devDependencies ?? {})),
    ])
    const allowed = (specifier: string): boolean => {
      if (/^(\.|\/|node:|bun:|bun$)/.test(specifier)) return true
      const name = specifierPackage(specifier)
      if (name !== root.name) return declared.has(name)
      const own = manifest.name === root.name || declared.has(name)
      return own && Object.hasOwn(root.exports ?? {}, `.${specifier.slice(name.length)}`)
    }
    return imports
      .filter(({ specifier }) => !allowed(specifier))
      .map(
        ({ specifier, line }) => `${path}:${line} imports "${specifier}", which package.json does not give`,
      )
  })

const stages = ["trigger", "wheel", "flow", "run", "worker", "protocol"] as const
const floor = ["domain", "ports", "observe"]

// What each folder of core may import besides itself. A folder that is not listed may import none.
const coreImports: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  ports: ["domain"],
  observe: ["domain", "ports"],
  ...Object.fromEntries(stages.map((stage) => [stage, floor])),
  // The wire contract is what the server's view of workers speaks.
  worker: [...floor, "protocol"],
  engine: [...floor, ...stages],
  contract: [...floor, ...stages, "engine"],
  "": [...floor, ...stages, "engine", "contract"],
}

const treeImports: Readonly<Record<string, ReadonlyArray<string>>> = {
  core: [],
  adapters: ["core"],
  apps: ["core", "adapters"],
  plugins: [],
  benchmarks: ["core", "adapters", "apps"],
  test: ["core", "adapters", "apps", "benchmarks", "plugins"],
}

const place = (path: string): { tree: string; folder: string } => {
  const [tree = "", second = ""] = path.split("/")
  return { tree, folder: path.split("/").length > 2 ? second : "" }
}

const directionProblem = (from: string, to: string): string | undefined => {
  const a = place(from)
  const b = place(to)
  const trees = treeImports[a.tree]
  if (trees === undefined) return undefined
  if (a.tree !== b.tree) {
    // Files of the root, such as package.json, belong to no tree and may be read from outside core.
    if (!to.includes("/") && a.tree !== "core" && a.tree !== "plugins") return undefined
    return trees.includes(b.tree) ? undefined : `${a.tree} may not import ${b.tree}`
  }
  if (a.folder === b.folder) return undefined
  if (a.tree === "plugins") return "a plugin may not import another plugin"
  if (a.tree !== "core") return undefined
  const folders = coreImports[a.folder]
  if (folders === undefined) return `core/${a.folder} has no place in the dependency rule`
  return folders.includes(b.folder) ? undefined : `core/${a.folder} may not import core/${b.folder}`
}

/** The dependency rule, for value and type imports alike. */
export const importDirection = (sources: ReadonlyArray<Source>): Array<string> =>
  sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, line }) => {
      if (!specifier.startsWith(".")) return []
      const problem = directionProblem(path, posix.join(posix.dirname(path), specifier))
      return problem === undefined ? [] : [`${path}:${line} imports "${specifier}": ${problem}`]
    }),
  )

// What drives the wheel lives in time and needs Effect; the wheel itself knows no clock.
const wheelShell = /^core\/wheel\/(Horizon|Ticker|WheelTimers)\.ts$/

const barePackageProblem = (path: string, specifier: string): string | undefined => {
  const { tree, folder } = place(path)
  if (specifier === "effect" && tree !== "test") return "import a sub-path of effect, not the barrel"
  if (tree === "adapters" && specifierPackage(specifier) === "uhrwerk") return "adapters import core by path"
  if (tree !== "core") return undefined
  if (!specifier.startsWith("effect/")) return "core imports effect/* and its own files only"
  if (folder === "wheel" && !wheelShell.test(path))
    return "the wheel itself has no Effect, only its shell has"
  const pure = specifier === "effect/Schema" || specifier === "effect/Result"
  return folder === "domain" && !pure ? "core/domain imports effect/Schema and effect/Result only" : undefined
}

/** Which packages each folder may import: core only sub-paths of effect, nobody the barrel of effect. */
export const packageImports = (sources: ReadonlyArray<Source>): Array<string> =>
  sources.flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, line }) => {
      const problem = specifier.startsWith(".") ? undefined : barePackageProblem(path, specifier)
      return problem === undefined ? [] : [`${path}:${line} imports "${specifier}": ${problem}`]
    }),
  )

const bannedNames = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "process",
  "Buffer",
  "console",
  "require",
  "performance",
  "crypto",
  "globalThis",
  "fetch",
  "Deno",
  "Bun",
])

const named = (value: unknown, name: string): boolean =>
  (value as Node | undefined)?.type === "Identifier" && (value as Node)["name"] === name

// A word after a dot, before a colon or of a method names a property, not a global.
const isPropertyName = (node: Node, parent: Node | undefined): boolean => {
  if (parent === undefined || parent["computed"] === true) return false
  if (parent.type === "MemberExpression") return parent["property"] === node
  if (parent.type === "TSQualifiedName") return parent["right"] === node
  if (parent.type === "Property" && parent["shorthand"] === true) return parent["value"] !== node
  return parent["key"] === node || parent["imported"] === node || parent["exported"] === node
}

const bannedProblem = (node: Node, parent: Node | undefined): string | undefined => {
  // try/finally catches nothing, so it hides nothing.
  if (node.type === "TryStatement" && node["handler"] !== null) return "try"
  if (node["async"] === true) return "async"
  if (node.type === "AwaitExpression") return "await"
  if (node.type === "NewExpression" && named(node["callee"], "Date")) return "new Date("
  if (node.type === "CallExpression" && named(node["callee"], "Date")) return "Date("
  if (node.type === "MemberExpression" && named(node["object"], "Date") && named(node["property"], "now"))
    return "Date.now"
  if (node.type === "MemberExpression" && named(node["object"], "Math") && named(node["property"], "random"))
    return "Math.random"
  if (node.type !== "Identifier" || isPropertyName(node, parent)) return undefined
  const name = String(node["name"])
  return bannedNames.has(name) ? name : undefined
}

/** Core asks its services for time, chance and the host; it has no globals and no async of its own. */
export const bannedInCore = (sources: ReadonlyArray<Source>): Array<string> =>
  sources
    .filter(({ path }) => path.startsWith("core/"))
    .flatMap(({ path, text, program }) => {
      const problems: Array<string> = []
      walk(program, (node, parent) => {
        const banned = bannedProblem(node, parent)
        if (banned !== undefined) problems.push(`${path}:${lineOf(text, node.start)} uses ${banned}`)
      })
      return problems
    })

// What the tidy rules see of a file: its text, its imports and its syntax tree. The tree (not a search in the
// text) tells an identifier from a word in a comment, a string or a property name.
import { parseSync } from "vite"

/** A node of the ESTree that the parser returns; only `type` and `start` are common to all. */
export type Node = { readonly type: string; readonly start: number; readonly [key: string]: unknown }

/** One import, re-export, `import()` or `import("...")` type, with the line it stands on. */
export type Import = { readonly specifier: string; readonly line: number }

export type Source = {
  /** From the root of the repository, with forward slashes. */
  readonly path: string
  readonly text: string
  readonly program: Node
  readonly imports: ReadonlyArray<Import>
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"

/** Calls `visit` for every node below and including `node`, parents first. */
export const walk = (node: Node, visit: (node: Node, parent: Node | undefined) => void): void => {
  const go = (at: Node, parent: Node | undefined): void => {
    visit(at, parent)
    for (const value of Object.values(at)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) go(child, at)
    }
  }
  go(node, undefined)
}

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split("\n").length

const importing = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
])

const specifierOf = (node: Node): string | undefined => {
  const source = node.type === "TSExternalModuleReference" ? node["expression"] : node["source"]
  if (!importing.has(node.type) && node.type !== "TSExternalModuleReference") return undefined
  return isNode(source) && typeof source["value"] === "string" ? source["value"] : undefined
}

/** Parses one file. Throws when it does not parse: a file nobody can read has no other rule to keep. */
export const parse = (path: string, text: string): Source => {
  const parsed = parseSync(path, text)
  const [error] = parsed.errors
  if (error !== undefined) throw new Error(`Cannot parse ${path}: ${error.message}`)
  const program = parsed.program as unknown as Node
  const imports: Array<Import> = []
  walk(program, (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined) imports.push({ specifier, line: lineOf(text, node.start) })
  })
  return { path, text, program, imports }
}

// The client stands alone: whatever it imports, and those in turn, is the API's own, or the plain parts of the core.
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, test } from "vitest"
import { parse } from "../../tidy/source.ts"

const root = new URL("../../../", import.meta.url)

test("it reaches nothing of the server, of stores, or of a runtime", () => {
  const found = new Set<string>()
  const follow = (path: string): void => {
    if (found.has(path)) return
    found.add(path)
    if (path.startsWith("package ")) return
    const { imports } = parse(path, readFileSync(new URL(path, root), "utf8"))
    for (const { specifier } of imports)
      follow(specifier.startsWith(".") ? join(dirname(path), specifier) : `package ${specifier}`)
  }
  follow("apps/client/mod.ts")
  const outside = [...found].filter(
    (path) => !/^(apps\/(client|api)\/|core\/domain\/|package effect\/)/.test(path),
  )
  expect(found.size).toBeGreaterThan(8)
  expect(outside).toEqual([])
})

// A folder of its own for the files of a test file, removed when that is done.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

/** Makes the folder; answers how to name a file in it. */
export const testFolder = (): ((...parts: ReadonlyArray<string>) => string) => {
  const folder = mkdtempSync(join(tmpdir(), "uhrwerk-test-"))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (...parts) => join(folder, ...parts)
}

/** A clock that stands still. */
export const now = (): number => Date.UTC(2026, 0, 1)

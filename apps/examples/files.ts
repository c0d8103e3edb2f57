// Where the example reads and writes: its own folder, wherever it is started from. `UHRWERK_EXAMPLE_OUTPUT`
// names another output folder. Written files appear whole or not at all.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The path of a file that is shipped with the example. */
export const dataFile = (name: string): string => fileURLToPath(new URL(`data/${name}`, import.meta.url))

/** The path of a file in the output folder, which is made when it is missing. */
export const outputFile = async (name: string): Promise<string> => {
  const folder = process.env["UHRWERK_EXAMPLE_OUTPUT"] ?? fileURLToPath(new URL("output", import.meta.url))
  await mkdir(folder, { recursive: true })
  return join(folder, name)
}

/** Writes beside the file and renames: a reader, or a crash in between, never sees half of it. Answers the bytes. */
export const writeWhole = async (path: string, text: string): Promise<number> => {
  const bytes = new TextEncoder().encode(text)
  const draft = `${path}.${crypto.randomUUID()}.tmp`
  try {
    await writeFile(draft, bytes)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  return bytes.length
}

/** Reads what `writeWhole` wrote as JSON. */
export const readJson = async <Value>(path: string): Promise<Value> =>
  JSON.parse(await readFile(path, "utf8")) as Value

/** A number as people read it, such as `17,597`. */
export const figure = (value: number, digits = 0): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })

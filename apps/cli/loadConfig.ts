// Finds and loads a project's config file.
import { existsSync } from "node:fs"
import { basename, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Config } from "../sdk/config.ts"
import { ConfigError } from "./errors.ts"

const names = ["uhrwerk.config.ts", "uhrwerk.config.mts", "uhrwerk.config.js", "uhrwerk.config.mjs"]

/** The config file in the current folder; `undefined` when there is none. */
export const findConfig = (): string | undefined => names.find((name) => existsSync(name))

/** The refusal where there is none; `command` says how to name it. */
export const noConfig = (command: string): ConfigError =>
  new ConfigError(`There is no ${names[0]} in this folder. Create one, or name the file: ${command}`)

/** Loads a config file: the named one, or the one in the current folder. */
export const loadConfig = async (named: string | undefined): Promise<Config> => {
  const file = named ?? findConfig()
  if (file === undefined) throw noConfig("uhrwerk dev FILE")
  if (!existsSync(file)) throw new ConfigError(`There is no config file "${file}". Check the path`)
  let module: { readonly default?: unknown }
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as { readonly default?: unknown }
  } catch (error) {
    const { name, message, stack } = errorInfo(error)
    const place = placeOf(error, stack ?? "", file)
    // What `npm init` writes makes Node read the file as CommonJS.
    const next = /outside a module|Unexpected token 'export'/.test(message)
      ? `Set "type": "module" in package.json, or name the file ${names[1]}`
      : "Correct the file and start again"
    throw new ConfigError(
      `Cannot load "${file}": ${name}: ${message}${place === undefined ? "" : ` (${place})`}. ${next}`,
      { cause: error },
    )
  }
  if (typeof module.default !== "object" || module.default === null) {
    throw new ConfigError(
      `"${file}" exports no config. End it with: export default defineConfig({ jobs: [...] })`,
    )
  }
  return module.default as Config
}

// Where in the user's files: Bun says it of a syntax error beside the text, Node in the first line of the stack, and
// all three in the stack's frames.
const placeOf = (error: unknown, stack: string, file: string): string | undefined => {
  const position = (error as { readonly position?: { file?: string; line?: number; column?: number } } | null)
    ?.position
  if (position?.file !== undefined) return `at ${position.file}:${position.line}:${position.column}`
  const lines = stack.split("\n").map((line) => line.trim())
  const frame = lines.find((line) => line.startsWith("at ") && line.includes(basename(file)))
  return frame ?? (/^(?:file:|\/).*:\d+$/.test(lines[0] ?? "") ? `at ${lines[0]}` : undefined)
}

// Finds and loads a project's config file.
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { errorInfo } from "../../core/domain/Payload.ts"
import type { Config } from "../sdk/config.ts"
import { ConfigError } from "./errors.ts"

const names = ["uhrwerk.config.ts", "uhrwerk.config.js", "uhrwerk.config.mjs"]

/** The config file in the current folder; `undefined` when there is none. */
export const findConfig = (): string | undefined => names.find((name) => existsSync(name))

/** Loads a config file: the named one, or the one in the current folder. */
export const loadConfig = async (named: string | undefined): Promise<Config> => {
  const file = named ?? findConfig()
  if (file === undefined) {
    throw new ConfigError(
      `There is no ${names[0]} in this folder. Create one, or name the file: uhrwerk dev FILE`,
    )
  }
  if (!existsSync(file)) throw new ConfigError(`There is no config file "${file}". Check the path`)
  let module: { readonly default?: unknown }
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as { readonly default?: unknown }
  } catch (error) {
    const { name, message, stack } = errorInfo(error)
    const place = stack
      ?.split("\n")
      .map((line) => line.trim())
      .find((line) => line.startsWith("at ") && line.includes(file.split("/").pop() ?? file))
    throw new ConfigError(
      `Cannot load "${file}": ${name}: ${message}${place === undefined ? "" : ` (${place})`}. Correct the file and start again`,
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

// The peers' packages: exact versions, installed by npm into a folder that git does not know, and loaded from there.
// Nothing of them is a dependency of ours, and none of their code is kept.
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"

/** The newest versions that the registry had when this was written; `ioredis` is what BullMQ speaks by. */
export const versions = {
  "graphile-worker": "0.18.0",
  "pg-boss": "12.38.0",
  bullmq: "6.7.0",
  ioredis: "6.0.0",
} as const

/** A package of a peer. */
export type PackageName = keyof typeof versions

const folder = fileURLToPath(new URL(".installed/", import.meta.url))
const limitMillis = 180_000

/** The version that is installed; `undefined`: none is. */
export const installed = (name: PackageName): string | undefined => {
  const manifest = `${folder}node_modules/${name}/package.json`
  if (!existsSync(manifest)) return undefined
  return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string }).version
}

/** Installs what is not there in its version; runs no scripts of packages. */
export const install = async (progress: (text: string) => void): Promise<void> => {
  const names = Object.keys(versions) as ReadonlyArray<PackageName>
  if (names.every((name) => installed(name) === versions[name])) return
  const wanted = names.map((name) => `${name}@${versions[name]}`)
  progress(`npm install ${wanted.join(" ")}`)
  mkdirSync(folder, { recursive: true })
  const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder]
  await promisify(execFile)("npm", ["install", ...options, ...wanted], { timeout: limitMillis, cwd: folder })
}

/** Loads a peer's package. Its types are not there when ours are checked: whoever loads it says what it uses. */
export const loadPeer = async <Module>(name: PackageName): Promise<Module> => {
  const file = createRequire(`${folder}package.json`).resolve(name)
  const module = (await import(pathToFileURL(file).href)) as { readonly default?: Module } & Module
  return { ...module.default, ...module }
}

// The rules about manifests, lockfiles and what no file may hold, as pure functions like those of `rules.ts`.
import type { Manifest } from "./rules.ts"

const exact = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

/** Every dependency of every package.json is pinned to one exact version; peers may be ranges. */
export const exactVersions = (manifests: ReadonlyMap<string, Manifest>): Array<string> =>
  [...manifests].flatMap(([folder, { dependencies, devDependencies, optionalDependencies }]) =>
    Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
      .filter(([, version]) => !exact.test(version))
      .map(([name, version]) => `${folder}/package.json: "${name}" is "${version}", not one exact version`),
  )

export type DenoManifest = {
  readonly version?: string
  readonly exports?: Readonly<Record<string, string>>
  readonly imports?: Readonly<Record<string, string>>
  readonly tasks?: Readonly<Record<string, string>>
}

const versionOf = (manifest: Manifest, name: string): string | undefined =>
  manifest.dependencies?.[name] ?? manifest.devDependencies?.[name]

/** Versions that deno.json or a script names (`npm:vitest@1.2.3`) are those of package.json. */
export const equalVersions = (manifest: Manifest, deno: DenoManifest): Array<string> => {
  const texts = { ...deno.imports, ...deno.tasks, ...manifest.scripts }
  return Object.entries(texts).flatMap(([at, text]) =>
    [...text.matchAll(/\b(?:npm|jsr):\/?((?:@[\w.-]+\/)?[\w.-]+)(?:@([\w.^~<>=*-]+))?/g)].flatMap(
      ([, name = "", version]) => {
        const wanted = versionOf(manifest, name)
        return wanted === version
          ? []
          : [`"${at}" names ${name}@${version ?? "any"}, package.json has ${wanted ?? "none"}`]
      },
    ),
  )
}

export type TypeScriptConfig = {
  readonly compilerOptions?: { readonly paths?: Readonly<Record<string, ReadonlyArray<string>>> }
}

/** Where tsc and Bun find the entries for a plugin (`paths`) is where package.json has them. */
export const equalPaths = (manifest: Manifest, { compilerOptions }: TypeScriptConfig): Array<string> => {
  const first = Object.entries(compilerOptions?.paths ?? {}).map(([key, [target = ""]]) => [key, target])
  return equalEntries(manifest, { imports: Object.fromEntries(first) as Record<string, string> }).map(
    (problem) => problem.replace("deno.json", "tsconfig.json"),
  )
}

/** What `deno publish` would take is what npm gets: version, and every entry. */
export const equalPublished = (manifest: Manifest, deno: DenoManifest): Array<string> => {
  const problems: Array<string> = []
  if (manifest.version !== deno.version)
    problems.push(`the version is ${manifest.version} in package.json and ${deno.version} in deno.json`)
  const { "./package.json": _, ...wanted } = manifest.exports ?? {}
  for (const key of new Set([...Object.keys(wanted), ...Object.keys(deno.exports ?? {})]))
    if (JSON.stringify(wanted[key]) !== JSON.stringify(deno.exports?.[key]))
      problems.push(`"${key}" is not the same entry in the exports of package.json and of deno.json`)
  return problems
}

/** The entries of package.json `exports` and of deno.json `imports` are the same. */
export const equalEntries = (manifest: Manifest, deno: DenoManifest): Array<string> => {
  const name = manifest.name ?? ""
  const wanted = new Map(
    Object.entries(manifest.exports ?? {})
      .filter(([key]) => key !== "./package.json")
      .map(([key, target]) => [name + key.slice(1), JSON.stringify(target)]),
  )
  const given = new Map(
    Object.entries(deno.imports ?? {})
      .filter(([key]) => key === name || key.startsWith(`${name}/`))
      .map(([key, target]) => [key, JSON.stringify(target)]),
  )
  return [...new Set([...wanted.keys(), ...given.keys()])]
    .map((key) => ({ key, node: wanted.get(key) ?? "absent", deno: given.get(key) ?? "absent" }))
    .filter((entry) => entry.node !== entry.deno)
    .map((entry) => `"${entry.key}" is ${entry.node} in package.json and ${entry.deno} in deno.json`)
}

type Locks = { readonly npm: string; readonly bun: string; readonly deno: string }

const npmVersion = (lock: string): ((name: string) => string | undefined) => {
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version?: string }> }
  return (name) => packages[`node_modules/${name}`]?.version
}

const bunVersion = (lock: string): ((name: string) => string | undefined) => {
  // bun.lock is JSON with trailing commas; no string in it holds a comma before a bracket.
  const text = lock.replace(/,(\s*[}\]])/g, "$1")
  const { packages } = JSON.parse(text) as { packages: Record<string, [string]> }
  return (name) => packages[name]?.[0].slice(name.length + 1)
}

const denoVersion = (lock: string): ((name: string, asked: string) => string | undefined) => {
  const { specifiers } = JSON.parse(lock) as { specifiers: Record<string, string> }
  // After "_" stand the peers a package was resolved with.
  return (name, asked) => specifiers[`npm:${name}@${asked}`]?.split("_")[0]
}

/** The three lockfiles hold the version of package.json for each direct dependency. */
export const equalLocks = (manifest: Manifest, locks: Locks): Array<string> => {
  const npm = npmVersion(locks.npm)
  const bun = bunVersion(locks.bun)
  const deno = denoVersion(locks.deno)
  const direct = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })
  return direct.flatMap(([name, version]) =>
    Object.entries({
      "package-lock.json": npm(name),
      "bun.lock": bun(name),
      "deno.lock": deno(name, version),
    })
      .filter(([, locked]) => locked !== version)
      .map(
        ([file, locked]) =>
          `${file}: "${name}" is ${locked ?? "absent"}, package.json has ${version}; run` +
          ` the installer of that file again`,
      ),
  )
}

// Escaped slashes and dots keep these patterns from finding themselves in this file.
const leaks: ReadonlyArray<readonly [what: string, pattern: RegExp]> = [
  ["a path of one machine", /(?:^|[^A-Za-z0-9_.])\/(?:work|root|home|Users)\//],
  ["the address of a registry", /https?:\/\/[^\s"'/]*registry|\bregistry\.(?:npmjs|yarnpkg|npmmirror)\b/],
  ["where a package was fetched from", /"resolved":\s*"https?:/],
]

/** No file names a machine's own folders or a registry: they mean nothing on another machine. */
export const noAddresses = (files: ReadonlyArray<{ path: string; text: string }>): Array<string> =>
  files.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, index) =>
        leaks
          .filter(([, pattern]) => pattern.test(line))
          .map(([what]) => `${path}:${index + 1} holds ${what}`),
      ),
  )

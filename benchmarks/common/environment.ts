// On what a benchmark ran: without it no figure means anything.
import { readFileSync, statfsSync } from "node:fs"
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os"
import { runtimeName } from "../../apps/sdk/runtime.ts"

/** The machine and the programs. */
export interface Environment {
  readonly runtime: string
  readonly uhrwerk: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly system: string
  readonly cpu: string
  readonly cores: number
  readonly memoryGib: number
  /** Of the folder with the data: `tmpfs` would mean that no commit waits for a disk. */
  readonly fileSystem: string
}

/** Describes this process's surroundings; `folder` is where it writes. */
export const environment = (folder: string): Environment => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string
    readonly dependencies: Readonly<Record<string, string>>
  }
  return {
    runtime: runtimeName(),
    uhrwerk: manifest.version,
    dependencies: manifest.dependencies,
    system: `${platform()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGib: Math.round((totalmem() / 2 ** 30) * 10) / 10,
    fileSystem: fileSystemOf(folder),
  }
}

/** Load averages over 1, 5 and 15 minutes: above the number of cores, wall times say little. */
export const load = (): ReadonlyArray<number> => loadavg().map((value) => Math.round(value * 100) / 100)

// Magic numbers of statfs(2) on Linux.
const kinds = new Map([
  [0xef53, "ext4"],
  [0x0102_1994, "tmpfs"],
  [0x794c_7630, "overlayfs"],
  [0x5846_5342, "xfs"],
  [0x9123_683e, "btrfs"],
])

const fileSystemOf = (folder: string): string => {
  try {
    const type = statfsSync(folder).type
    return kinds.get(type) ?? `0x${type.toString(16)}`
  } catch {
    return "unknown"
  }
}

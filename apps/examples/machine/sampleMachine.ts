// A look at this machine: load, memory, and the disk that the example writes to. Linux and macOS.
import { readFile, statfs } from "node:fs/promises"
import { freemem, loadavg, totalmem } from "node:os"
import { dirname } from "node:path"
import { outputFile } from "../files.ts"
import type { Sample } from "./MachineDb.ts"

/** Takes a sample now. */
export const sampleMachine = async (): Promise<Sample> => {
  const disk = await statfs(dirname(await outputFile("machine.db")))
  return {
    at: Date.now(),
    load: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    memoryUsed: totalmem() - (await memoryAvailable()),
    memoryTotal: totalmem(),
    diskUsed: (disk.blocks - disk.bfree) * disk.bsize,
    diskTotal: disk.blocks * disk.bsize,
  }
}

// Linux counts its caches as used, and says in /proc what it would give back. Elsewhere there is no such file.
const memoryAvailable = async (): Promise<number> => {
  const text = await readFile("/proc/meminfo", "utf8").catch(() => "")
  const kibibytes = /^MemAvailable:\s+(\d+) kB/m.exec(text)?.[1]
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024
}

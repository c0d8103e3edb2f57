// A process of its own that parses distinct schedules, keeps them, and prints by how much its heap grew for each:
// `memory.child.ts SIDE COUNT`. What is measured needs a heap that nobody else fills, and a collector that can be called.
import { parsers, type SideName } from "./sides.ts"

const [side, size] = process.argv.slice(2)
const count = Number(size)
const parse = parsers[side as SideName]
const zones = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC"] as const

/** Another text for each number up to a million: as people write them, with a list or a range here and there. */
const textOf = (n: number): string => {
  const minute = n % 60
  const hour = Math.floor(n / 60) % 24
  const day = (Math.floor(n / 1440) % 28) + 1
  const rest = Math.floor(n / 40_320)
  const weekday = rest % 3 === 0 ? "*" : rest % 3 === 1 ? "1-5" : "MON,WED"
  return `${minute} ${hour},${(hour + 12) % 24} ${day} ${(rest % 12) + 1} ${weekday}`
}
const keep = (from: number, to: number): Array<unknown> => {
  const kept: Array<unknown> = []
  for (let n = from; n < to; n++) kept.push(parse(textOf(n), zones[n % zones.length] as string))
  return kept
}
const host = globalThis as { gc?: () => void; Bun?: { gc: (now: boolean) => void } }
const collect = (): void => {
  for (let pass = 0; pass < 3; pass++) {
    host.gc?.()
    host.Bun?.gc(true)
  }
}

// What is loaded and made once, such as the tables of the zones, is there before.
keep(0, 100)
collect()
const before = process.memoryUsage().heapUsed
const kept = keep(100, 100 + count)
collect()
const bytes = (process.memoryUsage().heapUsed - before) / count
console.log(JSON.stringify({ count: kept.length, bytesEach: Math.round(bytes) }))

// The peers benchmark: the same work on other job queues for Node and on ours, in one run on one machine. Each side
// has schemas, files or keys of its own, which it drops; the peers' packages are installed when they are needed.
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import postgres from "postgres"
import { runtimeName } from "../../apps/sdk/runtime.ts"
import { environment, load } from "../common/environment.ts"
import { measureSides } from "./measure.ts"
import { help, type Options, parseOptions } from "./options.ts"
import { install, installed, type PackageName, versions } from "./packages.ts"
import { aimsOf, human, type Report, sidesOf } from "./report.ts"
import { askServers } from "../common/servers.ts"
import type { SideModule } from "./Side.ts"
import { loadSide, type SideName, sideNames } from "./sides.ts"

/** Runs it; answers 0, 1 when something went wrong (a missed aim is no such thing), 2 for wrong options. */
export const main = async (args: ReadonlyArray<string>): Promise<number> => {
  let options: Options | "help"
  try {
    options = parseOptions(args)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return 2
  }
  if (options === "help") {
    console.log(help())
    return 0
  }
  // What the peers are made for; on others a figure would say as much about the runtime as about them.
  if (runtimeName().split(" ")[0] !== "node") {
    console.error("peers: it runs on Node only. Run it by `npm run bench -- peers`")
    return 2
  }
  const folder = mkdtempSync(join(options.folder, "uhrwerk-bench-"))
  try {
    const report = await measure(folder, options, (text) => console.error(`  ${text}`))
    console.log(options.json ? JSON.stringify(report, null, 2) : human(report))
    return report.troubles.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    return 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await dropLeftovers(options.postgres).catch(() => {})
  }
}

const measure = async (
  folder: string,
  options: Options,
  progress: (text: string) => void,
): Promise<Report> => {
  const asked = options.sides.split(",")
  const names = sideNames.filter((name) => asked.includes(name))
  const modules = new Map<SideName, SideModule>()
  for (const name of names) modules.set(name, await loadSide(name))
  const uses = (store: string): boolean => [...modules.values()].some(({ info }) => info.store === store)
  if (names.some(isPeer)) await install(progress)
  const servers = await askServers({
    postgres: uses("PostgreSQL") ? options.postgres : null,
    redis: uses("Redis") ? options.redis : null,
  })

  const loadBefore = load()
  const from = performance.now()
  const troubles: Array<string> = []
  const rounds = await measureSides(folder, options, progress, troubles)
  const machine = environment(folder)
  const figures = sidesOf(rounds, (side) => ({
    info: (modules.get(side) as SideModule).info,
    version: isPeer(side) ? (installed(side) ?? "unknown") : machine.uhrwerk,
  }))
  return {
    benchmark: "peers",
    environment: { ...machine, loadBefore, loadAfter: load(), servers },
    options: {
      ...options,
      only: [...options.only],
      folder: undefined,
      postgres: undefined,
      redis: undefined,
    },
    tookMillis: Math.round(performance.now() - from),
    figures,
    aims: aimsOf(figures),
    troubles,
  }
}

const isPeer = (side: SideName): side is SideName & PackageName => side in versions

// A side drops what it made; one whose process had to be ended could not.
const dropLeftovers = async (address: string): Promise<void> => {
  const sql = postgres(address, { max: 1, onnotice: () => {} })
  try {
    const own = `uhrwerk_bench_${process.pid}_%`
    const rows = await sql`select nspname as name from pg_namespace where nspname like ${own}`
    for (const { name } of rows) await sql`drop schema if exists ${sql(String(name))} cascade`
  } finally {
    await sql.end()
  }
}

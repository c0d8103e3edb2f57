// What `uhrwerk doctor` looks at whatever the storage is: this machine's runtime and packages, and in the store its clock,
// zone data, schedules and letters. Storages say the rest of themselves (`Examination`).
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { ScheduleRow } from "../../core/domain/Schedule.ts"
import { spanOf } from "../../core/domain/TimeSpan.ts"
import { type Finding, ok, warn, fail } from "../../core/ports/Examination.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { zoneDataVersion, zoneOf } from "../../core/trigger/Zone.ts"
import { disagree, makeZoneStamp } from "../../core/trigger/ZoneData.ts"
import { runtimeName } from "./runtime.ts"

/** The oldest Node that has all that we use; Bun and Deno of the same age have it as well. */
const nodeMin = [22, 19] as const

/** The runtime, and the packages that we stand on. */
export const examineMachine = (): ReadonlyArray<Finding> => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const isOld = major < nodeMin[0] || (major === nodeMin[0] && minor < nodeMin[1])
  const packages = ["effect", "postgres", "drizzle-orm"].map((name) => `${name} ${versionOf(name)}`)
  return [
    isOld
      ? fail(
          "runtime",
          `${runtimeName()} is too old`,
          `Install Node ${nodeMin.join(".")} or newer, Bun or Deno.`,
        )
      : ok("runtime", runtimeName()),
    ok("packages", `uhrwerk ${ownVersion()}, ${packages.join(", ")}`),
  ]
}

// At least so late that no planner is on its way.
const lateMillis = 5000
// Differences that a round trip and a second's fraction explain.
const clockMillis = 1000

/** What is in the store. */
export const examineStore = async (store: StoreDriver): Promise<ReadonlyArray<Finding>> => {
  const clock = await clockFinding(store)
  const now = await store.now()
  const schedules = await store.schedules()
  const live = (await store.nodes()).filter(({ expiresAt }) => expiresAt > now).length
  return [clock, zoneFinding(schedules), schedulesFinding(schedules, now, live), await lettersFinding(store)]
}

const clockFinding = async (store: StoreDriver): Promise<Finding> => {
  const what = "clock"
  if (store.capabilities.name === "sqlite") return ok(what, "this machine's own decides what is due")
  // The second answer: the first one may have waited for a connection.
  await store.now()
  const before = Date.now()
  const theirs = await store.now()
  const after = Date.now()
  const ahead = Math.round((before + after) / 2 - theirs)
  const unsure = Math.ceil((after - before) / 2)
  const found = `this machine's is ${spanOf(Math.abs(ahead))} ${ahead < 0 ? "behind" : "ahead of"} the store's (give or take ${spanOf(unsure)}), which decides`
  return Math.abs(ahead) - unsure > clockMillis
    ? warn(what, found, "Let both machines follow a time server, such as chrony or systemd-timesyncd.")
    : ok(what, found)
}

const zoneFinding = (schedules: ReadonlyArray<ScheduleRow>): Finding => {
  const what = "zone data"
  const version = zoneDataVersion(process.versions)
  const stamp = makeZoneStamp({ version })
  const planned = schedules.filter(({ zoneData }) => zoneData !== null)
  const other = planned.filter(({ trigger, nextAt, zoneData }) => {
    const zone = "zone" in trigger ? zoneOf(trigger.zone) : undefined
    return zone !== undefined && nextAt !== null && disagree(zoneData, stamp(zone, nextAt))
  })
  const releases = sorted(planned.map(({ zoneData }) => String(zoneData).split(" ")[0] ?? ""))
  const found = `${version ?? "unknown"} in this runtime${
    planned.length === 0
      ? "; no schedule depends on it"
      : `; ${count(planned.length, "schedule")} planned with ${releases.join(", ")}`
  }`
  if (other.length === 0)
    return ok(what, planned.length === 0 ? found : `${found}, which agree on their zones`)
  return warn(
    what,
    `${found}; they disagree about ${names(other)}`,
    "Run all nodes on one version of one runtime; a node that starts names the next instants anew.",
  )
}

const schedulesFinding = (schedules: ReadonlyArray<ScheduleRow>, now: number, live: number): Finding => {
  const what = "schedules"
  const active = schedules.filter(({ pausedAt }) => pausedAt === null)
  const late = active
    .filter(({ nextAt }) => nextAt !== null && nextAt < now - lateMillis)
    .toSorted((a, b) => Number(a.nextAt) - Number(b.nextAt))
  const [first] = late
  const paused = schedules.length - active.length
  const all = `${count(schedules.length, "schedule")}${paused === 0 ? "" : `, ${paused} paused`}`
  if (first === undefined) return ok(what, `${all}, none overdue`)
  const found = `${all}, ${late.length} overdue: ${names(late)}, for ${spanOf(now - Number(first.nextAt))}`
  return live === 0
    ? warn(
        what,
        `${found}, and no node is live`,
        "Start one, which catches up as each schedule says: uhrwerk serve",
      )
    : fail(
        what,
        `${found}, though ${count(live, "node")} ${live === 1 ? "is" : "are"} live`,
        `Read the nodes' output for why, and ask: uhrwerk schedule show ${first.id}`,
      )
}

const lettersShown = 200

const lettersFinding = async (store: StoreDriver): Promise<Finding> => {
  const what = "dead letters"
  const letters = await store.deadLetters({ limit: lettersShown })
  if (letters.length === 0) return ok(what, "none")
  const jobs = sorted(letters.map(({ job }) => job))
  const found = `${letters.length === lettersShown ? `${lettersShown} or more` : letters.length}, of ${listed(jobs)}`
  return warn(what, found, "Look at them: uhrwerk dead list; then uhrwerk dead replay ID, or dead drop ID")
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`

const shownMax = 3

const listed = (all: ReadonlyArray<string>): string => {
  const rest = all.length - shownMax
  return `${all.slice(0, shownMax).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`
}

/** Each once, in the order of their bytes. */
const sorted = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(texts)].toSorted((a, b) => (a < b ? -1 : 1))

const names = (rows: ReadonlyArray<ScheduleRow>): string => listed(rows.map(({ id }) => id))

// From the manifest above a file: our own, and those of packages that do not export theirs.
const manifestAbove = (file: string, name: string): string => {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    try {
      const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
        string,
        unknown
      >
      if (manifest["name"] === name) return String(manifest["version"])
    } catch {
      // None in this folder: the one above.
    }
    if (folder === dirname(folder)) return "of an unknown version"
  }
}

const ownVersion = (): string => manifestAbove(fileURLToPath(import.meta.url), "uhrwerk")

const versionOf = (name: string): string => {
  try {
    return manifestAbove(fileURLToPath(import.meta.resolve(name)), name)
  } catch {
    return "is not installed"
  }
}

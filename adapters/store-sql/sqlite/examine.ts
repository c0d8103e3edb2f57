// Examines a SQLite file for `uhrwerk doctor`: whether an engine can work on it, who does, and how much room there is.
// Nothing in it is changed; the one lock that is taken is given back at once, and an engine beside waits for it unseen.
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { StoreInUse, StoreUnusable } from "../../../core/domain/Errors.ts"
import { spanOf } from "../../../core/domain/TimeSpan.ts"
import { fail, type Finding, ok, warn } from "../../../core/ports/Examination.ts"
import { waitingFinding, waitingMax } from "../waiting.ts"
import { checkOwner, location, versionOf } from "./Database.ts"
import { migrations } from "./migrations.ts"
import { unusable } from "./unusable.ts"

/** Looks at the file, and says whether a store can be made of it. */
export const examine = (
  file: string,
  now: number,
): { readonly findings: ReadonlyArray<Finding>; readonly usable: boolean } => {
  if (!existsSync(file)) return { findings: [newFileFinding(file)], usable: false }
  let sqlite: DatabaseSync | undefined
  const findings: Array<Finding> = []
  try {
    sqlite = new DatabaseSync(location(file, "rw"), { timeout: 2000 })
    checkOwner(sqlite, file)
    findings.push(fileFinding(sqlite, file), roomFinding(file))
    const version = versionOf(sqlite)
    findings.push(schemaFinding(version), journalFinding(sqlite), healthFinding(sqlite, file))
    const usable = version === migrations.length
    if (usable) {
      findings.push(engineFinding(sqlite, now))
      findings.push(waitingFinding(waitingOf(sqlite, now)))
    }
    return { findings, usable: usable && findings.every(({ state }) => state !== "fail") }
  } catch (error) {
    const refusal = unusable(file, error)
    findings.push(
      refusal instanceof StoreUnusable || refusal instanceof StoreInUse
        ? fail("file", refusal.reason, refusal.next)
        : fail(
            "file",
            `cannot be looked at: ${String(refusal)}`,
            "Restore it from a backup, or name another file.",
          ),
    )
    return { findings, usable: false }
  } finally {
    sqlite?.close()
  }
}

const newFileFinding = (file: string): Finding => {
  const what = "file"
  const folder = dirname(resolve(file))
  try {
    accessSync(folder, constants.W_OK)
  } catch {
    return existsSync(folder)
      ? fail(
          what,
          `there is none, and this user may not write to "${folder}"`,
          "Let it, or name another file.",
        )
      : fail(what, `the folder "${folder}" does not exist`, "Create it, or correct the path.")
  }
  return warn(what, `there is no "${file}" yet`, "Start an engine, which makes it: uhrwerk dev")
}

const fileFinding = (sqlite: DatabaseSync, file: string): Finding => {
  // The one way to know: rights, mounts that are read-only and other programs' locks all speak here.
  sqlite.exec("begin immediate")
  sqlite.exec("rollback")
  const version = String(sqlite.prepare("select sqlite_version() as version").get()?.["version"])
  return ok("file", `${file} can be written, ${sizeOf(statSync(file).size)}, SQLite ${version}`)
}

// What a busy store writes in some hours.
const roomMin = 256 * 1024 ** 2

const roomFinding = (file: string): Finding => {
  const { bavail, bsize } = statfsSync(dirname(resolve(file)))
  const room = bavail * bsize
  return room < roomMin
    ? warn(
        "disk",
        `${sizeOf(room)} are free: an engine stops acknowledging when the disk is full`,
        "Make room, or move the file.",
      )
    : ok("disk", `${sizeOf(room)} are free`)
}

const schemaFinding = (version: number): Finding => {
  const what = "schema"
  if (version === migrations.length) return ok(what, `version ${version}, the newest`)
  return version === 0
    ? warn(what, "the file is empty", "Start an engine, which makes the tables: uhrwerk dev")
    : warn(
        what,
        `version ${version} of ${migrations.length}`,
        "Copy the file for safety, then start an engine: it brings the file up to date.",
      )
}

const journalFinding = (sqlite: DatabaseSync): Finding => {
  const what = "journal"
  const mode = String(Object.values(sqlite.prepare("pragma journal_mode").get() ?? {})[0])
  // How far a commit goes belongs to a connection, and is not in the file.
  return mode === "wal"
    ? ok(what, "WAL; an engine commits with synchronous=FULL, to the disk before it acknowledges")
    : warn(what, `"${mode}": tools and engine lock each other out`, "Start an engine, which sets WAL.")
}

// A check reads every page: beyond this it takes longer than anybody waits for.
const checkMax = 2 * 1024 ** 3

const healthFinding = (sqlite: DatabaseSync, file: string): Finding => {
  const what = "health"
  const size = statSync(file).size
  const command = `sqlite3 "${file}" "pragma quick_check"`
  if (size > checkMax)
    return warn(
      what,
      `not checked: ${sizeOf(size)} take a while to read`,
      `Check it when there is time: ${command}`,
    )
  const answers = sqlite
    .prepare("pragma quick_check(3)")
    .all()
    .map((row) => String(Object.values(row)[0]))
  return answers.length === 1 && answers[0] === "ok"
    ? ok(what, "every page is in its place (quick_check)")
    : fail(
        what,
        `the file is damaged: ${answers.join("; ")}`,
        `Stop the engine and restore a backup; see: ${command}`,
      )
}

// By its lease, and not by its lock: to try that would be to hold it, and an engine that starts just then would be refused.
const engineFinding = (sqlite: DatabaseSync, now: number): Finding => {
  const what = "engine"
  const node = sqlite
    .prepare("select pid, host, runtime, expires_at from nodes order by started_at desc limit 1")
    .get()
  if (node === undefined) return ok(what, "none holds the file")
  const who = `process ${String(node["pid"])} on ${String(node["host"])} (${String(node["runtime"])})`
  const left = Number(node["expires_at"]) - now
  return left > 0
    ? ok(what, `${who} holds the file; its lease ends in ${spanOf(left)} unless it is renewed`)
    : warn(
        what,
        `the last one, ${who}, ended without a word ${spanOf(-left)} ago`,
        "Start it again: what it had in hand goes on at once. uhrwerk dev",
      )
}

const waitingOf = (sqlite: DatabaseSync, now: number) => {
  const due = sqlite
    .prepare(
      `select count(*) as count, min(due_at) as first from (select due_at from runs
        where state in ('ready', 'scheduled', 'retrying') and due_at < ? limit ${waitingMax})`,
    )
    .get(now - 5000)
  const nodes = sqlite.prepare("select count(*) as count from nodes where expires_at > ?").get(now)
  return {
    count: Number(due?.["count"]),
    longestMillis: now - Number(due?.["first"] ?? now),
    liveNodes: Number(nodes?.["count"]),
  }
}

const sizeOf = (bytes: number): string => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** power
  return `${power === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[power]}`
}

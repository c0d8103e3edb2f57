// What ends the programs of an engine that cannot do it any more, as after `kill -9`: a small process beside it. It
// reads from a pipe that only the engine holds, so it wakes when the engine is gone, however it went, and kills the
// process groups that are noted in a folder. One guardian for an engine, and a file for each group that is alive: a
// note is there as soon as its file is made, whatever the runtime does with pipes.
//
// What it cannot do: a program that was started in the moment of the kill, before its note was made; one that left
// its group (`setsid`); and an engine that is frozen (SIGSTOP) is not gone.
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Notes process groups. */
export interface Guardian {
  /** To be called as soon as the group is there. */
  readonly note: (group: number) => void
  readonly forget: (group: number) => void
  readonly close: () => void
}

// Constant, but for the folder, which is an argument; names that are no numbers are none of ours.
const script = `trap '' HUP INT TERM
while read -r line; do :; done
cd -- "$1" 2>/dev/null || exit 0
for group in *; do
  case $group in
    *[!0-9]*) ;;
    *) kill -s KILL -- "-$group" 2>/dev/null; rm -f -- "$group" ;;
  esac
done
cd / && rmdir -- "$1"`

/** A guardian, which is started with the first note. `report` hears what goes wrong: programs are run all the same. */
export const makeGuardian = (report: (doing: string, error: unknown) => void): Guardian => {
  let folder: string | undefined
  let guardian: ChildProcess | undefined

  const start = (): string => {
    folder ??= mkdtempSync(join(tmpdir(), "uhrwerk-groups-"))
    if (guardian !== undefined) return folder
    const started = spawn("/bin/sh", ["-c", script, "uhrwerk-guardian", folder], {
      // Ctrl-C in a terminal goes to the whole group of the engine, which may live on to end its programs itself.
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      env: {},
    })
    guardian = started
    const gone = (error: unknown): void => {
      // Somebody ended it: the next note starts another one, which finds the notes of all.
      if (guardian !== started) return
      guardian = undefined
      report("keep a guardian of subprocesses", error)
    }
    started.on("error", gone)
    started.on("exit", (code, signal) => gone(new Error(`It ended (${signal ?? code})`)))
    started.stdin?.on("error", () => {})
    // Nobody waits for it: an engine that has nothing else to do may end.
    started.unref()
    ;(started.stdin as { readonly unref?: () => void } | null)?.unref?.()
    return folder
  }

  const close = (): void => {
    const closing = guardian
    guardian = undefined
    // One that runs removes the folder itself, and kills what is still noted there.
    if (closing === undefined && folder !== undefined) rmSync(folder, { recursive: true, force: true })
    folder = undefined
    closing?.stdin?.end()
  }

  return {
    note: (group) => {
      try {
        // Whoever keeps a machine tidy may have removed a folder that was not used for days.
        if (folder !== undefined && !existsSync(folder)) close()
        writeFileSync(join(start(), String(group)), "")
      } catch (error) {
        report("note a subprocess for the guardian", error)
      }
    },
    forget: (group) => {
      if (folder !== undefined) rmSync(join(folder, String(group)), { force: true })
    },
    close,
  }
}

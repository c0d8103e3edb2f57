// `uhrwerk export` and `uhrwerk import`: a store as lines of JSON, to keep, to look at, or to go on in another store.
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"
import { exitCodes, UsageError } from "./exits.ts"
import { exportLines } from "./exportStore.ts"
import type { Commands } from "./groups.ts"
import { importLines } from "./importStore.ts"
import { none, only, storeCommand } from "./open.ts"

/** The commands by their words. */
export const transferCommands: Commands = {
  export: storeCommand(
    "export",
    "everything that the store holds, as NDJSON on stdout: schedules, calendars, tokens (as hashes), runs with attempts, letters, ledger",
    async (store, args) => {
      none(args)
      let lines = 0
      for await (const line of exportLines(store)) {
        lines++
        // Whoever reads slowly is waited for, so that memory stays bounded.
        if (!process.stdout.write(`${JSON.stringify(line)}\n`))
          await new Promise<void>((resolve) => process.stdout.once("drain", resolve))
        if (process.stderr.isTTY && lines % 1000 === 0) process.stderr.write(`\r${lines} lines`)
      }
      console.error(`${process.stderr.isTTY ? "\r" : ""}${lines} lines.`)
    },
  ),
  import: storeCommand(
    "import FILE|- [--dry-run]",
    "take what is still to be done from an export, with its ids and places in time; what was there stays as it is",
    async (store, args, flags) => {
      const file = only(args, "file, or - for stdin")
      const input = file === "-" ? process.stdin : createReadStream(file)
      const isDry = flags["dry-run"] === true
      const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
      // readline tells nobody of a file that cannot be read.
      const failed = new Promise<never>((_, reject) =>
        input.once("error", (error: Error) =>
          reject(new UsageError(`Cannot read "${file}": ${error.message}`)),
        ),
      )
      const { taken, left } = await Promise.race([failed, importLines(store, lines, isDry)])
      for (const [type, count] of taken) console.log(`${isDry ? "would take" : "taken"}  ${count} ${type}`)
      for (const [why, count] of left) console.error(`left  ${count} ${why}`)
      const isPartial = [...left.keys()].some((why) => why.startsWith("run: ") && !why.includes("has ended"))
      return isPartial ? exitCodes.partial : exitCodes.ok
    },
  ),
}

// `uhrwerk import-from crontab FILE`: a config out of a crontab, and a report of what it could not take.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { readCrontab } from "./crontab.ts"
import { configText, importedJobs } from "./crontabConfig.ts"
import { exitCodes, UsageError } from "./exits.ts"
import type { Commands } from "./groups.ts"
import { plain } from "./text.ts"

const bytesMax = 1_048_576

/** The commands by their words. */
export const importFromCommands: Commands = {
  "import-from crontab": {
    usage: "import-from crontab FILE|- [--system] [--tz ZONE] [--out uhrwerk.config.ts]",
    about:
      "a config out of a crontab (`crontab -l | uhrwerk import-from crontab -`); what it could not take is said",
    run: async (args, flags) => {
      const [file, ...more] = args
      if (file === undefined || more.length > 0)
        throw new UsageError("This command takes one crontab, or - for stdin")
      const isSystem = flags.system === true || file === "/etc/crontab" || file.startsWith("/etc/cron.d/")
      const crontab = readCrontab(textOf(file), isSystem)
      const jobs = importedJobs(crontab)
      // Cron's times are those of its machine; a config says whose, as it runs on others too.
      const zone = flags.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone
      const config = configText(file === "-" ? "a crontab" : file, jobs, zone)
      if (jobs.length > 0) write(flags.out, config)
      const say = (text: string): void => console.error(plain(text, 400))
      say(
        `${jobs.length} ${jobs.length === 1 ? "line is a job" : "lines are jobs"} now, with times in ${zone} unless a line said otherwise.`,
      )
      for (const { name, from, notes } of jobs)
        for (const note of notes) say(`  line ${from.line} (${name}): ${note}`)
      for (const { line, text, reason } of crontab.left)
        say(`  line ${line} was not taken: ${reason}: ${text}`)
      if (jobs.length === 0) return exitCodes.failed
      if (flags.out !== undefined)
        say(`Look at what it will start: uhrwerk dev --fast-forward 7d ${flags.out}`)
      return crontab.left.length === 0 ? exitCodes.ok : exitCodes.partial
    },
  },
}

const textOf = (file: string): string => {
  let bytes: Buffer
  try {
    bytes = readFileSync(file === "-" ? 0 : file)
  } catch (error) {
    throw new UsageError(`Cannot read "${file}": ${(error as Error).message}`)
  }
  if (bytes.length > bytesMax)
    throw new UsageError(`"${file}" has ${bytes.length} bytes; a crontab has at most ${bytesMax}`)
  return bytes.toString("utf8")
}

const write = (out: string | undefined, config: string): void => {
  if (out === undefined) return void process.stdout.write(config)
  if (existsSync(out))
    throw new UsageError(`There is a file "${out}" already: name another one, or move it away`)
  writeFileSync(out, config)
}

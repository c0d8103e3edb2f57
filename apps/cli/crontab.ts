// Reads a crontab as cron does: settings that hold for the lines below them, times or a nickname, in the system's form a
// user, and a command whose first unescaped `%` ends it and begins its input. Sources: crontab(5) of Vixie cron and cronie.
import * as Result from "effect/Result"
import { nextAfter } from "../../core/trigger/Cron.ts"
import { parseCron } from "../../core/trigger/CronFields.ts"

/** A line that starts a command. */
export interface CrontabJob {
  /** From 1. */
  readonly line: number
  /** Times or nickname, as they stand there with single spaces. */
  readonly expression: string
  /** Of the system's form; `null` in a user's own. */
  readonly user: string | null
  readonly command: string
  /** What the command reads; `null`: nothing. */
  readonly input: string | null
  /** The settings above it, without those that are about cron itself. */
  readonly env: Readonly<Record<string, string>>
  /** `CRON_TZ`; `null`: the machine's own zone. */
  readonly zone: string | null
  /** `null`: cron's default, mail to the owner; "": none. */
  readonly mailTo: string | null
}

/** A line that could not be taken, or not all of it. */
export interface CrontabNote {
  readonly line: number
  readonly text: string
  readonly reason: string
}

/** What was read. */
export interface Crontab {
  readonly jobs: ReadonlyArray<CrontabJob>
  readonly left: ReadonlyArray<CrontabNote>
}

const setting = /^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$/

/** `isSystem`: each line has a user after its times, as in /etc/crontab and /etc/cron.d. */
export const readCrontab = (text: string, isSystem: boolean): Crontab => {
  const jobs: Array<CrontabJob> = []
  const left: Array<CrontabNote> = []
  const env = new Map<string, string>()
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1
    const note = (reason: string): void => void left.push({ line, text: raw.trim(), reason })
    const content = raw.trimStart()
    if (content === "" || content.startsWith("#")) continue
    const set = setting.exec(raw)
    if (set !== null) {
      env.set(set[1] ?? set[2] ?? set[3] ?? "", unquoted(set[4] ?? ""))
      continue
    }
    const times = timesOf(content)
    if (times === null) {
      note("it has no times and a command: five fields or a nickname such as @daily come first")
      continue
    }
    const words = isSystem ? /^(\S+)\s+(.*)$/s.exec(times.rest) : null
    if (times.rest === "" || (isSystem && words === null)) {
      note(isSystem ? "it has no user and command after its times" : "it has no command")
      continue
    }
    const zone = env.get("CRON_TZ") ?? null
    const refused = refusalOf(times.expression, zone)
    if (refused !== null) {
      note(refused)
      continue
    }
    const [command, input] = split(words?.[2] ?? times.rest)
    jobs.push({
      line,
      expression: times.expression,
      user: words?.[1] ?? null,
      command,
      input,
      env: Object.fromEntries([...env].filter(([name]) => !ofCron.has(name))),
      zone,
      mailTo: env.get("MAILTO") ?? null,
    })
  }
  return { jobs, left }
}

// They tell cron something, and nothing to a command that it starts.
const ofCron: ReadonlySet<string> = new Set(["MAILTO", "MAILFROM", "CRON_TZ", "RANDOM_DELAY", "CONTENT_TYPE"])

const unquoted = (value: string): string => /^(["'])(.*)\1$/s.exec(value)?.[2] ?? value

const timesOf = (content: string): { readonly expression: string; readonly rest: string } | null => {
  const found = content.startsWith("@")
    ? /^(@\S+)\s*(.*)$/s.exec(content)
    : /^((?:\S+\s+){4}\S+)\s*(.*)$/s.exec(content)
  if (found === null) return null
  return { expression: (found[1] ?? "").replaceAll(/\s+/g, " "), rest: found[2] ?? "" }
}

const refusalOf = (expression: string, zone: string | null): string | null => {
  if (expression === "@reboot")
    return "@reboot names no time: start it where the machine starts your services"
  if (/^-|~/.test(expression))
    return "a leading - and ~ (a random time) are extensions of some crons: write a fixed time, or use `jitter`"
  const read = parseCron(expression, zone === null ? {} : { zone })
  if (Result.isFailure(read)) return read.failure.message
  return nextAfter(read.success, 0) === null ? "its times never come" : null
}

/** The command, and what it reads: each `%` that is not escaped is a new line, and the first one ends the command. */
const split = (text: string): readonly [command: string, input: string | null] => {
  const parts = [""]
  for (const [, escaped, other] of text.matchAll(/\\(%)|([^])/g)) {
    if (other === "%") parts.push("")
    else parts[parts.length - 1] += escaped ?? other ?? ""
  }
  const [command = "", ...lines] = parts
  return [command.trim(), lines.length === 0 ? null : lines.join("\n")]
}

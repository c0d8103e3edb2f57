// A crontab as a config: one job for each line, which runs the same command in the same shell at the same times.
import type { Crontab, CrontabJob } from "./crontab.ts"

/** A job of the config, and what is not as it was in cron. */
export interface ImportedJob {
  readonly name: string
  readonly from: CrontabJob
  readonly notes: ReadonlyArray<string>
}

/** Names and notes for each line. */
export const importedJobs = ({ jobs }: Crontab): ReadonlyArray<ImportedJob> => {
  const names = new Set<string>()
  return jobs.map((from) => {
    const base = nameOf(from.command)
    let name = base
    for (let n = 2; names.has(name); n++) name = `${base}-${n}`
    names.add(name)
    return { name, from, notes: notesOf(from) }
  })
}

// The first word that says what it does: programs by their file, without what comes before.
const nameOf = (command: string): string => {
  const words = command
    .replaceAll(/(^|[;&|]\s*)cd\s+\S+/g, "$1")
    .split(/[\s;|&<>()]+/)
    .filter((word) => word !== "" && !/^[A-Za-z_]\w*=/.test(word))
  const word = words.find((each) => !dull.has(each) && !/^[-\d]/.test(each)) ?? "job"
  const file = word.split("/").findLast((part) => part !== "") ?? word
  const plain = file.replaceAll(/[^A-Za-z0-9._-]/g, "").replaceAll(/^[.-]+|[.-]+$/g, "")
  return plain === "" ? "job" : plain.slice(0, 100)
}

const dull: ReadonlySet<string> = new Set([
  "test",
  "[",
  "nice",
  "ionice",
  "timeout",
  "flock",
  "sudo",
  "exec",
  "env",
  "sh",
  "bash",
  "/bin/sh",
  "/bin/bash",
])

const notesOf = ({ user, mailTo }: CrontabJob): ReadonlyArray<string> => [
  ...(user === null
    ? []
    : [`cron ran it as ${user}: start the engine as that user, or with \`sudo -u\` in the command`]),
  ...(mailTo === ""
    ? []
    : [
        `cron mailed its output${mailTo === null ? "" : ` to ${mailTo}`}: it is in the run's log instead, and a failure is a dead letter`,
      ]),
]

const shellUsual = "/bin/sh"
const pathUsual = "/usr/bin:/bin"
// Cron sets them from the user's account; the engine has them from whoever started it.
const passed = ["HOME", "LOGNAME", "USER"]

/** The text of the config. `zone`: that of lines without a `CRON_TZ`. */
export const configText = (file: string, jobs: ReadonlyArray<ImportedJob>, zone: string): string =>
  [
    `// Made by \`uhrwerk import-from crontab\` from ${plainLine(file)}. As in cron, a run does not wait for the one before, what was`,
    "// missed is not caught up, and a failure is not tried again: `overlap`, `catchUp` and `retry` choose otherwise.",
    'import { command, cron, defineConfig, job } from "uhrwerk"',
    "",
    "// Cron starts everything there.",
    'const home = process.env["HOME"] ?? "/"',
    "",
    "const jobs = [",
    ...jobs.map((each) => jobText(each, zone)),
    "]",
    "",
    "export default defineConfig({",
    "  jobs,",
    `  executors: { command: { programs: ${list([...new Set(jobs.map(({ from }) => shellOf(from)))].sort())} } },`,
    "})",
    "",
  ].join("\n")

const jobText = ({ name, from, notes }: ImportedJob, zone: string): string => {
  const env = Object.entries({ PATH: pathUsual, ...from.env }).filter(([key]) => key !== "SHELL")
  const pass = passed.filter((each) => !Object.hasOwn(from.env, each))
  const cwd = Object.hasOwn(from.env, "HOME") ? text(from.env["HOME"]) : "home"
  return [
    `  // Line ${from.line}: ${from.expression}${from.user === null ? "" : ` ${plainLine(from.user)}`}`,
    ...notes.map((note) => `  // ${plainLine(note)}`),
    `  job(${text(name)}, {`,
    `    on: cron(${text(from.expression)}, { tz: ${text(from.zone ?? zone)}, overlap: "allow", catchUp: "skip" }),`,
    "    retry: { max: 1 },",
    `    run: command(${text(shellOf(from))}, ["-c", ${text(scriptOf(from))}], {`,
    `      cwd: ${cwd},`,
    `      env: { ${env.map(([key, value]) => `${text(key)}: ${text(value)}`).join(", ")} },`,
    `      pass: ${list(pass)},`,
    "    }),",
    "  }),",
  ].join("\n")
}

const text = (value: string | undefined): string => JSON.stringify(value ?? "")

const list = (values: ReadonlyArray<string>): string => `[${values.map(text).join(", ")}]`

const shellOf = ({ env }: CrontabJob): string => env["SHELL"] ?? shellUsual

const plainLine = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]/g, " ")

/** What the shell gets: the command, reading what the line says, or nothing, as in cron, instead of the run's input. */
const scriptOf = ({ command, input }: CrontabJob): string => {
  if (input === null) return `exec </dev/null\n${command}`
  let end = "END"
  while (input.split("\n").includes(end)) end += "_"
  return `{\n${command}\n} <<'${end}'\n${input}\n${end}`
}

// `npm run chaos -- --store postgres|sqlite --kills K ...` and `npm run chaos -- --workers [--store sqlite|postgres] ...`: real
// processes, real faults, and a check of what they left behind. Exit code 1 when a promise was broken, 2 when it could not
// be looked at.
import { parseArgs } from "node:util"
import { cannotStart } from "../adapters/store-sql/postgres/ownServer.ts"
import { textOf } from "./postgres/report.ts"
import { runChaos } from "./postgres/run.ts"
import { killAgainAndAgain } from "./sqliteKills.ts"
import { textOf as textOfWorkers } from "./workers/report.ts"
import { runChaos as runWorkers } from "./workers/run.ts"

const usage = `Usage: chaos --store postgres|sqlite --kills K [--seed S] [--seconds N] [--runs R] [--schedules H] [--json]
       chaos --workers [--store sqlite|postgres] [--faults K] [--seed S] [--seconds N] [--runs R] [--slack MS] [--keep FOLDER] [--json]`

const text = { type: "string" } as const
const { values } = parseArgs({
  options: {
    store: text,
    kills: text,
    seed: text,
    seconds: text,
    runs: text,
    schedules: text,
    workers: { type: "boolean", default: false },
    faults: text,
    slack: text,
    keep: text,
    json: { type: "boolean", default: false },
  },
})

/** A whole number from `min` to `max`, or the end of the program. */
const whole = (
  name: "kills" | "faults" | "seed" | "seconds" | "runs" | "schedules" | "slack",
  standard: number,
  min: number,
  max: number,
): number => {
  const given = values[name]
  const number = given === undefined ? standard : Number(given)
  if (Number.isInteger(number) && number >= min && number <= max) return number
  console.error(`--${name} ${given}: not a whole number from ${min} to ${max}. ${usage}`)
  process.exit(2)
}

// A fault takes seven seconds on the average: some are alone for longer than the lease.
const secondsPerFault = 7
// One with workers takes longer: some are silences of 20 s, and each waits until its worker has something in hand.
const secondsPerWorkerFault = 12
const kills = whole("kills", 30, 1, 500)
const seed = whole("seed", Date.now() % 2 ** 31, 0, 2 ** 31)
const say = (line: string): void => {
  if (!values.json) console.log(`${new Date().toISOString().slice(11, 23)}  ${line}`)
}

const overPostgres = async (): Promise<number> => {
  if (cannotStart !== null) {
    console.error(`Cannot start a PostgreSQL server: ${cannotStart}`)
    return 2
  }
  const report = await runChaos({
    seed,
    faults: kills,
    seconds: whole("seconds", kills * secondsPerFault, 1, 7200),
    runs: whole("runs", 3000, 1, 1_000_000),
    schedules: whole("schedules", 50, 1, 500),
    recoveryMillis: 1000,
    say,
  })
  console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report))
  return report.checks.every(({ violations }) => violations.length === 0) ? 0 : 1
}

const overSqlite = async (): Promise<number> => {
  const report = await killAgainAndAgain("node", { kills, runs: whole("runs", 2000, 1, 1_000_000), seed })
  console.log(
    values.json ? JSON.stringify(report, null, 2) : `${report.text}\n${report.violations.length} violations`,
  )
  if (!values.json) for (const violation of report.violations) console.log(`  ${violation}`)
  return report.violations.length === 0 ? 0 : 1
}

const withWorkers = async (): Promise<number> => {
  const store = values.store ?? "sqlite"
  if (store !== "sqlite" && store !== "postgres") {
    console.error(`--store ${store}. ${usage}`)
    return 2
  }
  if (store === "postgres" && cannotStart !== null) {
    console.error(`Cannot start a PostgreSQL server: ${cannotStart}`)
    return 2
  }
  const faults = whole("faults", 30, 1, 500)
  const report = await runWorkers({
    store,
    seed,
    faults,
    seconds: whole("seconds", faults * secondsPerWorkerFault, 1, 7200),
    runs: whole("runs", 3000, 1, 1_000_000),
    slackMillis: whole("slack", 0, 0, 60_000),
    ...(values.keep === undefined ? {} : { keep: values.keep }),
    say,
  })
  console.log(values.json ? JSON.stringify(report, null, 2) : textOfWorkers(report))
  return report.checks.every(({ violations }) => violations.length === 0) ? 0 : 1
}

const run = values.workers ? withWorkers : { postgres: overPostgres, sqlite: overSqlite }[values.store ?? ""]
if (run === undefined) {
  console.error(`--store ${values.store ?? "is missing"}. ${usage}`)
  process.exit(2)
}
process.exitCode = await run()

// `uhrwerk worker-test`: whether a worker in any language keeps the protocol's promises, as a score by group. Of each
// that it does not keep, people are told what was expected, what was seen, and why it matters; programs get JSON.
import type { Group, Report, Scored } from "../worker-test/mod.ts"
import { UsageError } from "./errors.ts"
import { jsonOf, paint, plain } from "./format.ts"
import { type Command, none } from "./open.ts"

/** The command. */
export const workerTest: Command = {
  usage: 'worker-test --cmd "python3 worker.py" [--only GROUP,GROUP] [--case ID,ID] [--json] [--verbose]',
  about: "plays the server to a worker in any language and scores it; exit code 1 below full marks",
  run: async (args, flags) => {
    none(args)
    // Nobody else has to wait until it is loaded.
    const { allCases, groups, killAll, launchCommand, testWorker, wordsOf } =
      await import("../worker-test/mod.ts")
    const words = wordsOf(flags.cmd ?? "")
    if (words === null)
      throw new UsageError('--cmd says how the worker is started, such as --cmd "python3 worker.py"')
    const only = listed("--only", flags.only, groups)
    const ids = allCases.map(({ id }) => id)
    const cases = listed("--case", flags.case, ids)
    for (const [signal, code] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
    ] as const)
      process.once(signal, () => {
        killAll()
        process.exit(code)
      })
    if (flags.json !== true) console.error(`Starting "${plain(words.join(" "))}" some dozens of times ...`)
    const report = await testWorker({
      launch: launchCommand(words),
      ...(only === undefined ? {} : { only: only as ReadonlyArray<Group> }),
      ...(cases === undefined ? {} : { cases }),
    })
    if (flags.json === true) console.log(jsonOf(report, 2))
    else print(report, groups, flags.verbose === true)
    return report.points === report.pointsMax ? 0 : 1
  },
}

const listed = (
  flag: string,
  text: string | undefined,
  known: ReadonlyArray<string>,
): ReadonlyArray<string> | undefined => {
  const names = text?.split(",").map((name) => name.trim())
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageError(
      `${flag} ${plain(unknown)} is none of ${known.slice(0, 8).join(", ")}${known.length > 8 ? " ..." : ""}`,
    )
  return names
}

const print = (report: Report, groups: ReadonlyArray<Group>, verbose: boolean): void => {
  const { cases, points, pointsMax, runtime, version, millis } = report
  const score = (of: ReadonlyArray<Scored>): string => {
    const sum = (some: ReadonlyArray<Scored>): number => some.reduce((all, each) => all + each.points, 0)
    return `${sum(of.filter(({ ok }) => ok))} of ${sum(of)}`
  }
  // Of a worker that never spoke there is one thing to say, not a hundred.
  const mute = runtime === null ? cases.find(({ lost }) => (lost?.frames.length ?? 0) > 0) : undefined
  if (mute !== undefined) printCase(mute)
  for (const group of runtime === null ? [] : groups) {
    const own = cases.filter((each) => each.group === group)
    if (own.length === 0) continue
    console.log(paint("bold", `${group} ${score(own)}`))
    for (const each of own) if (verbose || !each.ok) printCase(each)
  }
  console.log("")
  const who = runtime === null ? "the worker never said hello" : `${runtime}, version ${version}`
  console.log(`${points} of ${pointsMax} points in ${Math.round(millis / 1000)} s (${plain(who)})`)
}

const printCase = ({ id, ok, expects, why, see, points, lost }: Scored): void => {
  const mark = ok ? paint("green", "ok  ") : paint("red", "LOST")
  console.log(`  ${mark}  ${id}: ${expects}`)
  if (lost === null) return
  const lines = [
    `expected  ${lost.expected}`,
    `seen      ${lost.seen}`,
    `why       ${why} (${points} ${points === 1 ? "point" : "points"}; core/protocol/README.md, ${see})`,
    ...(lost.frames.length === 0
      ? []
      : ["the end of the conversation:", ...lost.frames.map((each) => `  ${each}`)]),
    ...(lost.output.length === 0 ? [] : ["the worker wrote:", ...lost.output.map((each) => `  ${each}`)]),
  ]
  for (const line of lines) console.log(`        ${plain(line, 400).trimEnd()}`)
}

// Checks cases of a `cron-cases.json` against the engine: the same code behind `npm run cases` and the test.
// Expected instants come from the file; the seven properties are checked for every case that lists instants.
import * as Result from "effect/Result"
import { between, type Cron, matches, nextAfter, previousBefore } from "../../core/trigger/Cron.ts"
import { parseCron } from "../../core/trigger/CronFields.ts"
import { type Check, check, type Problem, problem, tooSlow } from "./check.ts"

interface Named {
  readonly id: string
  readonly title?: string
  readonly name?: string
  readonly why?: string
  readonly expr: unknown
  readonly tz?: unknown
  readonly processTz?: string
}
interface NextCase extends Named {
  readonly from: string
  readonly count: number
  readonly expected: readonly string[]
  readonly exhausted?: boolean
}
interface NeverCase extends Named {
  readonly from: string
  readonly limitMs: number
}
interface PerfCase extends Named {
  readonly build: {
    readonly prefix: string
    readonly repeat: string
    readonly times: number
    readonly suffix: string
  }
  readonly expect: string
  readonly limitMs: number
}
/** What the README beside the file says it holds. */
export interface CronCases {
  readonly next?: readonly NextCase[]
  readonly never?: readonly NeverCase[]
  readonly invalid?: readonly Named[]
  readonly perf?: readonly PerfCase[]
}

/** All checks of a file, in its order. */
export const checksOf = (cases: CronCases): Check[] => [
  ...(cases.next ?? []).map((one) => cronCheck(one, () => checkNext(one))),
  ...(cases.never ?? []).map((one) => cronCheck(one, () => checkNever(one))),
  ...(cases.invalid ?? []).map((one) => cronCheck(one, () => checkInvalid(one))),
  ...(cases.perf ?? []).map((one) => cronCheck(one, () => checkPerf(one))),
]

const cronCheck = (one: Named, run: () => Problem | undefined): Check =>
  check({ ...one, title: one.title ?? one.name ?? one.why ?? String(one.expr) }, run)

const parse = (one: Named, expr = one.expr) =>
  parseCron(expr, one.tz === undefined ? {} : { zone: one.tz as string })
const iso = (at: number | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString()

const checkNext = (one: NextCase): Problem | undefined => {
  const parsed = parse(one)
  if (Result.isFailure(parsed)) return { what: "parse", expected: one.expected, got: parsed.failure.message }
  const cron = parsed.success
  const from = Date.parse(one.from)
  const expected = one.expected.map((text) => Date.parse(text))
  // One more than is expected shows whether there is none left.
  const list = between(cron, from, Infinity, one.exhausted === true ? expected.length + 1 : one.count)
  return problem("occurrences", one.expected, list.map(iso)) ?? checkProperties(cron, from, list)
}

/** Properties 1 to 5 and 7 of a list of occurrences after `from`; the sixth needs other processes. */
export const checkProperties = (cron: Cron, from: number, list: readonly number[]): Problem | undefined => {
  for (const [index, at] of list.entries()) {
    const before = list[index - 1] ?? from
    const found =
      (at > before ? undefined : { what: "1: increasing", expected: `after ${iso(before)}`, got: iso(at) }) ??
      problem("2: from one millisecond before", iso(at), iso(nextAfter(cron, at - 1))) ??
      (index + 1 < list.length
        ? problem("3: from a result", iso(list[index + 1]), iso(nextAfter(cron, at)))
        : undefined) ??
      problem(
        "4: the tail of the list",
        list.slice(index + 1).map(iso),
        between(cron, at + 1, list.at(-1) ?? at, list.length).map(iso),
      ) ??
      problem("5: backwards", iso(at), iso(previousBefore(cron, at + 1))) ??
      (index === 0 ? undefined : problem("5: backwards", iso(before), iso(previousBefore(cron, at)))) ??
      problem(
        "an occurrence matches, a millisecond later does not",
        [true, false],
        [matches(cron, at), matches(cron, at + 1)],
      )
    if (found !== undefined) return found
  }
  const earlier = list.length === 0 ? null : previousBefore(cron, list[0] as number)
  if (earlier !== null && earlier > from) {
    return { what: "5: backwards", expected: `nothing after ${iso(from)}`, got: iso(earlier) }
  }
  for (const end of [8.64e15, -8.64e15]) {
    const got = [
      nextAfter(cron, end),
      previousBefore(cron, end),
      between(cron, end, end, 5),
      matches(cron, end),
    ]
    const found = problem("7: the ends of the Date range", [null, null, [], false], got)
    if (found !== undefined) return found
  }
  return undefined
}

const checkNever = (one: NeverCase): Problem | undefined => {
  const parsed = parse(one)
  if (Result.isFailure(parsed)) return { what: "parse", expected: "a schedule", got: parsed.failure.message }
  const from = Date.parse(one.from)
  return (
    problem("next", null, iso(nextAfter(parsed.success, from))) ??
    tooSlow(one.limitMs, () => nextAfter(parsed.success, from))
  )
}

const checkInvalid = (one: Named): Problem | undefined => {
  const parsed = parse(one)
  if (Result.isSuccess(parsed)) return { what: "parse", expected: "a refusal", got: "a schedule" }
  const { _tag, field, reason, next } = parsed.failure
  const isTold = /^(zone|cron(\.\w+)?)$/.test(field) && reason !== "" && next !== ""
  return problem("refusal", ["InvalidSchedule", true], [_tag, isTold])
}

const checkPerf = (one: PerfCase): Problem | undefined => {
  const { build } = one
  const text = build.prefix + build.repeat.repeat(build.times) + build.suffix
  const from = Date.parse("2026-01-01T00:00:00Z")
  const [, times = "1"] = /^(\d+) /.exec(one.expect) ?? []
  const [, zone = "UTC"] = /\bin ([A-Z]\w+\/[\w/+-]+)/.exec(one.expect) ?? []
  const work = (): unknown => {
    let answer: unknown
    for (let left = Number(times); left > 0; left -= 1) {
      const parsed = parseCron(text, { zone })
      answer = Result.isFailure(parsed) ? "rejected" : iso(nextAfter(parsed.success, from))
    }
    return answer
  }
  const got = work()
  // Whatever else is expected, an accepted text must have an answer.
  const wrong = one.expect.startsWith("rejected")
    ? problem("next", "rejected", got)
    : one.expect.startsWith("no next run")
      ? problem("next", null, got)
      : problem("next", true, typeof got === "string" && got !== "rejected")
  return wrong ?? tooSlow(one.limitMs, work)
}

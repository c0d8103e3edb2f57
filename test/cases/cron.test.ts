// The shared cron cases that are in scope: UTC, five to seven fields. Other zones are counted, not hidden.
import { existsSync, readFileSync } from "node:fs"
import * as Result from "effect/Result"
import { describe, expect, test } from "vitest"
import { between, nextAfter } from "../../core/trigger/Cron.ts"
import { parseCron } from "../../core/trigger/CronFields.ts"

interface Case {
  readonly id: string
  readonly title?: string
  readonly expr: unknown
  readonly tz: string
  readonly from: string
  readonly count: number
  readonly expected: readonly string[]
  readonly exhausted?: boolean
  readonly limitMs: number
  readonly why?: string
}
interface PerfCase {
  readonly id: string
  readonly name: string
  readonly build: {
    readonly prefix: string
    readonly repeat: string
    readonly times: number
    readonly suffix: string
  }
  readonly expect: string
  readonly limitMs: number
}
interface Cases {
  readonly next: readonly Case[]
  readonly never: readonly Case[]
  readonly invalid: readonly Case[]
  readonly perf: readonly PerfCase[]
}

const file = new URL("../../../shared/cases/cron-cases.json", import.meta.url)
const present = existsSync(file)
const none: Cases = { next: [], never: [], invalid: [], perf: [] }
const cases: Cases = present ? (JSON.parse(readFileSync(file, "utf8")) as Cases) : none
if (!present) console.warn(`The shared cron cases are skipped: ${file.pathname} does not exist`)

const inScope = (one: Case): boolean => one.tz === "UTC" || one.tz === "Etc/UTC"
// The empty zone is refused for good; an unknown one only as "not supported yet", which proves nothing.
const invalidInScope = (one: Case): boolean => inScope(one) || one.tz === ""
const perfInScope = (one: PerfCase): boolean => !/\b[A-Z]\w+\/\w+/.test(one.expect)
const nextCases = cases.next.filter(inScope)
const neverCases = cases.never.filter(inScope)
const invalidCases = cases.invalid.filter(invalidInScope)
const perfCases = cases.perf.filter(perfInScope)
const later = {
  next: cases.next.length - nextCases.length,
  never: cases.never.length - neverCases.length,
  invalid: cases.invalid.length - invalidCases.length,
  perf: cases.perf.length - perfCases.length,
}

/** Best of three, so that a pause of the machine does not count as ours. */
const bestMillis = (work: () => void): number => {
  const spans: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const start = performance.now()
    work()
    spans.push(performance.now() - start)
  }
  return Math.min(...spans)
}

describe.skipIf(!present)("the shared cron cases", () => {
  test(`next ${nextCases.length}, never ${neverCases.length}, invalid ${invalidCases.length}, perf ${perfCases.length} are in scope; next ${later.next}, never ${later.never}, invalid ${later.invalid}, perf ${later.perf} are out of scope until zones come`, () => {
    expect(nextCases.length).toBeGreaterThan(0)
    // Whatever is out of scope is so because of its zone alone.
    for (const one of [...cases.next, ...cases.never, ...cases.invalid].filter((each) => !inScope(each))) {
      expect(Result.isSuccess(parseCron(one.expr)), `${one.id} without its zone`).toBe(true)
      expect(Result.isFailure(parseCron(one.expr, { zone: one.tz })), `${one.id} in ${one.tz}`).toBe(true)
    }
  })

  test.each(nextCases)("$id: $title", (one) => {
    const cron = Result.getOrThrow(parseCron(one.expr, { zone: one.tz }))
    const from = Date.parse(one.from)
    // One more is asked for when the case says that there is none.
    const found = between(cron, from, Infinity, one.exhausted === true ? one.count + 1 : one.count)
    expect(found.map((at) => new Date(at).toISOString())).toEqual(one.expected)
  })

  test.each(neverCases)("$id: $expr never occurs, and is known within $limitMs ms", (one) => {
    const cron = Result.getOrThrow(parseCron(one.expr, { zone: one.tz }))
    const from = Date.parse(one.from)
    expect(nextAfter(cron, from)).toBeNull()
    expect(bestMillis(() => nextAfter(cron, from))).toBeLessThan(one.limitMs)
  })

  test.each(invalidCases)("$id is refused: $why", (one) => {
    const answer = parseCron(one.expr, { zone: one.tz })
    if (Result.isSuccess(answer)) return expect.unreachable(`${String(one.expr)} was accepted`)
    expect(answer.failure._tag).toBe("InvalidSchedule")
    expect(answer.failure.field).toMatch(/^(zone|cron(\.(second|minute|hour|day|month|weekday|year))?)$/)
    expect(answer.failure.reason).not.toBe("")
    expect(answer.failure.next).not.toBe("")
  })

  test.each(perfCases)(
    "$id: $name is answered ($expect) within $limitMs ms",
    ({ build, expect: answer, limitMs }) => {
      const text = build.prefix + build.repeat.repeat(build.times) + build.suffix
      const from = Date.parse("2026-01-01T00:00:00Z")
      const parsed = parseCron(text)
      if (answer.startsWith("rejected")) expect(Result.isFailure(parsed)).toBe(true)
      else expect(nextAfter(Result.getOrThrow(parsed), from)).toBeNull()
      const spent = bestMillis(() => Result.map(parseCron(text), (cron) => nextAfter(cron, from)))
      expect(spent).toBeLessThan(limitMs)
    },
  )
})

// Judges what an execution left behind against the invariants of the architecture page: pure, so that a test can
// show with doctored evidence that each check is able to fail. An empty answer means that nothing is wrong.
import type { Attempt, Run } from "../../core/domain/Run.ts"
import { isFinal } from "../../core/domain/Run.ts"
import type { EffectLine, Evidence, Mode } from "./evidence.ts"

type Start = Extract<EffectLine, { kind: "start" }>

/** All problems, each under the name of the promise that it breaks. */
export const check = (evidence: Evidence): ReadonlyArray<string> =>
  checkEach(evidence).flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`))

/** Each promise by its name, with what breaks it. */
export const checkEach = (
  evidence: Evidence,
): ReadonlyArray<{ readonly name: string; readonly problems: ReadonlyArray<string> }> => {
  const book = index(evidence)
  return Object.entries(checks).map(([name, find]) => ({ name, problems: find(evidence, book) }))
}

const index = (evidence: Evidence) => {
  const starts = evidence.effects.flatMap((line, place) =>
    line.kind === "start" ? [{ ...line, place }] : [],
  )
  const goodEnds = evidence.effects.flatMap((line, place) =>
    line.kind === "end" && line.ok ? [{ ...line, place }] : [],
  )
  return {
    runs: new Map(evidence.runs.map((run) => [run.id, run])),
    starts: Map.groupBy<string, Start & { readonly place: number }>(starts, ({ id }) => id),
    goodEnds: Map.groupBy(goodEnds, ({ id }) => id),
    attempts: Map.groupBy(evidence.attempts, ({ runId }) => runId),
  }
}

type Book = ReturnType<typeof index>
type Check = (evidence: Evidence, book: Book) => ReadonlyArray<string>

const each = <A>(items: Iterable<A>, find: (item: A) => string | false | undefined): Array<string> =>
  [...items].flatMap((item) => find(item) || [])

const of = (run: Run): string => `run ${run.id} of "${run.job}"`

const checks: Readonly<Record<string, Check>> = {
  "an acknowledged run is never lost": ({ ledger }, { runs }) =>
    each(ledger, (line) => line.kind === "ack" && !runs.has(line.id) && `run ${line.id} has no row`),

  "a sent id makes one run": ({ runs }) =>
    duplicates(runs.map(({ id }) => id)).map((id) => `run ${id} has two rows`),

  "no run is stuck": ({ runs }) =>
    each(runs, (run) => !isFinal(run.state) && `${of(run)} is ${run.state} at the end`),

  "a run ends as its handler decides": ({ ledger }, { runs, attempts }) =>
    each(ledger, (line) => {
      const run = line.kind === "send" ? runs.get(line.id) : undefined
      if (line.kind !== "send" || run === undefined) return undefined
      const last = attempts.get(line.id)?.at(-1)
      return !isExpected(line.mode, run, last) && `${of(run)}, "${line.mode}", ended ${run.state}`
    }),

  "what succeeded was executed under its token, and nothing after the end": ({ runs }, book) =>
    each(runs, (run) => {
      const done = book.goodEnds.get(run.id)?.some(({ token }) => token === run.token)
      if (run.state === "succeeded" && done !== true) return `${of(run)} succeeded, and no handler ended well`
      const later = book.starts.get(run.id)?.find(({ token }) => token > run.token)
      return later && `${of(run)} ended with token ${run.token} and was started with ${later.token}`
    }),

  // A start that a worker could not tell of before its server let go of it used no attempt, and left no record of one.
  "attempts stay within the limit": ({ runs }, { starts, attempts }) =>
    each(runs, (run) => {
      const known = starts.get(run.id) ?? []
      const recorded = new Set([run.token, ...(attempts.get(run.id) ?? []).map(({ token }) => token)])
      const used = known.filter(({ token }) => recorded.has(token)).length
      const most = Math.max(run.attempt, used, ...known.map(({ attempt }) => attempt))
      return most > run.attemptMax && `${of(run)} used ${most} of ${run.attemptMax} attempts`
    }),

  "tokens grow with each start": (_, { starts }) =>
    each(starts.values(), (lines) => {
      const bad = lines.find(({ token }, place) => place > 0 && token <= (lines[place - 1]?.token ?? 0))
      return bad && `run ${bad.id} was started again with token ${bad.token}`
    }),

  "every failed attempt has its error": ({ runs }, { attempts }) =>
    each(runs, (run) => {
      const failed = attempts.get(run.id) ?? []
      const wanted = run.state === "succeeded" ? run.attempt - 1 : run.attempt
      const numbers = failed.map(({ attempt }) => attempt)
      const complete = numbers.length === wanted && numbers.every((number, place) => number === place + 1)
      if (!complete)
        return `${of(run)} is ${run.state} at attempt ${run.attempt}, has errors of ${numbers.join()}`
      return failed.some(({ error }) => error.message === "") && `${of(run)} has an attempt without a message`
    }),

  "dead and letter are one": ({ runs, letters }, book) => [
    ...duplicates(letters.map(({ runId }) => runId)).map((id) => `run ${id} has two letters`),
    ...each(letters, ({ runId }) => {
      const state = book.runs.get(runId)?.state
      return state !== "dead" && `run ${runId} has a letter and is ${state}`
    }),
    ...each(runs, (run) => {
      if (run.state !== "dead") return false
      const letter = letters.find(({ runId }) => runId === run.id)
      if (letter === undefined) return `${of(run)} is dead and has no letter`
      const last = book.attempts.get(run.id)?.at(-1)
      if (letter.attempt !== run.attempt || letter.error.message !== last?.error.message)
        return `${of(run)} has a letter that does not tell of its last attempt`
      const early = run.attempt < run.attemptMax && last.error.name !== "NonRetryable"
      return early && `${of(run)} is dead with attempts left`
    }),
  ],

  "nothing starts early": ({ ledger }, { starts }) => [
    ...each([...starts.values()].flat(), (line) => {
      const early = line.dueAt - line.at
      return early > 0 && `run ${line.id} started ${early} ms before it was due`
    }),
    ...each(ledger, (line) => {
      const first = line.kind === "send" ? starts.get(line.id)?.[0] : undefined
      if (line.kind !== "send" || line.dueAt === null || first === undefined) return false
      return (
        first.at < line.dueAt && `run ${line.id} started ${line.dueAt - first.at} ms before it was asked for`
      )
    }),
  ],

  "a dependent starts only after what it needs": ({ runs }, book) =>
    each(runs, (run) => {
      if (run.needs.length === 0) return false
      const needs = run.needs.map((id) => book.runs.get(id))
      const met = needs.every((need) => need?.state === "succeeded")
      if (met && run.state === "skipped") return `${of(run)} was skipped, and all that it needs succeeded`
      const first = book.starts.get(run.id)?.[0]
      if (first === undefined)
        return !met && run.state !== "skipped" && `${of(run)} is ${run.state}, not skipped`
      if (!met) return `${of(run)} started, and what it needs did not succeed`
      const unready = run.needs.find((id) => !book.goodEnds.get(id)?.some(({ place }) => place < first.place))
      if (unready !== undefined) return `${of(run)} started before its need ${unready} had ended`
      const late = needs.find((need) => (need?.endedAt ?? Infinity) > (run.startedAt ?? 0))
      return late && `${of(run)} was claimed before its need ${late.id} was settled`
    }),

  "every instant is decided once": ({ schedules, occurrences }) =>
    schedules.flatMap(({ id, trigger, createdAt }) => {
      if (trigger.kind !== "every") return []
      const { periodMillis } = trigger
      const rows = occurrences.filter(({ scheduleId }) => scheduleId === id)
      const uneven = each(rows, ({ at, lastAt, count }) => {
        if ((at - createdAt) % periodMillis !== 0) return `"${id}" at ${at} is off the grid`
        return (
          lastAt - at !== (count - 1) * periodMillis && `"${id}" at ${at} counts ${count} up to ${lastAt}`
        )
      })
      if (uneven.length > 0) return uneven
      const instants = rows
        .flatMap(({ at, count }) => Array.from({ length: count }, (_, step) => at + step * periodMillis))
        .sort((a, b) => a - b)
      return instants.flatMap((at, place) => {
        const gap = at - (instants[place - 1] ?? at - periodMillis)
        if (gap === 0) return [`"${id}" at ${at} is decided twice`]
        return gap === periodMillis ? [] : [`"${id}" lacks ${gap / periodMillis - 1} instants before ${at}`]
      })
    }),

  "runs of a schedule do not overlap, unless it allows it": ({ schedules, runs }) =>
    schedules.flatMap(({ id, overlap }) => {
      if (overlap === "allow") return []
      const own = runs.filter(({ scheduleId }) => scheduleId === id).sort((a, b) => a.createdAt - b.createdAt)
      return each(own, (run) => {
        const before = own[own.indexOf(run) - 1]
        const early = before !== undefined && (before.endedAt ?? Infinity) > run.createdAt
        return early && `${of(run)} was made while run ${before.id} of its schedule was alive`
      })
    }),

  "one run for each occurrence that fired": ({ runs, occurrences }, book) => {
    const fired = occurrences.filter(({ runId }) => runId !== null)
    const known = new Set(fired.map(({ scheduleId, at, runId }) => `${scheduleId} ${at} ${runId}`))
    const scheduled = runs.filter(({ scheduleId }) => scheduleId !== null)
    return [
      ...duplicates(scheduled.map((run) => `${run.scheduleId} at ${run.nominalAt}`)).map(
        (instant) => `${instant} has two runs`,
      ),
      ...each(occurrences, ({ scheduleId, at, runId, reason }) => {
        if ((runId === null) === (reason === null))
          return `"${scheduleId}" at ${at} has run and reason, or none`
        const run = runId === null ? undefined : book.runs.get(runId)
        if (runId === null) return false
        return (
          (run?.scheduleId !== scheduleId || run.nominalAt !== at) && `"${scheduleId}" at ${at} has no run`
        )
      }),
      ...each(
        scheduled,
        (run) => !known.has(`${run.scheduleId} ${run.nominalAt} ${run.id}`) && `${of(run)} has no occurrence`,
      ),
    ]
  },

  "the kept counts are those of the rows": ({ runs, counts }) => {
    const real = new Map<string, number>()
    for (const { job, state } of runs) real.set(`${state} ${job}`, (real.get(`${state} ${job}`) ?? 0) + 1)
    const kept = new Map(counts.map(({ job, state, count }) => [`${state} ${job}`, count]))
    return each(new Set([...real.keys(), ...kept.keys()]), (name) => {
      const [is, said] = [real.get(name) ?? 0, kept.get(name) ?? 0]
      return is !== said && `${name}: ${said} kept, ${is} rows`
    })
  },
}

// A kill takes an attempt, so what would have succeeded may be dead when its last attempt was lost to one.
const isExpected = (mode: Mode, run: Run, last: Attempt | undefined): boolean => {
  if (mode === "broken" || mode === "refused") return run.state === "dead"
  return run.state === "succeeded" || (run.state === "dead" && last?.error.kind === "lost")
}

const duplicates = (names: ReadonlyArray<string>): Array<string> => {
  const seen = new Set<string>()
  return names.filter((name) => seen.size === seen.add(name).size)
}

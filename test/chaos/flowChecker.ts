// Judges what flow runs left behind, against the plan and the brute-force model: pure, so that a test can show with
// doctored evidence that each check is able to fail. An empty answer means that nothing is wrong.
import type { FlowStep, StepEnd } from "../../core/domain/Flow.ts"
import { isFinal, type Run } from "../../core/domain/Run.ts"
import { type Expected, expectedOf } from "../core/flow/model.ts"
import type { FlowEvidence, StepLine, View } from "./flowEvidence.ts"
import { endOf, inner, innerPlan, itemsOf, type Numbered, outcomesOf, outer, plan } from "./flowPlan.ts"

type Start = Extract<StepLine, { kind: "start" }>
type End = Extract<StepLine, { kind: "end" }>

/** All problems, each under the name of the promise that it breaks. */
export const checkFlows = (evidence: FlowEvidence): ReadonlyArray<string> => {
  const book = index(evidence)
  return Object.entries(checks).flatMap(([name, find]) =>
    find(evidence, book).map((problem) => `${name}: ${problem}`),
  )
}

const index = ({ lines, runs, views }: FlowEvidence) => {
  const byId = new Map(runs.map((run) => [run.id, run]))
  const starts = lines.flatMap((line, place) => (line.kind === "start" ? [{ ...line, place }] : []))
  const ends = lines.flatMap((line, place) => (line.kind === "end" ? [{ ...line, place }] : []))
  const rootOf = (run: Run): Run => {
    const parent = run.parentId === null ? undefined : byId.get(run.parentId)
    return parent === undefined ? run : rootOf(parent)
  }
  const nOf = (run: Run): number => (JSON.parse(rootOf(run).input ?? "{}") as Partial<Numbered>).n ?? -1
  const models = new Map<string, Expected>()
  for (const view of views) {
    const run = byId.get(view.runId)
    if (run !== undefined) models.set(view.runId, modelOf(view, nOf(run)))
  }
  return {
    runs: byId,
    starts: Map.groupBy<string, Start & { readonly place: number }>(starts, ({ id }) => id),
    ends: Map.groupBy<string, End & { readonly place: number }>(ends, ({ id }) => id),
    views: new Map(views.map((view) => [view.runId, view])),
    models,
  }
}

const modelOf = ({ kind, name }: View, n: number): Expected => {
  if (kind === "flow" && name === outer) return expectedOf(plan, outcomesOf(n))
  if (kind === "flow") return expectedOf(name === inner ? innerPlan : [], new Map())
  const items = itemsOf(n)
  const steps: ReadonlyArray<FlowStep> = items.map((_, place) => ({ id: String(place), needs: [] }))
  return expectedOf(steps, new Map(items.map((does, place) => [String(place), endOf(does)])))
}

type Book = ReturnType<typeof index>
type Check = (evidence: FlowEvidence, book: Book) => ReadonlyArray<string>

const each = <A>(items: Iterable<A>, find: (item: A) => string | false | undefined): Array<string> =>
  [...items].flatMap((item) => find(item) || [])

const of = (run: Run): string => `run ${run.id} of "${run.job}"`
const lastPart = (job: string): string => job.slice(job.lastIndexOf("/") + 1)

/** The steps of the plan that a view is of, by their ids. */
const needsOf = ({ kind, name }: View): ReadonlyMap<string, FlowStep> =>
  new Map(kind === "map" ? [] : (name === outer ? plan : innerPlan).map((step) => [step.id, step] as const))

/** Each step of each view, with its view. */
const stepsOf = (views: ReadonlyArray<View>) =>
  views.flatMap((view) =>
    view.steps.map((step) => ({ view, step, name: `step "${step.id}" of ${view.runId}` })),
  )

const checks: Readonly<Record<string, Check>> = {
  "what was sent is there, and has expanded once": ({ sent }, { runs, views }) =>
    each(sent, ({ id }) => {
      if (!runs.has(id)) return `run ${id} has no row`
      const view = views.get(id)
      if (view === undefined) return `run ${id} has no steps`
      const wanted = plan.map((step) => step.id).join()
      if (view.steps.map((step) => step.id).join() !== wanted)
        return `run ${id} has other steps than the plan`
      return view.round !== 1 && `run ${id} is in round ${view.round}`
    }),

  "nothing is stuck": ({ runs, views }) => [
    ...each(runs, (run) => !isFinal(run.state) && `${of(run)} is ${run.state} at the end`),
    ...each(
      stepsOf(views),
      ({ step, name }) =>
        (step.state === "blocked" || step.state === "released") && `${name} is ${step.state}`,
    ),
  ],

  "each step ends as the model says": ({ views }, { models }) =>
    each(stepsOf(views), ({ view, step, name }) => {
      const wanted = models.get(view.runId)?.states.get(step.id)
      return step.state !== wanted && `${name} is ${step.state}, not ${wanted}`
    }),

  "each flow run ends as the model says": ({ views }, { runs, models }) =>
    each(views, ({ runId }) => {
      const [run, model] = [runs.get(runId), models.get(runId)]
      const wanted = model?.run === "succeeded" ? "succeeded" : "dead"
      return run?.state !== wanted && `run ${runId} is ${run?.state}, not ${wanted}`
    }),

  "a step has one run, a step that is not to run has none": ({ runs, views }, book) => [
    ...duplicates(
      runs.flatMap(({ parentId, step }) => (parentId === null ? [] : `${parentId}, step ${step}`)),
    ).map((step) => `run ${step} has two runs`),
    ...each(stepsOf(views), ({ view, step, name }) => {
      const model = book.models.get(view.runId)
      const run = step.runId === null ? undefined : book.runs.get(step.runId)
      if (model?.ran.has(step.id) !== true) return step.runId !== null && `${name} has run ${step.runId}`
      if (run === undefined) return `${name} has no run`
      return run.parentId !== view.runId && `${name} has run ${run.id}, which is another's`
    }),
    ...each(runs, (run) => {
      if (run.parentId === null) return false
      const known = book.views.get(run.parentId)?.steps[run.step ?? -1]
      return known?.runId !== run.id && `${of(run)} is not the run of its step`
    }),
  ],

  "the outcome of a step is that of its run": ({ views }, { runs }) =>
    each(stepsOf(views), ({ step, name }) => {
      const run = step.runId === null ? undefined : runs.get(step.runId)
      const wanted = run === undefined ? step.state : stepEnd(run)
      return step.state !== wanted && `${name} is ${step.state}, its run ${run?.state}`
    }),

  "what succeeded is what its function returned under that token, and nothing began after it": (
    { runs },
    book,
  ) =>
    each(runs, (run) => {
      const later = book.starts.get(run.id)?.find(({ token }) => token > run.token)
      if (later) return `${of(run)} ended with token ${run.token} and was started with ${later.token}`
      if (run.state !== "succeeded" || book.views.has(run.id)) return false
      const end = book.ends.get(run.id)?.find(({ token }) => token === run.token)
      if (end === undefined) return `${of(run)} succeeded, and its function did not return`
      return JSON.stringify(end.output) !== run.output && `${of(run)} keeps another output than it returned`
    }),

  "what failed never returned, and what was skipped never began": ({ runs }, { starts, ends, views }) =>
    each(runs, (run) => {
      if (views.has(run.id) || run.parentId === null) return false
      if (run.state === "dead" && ends.has(run.id)) return `${of(run)} is dead, and its function returned`
      if (run.state === "dead" && !starts.has(run.id)) return `${of(run)} is dead, and never began`
      return run.state === "skipped" && starts.has(run.id) && `${of(run)} was skipped, and began`
    }),

  "a step reads what was recorded": ({ runs }, book) =>
    each(runs, (run) => {
      const view = run.parentId === null ? undefined : book.views.get(run.parentId)
      if (view === undefined) return false
      for (const start of book.starts.get(run.id) ?? []) {
        const step = needsOf(view).get(lastPart(run.job))
        if (Object.keys(start.needs).length > 0 && step === undefined)
          return `${of(run)} read what it has no need of`
        for (const need of step?.needs ?? []) {
          const seen = start.states[need]
          const recorded = view.steps.find(({ id }) => id === need)
          if (seen !== recorded?.state && step?.rule !== "one_success")
            return `${of(run)} saw "${need}" ${seen}, and it is ${recorded?.state}`
          const output = seen === "succeeded" ? book.runs.get(recorded?.runId ?? "")?.output : undefined
          if (JSON.stringify(start.needs[need]) !== (output ?? undefined))
            return `${of(run)} read another output of "${need}" than was recorded`
        }
      }
      return false
    }),

  "a step begins after what it waits for": ({ runs }, book) =>
    each(runs, (run) => {
      const view = run.parentId === null ? undefined : book.views.get(run.parentId)
      const step = view === undefined ? undefined : needsOf(view).get(lastPart(run.job))
      const first = book.starts.get(run.id)?.[0]
      if (view === undefined || step === undefined || first === undefined || step.rule === "one_success")
        return false
      const open = step.needs.find((need) => {
        const needed = book.runs.get(view.steps.find(({ id }) => id === need)?.runId ?? "")
        if (needed === undefined) return false
        if ((needed.endedAt ?? Infinity) > (run.startedAt ?? 0)) return true
        const isLogged = needed.state === "succeeded" && !book.views.has(needed.id)
        return isLogged && !book.ends.get(needed.id)?.some(({ place }) => place < first.place)
      })
      return open !== undefined && `${of(run)} began before "${open}" had ended`
    }),

  "a list, and a flow within, hands on what its steps returned": ({ views }, { runs }) =>
    each(views, ({ runId, kind, name, steps }) => {
      const run = runs.get(runId)
      if (run?.state !== "succeeded" || name === outer) return false
      const outputs = steps.map((step) => runs.get(step.runId ?? "")?.output ?? "null")
      const wanted = kind === "map" ? `[${outputs.join()}]` : outputs.at(-1)
      return run.output !== wanted && `${of(run)} has another output than its steps`
    }),

  "tokens grow with each start": (_, { starts }) =>
    each(starts.values(), (lines) => {
      const bad = lines.find(({ token }, place) => place > 0 && token <= (lines[place - 1]?.token ?? 0))
      return bad && `run ${bad.id} was started again with token ${bad.token}`
    }),

  "attempts stay within the limit": ({ runs }, { starts }) =>
    each(runs, (run) => {
      const most = Math.max(run.attempt, starts.get(run.id)?.length ?? 0)
      return most > run.attemptMax && `${of(run)} used ${most} of ${run.attemptMax} attempts`
    }),

  "a flow run that died has its letter, a step has none": ({ runs, letters }) => {
    const known = letters.map(({ runId }) => runId)
    const wanted = new Set(
      runs.flatMap((run) => (run.state === "dead" && run.parentId === null ? run.id : [])),
    )
    return [
      ...duplicates(known).map((id) => `run ${id} has two letters`),
      ...each(wanted, (id) => !known.includes(id) && `run ${id} is dead and has no letter`),
      ...each(known, (id) => !wanted.has(id) && `run ${id} has a letter, and is no flow run that died`),
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

const stepEnd = (run: Run): StepEnd | Run["state"] => (run.state === "dead" ? "failed" : run.state)

const duplicates = (names: ReadonlyArray<string>): Array<string> => {
  const seen = new Set<string>()
  return names.filter((name) => seen.size === seen.add(name).size)
}

// What the compiler refuses in the wiring of a flow, and what it infers. Nothing here runs: `npm run types` is the test,
// and a line under `@ts-expect-error` that compiles is an error itself.
import * as Schema from "effect/Schema"
import { cron, defineConfig, engine, type Flow, flow, type FlowBuilder, job, type Step } from "uhrwerk"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only when both types are the same. */
const same = <A, B>(_proof: Same<A, B>): void => {}

const run = (): void => {}
const Day = Schema.Struct({ day: Schema.String })

// Needs: what the needed steps return, by the names that were chosen, in the first argument and in the context.
const etl = flow("etl", { on: cron("0 3 * * *"), input: Day }, (f) => {
  const extract = f.step("extract", {
    run: async (needs, { input, needs: same_ }) => {
      same<typeof input, { readonly day: string }>(true)
      same<typeof needs, {}>(true)
      same<typeof same_, {}>(true)
      return { rows: [1, 2], day: input.day }
    },
  })
  same<typeof extract, Step<{ rows: Array<number>; day: string }, "etl">>(true)
  const check = f.step("check", {
    needs: { extract },
    when: ({ extract: { rows } }, { day }) => rows.length > 0 && day !== "",
    allowFailure: true,
    run: async () => "fine" as const,
  })
  const load = f.step("load", {
    needs: { extract, approval: check },
    retry: { max: 2 },
    timeout: "1m",
    queue: "heavy",
    priority: 5,
    run: ({ extract: read, approval }, ctx) => {
      same<typeof read.rows, Array<number>>(true)
      same<typeof approval, "fine">(true)
      same<typeof ctx.needs.approval, "fine">(true)
      same<typeof ctx.signal, AbortSignal>(true)
      // @ts-expect-error a need that was not declared
      ctx.log(ctx.needs.check)
      // @ts-expect-error a state of a need that was not declared
      ctx.log(ctx.states.check)
      // @ts-expect-error no such field of its output
      ctx.log(read.lines)
      // @ts-expect-error a number is no text
      const text: string = read.rows[0]
      return { loaded: read.rows.length, text }
    },
  })
  // A rule that may run without a need's success may find no output of it.
  f.step("alert", {
    needs: { extract, load },
    rule: "all_done",
    run: ({ extract: read, load: loaded }, { states }) => {
      same<typeof read, { rows: Array<number>; day: string } | undefined>(true)
      same<typeof states.load, typeof states.extract>(true)
      // @ts-expect-error it may not be there
      return loaded.loaded
    },
  })
  f.step("same rule as none", {
    needs: { load },
    rule: "all_success",
    run: ({ load: { loaded } }) => loaded,
  })
  f.step("min", { needs: { load }, rule: "none_failed", run: ({ load: loaded }) => loaded?.loaded })
  // @ts-expect-error an unknown rule
  f.step("rule", { needs: { load }, rule: "all_fine", run })
  // @ts-expect-error a need by its id
  f.step("named", { needs: { load: "load" }, run })
  // @ts-expect-error a list of needs
  f.step("list", { needs: [load], run })
  // @ts-expect-error a job is no step
  f.step("job", { needs: { load: job("x", { run }) }, run })
  // @ts-expect-error a need that was not declared
  f.step("undeclared", { needs: { load }, run: ({ extract: read }) => read })
  // @ts-expect-error no function
  f.step("none", { needs: { load } })
  // @ts-expect-error a condition that answers text
  f.step("when", { needs: { load }, when: ({ load: loaded }) => loaded.text, run })
  // @ts-expect-error a timeout in words
  f.step("timeout", { timeout: "soon", run })
  // @ts-expect-error an option that there is not
  f.step("typo", { alowFailure: true, run })
  return load
})
same<typeof etl, Flow<{ readonly day: string }, { loaded: number; text: string }>>(true)

// An input of one's own: a function that knows of no flow.
const store = (what: { table: string; rows: ReadonlyArray<number> }): { stored: number } => ({
  stored: what.rows.length,
})
const reuse = flow("reuse", {}, (f) => {
  const rows = f.step("rows", { run: () => [1, 2, 3] })
  const stored = f.step("store", {
    needs: { rows },
    input: (needs) => ({ table: "t", rows: needs.rows }),
    run: store,
  })
  same<typeof stored, Step<{ stored: number }, "reuse">>(true)
  f.step("inline", {
    needs: { stored },
    input: async ({ stored: { stored: count } }) => ({ count }),
    run: (own, ctx) => {
      same<typeof own, { count: number }>(true)
      same<typeof ctx.needs.stored, { stored: number }>(true)
    },
  })
  // @ts-expect-error its input is missing
  f.step("missing", { needs: { rows }, run: store })
  // @ts-expect-error an input of a wrong type
  f.step("wrong", { needs: { rows }, input: (needs) => ({ table: 5, rows: needs.rows }), run: store })
  // @ts-expect-error a field is missing
  f.step("field", { needs: { rows }, input: (needs) => ({ rows: needs.rows }), run: store })
})
same<typeof reuse, Flow<void, void>>(true)

// An output with a schema.
flow("schema", {}, (f) => {
  const made = f.step("made", { output: Schema.Struct({ n: Schema.Number }), run: () => ({ n: 1 }) })
  same<typeof made, Step<{ readonly n: number }, "schema">>(true)
  // @ts-expect-error not as the schema says
  f.step("wrong", { output: Schema.Struct({ n: Schema.Number }), run: () => ({ n: "1" }) })
})

// A list: items in, a list of outputs out.
const mapped = flow("mapped", {}, (f) => {
  const list = f.step("list", { run: () => ["a", "b"] })
  const sizes = f.map("sizes", {
    needs: { list },
    over: (needs) => needs.list,
    max: 10,
    run: async (item, { index, input }) => {
      same<typeof item, string>(true)
      same<typeof input, void>(true)
      return { size: item.length, index }
    },
  })
  same<typeof sizes, Step<ReadonlyArray<{ size: number; index: number }>, "mapped">>(true)
  // @ts-expect-error no list
  f.map("none", { needs: { list }, over: () => 5, run })
  // @ts-expect-error an item of another type
  f.map("item", { needs: { list }, over: (needs) => needs.list, run: (item: number) => item })
  // @ts-expect-error items have no needs
  f.map("needs", { needs: { list }, over: (needs) => needs.list, run: (_, ctx) => ctx.needs })
  return f.step("sum", {
    needs: { sizes },
    run: (needs) => needs.sizes.reduce((sum, { size }) => sum + size, 0),
  })
})
same<typeof mapped, Flow<void, number>>(true)

// A flow as a step of another one.
flow("outer", {}, (f) => {
  const inner = f.flow("inner", mapped)
  same<typeof inner, Step<number, "outer">>(true)
  const loaded = f.flow("etl", etl, { needs: { inner }, input: (needs) => ({ day: String(needs.inner) }) })
  same<typeof loaded, Step<{ loaded: number; text: string }, "outer">>(true)
  // @ts-expect-error its input is missing
  f.flow("missing", etl)
  // @ts-expect-error its input is missing
  f.flow("missing", etl, { needs: { inner } })
  // @ts-expect-error an input of a wrong type
  f.flow("wrong", etl, { needs: { inner }, input: (needs) => ({ day: needs.inner }) })
  // @ts-expect-error a job is no flow
  f.flow("job", job("x", { run }))
})

// Steps of another flow.
let foreign: Step<number, "one"> | undefined
flow("one", {}, (f) => {
  foreign = f.step("a", { run: () => 1 })
})
flow("two", {}, (f) => {
  const a = f.step("a", { run: () => 1 })
  f.step("b", { needs: { a }, run })
  // @ts-expect-error a step of another flow
  f.step("c", { needs: { foreign: foreign! }, run })
})
// @ts-expect-error a step of another flow as its output
flow("three", {}, () => foreign!)

// Without a schema, the input's type is said where the builder is taken.
const typed = flow("typed", {}, (f: FlowBuilder<{ day: string }, "typed">) =>
  f.step("a", { run: (_, { input }) => input.day }),
)
same<typeof typed, Flow<{ day: string }, string>>(true)

// @ts-expect-error no builder
flow("none", {})
// @ts-expect-error no step
flow("none", {}, () => 5)
// @ts-expect-error a trigger as text
flow("on", { on: "0 9 * * *" }, run)
// @ts-expect-error a function is no option
flow("run", { run }, run)

const sending = async (): Promise<void> => {
  const sent = await etl.send({ day: "2026-01-01" }, { delay: "5s" })
  same<Awaited<ReturnType<typeof sent.result>>, { loaded: number; text: string }>(true)
  await reuse.send()
  // @ts-expect-error a field is missing
  await etl.send({})
  // @ts-expect-error no input at all
  await etl.send()
  const app = await engine({ jobs: [etl, reuse, mapped] }).start()
  const again = await app.send(mapped, undefined)
  same<Awaited<ReturnType<typeof again.result>>, number>(true)
  // @ts-expect-error another flow's input
  await app.send(etl, { night: "2026-01-01" })
  const id: string = await app.rerun(sent.id)
  await app.rerun(id, ["load"])
  // @ts-expect-error an unknown word
  await app.rerun(id, "all")
  await app.markStep(id, "load", { as: "skipped", reason: "not today" })
  // @ts-expect-error an end that nobody can decide
  await app.markStep(id, "load", { as: "failed", reason: "not today" })
}

defineConfig({ jobs: [etl, job("x", { run }), mapped] })
// A job that needs a flow has no outputs of it.
// @ts-expect-error a flow is no job
job("needs", { needs: { etl }, run })

export const all = { sending }

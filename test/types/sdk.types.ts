// What the compiler refuses and what it infers. Nothing here runs: `npm run types` (tsc over `test`) is the test,
// and a line under `@ts-expect-error` that compiles is an error itself.
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import {
  after,
  at,
  cron,
  defineConfig,
  engine,
  every,
  job,
  type Job,
  NonRetryable,
  RetryAfter,
} from "uhrwerk"
import { Job as EffectJob } from "uhrwerk/effect"
import { testEngine } from "uhrwerk/testing"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only when both types are the same. */
const same = <A, B>(_proof: Same<A, B>): void => {}

const run = (): void => {}

// Cron texts: counted by the compiler, and the error says how many fields there are.
cron("0 9 * * 1-5")
cron("*/10 0 9 * * 1-5")
cron("0 0 9 1 1 * 2027")
cron("  0  9  *  *  *  ")
cron("@daily", { overlap: "allow" })
declare const text: string
cron(text)
// @ts-expect-error 4 fields
cron("0 9 * *")
// @ts-expect-error 8 fields
cron("* * * * * * * *")
// @ts-expect-error no field
cron("")
// @ts-expect-error no text
cron(5)
// @ts-expect-error an unknown word for overlap
cron("0 9 * * *", { overlap: "queue" })

// Spans of time.
every("5s")
every(5000)
every("1h30m")
after("1d12h30m")
// @ts-expect-error words
every("5 minutes")
// @ts-expect-error no unit
after("30")
// @ts-expect-error an unknown unit
every("5y")
// @ts-expect-error nothing
every("")

// Instants.
at(new Date())
at(0)
at("2027-01-31T09:00:00Z")
// @ts-expect-error no instant
at({})

// What a job may say.
job("good", {
  run,
  retry: { max: 5, backoff: "linear", jitter: "equal", delays: ["1s", 2000] },
  timeout: "1m",
})
job("rules", {
  run,
  retry: {
    on: [
      { error: "RateLimited", delay: "1m" },
      { error: "BadRequest", retry: false },
    ],
  },
})
// @ts-expect-error an unknown backoff
job("retry", { run, retry: { backoff: "quadratic" } })
// @ts-expect-error an unknown jitter
job("retry", { run, retry: { jitter: true } })
// @ts-expect-error a word that there is not
job("retry", { run, retry: { attempts: 5 } })
// @ts-expect-error a delay in words
job("retry", { run, retry: { delay: "5 minutes" } })
// @ts-expect-error a timeout in words
job("timeout", { run, timeout: "soon" })
// @ts-expect-error a trigger as text
job("on", { run, on: "0 9 * * *" })
// @ts-expect-error no handler
job("none", {})
// @ts-expect-error a priority as text
job("priority", { run, priority: "high" })

// Signals take spans.
void new RetryAfter("2m", "busy")
void new NonRetryable("no such account", { cause: 5 })
// @ts-expect-error a delay in words
void new RetryAfter("2 minutes")

// The input's type comes from the handler or from the schema, the output's from the handler.
const resize = job("resize", {
  run: async (input: { file: string; width: number }) => ({ file: input.file, bytes: input.width * 3 }),
})
same<typeof resize, Job<{ file: string; width: number }, { file: string; bytes: number }>>(true)

const MailInput = Schema.Struct({ to: Schema.String, copies: Schema.Array(Schema.Number) })
const mail = job("mail", {
  input: MailInput,
  run: (input) => {
    same<typeof input, { readonly to: string; readonly copies: ReadonlyArray<number> }>(true)
    return input.copies.length
  },
})
same<typeof mail, Job<{ readonly to: string; readonly copies: ReadonlyArray<number> }, number>>(true)

const nothing = job("nothing", { run: async () => {} })
same<typeof nothing, Job<void, void>>(true)

// The context.
job("context", {
  run: async (_: void, ctx) => {
    same<typeof ctx.run.nominalAt, Date | null>(true)
    same<typeof ctx.signal, AbortSignal>(true)
    await ctx.sleep("5s")
    // @ts-expect-error a span in words
    await ctx.sleep("5 seconds")
    // @ts-expect-error no need of this name
    ctx.log(ctx.needs.extract)
    // Nothing comes after a snooze.
    same<ReturnType<typeof ctx.snooze>, never>(true)
  },
})

// Needs: what the needed jobs return, by the names that were chosen.
const extract = job("extract", { run: () => ({ rows: 10 }) })
const check = job("check", { run: async () => "fine" as const })
job("load", {
  needs: { extract, approval: check },
  run: (_: void, { needs }) => {
    same<typeof needs.extract, { rows: number }>(true)
    same<typeof needs.approval, "fine">(true)
    // @ts-expect-error no such field of its output
    const lines: unknown = needs.extract.lines
    // @ts-expect-error a number is no text
    const text: string = needs.extract.rows
    // @ts-expect-error by the chosen name, not by the job's
    const other: unknown = needs.check
    return [lines, text, other]
  },
})
// @ts-expect-error a list of jobs
job("list", { needs: [extract], run })
// @ts-expect-error by name
job("named", { needs: { extract: "extract" }, run })

const sending = async (): Promise<void> => {
  const sent = await resize.send({ file: "a.png", width: 640 }, { delay: "20ms", key: "a.png", priority: 5 })
  same<Awaited<ReturnType<typeof sent.result>>, { file: string; bytes: number }>(true)
  await nothing.send()
  await nothing.send(undefined, { at: new Date(), startWithin: "5m" })
  await mail.send({ to: "ada", copies: [] })
  // @ts-expect-error a field is missing
  await resize.send({ file: "a.png" })
  // @ts-expect-error a field of a wrong type
  await resize.send({ file: "a.png", width: "640" })
  // @ts-expect-error a field too many
  await resize.send({ file: "a.png", width: 640, height: 480 })
  // @ts-expect-error no input at all
  await resize.send()
  // @ts-expect-error not as the schema says
  await mail.send({ to: "ada", copies: ["bob"] })
  // @ts-expect-error a delay in words
  await nothing.send(undefined, { delay: "5 minutes" })
  // @ts-expect-error an option that there is not
  await nothing.send(undefined, { wait: "5m" })

  const app = await engine({ jobs: [resize, mail] }).start()
  const again = await app.send(mail, { to: "ada", copies: [1] })
  same<Awaited<ReturnType<typeof again.result>>, number>(true)
  // @ts-expect-error another job's input
  await app.send(mail, { file: "a.png", width: 640 })
  // @ts-expect-error a timeout in words
  await again.result({ timeout: "a while" })
  await app.stop({ grace: "10s" })
  const test = await testEngine({ jobs: [resize] }, { startAt: "2026-01-01T00:00:00Z" })
  await test.advance("7d")
  // @ts-expect-error a span in words
  await test.advance("a week")
}

defineConfig({
  jobs: [resize, mail, nothing],
  storage: "sqlite:a.db",
  worker: { concurrency: 8 },
  lease: "5s",
})
defineConfig({ jobs: [], storage: "postgres://x" })
// @ts-expect-error a storage that is not there yet
defineConfig({ jobs: [], storage: "mysql://x" })
// @ts-expect-error no jobs
defineConfig({ storage: "memory:" })
// @ts-expect-error a function is no job
defineConfig({ jobs: [run] })
// @ts-expect-error a number as text
defineConfig({ jobs: [], worker: { concurrency: "8" } })

// Effect style: what a handler needs and what it fails with shows in the type.
class Refused extends Schema.TaggedError<Refused>()("Refused", { code: Schema.Number }) {}
const greet = EffectJob.make("greet", { input: Schema.String, output: Schema.Number, error: Refused })
const live = EffectJob.toLayer(greet, (name) => {
  same<typeof name, string>(true)
  return name === "" ? Effect.fail(new Refused({ code: 1 })) : Effect.succeed(name.length)
})
same<typeof live, Layer.Layer<never, never, EffectJob.JobRegistry>>(true)
const withRun = EffectJob.toLayer(greet, () => Effect.map(EffectJob.CurrentRun, ({ attempt }) => attempt))
same<typeof withRun, Layer.Layer<never, never, EffectJob.JobRegistry>>(true)
// @ts-expect-error an output of a wrong type
EffectJob.toLayer(greet, (name) => Effect.succeed(name))
// @ts-expect-error a failure that the job does not name
EffectJob.toLayer(greet, () => Effect.fail(new TypeError("no")))
// @ts-expect-error an input of a wrong type
EffectJob.send(greet, 5)

export const all = { sending, live, withRun }

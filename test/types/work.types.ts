// What the compiler infers of work that is no function. Nothing here runs; see sdk.types.ts.
import * as Schema from "effect/Schema"
import { command, defineConfig, flow, job, type Job, onWorkers, request } from "uhrwerk"

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only when both types are the same. */
const same = <A, B>(_proof: Same<A, B>): void => {}

// The output's type comes from what the output is, or from who asks.
const backup = job("backup", { run: command("/opt/backup") })
same<typeof backup, Job<void, void>>(true)
const listed = job("listed", { run: command("ls", ["-l"], { output: "text", pass: ["PATH"] }) })
same<typeof listed, Job<void, string>>(true)
const counted = job("counted", {
  run: command<{ rows: number }>("python3", ["count.py"], { output: "json" }),
})
same<typeof counted, Job<void, { rows: number }>>(true)
const asked = job<{ day: string }, { rows: number }>("asked", {
  run: request("https://api.example.com/report", { output: "json", sign: "partner" }),
})
same<typeof asked, Job<{ day: string }, { rows: number }>>(true)
const told = job("told", { run: request("https://api.example.com/hook", { method: "PUT" }) })
same<typeof told, Job<void, void>>(true)

// The input's from a schema, or from a function of it.
const Day = Schema.Struct({ day: Schema.String })
const checked = job("checked", { input: Day, run: command("python3", ["report.py"], { output: "text" }) })
same<typeof checked, Job<{ readonly day: string }, string>>(true)
const resized = job("resized", {
  run: command("convert", (input: { file: string }) => [input.file, "-resize", "640"]),
})
same<typeof resized, Job<{ file: string }, void>>(true)
const posted = job("posted", { run: request((input: { to: string }) => input.to) })
same<typeof posted, Job<{ to: string }, void>>(true)

const sending = async (): Promise<void> => {
  await backup.send()
  await resized.send({ file: "a.png" })
  await asked.send({ day: "today" })
  // @ts-expect-error no input
  await resized.send()
  // @ts-expect-error another input
  await asked.send({ day: 5 })
}

// Work that takes an input stands where that input is given, and nowhere else.
const resize = command("convert", (input: { file: string }) => [input.file])
flow("taking", {}, (f) => {
  // @ts-expect-error nothing gives it a file
  f.step("bare", { run: resize })
})

// Steps: what they need goes in, their output is typed where it is needed.
const nightly = flow("nightly", {}, (f) => {
  const extract = f.step("extract", { run: command<{ rows: number }>("extract", [], { output: "json" }) })
  const load = f.step("load", {
    needs: { extract },
    run: request<{ id: string }>("https://api.example.com/load", { output: "json" }),
  })
  const Rows = Schema.Struct({ rows: Schema.Number })
  const counted = f.step("counted", {
    output: Rows,
    run: command<{ readonly rows: number }>("count", [], { output: "json" }),
  })
  f.step("later", { needs: { counted }, run: ({ counted }) => counted.rows })
  f.step("named", { needs: { counted }, input: ({ counted }) => ({ file: `${counted.rows}` }), run: resize })
  f.map("each", { needs: { load }, over: () => ["a", "b"], run: command("each", [], { output: "text" }) })
  return f.step("report", {
    needs: { extract, load },
    run: ({ extract, load }) => `${extract.rows} ${load.id}`,
  })
})

// @ts-expect-error a program is a text
job("bad", { run: command(5) })
// @ts-expect-error arguments are texts
job("bad", { run: command("a", [5]) })
// @ts-expect-error an option that there is not
job("bad", { run: command("a", [], { shell: true }) })
// @ts-expect-error an unknown output
job("bad", { run: command("a", [], { output: "xml" }) })
// @ts-expect-error an unknown method
job("bad", { run: request("https://a.example", { method: "TRACE" }) })
// @ts-expect-error a header is a text
job("bad", { run: request("https://a.example", { headers: { a: 5 } }) })

defineConfig({
  jobs: [backup, listed, counted, asked, told, checked, resized, posted, nightly],
  executors: {
    command: { programs: ["/opt/backup", "ls"] },
    request: {
      origins: ["https://api.example.com"],
      networks: ["10.0.0.0/8"],
      secrets: { partner: "whsec_x" },
    },
  },
})
// @ts-expect-error a list
defineConfig({ jobs: [], executors: { command: { programs: "ls" } } })
export default [sending]

// What workers do: the output is what it is said to be, of a broadcast a list of it; the input comes from elsewhere.
const encoded = job("encoded", { run: onWorkers<{ size: number }>({ where: "gpu > 1" }) })
same<typeof encoded, Job<void, { size: number }>>(true)
const anything = job("anything", { run: onWorkers() })
same<typeof anything, Job<void, unknown>>(true)
const encodedDay = job("encoded.day", { input: Day, run: onWorkers<string>({ by: { hash: "day" } }) })
same<typeof encodedDay, Job<{ readonly day: string }, string>>(true)
const named = job<{ file: string }, number>("named", { run: onWorkers() })
same<typeof named, Job<{ file: string }, number>>(true)
const cleared = job("cleared", { run: onWorkers<boolean>({ broadcast: true }) })
same<typeof cleared, Job<void, ReadonlyArray<boolean>>>(true)
flow("away", {}, (f) => {
  const first = f.step("first", { run: () => [1, 2] })
  const second = f.step("second", { needs: { first }, run: onWorkers<string>() })
  const each = f.map("each", {
    needs: { first },
    over: ({ first }) => first,
    run: onWorkers<{ n: number }>({ by: "roundRobin" }),
  })
  f.step("last", {
    needs: { second, each },
    run: ({ second, each }) => {
      same<typeof second, string>(true)
      same<typeof each, ReadonlyArray<{ n: number }>>(true)
    },
  })
})
// @ts-expect-error no such way to choose
job("wrong", { run: onWorkers({ by: "fastest" }) })
// @ts-expect-error no such option
job("wrong", { run: onWorkers({ labels: "gpu > 1" }) })

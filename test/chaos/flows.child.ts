// The process that the crash suite of flows kills: an SDK engine over a SQLite file. Arguments: its folder, which of
// its lives this is, and where it kills itself, as `POINT:COUNT` (`none`: it is killed from outside). It starts when the
// file `go-LIFE` appears, sends all flow runs of the folder (again), says `ready` when that is done and `idle` when all
// have ended, and drains on SIGTERM.
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { type Database, openDatabase } from "../../adapters/store-sql/sqlite/Database.ts"
import { lockForEngine } from "../../adapters/store-sql/sqlite/engineLock.ts"
import { driverOver } from "../../adapters/store-sql/sqlite.ts"
import {
  defineConfig,
  engine,
  type Flow,
  flow,
  type FlowBuilder,
  NonRetryable,
  type RunContext,
  type Step,
} from "../../apps/sdk/mod.ts"
import { isFinal } from "../../core/domain/Run.ts"
import { layerDriver } from "../../core/ports/Store.ts"
import type { StoreDriver } from "../../core/ports/StoreDriver.ts"
import { filesOf } from "./evidence.ts"
import { sentFile, type Sent, type StepLine } from "./flowEvidence.ts"
import { type Does, inner, innerPlan, itemsOf, type Numbered, outer, plan, type Planned } from "./flowPlan.ts"

const [folder = ".", life = "0", death = "none"] = process.argv.slice(2)
const files = filesOf(folder)
const [deathPoint, deathCount] = [death.split(":")[0], Number(death.split(":")[1])]
const passed = new Map<string, number>()
/** The process ends here if this is the point of its death, for the time that was asked for. */
const passes = (point: string): void => {
  const count = (passed.get(point) ?? 0) + 1
  passed.set(point, count)
  if (point === deathPoint && count === deathCount) process.kill(process.pid, "SIGKILL")
}
const rest = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))
const note = (line: StepLine): void => appendFileSync(files.effects, `${JSON.stringify(line)}\n`)

/** What the function of a step, or for an item, does; each line is in the file before anything follows from it. */
const work = async (
  { run }: Omit<RunContext, "needs">,
  does: Does,
  read: Pick<Extract<StepLine, { kind: "start" }>, "needs" | "states">,
  n: number,
): Promise<unknown> => {
  const { id, token, attempt } = run
  note({ kind: "start", id, token, ...read })
  passes("begun")
  await rest(does === "slow" ? 40 : 1 + (n % 4))
  if (does === "broken") throw new NonRetryable("Broken for good")
  if (does === "flaky" && attempt === 1) throw new TypeError("Not at the first attempt")
  // Another one each time: what is recorded must be that of one attempt, for all that read it.
  const output = { run: id, token, text: `${n} "ä" ${Math.random()}` }
  note({ kind: "end", id, token, output })
  passes("returned")
  return output
}

const retry = { max: 40, backoff: "fixed", delay: "20ms", jitter: "none" } as const

const addAll = (
  f: FlowBuilder<Numbered>,
  steps: ReadonlyArray<Planned>,
  child: Flow<Numbered, unknown> | null,
) => {
  const added = new Map<string, Step<unknown>>()
  for (const { id, kind, needs: ids, rule = "all_success", allowFailure = false, does } of steps) {
    const needs = Object.fromEntries(ids.map((need) => [need, added.get(need)!]))
    const base = { needs, rule, allowFailure }
    if (kind === "flow" && child !== null)
      added.set(id, f.flow(id, child, { ...base, input: (_, input) => input }))
    else if (kind === "map")
      added.set(
        id,
        f.map(id, {
          ...base,
          retry,
          over: (_, { n }) => itemsOf(n),
          run: (item, ctx) => work(ctx, item, { needs: {}, states: {} }, ctx.input.n),
        }),
      )
    else
      added.set(
        id,
        f.step(id, {
          ...base,
          retry,
          when: (_, { n }) => does(n) !== "declines",
          run: (read, ctx) => work(ctx, does(ctx.input.n), { needs: read, states: ctx.states }, ctx.input.n),
        }),
      )
  }
  return added.get(steps.at(-1)?.id ?? "")
}
const innerFlow: Flow<Numbered, unknown> = flow(inner as string, {}, (f: FlowBuilder<Numbered>) =>
  addAll(f, innerPlan, null),
)
const outerFlow: Flow<Numbered, unknown> = flow(outer as string, {}, (f: FlowBuilder<Numbered>) =>
  addAll(f, plan, innerFlow),
)

// What is written at present: points of death are counted in settlements, which release what follows.
let writing: "expanding" | "settling" | undefined

/** A file that dies before, in and after the writes of a settlement. */
const mortal = (database: Database): Database => ({
  ...database,
  prepare: (text) => {
    const statement = database.prepare(text)
    const run = statement.run.bind(statement)
    statement.run = ((...values: Parameters<typeof run>) => {
      const answer = run(...values)
      if (writing !== undefined) passes("half")
      return answer
    }) as typeof run
    return statement
  },
  transaction: (body, repeatable) => {
    const value = database.transaction(() => {
      const answer = body()
      if (writing !== undefined) passes(`${writing}, uncommitted`)
      return answer
    }, repeatable)
    if (writing !== undefined) passes(`${writing}, committed`)
    return value
  },
})

const open = (): StoreDriver => {
  let release = (): void => {}
  const options = { file: files.db, now: () => Date.now() }
  const database = openDatabase(options, (sqlite) => (release = lockForEngine(options.file, sqlite).release))
  const driver = driverOver(mortal(database), options, release)
  return {
    ...driver,
    settle: (settlements) => {
      writing = settlements.some(({ kind }) => kind === "expanded") ? "expanding" : "settling"
      try {
        return driver.settle(settlements)
      } finally {
        writing = undefined
      }
    },
  }
}

while (!existsSync(join(folder, `go-${life}`))) await rest(5)
const running = await engine(
  defineConfig({
    jobs: [outerFlow, innerFlow],
    storage: { name: files.db, layer: layerDriver(Effect.sync(open)) },
    worker: { concurrency: 60 },
    lease: "2s",
    grace: "5s",
  }),
).start()
const asked = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()))
const sent = JSON.parse(readFileSync(sentFile(folder), "utf8")) as ReadonlyArray<Sent>
await Promise.all(sent.map(({ id, n }) => running.send(outerFlow, { n }, { id })))
console.log(`ready ${process.pid}`)
while ((await running.counts()).some(({ state, count }) => !isFinal(state) && count > 0)) await rest(50)
console.log("idle")
await asked
await running.stop()
console.log("stopped")
